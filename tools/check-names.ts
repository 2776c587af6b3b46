// Checks that a name means one thing: no identifier is exported by two source files or entries, no two exported identifiers differ only by a
// plural, and the root entry stays small.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readEntry } from './check-surface.ts';
import { filesBelow, report, ROOT } from './lib/files.ts';
import { readSource } from './lib/source-text.ts';

const SRC = 'packages/troupe/src';
const MAX_ROOT_NAMES = 250;

/** Identifiers that two files may export, each with the reason. */
const SHARED_NAMES: Readonly<Record<string, string>> = {};

/** Identifiers whose plural is exported too, each with the reason. */
const PLURALS: Readonly<Record<string, string>> = {};

const DECLARATION =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:const|let|function\*?|class|interface|type|enum)\s+([\w$]+)/gm;

/** The identifiers that a source file declares and exports. Overloads count once. */
export function exportedNames(source: string): readonly string[] {
  const { bare } = readSource(source);
  return [...new Set([...bare.matchAll(DECLARATION)].map(([, name = '']) => name))];
}

/** Problems for identifiers exported by more than one file. Variants for Node and for browsers count as one file. */
export function repeatedNames(
  files: Readonly<Record<string, string>>,
  allowed: Readonly<Record<string, string>> = {},
): string[] {
  const homes = new Map<string, string[]>();
  for (const [file, source] of Object.entries(files)) {
    for (const name of exportedNames(source)) homes.set(name, [...(homes.get(name) ?? []), file]);
  }
  const repeated = [...homes].filter(([, inFiles]) => inFiles.length > 1 && !areVariants(inFiles));
  return [
    ...repeated
      .filter(([name]) => !Object.hasOwn(allowed, name))
      .map(
        ([name, inFiles]) =>
          `${name} is exported by ${inFiles.join(' and ')}: give each its own name, or share it`,
      ),
    ...Object.keys(allowed)
      .filter((name) => !repeated.some(([other]) => other === name))
      .map((name) => `${name} is exported once: remove it from the allow list of tools/check-names.ts`),
  ];
}

/** Problems for names that differ only by a plural. */
export function pluralPairs(
  names: readonly string[],
  allowed: Readonly<Record<string, string>> = {},
): string[] {
  const all = new Set(names);
  const pairs = names.flatMap((name) =>
    [`${name}s`, `${name}es`, name.replace(/y$/, 'ies')]
      .filter((plural) => plural !== name && all.has(plural))
      .map((plural) => [name, plural] as const),
  );
  return [
    ...pairs
      .filter(([name]) => !Object.hasOwn(allowed, name))
      .map(([name, plural]) => `${name} and ${plural} differ only by a plural: rename one`),
    ...Object.keys(allowed)
      .filter((name) => !pairs.some(([other]) => other === name))
      .map((name) => `${name} has no plural: remove it from the allow list of tools/check-names.ts`),
  ];
}

/** Problems for names that two entries export. */
export function namesInTwoEntries(entries: Readonly<Record<string, string>>): string[] {
  const homes = new Map<string, string>();
  return Object.entries(entries).flatMap(([file, source]) =>
    readEntry(source).names.flatMap(({ name }) => {
      const other = homes.get(name);
      homes.set(name, other ?? file);
      return other === undefined ? [] : [`${name} is exported by ${other} and ${file}: remove it from one`];
    }),
  );
}

/** Whether one file is for browsers and all others are for Node. */
function areVariants(files: readonly string[]): boolean {
  const others = files.filter((file) => !file.endsWith('.browser.ts'));
  return others.length === files.length - 1 && others.every((file) => file.endsWith('.node.ts'));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const sources = filesBelow(SRC, '.ts').filter((file) => !/\.test(?:-d)?\.ts$/.test(file));
  const read = (file: string): string => readFileSync(join(ROOT, SRC, file), 'utf8');
  const isEntry = (file: string): boolean => /(?:^|\/)index\.ts$|^entries\//.test(file);
  const root = readEntry(read('index.ts')).names.map(({ name }) => name);
  const problems = [
    ...repeatedNames(Object.fromEntries(sources.map((file) => [file, read(file)])), SHARED_NAMES),
    ...namesInTwoEntries(Object.fromEntries(sources.filter(isEntry).map((file) => [file, read(file)]))),
    ...pluralPairs([...new Set(sources.flatMap((file) => exportedNames(read(file))))], PLURALS),
    ...(root.length > MAX_ROOT_NAMES
      ? [`The root entry has ${root.length} names, more than ${MAX_ROOT_NAMES}: move some to src/entries`]
      : []),
  ];
  report(problems, `${sources.length} files, ${root.length} names in the root entry`);
}
