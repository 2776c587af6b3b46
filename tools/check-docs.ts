// Holds the documents: every ```ts and ```js fence is a whole program, which compiles against the built package as
// a user's would, and runs offline to a good end; every relative link leads to a file.
//   ```ts          compiled and run
//   ```ts no-run   compiled only (it needs a key, a server, a terminal)

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { filesBelow, report, ROOT } from './lib/files.ts';

/** The generated programs. A program's lines have the numbers that they have in the document. */
const WORK = '.cache/docs';
const RUN_LIMIT_MS = 20_000;
const EXTENSIONS: Readonly<Record<string, string | undefined>> = {
  ts: 'ts',
  typescript: 'ts',
  js: 'js',
  javascript: 'js',
  mjs: 'js',
};

export interface Fence {
  /** The line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly flags: readonly string[];
  readonly code: string;
}

export interface Link {
  readonly line: number;
  readonly target: string;
}

/** The code fences and the links of a Markdown text; what is inside fences and code spans is no link. */
export function readMarkdown(text: string): { fences: Fence[]; links: Link[] } {
  const fences: Fence[] = [];
  const links: Link[] = [];
  let open: { line: number; indent: string; mark: string; info: string[]; code: string[] } | undefined;
  for (const [index, content] of text.split(/\r?\n/).entries()) {
    const line = index + 1;
    if (open !== undefined) {
      const mark = /^\s*(`{3,}|~{3,})\s*$/.exec(content)?.[1];
      if (mark?.startsWith(open.mark) === true) {
        const [language = '', ...flags] = open.info;
        fences.push({ line: open.line, language, flags, code: open.code.join('\n') });
        open = undefined;
      } else {
        open.code.push(
          content.startsWith(open.indent) ? content.slice(open.indent.length) : content.trimStart(),
        );
      }
      continue;
    }
    const opening = /^(\s*)(`{3,}|~{3,})([^`]*)$/.exec(content);
    if (opening) {
      const [, indent = '', mark = '', info = ''] = opening;
      open = { line, indent, mark, info: info.trim().split(/\s+/), code: [] };
      continue;
    }
    const prose = content.replace(/(`+)(?:(?!\1).)+\1/g, '');
    const inline = prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g);
    const defined = prose.matchAll(/^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?/g);
    for (const [, target = ''] of [...inline, ...defined]) links.push({ line, target });
  }
  if (open !== undefined) fences.push({ line: open.line, language: 'unclosed', flags: [], code: '' });
  return { fences, links };
}

/** A fence that is a program. */
interface Program {
  readonly document: string;
  readonly line: number;
  readonly file: string;
  readonly code: string;
  readonly runs: boolean;
}

function documents(): string[] {
  const packages = filesBelow('packages', 'README.md')
    .filter((file) => file.split('/').length === 2)
    .map((file) => `packages/${file}`);
  const docs = filesBelow('docs', '.md').map((file) => `docs/${file}`);
  return ['README.md', 'CONTRIBUTING.md', ...packages, ...docs].filter((file) =>
    existsSync(join(ROOT, file)),
  );
}

/** Reads one document. Returns its programs, and adds to `problems`. */
function readDocument(document: string, problems: string[]): Program[] {
  const { fences, links } = readMarkdown(readFileSync(join(ROOT, document), 'utf8'));
  for (const { line, target } of links) {
    const [path = ''] = target.split(/[#?]/);
    if (path === '' || /^[a-z][a-z0-9+.-]*:/i.test(target)) continue;
    const file = path.startsWith('/') ? path : join(dirname(document), decodeURIComponent(path));
    if (!existsSync(join(ROOT, file)))
      problems.push(`${document}:${line}: the link leads nowhere: ${target}`);
  }
  const programs: Program[] = [];
  for (const { line, language, flags, code } of fences) {
    const extension = EXTENSIONS[language];
    if (language === 'unclosed') problems.push(`${document}:${line}: the fence is never closed`);
    if (extension === undefined) continue;
    const unknown = flags.filter((flag) => flag !== 'no-run');
    if (unknown.length > 0)
      problems.push(`${document}:${line}: a fence knows no-run only, not ${unknown.join(' ')}`);
    const file = `${WORK}/${document}.L${line}.${extension}`;
    programs.push({ document, line, file, code, runs: !flags.includes('no-run') });
  }
  return programs;
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
    .replaceAll(new RegExp(`${WORK.replace('.', '\\.')}/(\\S+?\\.md)\\.L\\d+\\.[tj]s`, 'g'), '$1')
    .replaceAll(/^(\S+\.md)\((\d+),(\d+)\)/gm, '$1:$2:$3');
}

function compile(): string[] {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const result = spawnSync(process.execPath, [tsc, '-p', WORK, '--pretty', 'false'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return result.status === 0 ? [] : [inDocuments(result.stdout + result.stderr).trim()];
}

/** Runs a program in an empty folder, offline and without keys. Returns what went wrong. */
async function run({ file, document, line }: Program): Promise<string | undefined> {
  const cwd = join(ROOT, `${file}.run`);
  mkdirSync(cwd);
  const guard = pathToFileURL(join(ROOT, 'tools/lib/no-network.mjs')).href;
  const args = [
    ...process.execArgv,
    '--disable-warning=ExperimentalWarning',
    `--import=${guard}`,
    join(ROOT, file),
  ];
  const withoutKeys = Object.entries(process.env).filter(([name]) => !/_(API_KEY|TOKEN)$/.test(name));
  const env = { ...Object.fromEntries(withoutKeys), HOME: cwd, NO_COLOR: '1' };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
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
  if (code === 0) return undefined;
  const end = isLate ? `did not end in ${RUN_LIMIT_MS / 1000} s` : `ended with code ${code}`;
  return `${document}:${line}: the program ${end}\n${inDocuments(output).trim()}`;
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
  const programs = all.flatMap((document) => readDocument(document, problems));
  if (programs.length > 0) {
    writePrograms(programs);
    problems.push(...compile(), ...(await runAll(programs)));
  }
  report(problems, `${programs.length} programs in ${all.length} documents`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
