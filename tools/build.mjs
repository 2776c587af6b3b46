// Builds a package: `node tools/build.mjs <package folder> <output folder> [--no-check]`. The entries of its package.json
// become one file each, with what they share in chunks, because a program starts faster from few files than from
// many. Types are emitted file by file.
// @ts-check

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { decode, encode } from '@jridgewell/sourcemap-codec';
import { build } from 'vite';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCE = 'troupe:source';
const MARK = '// @ts-ignore: an optional package\n';
/** Entries that pages load without the root entry. */
const SMALL_ENTRIES = ['./src/entries/events.ts', './src/client/index.ts'];
const [dir = '', out = '', ...flags] = process.argv.slice(2);

/**
 * The source files behind all exports and imports of a package.json.
 * @param {unknown} conditions
 * @returns {string[]}
 */
function sourcesIn(conditions) {
  if (typeof conditions === 'string') return [conditions];
  return Object.values(/** @type {object} */ (conditions)).flatMap(sourcesIn);
}

/** @type {{ exports: Record<string, unknown>, imports?: Record<string, unknown>, peerDependenciesMeta?: object }} */
const manifest = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
const targets = [...Object.values(manifest.exports), ...Object.values(manifest.imports ?? {})];
const sources = targets.flatMap((target) =>
  sourcesIn(/** @type {Record<string, unknown>} */ (target)[SOURCE] ?? {}),
);

const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', join(dir, 'tsconfig.build.json')];
const emit = [
  '--outDir',
  resolve(out),
  '--emitDeclarationOnly',
  ...(flags.includes('--no-check') ? ['--noCheck'] : []),
];
const types = spawnSync(process.execPath, [...tsc, ...emit], { stdio: 'inherit' });
if (types.status !== 0) process.exit(types.status ?? 1);
dropUnreachableTypes();
markOptionalImports();

/** Removes the declarations that no entry leads to, directly or through other declarations. */
function dropUnreachableTypes() {
  const pending = sources.map((file) =>
    resolve(out, file.replace(/^\.\/src\//, '').replace(/\.ts$/, '.d.ts')),
  );
  const reached = new Set();
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (reached.has(file) || !existsSync(file)) continue;
    reached.add(file);
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/['"](\.\.?\/[^'"]+)\.[jt]s['"]/g))
      pending.push(resolve(dirname(file), `${path}.d.ts`));
  }
  for (const file of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.d.ts') && !reached.has(resolve(out, file))) rmSync(join(out, file));
  }
}

/**
 * Lets the declarations compile, also with `skipLibCheck: false`, where an optional package is not installed: its types are `any` then.
 * The compiler drops such comments from the sources.
 */
function markOptionalImports() {
  const names = Object.keys(manifest.peerDependenciesMeta ?? {}).map((name) =>
    name.replace(/[/.-]/g, '\\$&'),
  );
  if (names.length === 0) return;
  const line = new RegExp(`^(?! *[*/]).*['"](?:${names.join('|')})(?:/[^'"]*)?['"].*$`, 'gm');
  for (const file of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts')) continue;
    const path = join(out, file);
    const text = readFileSync(path, 'utf8');
    const marked = text.replaceAll(MARK, '').replaceAll(line, `${MARK}$&`);
    if (marked !== text) writeFileSync(path, marked);
  }
}

/** Source files behind the root entry, in one chunk: an import of it reads few files. */
const behindRoot = sourcesBehind('./src/index.ts');

/** Source files that entries share with the root entry although pages load them alone, in a chunk of their own. */
const behindSmallEntries = SMALL_ENTRIES.map(sourcesBehind);

/** @param {string} id */
function isBehindSmallEntry(id) {
  return behindRoot.has(id) && behindSmallEntries.some((files) => files.has(id));
}

/**
 * The source files that a file imports by value, directly or through others.
 * @param {string} entry
 */
function sourcesBehind(entry) {
  const pending = [resolve(dir, entry)];
  const reached = new Set(pending.filter((file) => existsSync(file)));
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (!existsSync(file)) continue;
    const text = readFileSync(file, 'utf8');
    for (const [, path = ''] of text.matchAll(
      /^(?:import|export)(?! type\b)[^;]*?['"](\.\.?\/[^'"]+)['"];/gm,
    )) {
      const imported = resolve(dirname(file), path);
      if (!reached.has(imported)) pending.push(imported);
      reached.add(imported);
    }
  }
  return reached;
}

rmSync(join(out, 'chunks'), { recursive: true, force: true }); // their names change with their content
await build({
  root: dir,
  configFile: false,
  logLevel: 'warn',
  build: {
    outDir: resolve(out),
    emptyOutDir: false,
    minify: false,
    sourcemap: true,
    target: 'es2023',
    lib: {
      entry: Object.fromEntries(
        sources.map((file) => [file.replace(/^\.\/src\/|\.ts$/g, ''), resolve(dir, file)]),
      ),
      formats: ['es'],
      fileName: (_format, name) => `${name}.js`,
    },
    rolldownOptions: {
      external: (id) => !/^[./]/.test(id) && !id.startsWith(ROOT), // packages, built-ins, and #platform
      output: {
        chunkFileNames: 'chunks/[name]-[hash].js',
        codeSplitting: {
          groups: [
            { name: 'small', test: (id) => isBehindSmallEntry(id), priority: 2 },
            { name: 'core', test: (id) => behindRoot.has(id), priority: 1 },
          ],
        },
        sourcemapExcludeSources: true, // stack traces need the lines of the sources, not a second copy of their text
        comments: { jsdoc: false }, // editors read them in the declarations
      },
    },
  },
});

shortenSourceMaps();

/** Keeps what stack traces need of the source maps, which is a third of their size: the line of the source, not each column. */
function shortenSourceMaps() {
  for (const file of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.js.map')) continue;
    const path = join(out, file);
    const map = JSON.parse(readFileSync(path, 'utf8'));
    const mappings = encode(
      decode(map.mappings).map((segments) =>
        segments
          .filter(([, source, line], at) => {
            const [, lastSource, lastLine] = segments[at - 1] ?? [];
            return source !== lastSource || line !== lastLine;
          })
          .map(([column, source = 0, line = 0, sourceColumn = 0]) => [column, source, line, sourceColumn]),
      ),
    );
    writeFileSync(path, JSON.stringify({ ...map, names: [], mappings }));
  }
}

// A page of a package, with a Vite configuration of its own, is built beside its entries.
const page = join(dir, 'page', 'vite.config.ts');
if (existsSync(page)) {
  const target = { outDir: resolve(out, 'page'), emptyOutDir: true };
  await build({ root: join(dir, 'page'), configFile: resolve(page), logLevel: 'warn', build: target });
}
