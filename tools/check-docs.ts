// Checks the documents. Every ```ts and ```js fence in a document, and below every `@example` of a doc comment, is a
// whole program: it compiles against the built package as a user's would, and runs offline to a good end. Every
// relative link leads to a file, and to a heading of it. `docs/errors.md` has every error code, the page about entry points
// every entry, each export that many programs use an `@example`, the glossary of
// CONTRIBUTING.md is that of `docs/concepts.md`, every file and name in CONTRIBUTING.md exists, every file and test title in
// `docs/agentscope.md` exists, the indexes list every page, and table cells hold phrases.
//   ```ts          compiled and run
//   ```ts no-run   compiled only (needs a key, a server, a terminal)
//   ```text printed   what the program before it prints (`lib/printed-output.ts`)
// `npm run check -- docs --only=sessions` takes the programs of documents whose path contains `sessions`.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { exportedNames } from './check-names.ts';
import { filesBelow, report, ROOT } from './lib/files.ts';
import { readExamples, readMarkdown, type Fence, type Markdown } from './lib/markdown.ts';
import { printedOutputs, type PrintedOutput } from './lib/printed-output.ts';
import { entryPointProblems, missingExamples, refusalProblems } from './lib/page-checks.ts';
import { readSource } from './lib/source-text.ts';
import { statementProblems } from './lib/statement-tables.ts';

/** The generated programs. A program's lines have the numbers that they have in the document. */
const WORK = '.cache/docs';
const RUN_LIMIT_MS = 120_000; // a busy machine is no failure
const EXTENSIONS: Readonly<Record<string, string | undefined>> = {
  ts: 'ts',
  typescript: 'ts',
  js: 'js',
  javascript: 'js',
  mjs: 'js',
};

/** A fence that is a program. */
interface Program {
  readonly document: string;
  readonly line: number;
  readonly file: string;
  readonly code: string;
  readonly runs: boolean;
  /** Output of the program as the document shows it. */
  readonly printed?: PrintedOutput | undefined;
}

const SOURCES = 'packages/troupe/src';

function documents(): string[] {
  const packages = filesBelow('packages', 'README.md')
    .filter((file) => file.split('/').length === 2)
    .map((file) => `packages/${file}`);
  const docs = filesBelow('docs', '.md').map((file) => `docs/${file}`);
  return ['README.md', 'CONTRIBUTING.md', 'llms.txt', ...packages, ...docs].filter((file) =>
    existsSync(join(ROOT, file)),
  );
}

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const known = new Map<string, Markdown>();

function markdownOf(document: string): Markdown {
  const markdown = known.get(document) ?? readMarkdown(read(document));
  known.set(document, markdown);
  return markdown;
}

/** Files of the root folder that are packed with each package: a package's README links to its own copies. */
const PACKED = /^(?:docs\/|examples\/|CHANGELOG\.md$|llms\.txt$)/;

/** Returns what is wrong with a link, if anything. */
function linkProblem(document: string, target: string): string | undefined {
  const [path = '', anchor = ''] = target.split('#');
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return undefined;
  const isPacked = document.startsWith('packages/') && PACKED.test(path);
  const from = isPacked ? '' : dirname(document);
  const file = path === '' ? document : join(from, decodeURIComponent(path));
  if (!existsSync(join(ROOT, file))) return `the link leads nowhere: ${target}`;
  if (anchor === '' || !file.endsWith('.md') || markdownOf(file).anchors.has(anchor)) return undefined;
  return `the link leads to no heading of ${file}: ${target}`;
}

/** Reads one document. Returns its programs, and adds to `problems`. */
function readDocument(document: string, problems: string[]): Program[] {
  const { fences, links } = markdownOf(document);
  for (const { line, target } of links) {
    const problem = linkProblem(document, target);
    if (problem !== undefined) problems.push(`${document}:${line}: ${problem}`);
  }
  for (const { line, words } of longCells(read(document)))
    problems.push(`${document}:${line}: a table cell has ${words} words; write a phrase, and the rest below`);
  return programsOf(document, fences, problems);
}

function programsOf(document: string, fences: readonly Fence[], problems: string[]): Program[] {
  const programs: Program[] = [];
  const { outputs, problems: wrong } = printedOutputs(fences);
  problems.push(...wrong.map((problem) => `${document}:${problem}`));
  for (const { line, language, flags, code } of fences) {
    const extension = EXTENSIONS[language];
    if (language === 'unclosed') problems.push(`${document}:${line}: the fence is never closed`);
    if (extension === undefined) continue;
    const unknown = flags.filter((flag) => flag !== 'no-run');
    if (unknown.length > 0)
      problems.push(`${document}:${line}: a fence knows no-run only, not ${unknown.join(' ')}`);
    const file = `${WORK}/${document}.L${line}.${extension}`;
    const printed = outputs.find(({ program }) => program === line);
    programs.push({ document, line, file, code, runs: !flags.includes('no-run'), printed });
  }
  return programs;
}

