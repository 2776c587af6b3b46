// Each rule of check-imports fires on the smallest source that breaks it, and stays silent on its neighbour that does not.

import { describe, expect, test } from 'vitest';
import { checkDependent, checkProject, readImports } from './check-imports.ts';

const SRC = 'packages/troupe/src';

function problemsOf(sources: Record<string, string>): string[] {
  return checkProject({
    sources: new Map(Object.entries(sources)),
    dependencies: ['@scope/known', 'known'],
    aliases: new Map([['#platform', ['util/platform.node.ts', 'util/platform.browser.ts']]]),
  }).map((problem) => problem.replaceAll(`${SRC}/`, ''));
}

/** Two files: one imports the other. */
function problemsOfImport(from: string, to: string, keyword = 'import'): string[] {
  const up = '../'.repeat(from.split('/').length - 1) || './';
  return problemsOf({ [from]: `${keyword} { x } from '${up}${to}';\n`, [to]: '' });
}

describe('folders', () => {
  const folder = (count: number, first: string): Record<string, string> => ({
    'message/first.ts': first,
    ...Object.fromEntries(Array.from({ length: count - 1 }, (_, i) => [`message/${i}.ts`, ''])),
  });

  test('a folder of four files has one file that says to start there', () => {
    expect(problemsOf(folder(4, '/** Folder `message`: start here. */'))).toEqual([]);
    expect(problemsOf(folder(3, ''))).toEqual([]);
    expect(problemsOf(folder(4, ''))).toEqual([
      'message: 0 files say "Folder `message`: start here", not one',
    ]);
  });

  test('a folder has at most 17 files', () => {
    expect(problemsOf(folder(17, '/** Folder `message`: start here. */'))).toEqual([]);
    expect(problemsOf(folder(18, '/** Folder `message`: start here. */'))).toEqual([
      'message has 18 source files, more than 17: split it along a seam',
    ]);
  });
});

