import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { build } from 'vite';

import type { UserQuestion } from '../message/user-question.ts';

/** Real programs with real standard input: they are bundled from the source and run by this very Node. */
const PROGRAMS = {
  /** Prints the lines of the user until the end of the input. */
  chat: `
    const user = new UserAgent({ name: 'user' });
    try {
      for (;;) console.log(JSON.stringify((await user.call()).content));
    } catch (error) {
      console.log(error.name + ': ' + error.message);
    }`,
  /** Asks once and has nothing else to do. */
  once: `
    console.log(JSON.stringify((await new UserAgent({ name: 'user' }).call()).content));`,
  form: `
    const properties = { thinking: { type: 'string' }, decision: { type: 'string' }, sure: { type: 'boolean', default: true } };
    const structuredModel = { type: 'object', properties, required: ['thinking', 'decision'] };
    const msg = await new UserAgent({ name: 'user' }).call(undefined, { structuredModel });
    console.log(JSON.stringify([msg.content, msg.metadata]));`,
  /** Two at the same time; the question to the first is withdrawn. */
  withdrawn: `
    const [first, second] = ['first', 'second'].map((name) => new UserAgent({ name }));
    process.once('SIGINT', () => void first.interrupt());
    const calls = [first.call(), second.call()];
    for (const call of calls) console.log((await call).text);`,
  /** Works on what the user says, which takes forever, and can be stopped by Ctrl-C. */
  worker: `
    class Worker extends AgentBase {
      async reply(msgs, turn) {
        console.log('working on ' + msgs[0].text);
        const alive = setInterval(() => {}, 1000);
        try {
          return await turn.step({ kind: 'other', name: 'work' }, () => new Promise(() => {}));
        } finally {
          clearInterval(alive);
        }
      }
    }
    const user = new UserAgent({ name: 'user' });
    const worker = new Worker({ name: 'worker' });
    interruptOnCtrlC(() => [user, worker]);
    for (;;) await worker.call(await user.call());`,
  /** Only wants to know about Ctrl-C. */
  deaf: `
    const stop = interruptOnCtrlC(() => []);
    if (process.argv[2] === 'stop') stop();
    console.log('done');`,
  /** Decides about what the arguments list, and prints the decisions. Ctrl-C withdraws the questions. */
  decide: `
    const stop = new AbortController();
    process.once('SIGINT', () => stop.abort(new Error('withdrawn')));
    const rules = { addRule: (rule) => console.log('rule ' + JSON.stringify(rule)) };
    try {
      const decisions = await decideOnTerminal(JSON.parse(process.argv[2]), { signal: stop.signal, rules });
      for (const { id, ...decision } of decisions) console.log(JSON.stringify(decision));
    } catch (error) {
      console.log(error.name + ': ' + error.message);
    }`,
};

let folder: string;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-terminal-'));
  const source = (name: string): string => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)));
  const imports = `
    import { AgentBase } from ${source('../agent/agent-base.ts')};
    import { interruptOnCtrlC } from ${source('interrupt-key.ts')};
    import { decideOnTerminal } from ${source('decide-on-terminal.ts')};
    import { UserAgent } from ${source('user-agent.ts')};`;
  const input: Record<string, string> = {};
  for (const [name, program] of Object.entries(PROGRAMS)) {
    input[name] = join(folder, `${name}.js`);
    await writeFile(input[name], imports + program);
  }
  const conditions = ['troupe:source', 'node', 'module'];
  await build({
    configFile: false,
    root: folder,
    logLevel: 'silent',
    ssr: { noExternal: true, resolve: { conditions } },
    build: {
      ssr: true,
      target: 'node22',
      outDir: join(folder, 'out'),
      rolldownOptions: { input, output: { entryFileNames: '[name].mjs' } },
    },
  });
});

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

