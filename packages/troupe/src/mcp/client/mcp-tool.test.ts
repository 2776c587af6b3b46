import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import { IMPLEMENTATION } from '../protocol/mcp-implementation.ts';
import { namesOf } from './mcp-tool.ts';

test('the names of a tool are its own, with that of its server, and one that nobody else has', () => {
  expect(namesOf('my files', 'read.file')).toEqual([
    'read_file',
    'my_files__read_file',
    'my_files__read_file_2c16919c',
  ]);
});

test('every name is one that every provider takes, and the last one differs from tool to tool', () => {
  const name = fc.string({ maxLength: 100 });
  fc.assert(
    fc.property(name, name, name, (server, one, other) => {
      for (const given of namesOf(server, one)) expect(given).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      if (one !== other) expect(namesOf(server, one)[2]).not.toBe(namesOf(server, other)[2]);
    }),
  );
});

test('we say which version we are', () => {
  const manifest = readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8');
  const { name, version } = JSON.parse(manifest) as { name: string; version: string };
  expect(IMPLEMENTATION).toEqual({ name, version });
});
