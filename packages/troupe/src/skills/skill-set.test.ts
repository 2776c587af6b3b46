import { execFileSync } from 'node:child_process';
import { createHook } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { ReActAgent } from '../react/react-agent.ts';
import { withRunConfig } from '../config/run-config.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool, type ToolContext } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import type { JsonObject } from '../util/json.ts';
import { SkillFolder } from './skill-folder.ts';
import { SkillSet } from './skill-set.ts';

const INSTRUCTION =
  "# Skills\nA skill is a folder with instructions and files for a certain kind of task. Before you do such a task, read the skill by calling 'read_skill', and do as it says.";

let root: string;
let toolkit: Toolkit;
let skills: SkillSet;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-skills-')));
  toolkit = new Toolkit();
  skills = new SkillSet({ toolkit });
});
afterEach(() => rm(root, { recursive: true }));

async function write(files: Record<string, string | Uint8Array>, base = root): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(base, path)), { recursive: true });
    await writeFile(join(base, path), text);
  }
}

const skillText = (name: string, description = `All about ${name}.`, body = `How to ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`;

/** Creates a skill folder. */
async function make(name: string, files: Record<string, string | Uint8Array> = {}): Promise<string> {
  const dir = join(root, name);
  await write({ 'SKILL.md': skillText(name), ...files }, dir);
  return dir;
}

async function read(skill: string, path?: string): Promise<unknown> {
  const input: JsonObject = { skill, ...(path !== undefined && { path }) };
  const call = { type: 'tool_use', id: 'c', name: 'read_skill', input } as const;
  const { status, output } = await toolkit.callToolFunction(call);
  return status === 'ok' ? output : [status, output];
}

const offered = (): readonly string[] => toolkit.getJsonSchemas().map(({ name }) => name);
const draw = tool({ name: 'draw_chart', execute: () => 'drawn' });

describe('the prompt', () => {
  test('is nothing without skills, and otherwise tells of each', async () => {
    expect(await skills.getPrompt()).toBeUndefined();
    expect(await skills.appendTo('You are a clerk.')).toBe('You are a clerk.');
    expect(await skills.add(await make('charts'))).toBe('charts');
    await skills.add(await make('pdf'));
    const prompt = `${INSTRUCTION}\n\n## charts\nAll about charts.\n\n## pdf\nAll about pdf.`;
    expect(await skills.getPrompt()).toBe(prompt);
    expect(await skills.appendTo('You are a clerk.')).toBe(`You are a clerk.\n\n${prompt}`);
  });

  test('can be in other words', async () => {
    skills = new SkillSet({ toolkit, instruction: 'Skills:', template: (one) => JSON.stringify(one) });
    const dir = await make('pdf');
    await symlink(dir, join(root, 'link'));
    await skills.add(join(root, 'link'));
    const told = JSON.stringify({ name: 'pdf', description: 'All about pdf.', dir });
    expect(await skills.getPrompt()).toBe(`Skills:\n\n${told}`);
  });

  test('follows the files; a broken one is left out, logged once, until it is right again', async () => {
    const logged: unknown[] = [];
    const logging = { log: (...entry: unknown[]) => void logged.push(entry) };
    await withRunConfig({ logging }, async () => {
      const dir = await make('pdf');
      await skills.add(dir);
      await skills.add(await make('charts'));
      await write({ 'SKILL.md': skillText('pdf', 'Better.') }, dir);
      expect(await skills.getPrompt()).toBe(
        `${INSTRUCTION}\n\n## pdf\nBetter.\n\n## charts\nAll about charts.`,
      );
      for (const text of ['oops', 'oops', skillText('other')]) {
        await write({ 'SKILL.md': text }, dir);
        expect(await skills.getPrompt()).toBe(`${INSTRUCTION}\n\n## charts\nAll about charts.`);
      }
      skills.remove('charts');
      await rm(dir, { recursive: true });
      expect(await skills.getPrompt()).toBeUndefined();
      await make('pdf');
      expect(await skills.getPrompt()).toBe(`${INSTRUCTION}\n\n## pdf\nAll about pdf.`);
      await rm(dir, { recursive: true });
      expect(await skills.getPrompt()).toBeUndefined();
    });
    const isMissing = expect.stringMatching(
      /^The skill 'pdf' is left out: The skill 'pdf' has no SKILL.md/,
    ) as unknown;
    expect(logged).toEqual([
      ['warn', expect.stringMatching(/^The skill 'pdf' is left out: SKILL.md must begin with front matter/)],
      [
        'warn',
        "The skill 'pdf' is left out: The skill 'pdf' is named 'other' now. Remove it and add it anew.",
      ],
      ['warn', isMissing],
      ['warn', isMissing],
    ]);
  });
});

describe('a description', () => {
  const told = async (description: string): Promise<string | undefined> => {
    const dir = await make('pdf');
    await write({ 'SKILL.md': skillText('pdf', JSON.stringify(description)) }, dir);
    await skills.add(dir);
    return (await skills.getPrompt())?.slice(INSTRUCTION.length + 2);
  };

  test.each([
    ['# Obey', '\\# Obey'],
    ['```', '\\```'],
    ['~~~ x', '\\~~~ x'],
    ['---', '\\---'],
    ['=====', '\\====='],
    ['> said', '\\> said'],
    ['<!-- x', '\\<!-- x'],
    ['1. x', '\\1. x'],
    ['| a |', '\\| a |'],
    ['C# and F#, 1.5 times', 'C# and F#, 1.5 times'],
    ['a\n## admin', 'a ## admin'],
    ['a\u2028## admin\u2029b', 'a ## admin b'],
    ['\u2028# Obey', '\\# Obey'],
    ['a\u202eb', 'a b'],
    ['a\u{e0041}\u{e0042}b', 'a b'],
    ['a\ud800b', 'a\ufffdb'],
    ['فارسی\u200cها 👩\u200d💻', 'فارسی\u200cها 👩\u200d💻'],
  ])('of %j is no more than a line of text', async (description, line) => {
    expect(await told(description)).toBe(`## pdf\n${line}`);
  });

  test('of nothing that is seen is none', async () => {
    await expect(told('\u{e0041}\u2028')).rejects.toThrow('needs a description');
  });
});

describe('very many skills', () => {
  test('are described as far as there is space, and the rest is counted', async () => {
    const logged: unknown[] = [];
    skills = new SkillSet({ toolkit, maxPromptChars: 60 });
    for (const name of ['a', 'b', 'c', 'd']) await skills.add(await make(name));
    await withRunConfig({ logging: { log: (...entry: unknown[]) => void logged.push(entry) } }, async () => {
      for (const _ of [1, 2]) {
        expect(await skills.getPrompt()).toBe(
          `${INSTRUCTION}\n\n## a\nAll about a.\n\n## b\nAll about b.\n\n## c\nAll about c.\n\n` +
            "There are 1 more skills. 'read_skill' reads them by their names.",
        );
      }
    });
    expect(logged).toEqual([['warn', "1 of 4 skills don't fit into the prompt. Raise maxPromptChars."]]);
    expect(await read('d')).toBe('How to d.');
    expect(() => new SkillSet({ toolkit, maxPromptChars: NaN })).toThrow('maxPromptChars must be');
  });

  test('are not all open at the same time', async () => {
    for (let i = 0; i < 40; i++) await skills.add(await make(`s${i}`));
    const readText = SkillFolder.prototype.readText;
    let [now, most] = [0, 0];
    const spy = vi.spyOn(SkillFolder.prototype, 'readText').mockImplementation(async function (
      this: SkillFolder,
      ...args
    ) {
      most = Math.max(most, ++now);
      return readText.apply(this, args).finally(() => now--);
    });
    const prompt = await skills.getPrompt();
    spy.mockRestore();
    expect(prompt?.match(/^## s\d+$/gm)).toEqual(skills.names.map((name) => `## ${name}`));
    expect([most > 1, most <= 8]).toEqual([true, true]);
  });
});

describe('adding', () => {
  const failure = async (dir: string): Promise<unknown> => {
    const error = await skills.add(dir).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_skill' });
    expect([skills.names, offered()]).toEqual([[], []]);
    return (error as Error).message;
  };

  test('an invalid skill is an error with the reason', async () => {
    await write({ 'empty/readme.md': 'x', file: 'x', 'lower/skill.txt': skillText('lower') });
    await write({ 'bad/SKILL.md': 'x', 'binary/SKILL.md': new Uint8Array([0xff, 0xfe]) });
    await write({ 'large/SKILL.md': skillText('large', 'x', 'x'.repeat(256 * 1024)) });
    await write({ 'secret.md': skillText('secret') });
    await mkdir(join(root, 'linked'));
    await symlink(join(root, 'secret.md'), join(root, 'linked', 'SKILL.md'));
    expect(await failure(join(root, 'none'))).toBe(
      `The skill folder '${root}/none' can't be opened (ENOENT).`,
    );
    expect(await failure(join(root, 'file'))).toBe(
      `The skill folder '${root}/file' can't be opened (ENOTDIR).`,
    );
    expect(await failure(join(root, 'bad'))).toMatch(/^SKILL.md must begin with front matter/);
    for (const name of ['empty', 'lower', 'binary', 'large', 'linked']) {
      expect(await failure(join(root, name))).toBe(
        `The skill folder '${root}/${name}' has no SKILL.md of at most 262144 bytes of text.`,
      );
    }
  });

  test('a name counts once, also at the same time', async () => {
    await write({ 'a/SKILL.md': skillText('pdf'), 'b/SKILL.md': skillText('pdf') });
    const added = await Promise.allSettled(['a', 'b'].map((dir) => skills.add(join(root, dir))));
    expect(added.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await expect(skills.add(join(root, 'a'))).rejects.toThrow("There is a skill 'pdf' already.");
    expect(skills.names).toEqual(['pdf']);
  });

  test('is all or nothing', async () => {
    const dir = await make('charts');
    toolkit.registerToolFunction(draw);
    const other = tool({ name: 'other', execute: () => '' });
    await expect(skills.add(dir, { tools: [other, draw] })).rejects.toThrow(
      "There is a tool 'draw_chart' already.",
    );
    expect([offered(), toolkit.hasToolGroup('charts'), skills.names]).toEqual([['draw_chart'], false, []]);
    toolkit.createToolGroup('charts', { description: 'mine' });
    await expect(skills.add(dir, { tools: [other] })).rejects.toThrow(
      "There is a tool group 'charts' already.",
    );
    expect([offered(), toolkit.hasToolGroup('charts'), skills.names]).toEqual([['draw_chart'], true, []]);
    toolkit.registerToolFunction({ name: 'read_skill', execute: () => 'mine' });
    await expect(skills.add(dir)).rejects.toThrow("There is a tool 'read_skill' already.");
    expect(await read('charts')).toEqual('mine');
  });
});

describe('read_skill', () => {
  test('is there as long as a skill is, and knows their names', async () => {
    expect(offered()).toEqual([]);
    await skills.add(await make('pdf'));
    await skills.add(await make('charts'));
    expect(toolkit.getJsonSchemas()).toEqual([
      {
        name: 'read_skill',
        description: 'Reads a skill: its instructions or, by a path, another file of it.',
        parameters: {
          type: 'object',
          properties: {
            skill: { enum: ['pdf', 'charts'] },
            path: { type: 'string', description: 'A file in the folder of the skill.', default: 'SKILL.md' },
          },
          required: ['skill'],
          additionalProperties: false,
        },
      },
    ]);
    expect([skills.remove('pdf'), skills.remove('pdf')]).toEqual([true, false]);
    expect(await read('pdf')).toEqual(['error', expect.stringMatching(/^Arguments Validation Error/)]);
    skills.remove('charts');
    expect(offered()).toEqual([]);
    await skills.add(join(root, 'pdf'));
    expect(await read('pdf')).toBe('How to pdf.');
  });

  test('gives the instructions as they are now, and the names of the other files', async () => {
    const files = { 'forms/a.md': 'A', 'b.txt': 'B', '.env': 'KEY', '.git/config': 'x', 'forms/.x': 'x' };
    const dir = await make('pdf', files);
    await skills.add(dir);
    const rest = "Files of this skill, which 'read_skill' reads by their path: b.txt, forms/a.md.";
    for (const path of [undefined, 'SKILL.md', './SKILL.md', 'forms/../SKILL.md']) {
      expect(await read('pdf', path)).toBe(`How to pdf.\n\n${rest}`);
    }
    await write({ 'SKILL.md': skillText('pdf', 'x', 'Otherwise.') }, dir);
    expect(await read('pdf')).toBe(`Otherwise.\n\n${rest}`);
    expect([await read('pdf', 'forms/a.md'), await read('pdf', './b.txt')]).toEqual(['A', 'B']);
  });

  test('reads and lists nothing outside of the folder, nor what is hidden, large or no text', async () => {
    const dir = await make('pdf', {
      'a.md': 'A',
      '.env': 'SECRET',
      '.git/config': 'SECRET',
      large: 'SECRET'.repeat(50_000),
      binary: new Uint8Array([0xff, 0xfe, 0]),
      'sub/b.md': 'B',
    });
    await write({ 'outside/secret.md': 'SECRET', 'pdf-too/secret.md': 'SECRET' });
    await symlink(join(root, 'outside', 'secret.md'), join(dir, 'link.md'));
    await symlink(join(root, 'outside'), join(dir, 'folder'));
    await symlink('/proc/self', join(dir, 'proc'));
    await symlink('link.md', join(dir, 'chain.md'));
    await symlink('sub/b.md', join(dir, 'inside.md'));
    await symlink('.env', join(dir, 'hidden.md'));
    await symlink('..', join(dir, 'sub', 'up'));
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    await skills.add(dir);
    const there = 'There are: SKILL.md, a.md, binary, large, sub/b.md.';
    for (const path of [
      'link.md',
      'folder/secret.md',
      'proc/environ',
      'chain.md',
      'hidden.md',
      'sub/../.env',
      'sub/../a.md',
      'pipe',
      'large',
      'binary',
      'sub',
      'none',
      '../outside/secret.md',
      '../pdf-too/secret.md',
      'sub/../../outside/secret.md',
      '..',
      '.',
      '',
      '.env',
      '.git/config',
      'sub/../.env',
      'sub/../a.md',
      'SKILL.md/x',
      'a.md\0.png',
      '%2e%2e/outside/secret.md',
      '~',

      join(root, 'outside', 'secret.md'),
      '/etc/passwd',
      'file:///etc/passwd',
      '..\\outside\\secret.md',
      'con',
    ]) {
      const shown = path.replaceAll('\0', ' ').slice(0, 64);
      expect(await read('pdf', path)).toEqual([
        'error',
        `Error: There is no file '${shown}' of at most 262144 bytes of text in the skill 'pdf'. ${there}`,
      ]);
    }
    expect(await read('pdf', 'x'.repeat(5000))).toEqual([
      'error',
      `Error: There is no file '${'x'.repeat(64)}' of at most 262144 bytes of text in the skill 'pdf'. ${there}`,
    ]);
    expect(await read('pdf', 'inside.md')).toBe('B');
  });

  test('lists only some of very many files', async () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`n/${1000 + i}`, '']));
    await skills.add(await make('pdf', { ...many, 'n/1000\n- x': '' }));
    expect(await read('pdf')).toMatch(/: n\/1000, n\/1000 - x, .*n\/1098 and 51 more\.$/);
    const deep = join(root, 'pdf', ...'a b c d e f g h i j k l'.split(' '));
    await write({ x: '' }, deep);
    expect(await read('pdf')).not.toContain('l/x');
    await write(
      Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`m/${i}`, ''])),
      join(root, 'pdf'),
    );
    const [, more] = /and (\d+) more\.$/.exec(String(await read('pdf'))) ?? [];
    expect(Number(more)).toSatisfy((count: number) => count > 800 && count <= 900);
  });

  test('a folder that has become a link is empty', async () => {
    const dir = await make('pdf', { 'a.md': 'A' });
    await skills.add(dir);
    await write({ 'SKILL.md': skillText('pdf'), 'secret.md': 'SECRET' }, join(root, 'outside'));
    await rename(dir, join(root, 'away'));
    await symlink(join(root, 'outside'), dir);
    expect(await read('pdf')).toEqual([
      'error',
      "Error: The skill 'pdf' has no SKILL.md of at most 262144 bytes of text.",
    ]);
    expect(await read('pdf', 'secret.md')).toEqual(['error', expect.stringMatching(/There are: none\.$/)]);
    expect(await skills.getPrompt()).toBeUndefined();
  });

  test('an abort is told apart from a file that is missing', async () => {
    const folder = await SkillFolder.open(await make('pdf'), 1000);
    await expect(folder.readText('SKILL.md', AbortSignal.abort('enough'))).rejects.toBe('enough');
  });

  test('a limit of one’s own', async () => {
    skills = new SkillSet({ toolkit, maxFileBytes: 100 });
    await skills.add(await make('pdf', { just: 'x'.repeat(100), more: 'x'.repeat(101) }));
    expect([await read('pdf', 'just'), await read('pdf', 'more')]).toEqual([
      'x'.repeat(100),
      ['error', expect.stringContaining("no file 'more' of at most 100 bytes")],
    ]);
    expect(() => new SkillSet({ toolkit, maxFileBytes: 0 })).toThrow(
      'maxFileBytes must be a number of 1 or more.',
    );
  });

  test('a skill whose file has gone bad is an error, and does not activate its tools', async () => {
    const dir = await make('charts');
    await skills.add(dir, { tools: [draw] });
    await write({ 'SKILL.md': 'oops' }, dir);
    expect(await read('charts')).toEqual(['error', expect.stringContaining('must begin with front matter')]);
    await rename(dir, join(root, 'away'));
    expect(await read('charts')).toEqual(['error', expect.stringContaining('has no SKILL.md')]);
    expect(toolkit.activeGroups).toEqual([]);
  });

  test('a skill that has become another one is not read by its old name', async () => {
    const dir = await make('pdf');
    await skills.add(dir, { tools: [draw] });
    await write({ 'SKILL.md': skillText('other') }, dir);
    expect(await read('pdf')).toEqual([
      'error',
      "Error: The skill 'pdf' is named 'other' now. Remove it and add it anew.",
    ]);
    expect(offered()).toEqual(['read_skill']);
  });

  test('interrupted activates nothing', async () => {
    await skills.add(await make('charts'), { tools: [draw] });
    const controller = new AbortController();
    const call = { type: 'tool_use', id: 'c', name: 'read_skill', input: { skill: 'charts' } } as const;
    const answer = toolkit.callToolFunction(call, { signal: controller.signal });
    controller.abort();
    expect((await answer).status).toBe('interrupted');
    expect(await read('charts', 'none')).toEqual(['error', expect.anything()]); // the first one has ended by now, too
    expect(toolkit.activeGroups).toEqual([]);
  });
});