describe('layers', () => {
  test.each([
    ['message/msg.ts', 'util/json.ts'],
    ['message/msg.ts', 'errors.ts'],
    ['util/check-number.ts', 'errors.ts'],
    ['subagent/delegation.ts', 'react/react-agent.ts'],
    ['agent/agent.ts', 'toolkit/toolkit.ts'],
    ['index.ts', 'pipeline/hub.ts'],
    ['providers/openai/model.ts', 'model/model.ts'],
    ['providers/openai/model.ts', 'providers/openai/wire.ts'],
    ['stores/redis/session.ts', 'session/session.ts'],
    ['testing/chaos.ts', 'agent/agent.ts'],
    ['testing/chaos.ts', 'providers/openai/model.ts'],
  ])('%s may import %s', (from, to) => {
    expect(problemsOfImport(from, to)).toEqual([]);
  });

  test.each([
    [
      'errors.ts',
      'message/msg.ts',
      'errors (layer 0) may not import message (layer 1): imports point downwards',
    ],
    [
      'react/r.ts',
      'subagent/s.ts',
      'react (layer 6) may not import subagent (layer 7): imports point downwards',
    ],
    [
      'message/msg.ts',
      'model/m.ts',
      'message (layer 1) may not import model (layer 2): imports point downwards',
    ],
    [
      'memory/m.ts',
      'toolkit/t.ts',
      'memory (layer 2) may not import toolkit (layer 3): imports point downwards',
    ],
    [
      'toolkit/t.ts',
      'agent/a.ts',
      'toolkit (layer 3) may not import agent (layer 4): imports point downwards',
    ],
    [
      'agent/a.ts',
      'pipeline/p.ts',
      'agent (layer 4) may not import pipeline (layer 7): imports point downwards',
    ],
    [
      'pipeline/p.ts',
      'index.ts',
      'pipeline (layer 7) may not import index (layer 9): imports point downwards',
    ],
    [
      'providers/a/a.ts',
      'agent/a.ts',
      'providers/a (a leaf) may not import agent (layer 4): imports point downwards',
    ],
    ['providers/a/a.ts', 'providers/b/b.ts', 'providers/b is a leaf: nothing may import it'],
    ['stores/a/a.ts', 'providers/b/b.ts', 'providers/b is a leaf: nothing may import it'],
    ['index.ts', 'providers/b/b.ts', 'providers/b is a leaf: nothing may import it'],
    ['session/s.ts', 'stores/b/b.ts', 'stores/b is a leaf: nothing may import it'],
    ['session/s.ts', 'stores/sql/b.ts', 'stores/sql is a leaf: nothing may import it'],
    ['providers/a/a.ts', 'stores/sql/b.ts', 'stores/sql is a leaf: nothing may import it'],
    ['stores/sql/a.ts', 'stores/b/b.ts', 'stores/b is a leaf: nothing may import it'],
    ['index.ts', 'testing/chaos.ts', 'nothing but tests may import testing/'],
    ['providers/a/a.ts', 'testing/chaos.ts', 'nothing but tests may import testing/'],
  ])('%s may not import %s, not even a type', (from, to, reason) => {
    for (const keyword of ['import', 'import type', 'export', 'export type']) {
      expect(problemsOfImport(from, to, keyword)).toEqual([`${from}:1: ${reason}`]);
    }
  });

  test('stores share stores/sql', () => {
    for (const keyword of ['import', 'import type']) {
      expect(problemsOfImport('stores/a/a.ts', 'stores/sql/b.ts', keyword)).toEqual([]);
    }
  });

  test('a folder without a layer is a problem', () => {
    expect(problemsOf({ 'misc/a.ts': '' })).toEqual([
      'misc/a.ts:1: misc has no layer: give it one in tools/check-imports.ts',
    ]);
  });

  test('an import through an alias counts for every file that it can mean', () => {
    const platforms = { 'util/platform.node.ts': '', 'util/platform.browser.ts': '' };
    expect(problemsOf({ ...platforms, 'agent/a.ts': `import { platform } from '#platform';` })).toEqual([]);
    const circle = problemsOf({
      ...platforms,
      'util/platform.browser.ts': `import './a.ts';`,
      'util/a.ts': `import '#platform';`,
    });
    expect(circle).toEqual([
      'files import each other in a circle: util/platform.browser.ts -> util/a.ts -> util/platform.browser.ts',
    ]);
    expect(problemsOf({ 'util/a.ts': `import '#nothing';` })).toEqual([
      'util/a.ts:1: #nothing is not among the imports of package.json',
    ]);
  });

  test('an import of what is no source file is a problem', () => {
    const problem = 'is not a source file (write the extension .ts; tests do not count)';
    expect(problemsOf({ 'util/a.ts': `import './b.js';`, 'util/b.ts': '' })).toEqual([
      `util/a.ts:1: ./b.js ${problem}`,
    ]);
    expect(problemsOf({ 'util/a.ts': `import '../../x.ts';` })).toEqual([
      `util/a.ts:1: ../../x.ts ${problem}`,
    ]);
  });
});

describe('cycles', () => {
  test('a cycle between files is a problem, of values and of types', () => {
    const circle = (keyword: string): string[] =>
      problemsOf({
        'util/a.ts': `import { b } from './b.ts';`,
        'util/b.ts': `import { c } from './c.ts';`,
        'util/c.ts': `${keyword} { a } from './a.ts';`,
      });
    const expected = [
      'files import each other in a circle: util/a.ts -> util/b.ts -> util/c.ts -> util/a.ts',
    ];
    expect(circle('import')).toEqual(expected);
    expect(circle('export')).toEqual(expected);
    expect(circle('import type')).toEqual([
      'files import types of each other in a circle: util/a.ts -> util/b.ts -> util/c.ts -> util/a.ts',
    ]);
  });

  test('a ring of types may only go through the base of agents', () => {
    const sources = {
      'agent/agent-base.ts': `import type { Hook } from './hooks.ts';`,
      'agent/hooks.ts': `import type { AgentBase } from './agent-base.ts';`,
    };
    expect(problemsOf(sources)).toEqual([]);
  });

  test('folders of one layer may import each other in one direction only', () => {
    const both = (keyword: string): string[] =>
      problemsOf({
        'model/a.ts': `import { x } from '../memory/x.ts';`,
        'memory/x.ts': '',
        'memory/y.ts': `${keyword} { z } from '../model/z.ts';`,
        'model/z.ts': '',
      });
    expect(both('import')).toEqual(['folders import each other in a circle: model -> memory -> model']);
    expect(both('import type')).toEqual([]);
  });

  test('a folder and its subfolder may import each other in one direction only', () => {
    const both = (keyword: string): string[] =>
      problemsOf({
        'toolkit/toolkit.ts': `import { x } from './call/x.ts';`,
        'toolkit/call/x.ts': `${keyword} { y } from '../y.ts';`,
        'toolkit/y.ts': '',
      });
    expect(both('import')).toEqual([
      'folders import each other in a circle: toolkit -> toolkit/call -> toolkit',
    ]);
    expect(both('import type')).toEqual([]);
  });
});

