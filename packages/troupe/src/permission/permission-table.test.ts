import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  isStricter,
  lookUp,
  PERMISSION_MODES,
  PERMISSION_TABLE,
  type PermissionFacts,
  type PermissionMode,
} from './permission-table.ts';

const RULES = ['none', 'allow', 'ask', 'deny'] as const;
const KINDS = ['read', 'edit', 'other'] as const;

/** By mode and rule: a letter for each of read, edit, other, then the same for dangerous ones. */
const EXPECTED: Readonly<Record<PermissionMode, Readonly<Record<PermissionFacts['rule'], string>>>> = {
  default: { none: '+?? ???', allow: '+++ ???', ask: '??? ???', deny: '--- ---' },
  accept_edits: { none: '++? ???', allow: '+++ ???', ask: '??? ???', deny: '--- ---' },
  explore: { none: '+-- ?--', allow: '+-- ?--', ask: '??? ???', deny: '--- ---' },
  bypass: { none: '+++ ???', allow: '+++ ???', ask: '??? ???', deny: '--- ---' },
  dont_ask: { none: '+-- ---', allow: '+++ ---', ask: '--- ---', deny: '--- ---' },
};
const LETTERS = { allow: '+', ask: '?', deny: '-' } as const;

test('every cell of the decision is as it should be', () => {
  let cells = 0;
  for (const mode of PERMISSION_MODES) {
    for (const rule of RULES) {
      const letters = [false, true].map((isDangerous) =>
        KINDS.map((kind) => {
          cells++;
          return LETTERS[lookUp(mode, { rule, kind, isDangerous }).behavior];
        }).join(''),
      );
      expect(`${mode} ${rule} ${letters.join(' ')}`).toBe(`${mode} ${rule} ${EXPECTED[mode][rule]}`);
    }
  }
  expect(cells).toBe(5 * 4 * 3 * 2);
});

test('an unknown mode denies', () => {
  const facts = { rule: 'allow', kind: 'read', isDangerous: false } as const;
  expect(lookUp('yolo' as PermissionMode, facts).behavior).toBe('deny');
});

test('dangerous or denied tool calls are never allowed, in any mode', () => {
  for (const mode of PERMISSION_MODES) {
    for (const kind of KINDS) {
      for (const rule of RULES)
        expect(lookUp(mode, { rule, kind, isDangerous: true }).behavior).not.toBe('allow');
      expect(lookUp(mode, { rule: 'deny', kind, isDangerous: false }).behavior).toBe('deny');
      expect(lookUp('dont_ask', { rule: 'ask', kind, isDangerous: false }).behavior).toBe('deny');
    }
  }
});

test('the order of strictness', () => {
  expect(isStricter('deny', 'ask') && isStricter('ask', 'allow') && !isStricter('ask', 'ask')).toBe(true);
});

test('the docs show the table as it is', () => {
  const docs = readFileSync(
    join(import.meta.dirname, '../../../../docs/reference/permission-rules.md'),
    'utf8',
  );
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const table = [
    `| ${row(PERMISSION_MODES.map((mode) => `\`${mode}\``))}`,
    row(['---', ...PERMISSION_MODES.map(() => '---')]),
    ...PERMISSION_TABLE.map(({ name, says }) => row([name, ...says])),
  ];
  expect(docs).toContain(table.join('\n'));
});