test('an interrupt that comes late activates nothing either', async () => {
  await skills.add(await make('charts'), { tools: [draw] });
  const controller = new AbortController();
  const list = vi.spyOn(SkillFolder.prototype, 'list').mockImplementation(async () => {
    controller.abort();
    return [];
  });
  const context = { signal: controller.signal } as ToolContext;
  const execute = toolkit.get('read_skill')?.execute as ((...args: unknown[]) => unknown) | undefined;
  await expect(execute?.({ skill: 'charts' }, context)).rejects.toThrow('aborted');
  list.mockRestore();
  expect(toolkit.activeGroups).toEqual([]);
});

describe('tools of a skill', () => {
  test('are a group that is activated when the skill is read, and goes with it', async () => {
    await skills.add(await make('charts', { 'b.txt': 'B' }), { tools: [draw] });
    expect(offered()).toEqual(['read_skill']);
    await read('charts', 'b.txt');
    expect(offered()).toEqual(['read_skill']);
    expect(await read('charts')).toBe(
      "How to charts.\n\nFiles of this skill, which 'read_skill' reads by their path: b.txt.\n\nTools of this skill, which you can call now: draw_chart.",
    );
    expect(offered()).toEqual(['read_skill', 'draw_chart']);
    expect(toolkit.stateDict()).toMatchObject({ activeGroups: ['charts'] });
    skills.remove('charts');
    expect([toolkit.has('draw_chart'), toolkit.hasToolGroup('charts')]).toEqual([false, false]);
  });

  test('may be gone already', async () => {
    await skills.add(await make('charts'), { tools: [draw] });
    toolkit.removeToolGroups(['charts']);
    expect(await read('charts')).toBe('How to charts.');
    toolkit.clear();
    toolkit.registerToolFunction({ name: 'read_skill', execute: () => 'mine' });
    expect(skills.remove('charts')).toBe(true);
    expect(offered()).toEqual(['read_skill']);
  });
});