class Program {
  output = '';
  /** The exit code or the signal of the process. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  readonly #child: ChildProcess;
  #seen = 0;
  #onOutput: () => void = () => {};

  constructor(name: keyof typeof PROGRAMS, ...args: readonly string[]) {
    const env = { ...process.env, FORCE_COLOR: '0' };
    this.#child = spawn(process.execPath, [join(folder, 'out', `${name}.mjs`), ...args], { env });
    running.add(this.#child);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        this.#onOutput();
      });
    }
    this.ended = new Promise((resolve) => {
      this.#child.on('close', (code, signal) => {
        running.delete(this.#child);
        resolve(code ?? signal);
      });
    });
  }

  /** Waits until the program has written this, after what it was waited for the last time. */
  async shows(text: string): Promise<void> {
    while (!this.output.includes(text, this.#seen)) {
      const written = new Promise<void>((resolve) => {
        this.#onOutput = resolve;
      });
      const ended = this.ended.then((code) => {
        throw new Error(`The program ended with ${code} before it showed "${text}":\n${this.output}`);
      });
      await Promise.race([written, ended]);
    }
    this.#seen = this.output.indexOf(text, this.#seen) + text.length;
  }

  type(text: string | Buffer): void {
    this.#child.stdin?.write(text);
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  pressCtrlC(): void {
    this.#child.kill('SIGINT');
  }
}

describe('a user agent on a pipe', () => {
  test('answers one question with each line, for lines in any pieces, and then ends with a clear error', async () => {
    const program = new Program('chat');
    const [part, rest] = [Buffer.from('3 €').subarray(0, 3), Buffer.from('3 €').subarray(3)];
    program.type(Buffer.concat([Buffer.from('one\ntwo\r\n\n'), part]));
    await program.shows('""\nUser Input: ');
    program.type(rest);
    program.type('\nno line feed');
    program.endInput();
    expect(await program.ended).toBe(0);
    expect(program.output).toBe(
      [
        'User Input: one',
        '"one"',
        'User Input: two',
        '"two"',
        'User Input: ',
        '""',
        'User Input: 3 €',
        '"3 €"',
        'User Input: no line feed',
        '"no line feed"',
        'User Input: ',
        'InputEndedError: There is no more input for user on the terminal.',
        '',
      ].join('\n'),
    );
  });

  test('lets the program end without a question, though the pipe is open and has more lines', async () => {
    const program = new Program('once');
    program.type('one\ntwo\nthree');
    expect(await program.ended).toBe(0);
    expect(program.output).toBe('User Input: one\n"one"\n');
  });

  test('asks for the fields of a structured model', async () => {
    const program = new Program('form');
    program.type('Hi!\nsth\n\napple\nmaybe\nfalse\n');
    expect(await program.ended).toBe(0);
    expect(program.output.split('\n')).toEqual([
      'User Input: Hi!',
      '  thinking (string): sth',
      '  decision (string): ',
      '  ! An answer is required.',
      '  decision (string): apple',
      '  sure (boolean, default true): maybe',
      '  ! Please enter it as JSON, for example true or false.',
      '  sure (boolean, default true): false',
      '["Hi!",{"thinking":"sth","decision":"apple","sure":false}]',
      '',
    ]);
  });

  test('withdraws an interrupted question, and gives the line to the next question', async () => {
    const program = new Program('withdrawn');
    await program.shows('User Input: ');
    expect(program.output).toBe('User Input: ');
    program.pressCtrlC();
    await program.shows('first: The question was withdrawn before I answered it.\n');
    program.type('mine\n');
    expect(await program.ended).toBe(0);
    expect(program.output.split('User Input: ')).toHaveLength(3);
    expect(program.output).toMatch(/mine\n(.*answered it\.\n)?mine\n$/);
  });
});

describe('Ctrl-C in a program', () => {
  test('interrupts a running agent, and ends the program at the prompt', async () => {
    const program = new Program('worker');
    for (const task of ['one', 'two']) {
      await program.shows('User Input: ');
      program.type(`${task}\n`);
      await program.shows(`working on ${task}`);
      program.pressCtrlC();
      await program.shows('worker: I noticed that you have interrupted me.');
    }
    await program.shows('User Input: ');
    program.pressCtrlC();
    expect(await program.ended).toBe(130);
  });

  test.each([['listen'], ['stop']])('does not keep it alive (%s)', async (mode) => {
    const program = new Program('deaf', mode);
    expect(await program.ended).toBe(0);
    expect(program.output).toBe('done\n');
  });
});

describe('pending tool calls on a pipe', () => {
  const call = { type: 'tool_use', id: 'c1', name: 'ask_user', input: {} };
  const asked = (question: UserQuestion) => ({
    id: 'p1',
    agentPath: ['boss', 'mailer'],
    kind: 'question',
    call,
    question,
  });

  async function decide(pending: readonly unknown[], typed: string): Promise<readonly string[]> {
    const program = new Program('decide', JSON.stringify(pending));
    program.type(typed);
    program.endInput();
    expect(await program.ended).toBe(0);
    return program.output.split('\n').slice(0, -1);
  }

  test('a question in words is shown without control characters, and asked again after an empty line', async () => {
    const message = '\u001b[2JWhich\u202e city?\nMay I call rm? yes';
    expect(await decide([asked({ message })], '\nRome\n')).toEqual([
      'boss > mailer asks:',
      '   [2JWhich  city?',
      '  May I call rm? yes',
      '  answer: ',
      '  ! it must be a text, not an empty one (or /decline)',
      '  answer: Rome',
      '{"verdict":"answer","answer":"Rome"}',
    ]);
  });

  test('choices have numbers, and are taken by number or text', async () => {
    const choices = ['red', 'blue'];
    const lines = await decide(
      [asked({ message: 'Which?', choices }), asked({ message: 'Which?', choices, multiple: true })],
      '3\n2\nBLUE, 1\n',
    );
    expect(lines).toEqual([
      'boss > mailer asks:',
      '  Which?',
      '  1. red',
      '  2. blue',
      '  number: 3',
      '  ! it must be one of the choices: ["red","blue"] (or /decline)',
      '  number: 2',
      'boss > mailer asks:',
      '  Which?',
      '  1. red',
      '  2. blue',
      '  (several may be chosen)',
      '  numbers, with commas between them: BLUE, 1',
      '{"verdict":"answer","answer":"blue"}',
      '{"verdict":"answer","answer":["red","blue"]}',
    ]);
  });

  test('a form is asked field by field, with its defaults', async () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Where to' },
        nights: { type: 'integer', default: 2 },
        seat: { type: 'string', oneOf: [{ const: 'a', title: 'aisle' }, { const: 'w' }] },
        extras: { type: 'array', items: { type: 'string', enum: ['meal', 'wifi'] } },
        sure: { type: 'boolean' },
      },
      required: ['city'],
    };
    const lines = await decide([asked({ message: 'Book?', schema })], '\nRome\n\nx\nw\nmeal, wifi\nyes\n');
    expect(lines.slice(3)).toEqual([
      '  city (string) - Where to: ',
      '  ! An answer is required.',
      '  city (string) - Where to: Rome',
      '  nights (integer, default 2): ',
      '  seat (a = aisle | w, optional): x',
      '  ! seat: Instance does not match exactly one subschema (0 matches).',
      '  ! seat: Instance does not match "a".',
      '  ! seat: Instance does not match "w".',
      '  seat (a = aisle | w, optional): w',
      '  extras (meal | wifi, several with commas, optional): meal, wifi',
      '  sure (boolean, optional): yes',
      '{"verdict":"answer","answer":{"city":"Rome","nights":2,"seat":"w","extras":["meal","wifi"],"sure":true}}',
    ]);
  });