describe('imports from outside', () => {
  test.each(['util/fs.node.ts', 'providers/a/a.ts', 'stores/a/a.ts', 'testing/a.ts'])(
    '%s may use Node',
    (file) => {
      expect(problemsOf({ [file]: `import { join } from 'node:path';` })).toEqual([]);
    },
  );

  test.each(['node:fs', 'fs', 'fs/promises'])('a pure source may not use %s', (specifier) => {
    for (const file of ['util/json.ts', 'agent/a.ts', 'index.ts']) {
      expect(problemsOf({ [file]: `\nimport type { X } from '${specifier}';` })).toEqual([
        `${file}:2: ${specifier} is Node's: only util/*.node.ts, leaves and testing may use it`,
      ]);
    }
  });

  test('packages must be dependencies', () => {
    expect(problemsOf({ 'util/a.ts': `import 'known/sub';\nimport { y } from '@scope/known/sub';` })).toEqual(
      [],
    );
    expect(
      problemsOf({ 'util/a.ts': `import x from 'other';\nimport { y } from '@scope/other/sub';` }),
    ).toEqual([
      'util/a.ts:1: other is not a dependency of this package',
      'util/a.ts:2: @scope/other/sub is not a dependency of this package',
    ]);
  });
});

describe('bans', () => {
  test.each([
    ['JSON.parse(text)', 'JSON.parse(', 'util/json.ts'],
    ['Date.now()', 'Date.now(', 'util/clock.ts'],
    ['new Date()', 'new Date(', 'util/clock.ts'],
    ['performance.now()', 'performance.now(', 'util/clock.ts'],
    ['setTimeout(f, 1)', 'setTimeout(', 'util/timers.node.ts'],
    ['globalThis.setTimeout(f, 1)', 'globalThis.setTimeout(', 'util/timers.browser.ts'],
    ['setInterval(f, 1)', 'setInterval(', 'util/clock.ts'],
    ['setImmediate(f)', 'setImmediate(', 'util/clock.ts'],
    ['Math.random()', 'Math.random(', 'util/ids.ts'],
    ['crypto.randomUUID()', 'randomUUID', 'util/ids.ts'],
    ['crypto.getRandomValues(a)', 'getRandomValues', 'util/ids.ts'],
    ['await fetch(url)', 'fetch(', 'util/net/http.ts'],
    ['process.env', 'process.', 'util/env.node.ts'],
    ['process.env', 'process.', 'providers/openai/model.ts'],
    ['console.log(1)', 'console.', 'util/platform/platform.browser.ts'],
    ['AbortSignal.timeout(1)', 'AbortSignal.timeout', 'util/abort.ts'],
    ['AbortSignal.any([a])', 'AbortSignal.any', 'util/abort.ts'],
    ['a as unknown as string', 'as unknown as', undefined],
    ['a as any', 'as any', undefined],
  ])('%s', (code, verb, home) => {
    const source = `const a = 1;\nconst x = ${code};\n`;
    for (const file of ['agent/a.ts', 'util/other.ts', 'testing/a.ts']) {
      if (home?.startsWith('util/abort') && file.startsWith('util/')) continue;
      const problems = problemsOf({ [file]: source });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toContain(`${file}:2: \`${verb}\` is not allowed here: `);
    }
    if (home !== undefined) expect(problemsOf({ [home]: source })).toEqual([]);
  });

  test('comments, strings, templates and regular expressions are no code', () => {
    const source = [
      "// JSON.parse( in a comment, and it's an apostrophe",
      '/* Date.now() */ const a = "console.log(1)";',
      "const b = 'it\\'s process.env';",
      'const c = `fetch(${a}) as any ${`Math.random() ${b}`} setTimeout(`;',
      'const d = /process.\\/["\'`]console./.test(a);',
      'const e = 4 / 2 / 1;',
    ].join('\n');
    expect(problemsOf({ 'agent/a.ts': source })).toEqual([]);
  });

  test('code inside a template is code, and so is code after literals', () => {
    const source =
      'const a = `x ${process.cwd()} y ${`${Date.now()}`}` + /`/.source;\nconst b = "\'"; console.log(b);';
    expect(problemsOf({ 'agent/a.ts': source }).map((problem) => /\S+: `.*`/.exec(problem)?.[0])).toEqual([
      'agent/a.ts:1: `Date.now(`',
      'agent/a.ts:1: `process.`',
      'agent/a.ts:2: `console.`',
    ]);
  });

  test('methods of the same name may be declared and called', () => {
    const source = [
      'interface Clock {',
      '  setTimeout(run: () => void, ms: number): Timer;',
      '}',
      'class Web {',
      '  async fetch(url: (a: string) => URL) {',
      '    return this.#web.fetch(url(clock.setTimeout(f)));',
      '  }',
      '}',
    ].join('\n');
    expect(problemsOf({ 'agent/a.ts': source })).toEqual([]);
    expect(problemsOf({ 'agent/a.ts': '  fetch(url);\n' })).toHaveLength(1);
  });
});