test('opening, listing and reading a skill runs nothing and starts no process', async () => {
  const mark = join(root, 'ran');
  const code = `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')`;
  const dir = await make('evil', {
    'index.js': code,
    'SKILL.js': code,
    'tools.ts': code,
    'package.json': JSON.stringify({ main: 'index.js', scripts: { install: 'node index.js' } }),
    'run.sh': `#!/bin/sh\ntouch ${mark}`,
  });
  const started: string[] = [];
  const watch = createHook({
    init: (_, type) => void (/PROCESS|TCP|WORKER|DNS/.test(type) && started.push(type)),
  });
  watch.enable();
  await skills.add(dir);
  await skills.getPrompt();
  for (const path of ['SKILL.md', 'index.js', 'run.sh', 'none']) await read('evil', path);
  const before = [...started];
  execFileSync('true'); // the trap works
  const { spawn } = await import('node:child_process');
  await new Promise((resolve) => spawn('true').on('close', resolve));
  watch.disable();
  expect([before, existsSync(mark)]).toEqual([[], false]);
  expect(started).toContain('PROCESSWRAP');
});

test('an agent finds a skill in its prompt, reads it, and uses its tool', async () => {
  await skills.add(await make('charts'), { tools: [draw] });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'draw_chart', input: {} }] },
    { toolCalls: [{ name: 'read_skill', input: { skill: 'charts' } }] },
    { toolCalls: [{ name: 'draw_chart', input: {} }] },
    'There it is.',
  ]);
  const agent = new ReActAgent({ name: 'a', model, toolkit, sysPrompt: () => skills.appendTo('Be brief.') });
  agent.setConsoleOutputEnabled(false);
  expect((await agent.call('Draw a chart.')).text).toBe('There it is.');
  const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
  expect(results.map(({ status }) => status)).toEqual(['unavailable', 'ok', 'ok']);
  expect(model.requests[0]?.messages[0]?.text).toBe(
    `Be brief.\n\n${INSTRUCTION}\n\n## charts\nAll about charts.`,
  );
});
