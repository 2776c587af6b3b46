import { expect, test } from 'vitest';
import { exportedNames, namesInTwoEntries, pluralPairs, repeatedNames } from './check-names.ts';

test('names are read from declarations, and not from comments and texts', () => {
  const source = `// export const no = 1;
export const A = "export const alsoNo = 1";
/** export class neither {} */
export abstract class B {}
export async function c(): Promise<void>;
export async function c(x?: number): Promise<void> {}
export function* d() {}
export interface E {}
export type F = 1;
const inner = 1;
export { inner };
`;
  expect(exportedNames(source)).toEqual(['A', 'B', 'c', 'd', 'E', 'F']);
});

test('an identifier is exported by one file, or allowed with a reason', () => {
  const files = {
    'a.ts': 'export class Budget {}\nexport const one = 1;',
    'b.ts': 'export interface Budget {}',
    'c.ts': 'export const two = 2;',
  };
  expect(repeatedNames(files)).toEqual([
    'Budget is exported by a.ts and b.ts: give each its own name, or share it',
  ]);
  expect(repeatedNames(files, { Budget: 'a reason' })).toEqual([]);
  expect(repeatedNames(files, { Budget: 'a reason', one: 'a reason' })).toEqual([
    'one is exported once: remove it from the allow list of tools/check-names.ts',
  ]);
});

test('variants for Node and for browsers are one', () => {
  const source = 'export function read() {}';
  expect(repeatedNames({ 'x.node.ts': source, 'y.browser.ts': source })).toEqual([]);
  expect(repeatedNames({ 'x.node.ts': source, 'y.node.ts': source })).toHaveLength(1);
  expect(repeatedNames({ 'x.node.ts': source, 'y.browser.ts': source, 'z.ts': source })).toHaveLength(1);
});

test('names of an entry differ by more than a plural', () => {
  const names = ['Hint', 'Hints', 'Policy', 'Policies', 'Match', 'Matches', 'Usage', 'class', 'Bus'];
  expect(pluralPairs(names)).toEqual([
    'Hint and Hints differ only by a plural: rename one',
    'Policy and Policies differ only by a plural: rename one',
    'Match and Matches differ only by a plural: rename one',
  ]);
  const allowed = { Hint: 'a reason', Policy: 'a reason', Match: 'a reason', Bus: 'a reason' };
  expect(pluralPairs(names, allowed)).toEqual([
    'Bus has no plural: remove it from the allow list of tools/check-names.ts',
  ]);
});

test('a name is exported by one entry', () => {
  const entries = {
    'index.ts': "export { a, type B } from './a.ts';",
    'entries/kernel.ts': "export type { B, C } from '../a.ts';",
  };
  expect(namesInTwoEntries(entries)).toEqual([
    'B is exported by index.ts and entries/kernel.ts: remove it from one',
  ]);
});
