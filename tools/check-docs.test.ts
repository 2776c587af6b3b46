import { describe, expect, test } from 'vitest';
import { errorPageProblems, glossaryProblems, longCells, unknownNames, unlisted } from './check-docs.ts';
import { entryPointProblems, missingExamples, refusalProblems } from './lib/page-checks.ts';
import { readExamples, readMarkdown, type Fence } from './lib/markdown.ts';
import { printedOutputs } from './lib/printed-output.ts';
import { statementProblems } from './lib/statement-tables.ts';

test('fences and links are read with their lines', () => {
  const text = [
    'See [the guide](docs/guide.md#top "title"), ![picture](<a.png>) and `[no](no.md)`.', // 1
    '```ts', // 2
    "const a = '[no](no.md)';", // 3
    '```',
    '- In a list:', // 5
    '  ```js no-run', // 6
    '  if (a) {', // 7
    '    b();',
    '  }',
    '  ```',
    '~~~~text', // 11
    '```',
    '~~~~',
    '[ref]: ./other.md', // 14
    '## What `a` does: twice', // 15
  ].join('\n');
  expect(readMarkdown(text)).toEqual({
    fences: [
      { line: 2, language: 'ts', flags: [], code: "const a = '[no](no.md)';" },
      { line: 6, language: 'js', flags: ['no-run'], code: 'if (a) {\n  b();\n}' },
      { line: 11, language: 'text', flags: [], code: '```' },
    ],
    links: [
      { line: 1, target: 'docs/guide.md#top' },
      { line: 1, target: 'a.png' },
      { line: 14, target: './other.md' },
    ],
    anchors: new Set(['what-a-does-twice']),
  });
});

test('a fence that is never closed is told', () => {
  expect(readMarkdown('text\n```ts\nlost();').fences).toEqual([
    { line: 2, language: 'unclosed', flags: [], code: '' },
  ]);
});

test('examples of doc comments are read with the lines of the source', () => {
  const source = [
    'const a = 1;',
    '/**',
    ' * Adds.',
    ' *',
    ' * @example', // 5
    ' * ```ts', // 6
    ' * if (a) {',
    ' *   b();',
    ' * }',
    ' * ```',
    ' */',
    'export function add() {}',
    '/** No example. */',
    '/** @example lost */', // 14
  ].join('\n');
  expect(readExamples(source)).toEqual([
    { line: 6, language: 'ts', flags: [], code: 'if (a) {\n  b();\n}' },
    { line: 14, language: 'unclosed', flags: [], code: '' },
  ]);
});

test('each error code has one heading on the page about errors', () => {
  const source = "export type ErrorCode =\n  | 'agent_busy'\n  | 'too_deep';\nexport type Other = 'no';";
  const page = '### `agent_busy` (`AgentBusyError`)\ntext\n### `too_deep`\n';
  expect(errorPageProblems(source, page)).toEqual([]);
  expect(errorPageProblems(source, '### `agent_busy`\n### `agent_busy`\n### `gone`\n')).toEqual([
    'docs/errors.md: the code too_deep is missing',
    'docs/errors.md: the code agent_busy is unknown, or there twice',
    'docs/errors.md: the code gone is unknown, or there twice',
  ]);
  expect(errorPageProblems('', page)).toHaveLength(1);
});

test('the glossaries of two documents are the same', () => {
  const table = '| word | meaning |\n|---|---|\n| run | all of it |\n';
  expect(glossaryProblems(`# One\n${table}\nMore.`, `# Two\n${table}`)).toEqual([]);
  expect(glossaryProblems(table, table.replace('all of it', 'half of it'))).toHaveLength(1);
  expect(glossaryProblems('', '')).toHaveLength(1);
});

test('a table cell holds a phrase', () => {
  const long = 'word '.repeat(30);
  const text = [
    '| a | b |',
    '|---|---|',
    `| x | ${long}|`,
    '```',
    `| ${long}|`,
    '```',
    '| a [link](to/a.md) | b |',
  ];
  expect(longCells(text.join('\n'))).toEqual([{ line: 3, words: 30 }]);
});

test('an index lists every page', () => {
  const pages = ['docs/README.md', 'docs/a.md', 'docs/how-to/b.md', 'docs/c.md'];
  const index = 'See [a](a.md), [b](how-to/b.md).';
  expect(unlisted('docs/README.md', index, pages)).toEqual(['docs/c.md']);
});

describe('names in the guide for contributors', () => {
  const repository = {
    files: ['tools/check.ts', 'src/agent/agent-base.ts', 'src/agent/turn.ts'],
    sources: {
      'agent/agent-base.ts': 'export class AgentBase {\n  #run() {}\n  call() {}\n}',
      'agent/turn.ts': 'export interface Turn {}\nexport function withGrace() {}',
    },
  };

  test('that exist are fine: files, folders, classes, members and functions', () => {
    const text =
      'See `agent/turn.ts`, `tools/check.ts`, `agent/`, `Turn`, `AgentBase.call`, `withGrace`, `AbortSignal`, `npm test`, `*.test.ts`.\n' +
      '```text\nsrc/agent/agent-base.ts  AgentBase.#run, then withGrace()\n```\n';
    expect(unknownNames(text, repository)).toEqual([]);
  });

  test.each([
    ['`agent/gone.ts`', 'there is no file agent/gone.ts'],
    ['`gone/`', 'there is no folder gone/'],
    ['`Thinker`', 'there is no Thinker'],
    ['`AgentBase.think`', 'AgentBase has no think'],
    ['`Gone.think`', 'there is no Gone'],
    ['`weave`', 'there is no weave'],
    ['```text\nagent/gone.ts\n```', 'there is no file agent/gone.ts'],
    ['```text\nx -> AgentBase.think\n```', 'AgentBase has no think'],
  ])('%j is reported', (text, problem) => {
    expect(unknownNames(text, repository)).toEqual([problem]);
  });
});

