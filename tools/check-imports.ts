// Holds the architecture of packages/troupe/src: imports point downwards only, value imports form no cycle, imports of types
// only one that is known, and every dangerous verb (parsing JSON, reading the clock, fetching, …) has one home. The tables below are the rules.

import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { filesBelow, report, ROOT } from './lib/files.ts';
import { lineAt, readSource } from './lib/source-text.ts';

const SRC = 'packages/troupe/src';

/**
 * The folders (and top-level files, without `.ts`) of each layer, from the bottom up. A subfolder belongs to the layer of
 * its parent, and folders of one layer, subfolders included, must not import each other in a circle.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['util', 'errors'],
  ['message', 'event', 'state', 'hooks', 'config'],
  [
    'model',
    'formatter',
    'memory',
    'session',
    'filesystem',
    'embedding',
    'document',
    'vector',
    'token',
    'tracing',
    'tts',
    'stt',
    'realtime',
  ],
  ['toolkit', 'file-tools', 'plan', 'rag', 'longterm', 'compression', 'permission'],
  ['agent'],
  ['approval'],
  ['react', 'user'],
  ['subagent', 'pipeline', 'voice'],
  ['studio'],
  ['index', 'entries'],
];

/** Folders whose subfolders are leaves: nothing imports those. */
const FOLDERS_OF_LEAVES = ['providers', 'stores'];
/** Files shared by the leaves of one folder: only these leaves may import such a file. */
const SHARED_BY_LEAVES = ['stores/key-file', 'stores/sql'];
/** The leaves by their folder, each with a folder of the highest layer that it may import. Each has an entry of its own. */
const LEAF_CEILINGS: Readonly<Record<string, string>> = {
  providers: 'model',
  stores: 'model',
  skills: 'toolkit',
  mem0: 'toolkit',
  readers: 'model',
  tools: 'toolkit',
  mcp: 'subagent',
  a2a: 'react',
  otel: 'tracing',
  speech: 'tts',
  client: 'event',
};

/** May import anything; no other source may import it. */
const TESTING = 'testing';

/** Files and folders that may import Node's modules. */
const NODE_HOMES = [
  /^util\/(?:[^/]+\/)?[^/]+\.node\.ts$/,
  /^(?:providers|stores|skills|speech|tools|mcp|a2a|readers|testing)\//,
];

interface Ban {
  /** Pattern in code, outside of comments and literals. */
  readonly pattern: RegExp;
  /** Files in which the pattern is allowed. */
  readonly homes: readonly RegExp[];
  readonly advice: string;
}

/** A call of a global function, not of a method of that name, and not the head of a method that is so named. */
const call = (name: string): RegExp => new RegExp(`(?:\\bglobalThis\\.|(?<![\\w$.#]))${name}\\s*\\(`, 'g');

const CLOCK = [/^util\/clock\.ts$/, /^util\/(?:[^/]+\/)?[^/]+\.(node|browser)\.ts$/];
const IDS = [/^util\/ids\.ts$/];
const CLOCK_ADVICE = 'take a Clock (util/clock.ts)';
const IDS_ADVICE = 'make ids by util/ids.ts';
const SIGNAL_ADVICE = 'it leaks or cannot be faked: use what util/ has for it';

