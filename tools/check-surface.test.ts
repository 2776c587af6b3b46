import { expect, test } from 'vitest';
import { readEntry } from './check-surface.ts';

test('names are read from named re-exports', () => {
  const source = `// export { no } from './no.ts';
export { b, a as c, type D } from './x.ts';
export type { A, E as F } from './y.ts';
export {
  z, // last
} from './z.ts';
`;
  expect(readEntry(source)).toEqual({
    names: [
      { name: 'A', kind: 'type' },
      { name: 'D', kind: 'type' },
      { name: 'F', kind: 'type' },
      { name: 'b', kind: 'value' },
      { name: 'c', kind: 'value' },
      { name: 'z', kind: 'value' },
    ],
    problems: [],
  });
});

test.each([
  `export * from './x.ts';`,
  `export * as x from './x.ts';`,
  `export const x = 1;`,
  `import { x } from './x.ts';\nexport { x };`,
  `export default 1;`,
])('%s is no entry', (source) => {
  expect(readEntry(source).problems).toEqual([
    `${source.split('\n').length}: an entry has only named re-exports, export { … } from '…'`,
  ]);
});

test('a name is exported once', () => {
  expect(readEntry(`export { a } from './a.ts';\nexport type { a } from './b.ts';`).problems).toEqual([
    '2: a is exported twice',
  ]);
});
