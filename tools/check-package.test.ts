import { expect, test } from 'vitest';
import { brokenLinks } from './check-package.ts';

test('a link to a file or folder of the package is fine, and one that leads out of it is reported', () => {
  const files = new Map([
    [
      'README.md',
      'See [the guide](docs/README.md), [all](docs/), [docs](https://example.com), [below](#below).',
    ],
    [
      'docs/README.md',
      'Back: [readme](../README.md#top).\n\nSee [source](../src/index.ts) and [gone](gone.md).',
    ],
    ['dist/index.js', 'const text = "[x](nowhere.md)";'],
  ]);
  expect(brokenLinks(files)).toEqual([
    'docs/README.md:3: ../src/index.ts is not in the package',
    'docs/README.md:3: gone.md is not in the package',
  ]);
});