/** Smallest number of doc comments with an `@example`: about the most used exports. */
const MIN_EXAMPLES = 30;

/** The programs of all `@example` tags in the library's sources. */
function examplePrograms(problems: string[]): Program[] {
  return filesBelow(SOURCES, '.ts')
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => {
      const document = `${SOURCES}/${file}`;
      return programsOf(document, readExamples(read(document)), problems);
    });
}

/** Number of programs in the docs that import a class or function, from which on its doc comment has an `@example`. */
const PROGRAMS_FOR_EXAMPLE = 5;

/** Compares pages with the package manifests and the sources. */
function pageProblems(programs: readonly Program[]): string[] {
  const sources = ['troupe', 'service', 'studio'].flatMap((name) =>
    filesBelow(`packages/${name}/src`, '.ts').map((file) => read(`packages/${name}/src/${file}`)),
  );
  const codes = programs.map(({ code }) => code);
  return [
    ...refusalProblems(read('packages/service/src/service-failure.ts'), read('docs/errors.md')),
    ...entryPointProblems(
      JSON.parse(read('packages/troupe/package.json')) as Parameters<typeof entryPointProblems>[0],
      ['@troupe/service', '@troupe/service/dbos', '@troupe/studio'],
      read('docs/reference/entry-points.md'),
    ),
    ...missingExamples(codes, sources, PROGRAMS_FOR_EXAMPLE).map(
      (name) => `${name}: many programs of the docs use it, and its doc comment has no @example`,
    ),
  ];
}

