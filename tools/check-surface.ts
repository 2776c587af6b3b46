// Holds the public surface of each package: api-surface.txt lists every exported name of every entry point, so that a
// change of it is seen in review. `npm run check -- surface --write` updates the files.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { filesBelow, report, ROOT } from './lib/files.ts';
import { lineAt, readSource } from './lib/source-text.ts';

export interface ExportedName {
  readonly name: string;
  readonly kind: 'value' | 'type';
}

const RE_EXPORT = /\bexport\s+(type\s+)?\{([^}]*)\}\s*from\s*['"][^'"]+['"]/g;

/**
 * Names that an entry file exports. Entries list them one by one, `export { A, type B } from './x.ts'`;
 * anything else is a problem.
 */
export function readEntry(source: string): { names: ExportedName[]; problems: string[] } {
  const { withoutComments, bare } = readSource(source);
  const names = new Map<string, ExportedName>();
  const problems: string[] = [];
  const listed = new Set<number>();
  for (const match of withoutComments.matchAll(RE_EXPORT)) {
    const [, typeMark, list = ''] = match;
    listed.add(match.index);
    for (const item of list.split(',').map((text) => text.trim())) {
      if (item === '') continue;
      const [, inlineType, name = item] = /^(type\s+)?(?:[\w$]+\s+as\s+)?([\w$]+)$/.exec(item) ?? [];
      if (names.has(name)) problems.push(`${lineAt(source, match.index)}: ${name} is exported twice`);
      names.set(name, { name, kind: typeMark || inlineType ? 'type' : 'value' });
    }
  }
  for (const match of bare.matchAll(/\bexport\b/g)) {
    if (listed.has(match.index)) continue;
    const line = lineAt(source, match.index);
    problems.push(`${line}: an entry has only named re-exports, export { … } from '…'`);
  }
  const order = (name: ExportedName): string => `${name.name}\0${name.kind}`;
  return { names: [...names.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1)), problems };
}

/** Checks (or writes) the surface of one package. */
async function checkPackage(folder: string, write: boolean): Promise<string[]> {
  const manifest = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as {
    name: string;
    exports?: Record<string, unknown>;
  };
  const problems: string[] = [];
  const sections: string[] = [];
  for (const [subpath, target] of Object.entries(manifest.exports ?? {})) {
    if (typeof target !== 'object' || target === null) continue; // a file, such as ./package.json
    const { 'troupe:source': source, default: built } = target as {
      'troupe:source'?: string;
      default?: string;
    };
    if (source === undefined || built === undefined || subpath.includes('*')) {
      problems.push(
        `${folder}/package.json: ${subpath} needs the conditions troupe:source and default, and no *`,
      );
      continue;
    }
    const file = join(folder, source);
    if (!existsSync(join(ROOT, file))) {
      problems.push(`${file}: missing, but ${subpath} exports it`);
      continue;
    }
    const entry = readEntry(readFileSync(join(ROOT, file), 'utf8'));
    problems.push(...entry.problems.map((problem) => `${file}:${problem}`));
    sections.push(
      `${posix.join(manifest.name, subpath)}\n${entry.names.map(({ name, kind }) => `  ${kind.padEnd(5)} ${name}\n`).join('')}`,
    );
    problems.push(...(await compareWithBuilt(entry.names, join(folder, built))));
  }

  const listFile = `${folder}/api-surface.txt`;
  const wanted = sections.join('\n');
  const present = existsSync(join(ROOT, listFile)) ? readFileSync(join(ROOT, listFile), 'utf8') : '';
  if (wanted !== present && write) writeFileSync(join(ROOT, listFile), wanted);
  else if (wanted !== present) {
    problems.push(...difference(present, wanted).map((line) => `${listFile}: ${line}`));
    problems.push(`${listFile} is out of date. If the change is meant: npm run check -- surface --write`);
  }
  return problems;
}

/** Compares the listed values with the exports of the built entry at run time. */
async function compareWithBuilt(names: readonly ExportedName[], built: string): Promise<string[]> {
  const file = join(ROOT, built);
  if (!existsSync(file)) return [`${built}: missing: npm run build`];
  const atRunTime = Object.keys((await import(pathToFileURL(file).href)) as object);
  const listed = names.filter(({ kind }) => kind === 'value').map(({ name }) => name);
  return [
    ...listed
      .filter((name) => !atRunTime.includes(name))
      .map((name) => `${built}: ${name} does not exist at run time`),
    ...atRunTime
      .filter((name) => !listed.includes(name))
      .map((name) => `${built}: ${name} exists, but is not listed`),
  ];
}

/** Differing lines, with their entry. */
function difference(before: string, after: string): string[] {
  const linesOf = (text: string): string[] => {
    let entry = '';
    return text.split('\n').flatMap((line) => {
      if (line.startsWith('  ')) return [`${entry}: ${line.trim()}`];
      entry = line;
      return line === '' ? [] : [line];
    });
  };
  const [old, now] = [linesOf(before), linesOf(after)];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const write = process.argv.includes('--write');
  const folders = filesBelow('packages', 'package.json')
    .filter((file) => file.split('/').length === 2)
    .map((file) => `packages/${dirname(file)}`);
  const problems: string[] = [];
  for (const folder of folders) problems.push(...(await checkPackage(folder, write)));
  report(problems, `${folders.length} package(s) as listed`);
}
