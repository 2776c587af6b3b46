import { expect, test } from 'vitest';
import { brokenLinks, examplesIn } from './check-package.ts';

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

test('examples are read from the table of their README, with the packages that they need', () => {
  const readme = [
    '| example | shows | needs |',
    '|---|---|---|',
    '| [weather](weather/main.ts) | two tools | |',
    '| [skills](skills/main.ts) | a skill | `yaml`, `zod` |',
    '| [elsewhere](https://example.com) | nothing | |',
  ].join('\n');
  expect(examplesIn(readme)).toEqual([
    { name: 'weather', packages: [] },
    { name: 'skills', packages: ['yaml', 'zod'] },
  ]);
});