/** Compares the codes of the `ErrorCode` type with the headings of the page about errors. */
export function errorPageProblems(source: string, page: string): string[] {
  const type = /export type ErrorCode =([^;]*);/.exec(source)?.[1] ?? '';
  const codes = new Set([...type.matchAll(/'([a-z0-9_]+)'/g)].map(([, code = '']) => code));
  const described = [...page.matchAll(/^### `([^`]*)`/gm)].map(([, code = '']) => code);
  if (codes.size === 0) return ['docs/errors.md: the type ErrorCode is not found in the source'];
  return [
    ...[...codes]
      .filter((code) => !described.includes(code))
      .map((code) => `docs/errors.md: the code ${code} is missing`),
    ...described
      .filter((code, i) => !codes.has(code) || described.indexOf(code) !== i)
      .map((code) => `docs/errors.md: the code ${code} is unknown, or there twice`),
  ];
}

/** Compares the table below a heading in two documents. */
export function glossaryProblems(first: string, second: string): string[] {
  const table = (text: string): string => /\| word \| meaning \|\n(?:\|.*\n)+/.exec(text)?.[0] ?? '';
  if (table(first) === '') return ['CONTRIBUTING.md: the glossary is missing'];
  return table(first) === table(second)
    ? []
    : ['docs/concepts.md: its glossary is not that of CONTRIBUTING.md'];
}

/** Largest number of words in a table cell: a cell holds a phrase. */
const MAX_CELL_WORDS = 24;

/** Returns the lines with table cells that hold a paragraph instead of a phrase. */
export function longCells(text: string): { line: number; words: number }[] {
  const outside = text.replace(/^(```|~~~)[^]*?^\1/gm, (fence) => fence.replace(/[^\n]+/g, ''));
  return outside.split('\n').flatMap((content, index) => {
    if (!content.startsWith('|')) return [];
    const cells = content.replace(/\]\([^)]*\)/g, ']').split(/(?<!\\)\|/);
    const words = Math.max(...cells.map((cell) => cell.trim().split(/\s+/).length));
    return words > MAX_CELL_WORDS ? [{ line: index + 1, words }] : [];
  });
}

/** The repository, as a document refers to it. */
export interface Repository {
  /** Paths of all files. */
  readonly files: readonly string[];
  /** Sources of the library by path. */
  readonly sources: Readonly<Record<string, string>>;
}

const FILE = /[\w./-]+\.(?:ts|mjs)\b/g;
const MEMBER = /\b([A-Z]\w*)\.(#?\w+)/g;

/**
 * Returns the files, folders, classes, members and functions that a document names and the repository does not have. Reads all
 * code spans; in fences, only files and members such as `Msg.from`.
 */
export function unknownNames(text: string, { files, sources }: Repository): string[] {
  const homes = new Map<string, string>();
  const words = new Set<string>();
  for (const source of Object.values(sources)) {
    const { withoutComments } = readSource(source);
    for (const [word] of withoutComments.matchAll(/#?[\w$]+/g)) words.add(word);
    for (const name of exportedNames(source)) homes.set(name, withoutComments);
  }
  const paths = [...files, ...Object.keys(sources)].map((path) => `/${path}`);
  const fileProblem = (file: string): string | undefined =>
    paths.some((path) => path.endsWith(`/${file}`)) ? undefined : `there is no file ${file}`;
  const nameProblem = (name: string): string | undefined =>
    words.has(name) || name in globalThis ? undefined : `there is no ${name}`;
  const memberProblem = (name: string, member: string): string | undefined => {
    const home = homes.get(name);
    if (home === undefined) return name in globalThis ? undefined : `there is no ${name}`;
    const isThere = new RegExp(`(?<![\\w$#])${member}(?![\\w$])`).test(home);
    return isThere ? undefined : `${name} has no ${member}`;
  };
  const spanProblem = (span: string): string | undefined => {
    if (/^[\w./-]+\.(?:ts|mjs)$/.test(span)) return fileProblem(span);
    if (/^[\w.-]+(?:\/[\w.-]+)*\/$/.test(span))
      return paths.some((path) => path.includes(`/${span}`)) ? undefined : `there is no folder ${span}`;
    const [, name = '', member] = /^([A-Z]\w*)\.(#?\w+)(?:\(\))?$/.exec(span) ?? [];
    if (member !== undefined) return memberProblem(name, member);
    if (/^[A-Z]\w*$/.test(span)) return memberProblem(span, span);
    return /^#?[a-z]\w*(?:\(\))?$/.test(span) ? nameProblem(span.replace('()', '')) : undefined;
  };
  const { fences } = readMarkdown(text);
  const prose = text.replace(/^(```|~~~)[^]*?^\1.*$/gm, '');
  const problems = [
    ...[...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => spanProblem(span)),
    ...fences.flatMap(({ code }) => [
      ...[...code.matchAll(FILE)].map(([file]) => fileProblem(file)),
      ...[...code.matchAll(MEMBER)].map(([, name = '', member = '']) => memberProblem(name, member)),
    ]),
  ];
  return [...new Set(problems.filter((problem) => problem !== undefined))];
}

/** Checks the names in CONTRIBUTING.md, and that its map has every folder of the sources. */
function contributingProblems(): string[] {
  const text = read('CONTRIBUTING.md');
  const inSource = filesBelow(SOURCES, '.ts').filter((file) => !file.endsWith('.test.ts'));
  const sources = Object.fromEntries(inSource.map((file) => [file, read(`${SOURCES}/${file}`)]));
  const files = [SOURCES, 'packages/troupe/test', 'tools', 'examples', 'bench', 'docs'].flatMap((dir) =>
    filesBelow(dir, '').map((file) => `${dir}/${file}`),
  );
  const folders = new Set(inSource.filter((file) => file.includes('/')).map((file) => file.split('/')[0]));
  return [
    ...unknownNames(text, { files, sources }),
    ...[...folders]
      .filter((folder) => !text.includes(`${folder}/`))
      .map((folder) => `the map does not have the folder ${folder}/`),
  ].map((problem) => `CONTRIBUTING.md: ${problem}`);
}

/** Returns the pages that an index does not link to. */
export function unlisted(index: string, indexText: string, pages: readonly string[]): string[] {
  const linked = new Set(readMarkdown(indexText).links.map(({ target }) => join(dirname(index), target)));
  return pages.filter((page) => page !== index && !linked.has(page));
}

/** Checks the indexes: `llms.txt` lists all pages, the guide those that are no model's and no decision. */
function indexProblems(): string[] {
  const pages = filesBelow('docs', '.md').map((file) => `docs/${file}`);
  const inGuide = pages.filter((page) => !/^docs\/(?:models|decisions)\//.test(page));
  return Object.entries({ 'llms.txt': pages, 'docs/README.md': inGuide }).flatMap(([index, listed]) =>
    unlisted(index, read(index), listed)
      .filter((page) => page !== 'docs/README.md')
      .map((page) => `${index}: it does not list ${page}`),
  );
}

/** Checks the names of code and tests in `docs/agentscope.md`. */
function agentscopeProblems(): string[] {
  const exists = (file: string): boolean => existsSync(join(ROOT, file));
  return statementProblems(read('docs/agentscope.md'), { base: 'packages/troupe', exists, read }).map(
    (problem) => `docs/agentscope.md:${problem}`,
  );
}

function writePrograms(programs: readonly Program[]): void {
  rmSync(join(ROOT, WORK), { recursive: true, force: true });
  mkdirSync(join(ROOT, WORK), { recursive: true });
  for (const { file, line, code } of programs) {
    mkdirSync(dirname(join(ROOT, file)), { recursive: true });
    writeFileSync(join(ROOT, file), `${'\n'.repeat(line)}${code}\n`);
  }
  const settings = {
    extends: '../../tsconfig.base.json',
    compilerOptions: { noEmit: true, allowJs: true, checkJs: true, customConditions: [] },
    include: ['**/*.ts', '**/*.js'],
  };
  writeFileSync(join(ROOT, WORK, 'tsconfig.json'), JSON.stringify(settings, null, 2));
}

/** Names of generated files, back in terms of the documents. */
function inDocuments(output: string): string {
  return output
    .replaceAll(pathToFileURL(join(ROOT, WORK)).href, WORK)
    .replaceAll(join(ROOT, WORK), WORK)
    .replaceAll(new RegExp(`${WORK.replace('.', '\\.')}/(\\S+?\\.(?:md|ts))\\.L\\d+\\.[tj]s`, 'g'), '$1')
    .replaceAll(/^(\S+\.(?:md|ts))\((\d+),(\d+)\)/gm, '$1:$2:$3');
}

function compile(): string[] {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const result = spawnSync(process.execPath, [tsc, '-p', WORK, '--pretty', 'false'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return result.status === 0 ? [] : [inDocuments(result.stdout + result.stderr).trim()];
}

/** Runs a program in an empty folder, as often as its document says. Returns what went wrong. */
async function run(program: Program): Promise<string | undefined> {
  const { file, document, printed } = program;
  const cwd = join(ROOT, `${file}.run`);
  mkdirSync(cwd);
  let output = '';
  for (const args of printed?.runs ?? [[]]) {
    const { problem, text } = await runOnce(program, cwd, args);
    if (problem !== undefined) return problem;
    output += text;
  }
  if (printed === undefined || output.trim() === printed.text.trim()) return undefined;
  return `${document}:${printed.line}: the program prints something else:\n${output.trim()}`;
}

/** Runs a program offline and without keys. */
async function runOnce(
  { file, document, line }: Program,
  cwd: string,
  given: readonly string[],
): Promise<{ readonly problem?: string; readonly text: string }> {
  const guard = pathToFileURL(join(ROOT, 'tools/lib/no-network.mjs')).href;
  const args = [
    ...process.execArgv,
    '--disable-warning=ExperimentalWarning',
    `--import=${guard}`,
    join(ROOT, file),
    ...given,
  ];
  const withoutKeys = Object.entries(process.env).filter(([name]) => !/_(API_KEY|TOKEN)$/.test(name));
  const env = { ...Object.fromEntries(withoutKeys), HOME: cwd, NO_COLOR: '1' };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let printed = ''; // without the log
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      if (stream === child.stdout) printed += chunk;
    });
  }
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, RUN_LIMIT_MS);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  clearTimeout(timer);
  if (code === 0) return { text: printed };
  const end = isLate ? `did not end in ${RUN_LIMIT_MS / 1000} s` : `ended with code ${code}`;
  const problem = `${document}:${line}: the program ${end}\n${inDocuments(output).trim()}`;
  return { problem, text: printed };
}

async function runAll(programs: readonly Program[]): Promise<string[]> {
  const problems: string[] = [];
  const waiting = programs.filter((program) => program.runs);
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const problem = await run(next);
      if (problem !== undefined) problems.push(problem);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return problems.sort();
}

async function main(): Promise<void> {
  const problems: string[] = [];
  const all = documents();
  problems.push(
    ...errorPageProblems(read(`${SOURCES}/errors.ts`), read('docs/errors.md')),
    ...glossaryProblems(read('CONTRIBUTING.md'), read('docs/concepts.md')),
    ...contributingProblems(),
    ...indexProblems(),
    ...agentscopeProblems(),
  );
  const inDocs = all.flatMap((document) => readDocument(document, problems));
  problems.push(...pageProblems(inDocs));
  const examples = examplePrograms(problems);
  if (examples.length < MIN_EXAMPLES)
    problems.push(`${SOURCES}: ${examples.length} doc comments have an @example, fewer than ${MIN_EXAMPLES}`);
  const only = process.argv.find((arg) => arg.startsWith('--only='))?.slice('--only='.length) ?? '';
  const programs = [...inDocs, ...examples].filter(({ document }) => document.includes(only));
  if (programs.length > 0) {
    writePrograms(programs);
    problems.push(...compile(), ...(await runAll(programs)));
  }
  report(
    problems,
    `${inDocs.length} programs in ${all.length} documents, ${examples.length} examples in doc comments`,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