describe('tables of statements', () => {
  const files: Readonly<Record<string, string>> = {
    'lib/src/a.ts': '',
    'lib/src/a.test.ts':
      "// sings\ntest('adds two numbers', () => {});\ntest.each([1, 2])(\n  'takes none: %d', () => 'sings');",
    'examples/sum/main.ts': '',
  };
  const repository = {
    base: 'lib',
    exists: (path: string) => Object.keys(files).some((file) => file === path || file.startsWith(path)),
    read: (path: string) => files[path] ?? '',
  };
  const table = (...rows: string[]): string =>
    ['# Sums', '| statement | code | test | difference |', '|---|---|---|---|', ...rows].join('\n');

  test('that are true are fine', () => {
    const text = table(
      '| It adds | `src/a.ts` | `src/a.test.ts`: "adds two", "takes none" | |',
      '| It sums | `../examples/sum/main.ts`, `a.sum()` | `src/a.test.ts`: "takes none" | |',
      '| It sings | – | – | not here: nobody listens |',
      '',
      'See `src/`.',
      '| another | table |',
    );
    expect(statementProblems(text, repository)).toEqual([]);
  });

  test.each([
    ['| x | `src/b.ts` | `src/a.test.ts`: "adds" | |', '4: there is no src/b.ts'],
    ['| x | `src/a.ts` | `src/b.test.ts`: "adds" | |', '4: there is no src/b.test.ts'],
    ['| x | `src/a.ts` | `src/a.test.ts`: "adds", "sings" | |', '4: src/a.test.ts has no test "sings"'],
    ['| x | `src/a.ts` | `src/a.test.ts` | |', '4: the test names no file with a title'],
    ['| x | somewhere | `src/a.test.ts`: "adds" | |', '4: the code names no file'],
    ['| x | `src/a.ts` | – | |', '4: a row without code or test says why'],
    ['| x | `src/a.ts` | `src/a.test.ts`: "adds" |', '4: a row has four cells'],
    ['See `gone/`.', '4: there is no gone/'],
  ])('%j is reported', (row, problem) => {
    const fine = '| It adds | `src/a.ts` | `src/a.test.ts`: "adds two" | |';
    expect(statementProblems(table(row, '', table(fine)), repository)).toEqual([problem]);
  });

  test('are missed', () => {
    expect(statementProblems('# Nothing', repository)).toEqual(['there is no table of statements']);
  });
});

describe('outputs in documents', () => {
  const fence = (line: number, language: string, code: string, ...flags: string[]): Fence => ({
    line,
    language,
    flags,
    code,
  });

  test('belong to the program before them, run as the commands in between say', () => {
    const fences = [
      fence(1, 'ts', 'program'),
      fence(3, 'text', 'not checked'),
      fence(5, 'sh', `node agent.ts\nnode agent.ts 'a "b"' "it's" c\nnpm test`),
      fence(9, 'text', 'Hello.', 'printed'),
      fence(12, 'js', 'other'),
      fence(14, 'text', 'Bye.', 'printed'),
    ];
    expect(printedOutputs(fences)).toEqual({
      outputs: [
        { program: 1, line: 9, runs: [[], ['a "b"', "it's", 'c']], text: 'Hello.' },
        { program: 12, line: 14, runs: [[]], text: 'Bye.' },
      ],
      problems: [],
    });
  });

  test('need a program that runs', () => {
    const fences = [
      fence(1, 'ts', 'program', 'no-run'),
      fence(3, 'text', 'Hello.', 'printed'),
      fence(5, 'ts', 'program'),
      fence(7, 'text', 'Hello.', 'printed'),
      fence(9, 'text', 'And again.', 'printed'),
    ];
    expect(printedOutputs(fences).problems).toEqual([
      '3: there is no program before this output that runs',
      '9: there is no program before this output that runs',
    ]);
  });
});

test('the page about errors has each refusal of the service, with its status', () => {
  const source = 'export const FAILURE_STATUS = {\n  not_found: 404,\n  closing: 503,\n} as const;';
  const page =
    '| code | status | cause |\n|---|---|---|\n| `not_found` | 404 | gone |\n| `closing` | 503 | over |\n';
  expect(refusalProblems(source, page)).toEqual([]);
  expect(refusalProblems(source, page.replace('503', '500'))).toHaveLength(2);
  expect(refusalProblems('', page)).toHaveLength(1);
});

test('the page about entry points has each entry, and no other', () => {
  const exports = { '.': {}, './openai': {}, './package.json': {} };
  const page =
    '| entry | for |\n|---|---|\n| `troupe`, `troupe/openai` | `all` |\n| `@troupe/service` | x |\n';
  const problems = (others: string[], text: string): string[] =>
    entryPointProblems({ name: 'troupe', exports }, others, text);
  expect(problems(['@troupe/service'], page)).toEqual([]);
  expect(problems(['@troupe/service', '@troupe/studio'], page)).toHaveLength(1);
  expect(problems(['@troupe/service'], page.replace('openai', 'open-ai'))).toHaveLength(2);
});

test('an export that many programs use needs an example in its doc comment', () => {
  const programs = ["import { Agent, tool, type Options } from 'troupe';", "import { Agent } from 'troupe';"];
  const agent = '/** Answers. */\nexport class Agent {}';
  const other = '/** Other.\n * @example\n */\nexport class Other {}\n';
  expect(missingExamples(programs, [other + agent], 2)).toEqual(['Agent']);
  expect(missingExamples(programs, [agent.replace('Answers.', '@example')], 2)).toEqual([]);
  expect(missingExamples(programs, [agent], 3)).toEqual([]);
});