const BANS: readonly Ban[] = [
  { pattern: /\bJSON\.parse\s*\(/g, homes: [/^util\/json\.ts$/], advice: 'parse by util/json.ts' },
  { pattern: /\bDate\.now\s*\(/g, homes: CLOCK, advice: CLOCK_ADVICE },
  { pattern: /\bnew\s+Date\s*\(/g, homes: CLOCK, advice: CLOCK_ADVICE },
  { pattern: /\bperformance\.now\s*\(/g, homes: CLOCK, advice: CLOCK_ADVICE },
  { pattern: call('setTimeout'), homes: CLOCK, advice: CLOCK_ADVICE },
  { pattern: call('setInterval'), homes: CLOCK, advice: CLOCK_ADVICE },
  { pattern: call('setImmediate'), homes: CLOCK, advice: CLOCK_ADVICE },
  { pattern: /\bMath\.random\s*\(/g, homes: IDS, advice: IDS_ADVICE },
  { pattern: /\brandomUUID\b/g, homes: IDS, advice: IDS_ADVICE },
  { pattern: /\bgetRandomValues\b/g, homes: IDS, advice: IDS_ADVICE },
  {
    pattern: call('fetch'),
    homes: [/^util\/net\/http\.ts$/],
    advice: 'fetch by util/net/http.ts, and addresses that nobody vouches for by #safe-fetch',
  },
  {
    pattern: /(?:\bglobalThis\.|(?<![\w$.#]))process\./g,
    homes: [/^util\/(?:[^/]+\/)?[^/]+\.node\.ts$/, /^(?:providers|stores|skills|tools|mcp|a2a|readers)\//],
    advice: 'ask #platform',
  },
  {
    pattern: /(?:\bglobalThis\.|(?<![\w$.#]))console\./g,
    homes: [/^util\/platform\/platform\.[^/]+\.ts$/],
    advice: 'print by #platform',
  },
  { pattern: /\bAbortSignal\.timeout\b/g, homes: [/^util\//], advice: SIGNAL_ADVICE },
  { pattern: /\bAbortSignal\.any\b/g, homes: [/^util\//], advice: SIGNAL_ADVICE },
  { pattern: /\bas\s+unknown\s+as\b/g, homes: [], advice: 'find the type that is true' },
  { pattern: /\bas\s+any\b/g, homes: [], advice: 'find the type that is true' },
];

/** Sources by their path below src (without tests), and their allowed dependencies. */
export interface Project {
  readonly sources: ReadonlyMap<string, string>;
  /** Packages that may be imported. */
  readonly dependencies: readonly string[];
  /** Subpath imports such as `#platform`, and their source files. */
  readonly aliases: ReadonlyMap<string, readonly string[]>;
}

interface Import {
  readonly specifier: string;
  readonly isTypeOnly: boolean;
  readonly line: number;
}

const CLAUSE = String.raw`(?:\{[^}]*\}|\*(?:\s+as\s+[\w$]+)?|[\w$]+(?:\s*,\s*(?:\{[^}]*\}|\*\s+as\s+[\w$]+))?)`;
const STATIC_IMPORT = new RegExp(
  String.raw`\b(?:import|export)\s+(type\s+)?${CLAUSE}\s*from\s*(['"])([^'"]+)\2`,
  'g',
);
const BARE_IMPORT = /\bimport\s*()(['"])([^'"]+)\2/g;
const DYNAMIC_IMPORT =
  /(\btypeof\s+)?\bimport\s*\(\s*(['"])([^'"]+)\2[^)]*\)(\s*\.\s*(?!then\b|catch\b|finally\b)\w)?/g;

/** All imports and re-exports of a source. `import { type A }` runs the module, so it counts as a value import. */
export function readImports(source: string): Import[] {
  const { withoutComments, bare } = readSource(source);
  const found: Import[] = [];
  for (const pattern of [STATIC_IMPORT, BARE_IMPORT, DYNAMIC_IMPORT]) {
    for (const match of withoutComments.matchAll(pattern)) {
      const [text, typeMark, , specifier = '', memberAccess] = match;
      const keyword = /^\w+/.exec(text)?.[0] ?? '';
      if (!bare.startsWith(keyword, match.index)) continue; // inside a string
      const isTypeOnly = Boolean(typeMark) || memberAccess !== undefined;
      found.push({ specifier, isTypeOnly, line: lineAt(source, match.index) });
    }
  }
  return found.sort((a, b) => a.line - b.line);
}

/** The folder of a file, or its own name at the top. */
function folderOf(file: string): string {
  return file.includes('/') ? posix.dirname(file) : file.replace(/\.ts$/, '');
}

/** The unit of a file that layers are about: its top folder, or the vendor's folder for leaves, or its own name. */
function unitOf(file: string): string {
  const [top = '', second = ''] = file.split('/');
  return (FOLDERS_OF_LEAVES.includes(top) ? `${top}/${second}` : top).replace(/\.ts$/, '');
}

function topOf(unit: string): string {
  return unit.split('/')[0] ?? '';
}

type Place =
  | { kind: 'layer'; level: number }
  | { kind: 'leaf'; ceiling: number }
  | { kind: 'testing' }
  | { kind: 'unknown' };

function placeOf(unit: string): Place {
  if (unit === TESTING) return { kind: 'testing' };
  const highest = LEAF_CEILINGS[topOf(unit)];
  const level = LAYERS.findIndex((layer) => layer.includes(highest ?? unit));
  if (highest !== undefined) return { kind: 'leaf', ceiling: level };
  return level < 0 ? { kind: 'unknown' } : { kind: 'layer', level };
}

/** Reason why one unit may not import another; undefined if allowed. */
function whyNot(from: string, to: string): string | undefined {
  if (from === to) return undefined;
  const importer = placeOf(from);
  const imported = placeOf(to);
  if (importer.kind === 'testing') return undefined;
  if (imported.kind === 'testing') return 'nothing but tests may import testing/';
  if (imported.kind === 'leaf') {
    const isShared = SHARED_BY_LEAVES.includes(to) && topOf(from) === topOf(to);
    return isShared ? undefined : `${to} is a leaf: nothing may import it`;
  }
  if (importer.kind === 'unknown' || imported.kind === 'unknown') return undefined; // reported by itself
  const ceiling = importer.kind === 'leaf' ? importer.ceiling : importer.level;
  if (imported.level <= ceiling) return undefined;
  const where = importer.kind === 'leaf' ? 'a leaf' : `layer ${importer.level}`;
  return `${from} (${where}) may not import ${to} (layer ${imported.level}): imports point downwards`;
}

/** Cycles of a graph, each as a path that ends where it began: at least one if there is any. */
function cyclesOf(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): void => {
    const seenAt = path.indexOf(node);
    if (seenAt >= 0) {
      cycles.push([...path.slice(seenAt), node]);
      return;
    }
    if (done.has(node)) return;
    path.push(node);
    for (const next of graph.get(node) ?? []) visit(next);
    path.pop();
    done.add(node);
  };
  for (const node of graph.keys()) visit(node);
  return cycles;
}

/**
 * Whether a match is the declaration of a method with a banned name, as in `  fetch(url: URL): Promise<…>`.
 */
function isMethodHead(code: string, start: number, end: number): boolean {
  const lineStart = code.lastIndexOf('\n', start) + 1;
  if (
    !/^\s*(?:(?:async|static|override|protected|public|private|abstract)\s+)*$/.test(
      code.slice(lineStart, start),
    )
  ) {
    return false;
  }
  let depth = 1;
  let at = end;
  for (; at < code.length && depth > 0; at++) depth += code[at] === '(' ? 1 : code[at] === ')' ? -1 : 0;
  return /^\s*[:{]/.test(code.slice(at));
}

function bannedIn(file: string, source: string): string[] {
  const { bare } = readSource(source);
  const problems: string[] = [];
  for (const { pattern, homes, advice } of BANS) {
    if (homes.some((home) => home.test(file))) continue;
    for (const match of bare.matchAll(pattern)) {
      if (match[0].endsWith('(') && isMethodHead(bare, match.index, match.index + match[0].length)) continue;
      const verb = match[0].replace(/\s+/g, ' ');
      problems.push(
        `${SRC}/${file}:${lineAt(bare, match.index)}: \`${verb}\` is not allowed here: ${advice}`,
      );
    }
  }
  return problems;
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** File of the one ring of type imports: the public types of hooks and observers name the agent that has them. */
const RING_OF_TYPES = 'agent/agent-base.ts';
/** Folders with fewer files need no first file to read. */
const MIN_FILES_WITH_FIRST = 4;
/** A folder with more files has more than one subject. */
const MAX_FILES = 17;

/** Folders with too many files, or without exactly one file that says "start here". */
function folderProblems(sources: Project['sources']): string[] {
  const byFolder = Map.groupBy(sources, ([file]) => posix.dirname(file));
  return [...byFolder].flatMap(([folder, files]) => {
    const firsts = files.filter(([, text]) => text.includes(`Folder \`${folder}\`: start here`));
    const isMarked = firsts.length === 1 || folder === '.' || files.length < MIN_FILES_WITH_FIRST;
    return [
      ...(files.length > MAX_FILES
        ? [`${SRC}/${folder} has ${files.length} source files, more than ${MAX_FILES}: split it along a seam`]
        : []),
      ...(isMarked
        ? []
        : [`${SRC}/${folder}: ${firsts.length} files say "Folder \`${folder}\`: start here", not one`]),
    ];
  });
}

/** All violations of the rules, one line each. */
export function checkProject({ sources, dependencies, aliases }: Project): string[] {
  const problems: string[] = [];
  const files = new Map<string, Set<string>>();
  const withTypes = new Map<string, Set<string>>();
  const folders = new Map<string, Set<string>>();
  const link = (graph: Map<string, Set<string>>, from: string, to: string): void => {
    graph.set(from, (graph.get(from) ?? new Set()).add(to));
  };

  for (const [file, source] of sources) {
    const unit = unitOf(file);
    if (placeOf(unit).kind === 'unknown') {
      problems.push(`${SRC}/${file}:1: ${unit} has no layer: give it one in tools/check-imports.ts`);
    }
    for (const { specifier, isTypeOnly, line } of readImports(source)) {
      const here = `${SRC}/${file}:${line}`;
      let targets: readonly string[];
      if (specifier.startsWith('.')) {
        targets = [posix.join(posix.dirname(file), specifier)];
      } else if (specifier.startsWith('#')) {
        targets = aliases.get(specifier) ?? [];
        if (targets.length === 0)
          problems.push(`${here}: ${specifier} is not among the imports of package.json`);
      } else {
        targets = [];
        if (specifier.startsWith('node:') || builtinModules.includes(packageOf(specifier))) {
          if (!NODE_HOMES.some((home) => home.test(file))) {
            problems.push(
              `${here}: ${specifier} is Node's: only util/*.node.ts, leaves and testing may use it`,
            );
          }
        } else if (!dependencies.includes(packageOf(specifier))) {
          problems.push(`${here}: ${specifier} is not a dependency of this package`);
        }
      }
      for (const target of targets) {
        if (!sources.has(target)) {
          problems.push(
            `${here}: ${specifier} is not a source file (write the extension .ts; tests do not count)`,
          );
          continue;
        }
        const reason = whyNot(unit, unitOf(target));
        if (reason !== undefined) problems.push(`${here}: ${reason}`);
        if (target !== RING_OF_TYPES) link(withTypes, file, target);
        if (isTypeOnly) continue;
        link(files, file, target);
        const [from, to] = [folderOf(file), folderOf(target)];
        if (from !== to && unit !== TESTING) link(folders, from, to);
      }
    }
    problems.push(...bannedIn(file, source));
  }
  for (const cycle of cyclesOf(files))
    problems.push(`files import each other in a circle: ${cycle.join(' -> ')}`);
  if (cyclesOf(files).length === 0)
    for (const cycle of cyclesOf(withTypes))
      problems.push(`files import types of each other in a circle: ${cycle.join(' -> ')}`);
  for (const cycle of cyclesOf(folders))
    problems.push(`folders import each other in a circle: ${cycle.join(' -> ')}`);
  problems.push(...folderProblems(sources));
  return problems;
}

/** Strings at the end of every branch of a conditional export or import with the source condition. */
function sourceTargets(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  const byCondition = value as Record<string, unknown>;
  const chosen = 'troupe:source' in byCondition ? [byCondition['troupe:source']] : Object.values(byCondition);
  return chosen.flatMap(sourceTargets);
}

function readProject(): Project {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'packages/troupe/package.json'), 'utf8')) as {
    dependencies?: Record<string, string>;
    peerDependencies?: Record<string, string>;
    imports?: Record<string, unknown>;
  };
  const files = filesBelow(SRC, '.ts').filter((file) => !/\.test(-d)?\.ts$/.test(file));
  return {
    sources: new Map(files.map((file) => [file, readFileSync(join(ROOT, SRC, file), 'utf8')])),
    dependencies: Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
    aliases: new Map(
      Object.entries(manifest.imports ?? {}).map(([name, value]) => [
        name,
        sourceTargets(value).map((target) => target.replace('./src/', '')),
      ]),
    ),
  };
}

/** A package of this repository that uses the library. */
export interface Dependent {
  /** Folder of its sources. */
  readonly src: string;
  /** Sources by their path below `src`, without tests. */
  readonly sources: ReadonlyMap<string, string>;
  readonly dependencies: readonly string[];
  /** Public entries of the library, such as `troupe/events`. */
  readonly entries: readonly string[];
}

/** Violations of a dependent package: it imports its own files, its dependencies, and the library only by public entries. */
export function checkDependent({ src, sources, dependencies, entries }: Dependent): string[] {
  const problems: string[] = [];
  const files = new Map<string, Set<string>>();
  for (const [file, source] of sources) {
    for (const { specifier, isTypeOnly, line } of readImports(source)) {
      const here = `${src}/${file}:${line}`;
      if (specifier.startsWith('.')) {
        const target = posix.join(posix.dirname(file), specifier);
        if (!sources.has(target)) problems.push(`${here}: ${specifier} is not a source file of this package`);
        else if (!isTypeOnly) files.set(file, (files.get(file) ?? new Set()).add(target));
      } else if (packageOf(specifier) === 'troupe') {
        if (!entries.includes(specifier)) problems.push(`${here}: ${specifier} is not a public entry`);
      } else if (!specifier.startsWith('node:') && !dependencies.includes(packageOf(specifier))) {
        problems.push(`${here}: ${specifier} is not a dependency of this package`);
      }
    }
  }
  for (const cycle of cyclesOf(files))
    problems.push(`files import each other in a circle: ${cycle.join(' -> ')}`);
  return problems;
}

function readDependent(folder: string): Dependent {
  type Field = 'dependencies' | 'optionalDependencies' | 'peerDependencies' | 'exports';
  const manifest = (dir: string): Record<Field, object> =>
    JSON.parse(readFileSync(join(ROOT, dir, 'package.json'), 'utf8')) as never;
  const { dependencies, optionalDependencies, peerDependencies } = manifest(folder);
  const src = `${folder}/src`;
  const files = filesBelow(src, '.ts').filter((file) => !/\.test(-d)?\.ts$/.test(file));
  return {
    src,
    sources: new Map(files.map((file) => [file, readFileSync(join(ROOT, src, file), 'utf8')])),
    dependencies: Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }),
    entries: Object.keys(manifest('packages/troupe').exports).map((entry) => posix.join('troupe', entry)),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const project = readProject();
  const dependents = ['packages/studio', 'packages/service'].map(readDependent);
  const problems = [...checkProject(project), ...dependents.flatMap(checkDependent)];
  const count = dependents.reduce((sum, { sources }) => sum + sources.size, project.sources.size);
  report(problems, `${count} files in order`);
}
