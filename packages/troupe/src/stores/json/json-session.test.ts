import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, test } from 'vitest';
import { sessionContract } from '../../testing/session-contract.ts';
import { JsonSession } from './json-session.ts';

const dirs: string[] = [];

async function newDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-json-'));
  dirs.push(dir);
  return dir;
}

afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
});

describe('JsonSession', () => {
  const place = async () => {
    const dir = join(await newDir(), 'made', 'by', 'itself');
    return () => new JsonSession(dir);
  };
  test.each(sessionContract(place))('$name', ({ run }) => run());
});