test('all forms of imports are read', () => {
  const source = [
    `import a from './a.ts';`,
    `import b, { type c } from "./b.ts";`,
    `import * as d from './d.ts';`,
    `import type { e } from './e.ts';`,
    `import { type f } from './f.ts';`,
    `import {\n  g, // from './no.ts'\n} from './g.ts';`,
    `import './h.ts';`,
    `export * from './i.ts';`,
    `export * as j from './j.ts';`,
    `export type { k } from './k.ts';`,
    `const l = await import('./l.ts');`,
    `void import('./m.ts').then(n);`,
    `let o: import('./o.ts').O, p: typeof import('./p.ts');`,
    `const text = "import './no.ts'"; const meta = import.meta.url;`,
    `export interface Q { from: 'no' }`,
    `export { r } from './r.ts'; // import './no.ts'`,
  ].join('\n');
  expect(
    readImports(source).map(({ specifier, isTypeOnly }) => `${isTypeOnly ? 'type ' : ''}${specifier}`),
  ).toEqual([
    './a.ts',
    './b.ts',
    './d.ts',
    'type ./e.ts',
    './f.ts',
    './g.ts',
    './h.ts',
    './i.ts',
    './j.ts',
    'type ./k.ts',
    './l.ts',
    './m.ts',
    'type ./o.ts',
    'type ./p.ts',
    './r.ts',
  ]);
});

describe('a package that uses the library', () => {
  const problemsIn = (specifier: string): string[] =>
    checkDependent({
      src: 'packages/studio/src',
      sources: new Map([
        ['a.ts', `import { x } from '${specifier}';\n`],
        ['b.ts', ''],
      ]),
      dependencies: ['hono'],
      entries: ['troupe', 'troupe/events'],
    });

  test.each(['troupe', 'troupe/events', 'hono', 'hono/cookie', 'node:http', './b.ts'])(
    'may import %s',
    (specifier) => {
      expect(problemsIn(specifier)).toEqual([]);
    },
  );

  test.each([
    ['troupe/util/json', 'troupe/util/json is not a public entry'],
    ['express', 'express is not a dependency of this package'],
    ['../../troupe/src/index.ts', '../../troupe/src/index.ts is not a source file of this package'],
  ])('may not import %s', (specifier, reason) => {
    expect(problemsIn(specifier)).toEqual([`packages/studio/src/a.ts:1: ${reason}`]);
  });
});