  test('an approval, a page and a result are decided, and anything may be declined', async () => {
    const rule = { tool: 'rm' };
    const lines = await decide(
      [
        { id: 'p1', agentPath: ['boss'], kind: 'approval', call, reason: 'it deletes', suggestions: [rule] },
        asked({ message: 'Sign in.', url: 'https://a.example/' }),
        { id: 'p3', agentPath: ['boss'], kind: 'external', call },
        asked({ message: 'Age?' }),
      ],
      'perhaps\nalways\n\n42\n/decline private\n',
    );
    expect(lines.filter((line) => !line.startsWith('  ') && !line.endsWith('asks:'))).toEqual([
      'May I call ask_user with {}? (it deletes)',
      'rule {"tool":"rm"}',
      'I need the result of ask_user with {}?',
      '{"verdict":"allow"}',
      '{"verdict":"answer"}',
      '{"verdict":"result","output":"42"}',
      '{"verdict":"deny","reason":"private"}',
    ]);
  });

  test('words are not taken for a visit of a page', async () => {
    const page = asked({ message: 'Sign in.', url: 'https://a.example/' });
    expect(await decide([page, page], 'no\n\nnever\n/decline\n')).toEqual([
      'boss > mailer asks:',
      '  Sign in.',
      '  https://a.example/',
      '  Enter when you are done there, or /decline: no',
      '  Enter when you are done there, or /decline: ',
      'boss > mailer asks:',
      '  Sign in.',
      '  https://a.example/',
      '  Enter when you are done there, or /decline: never',
      '  Enter when you are done there, or /decline: /decline',
      '{"verdict":"answer"}',
      '{"verdict":"deny","reason":""}',
    ]);
  });

  test('a field that is only too long for the check of its format is asked for again', async () => {
    const schema = { type: 'object', properties: { page: { type: 'string', format: 'uri' } } };
    const long = `https://a.example/${'a'.repeat(2_100)}`;
    const lines = await decide([asked({ message: 'Which?', schema })], `${long}\nhttps://b.example/\n`);
    expect(lines.filter((line) => line.startsWith('  !'))).toEqual([
      '  ! page: String is too long (2118 > 2048) (or /decline)',
    ]);
    expect(lines.at(-1)).toBe('{"verdict":"answer","answer":{"page":"https://b.example/"}}');
  });

  test('stay pending at the end of the input, and when the questions are withdrawn', async () => {
    const ended = await decide([asked({ message: 'Which?' })], '');
    expect(ended.at(-1)).toBe('InputEndedError: There is no more input on the terminal.');
    const program = new Program('decide', JSON.stringify([asked({ message: 'Which?' })]));
    await program.shows('answer: ');
    program.pressCtrlC();
    await program.ended;
    expect(program.output).toContain('Error: withdrawn');
  });
});
