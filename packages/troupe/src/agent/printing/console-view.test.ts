import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';

import type { ContentBlock, ToolStatus } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { tool } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import { ConsoleView, type ConsoleViewOptions } from './console-view.ts';
import { PrintLog } from './print-log.ts';

/** A view, its output, and a function that shows whole messages. */
class Screen {
  text = '';
  readonly view: ConsoleView;

  constructor(options: ConsoleViewOptions = {}) {
    this.view = new ConsoleView({ ...options, write: (text) => (this.text += text) });
  }

  print(name: string, ...blocks: readonly ContentBlock[]): this {
    const msg = Msg.assistant(blocks, { name });
    for (const change of new PrintLog().changes(msg, true)) this.view.show(name, change);
    return this;
  }

  get lines(): string[] {
    return this.text.split('\n');
  }
}

const call = (name: string, input: JsonObject, id = 'c'): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
});

const result = (output: string, status: ToolStatus = 'ok', id = 'c', name = 'look'): ContentBlock => ({
  type: 'tool_result',
  id,
  name,
  output,
  status,
});

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, i) => `line ${i + 1}`).join('\n');

afterEach(() => vi.unstubAllEnvs());

test('calls and results of a provider’s tools stand on lines of their own, sources below the text', () => {
  const by = { name: 'web_search', executedBy: 'anthropic' } as const;
  const screen = new Screen().print(
    'Friday',
    { type: 'provider_tool_use', id: 's', input: { query: 'weather' }, ...by },
    { type: 'provider_tool_result', id: 's', output: 'too_many_requests', status: 'error', ...by },
    { type: 'text', text: 'Sunny.', citations: [{ url: 'https://a.example/', title: 'A\u001b[31m' }] },
  );
  expect(screen.lines).toEqual([
    'Friday ⇒ web_search(query: "weather")',
    'Friday ⇐ web_search (error): too_many_requests',
    'Friday: Sunny.',
    '  [1] A [31m <https://a.example/>',
    '',
  ]);
});

describe('a run with tool calls', () => {
  const model = (): ScriptedModel =>
    new ScriptedModel([
      { thinking: 'Two cities.', text: 'One moment.', toolCalls: [weather('Lisbon'), weather('Oslo')] },
      'Lisbon it is.',
    ]);
  const weather = (city: string): { name: string; input: { city: string } } => ({
    name: 'get_weather',
    input: { city },
  });
  const getWeather = tool({
    name: 'get_weather',
    description: 'The weather in a city.',
    schema: z.object({ city: z.string() }),
    execute({ city }) {
      if (city === 'Oslo') throw new Error('no road to Oslo');
      return 'sunny\n21 °C';
    },
  });

  test('is shown with a line for each tool call, and results that name their agent and call', async () => {
    const screen = new Screen();
    const agent = new ReActAgent({
      name: 'Friday',
      model: model(),
      tools: [getWeather],
      console: screen.view,
    });
    await agent.call('Where to?');
    expect(screen.lines).toEqual([
      'Friday(thinking): Two cities.',
      'Friday: One moment.',
      'Friday → get_weather(city: "Lisbon")',
      'Friday → get_weather(city: "Oslo")',
      'Friday ← get_weather(city: "Lisbon"):',
      '  sunny',
      '  21 °C',
      'Friday ← get_weather(city: "Oslo") (error): Error: no road to Oslo',
      'Friday: Lisbon it is.',
      '',
    ]);
  });
});

describe('a tool call', () => {
  test('is one line: its name and its arguments', () => {
    const screen = new Screen().print(
      'ann',
      call('search', { query: 'a "quoted"\nword', limit: 3, deep: { tags: ['x', null] } }),
      call('now', {}),
    );
    expect(screen.text).toBe(
      'ann → search(query: "a \\"quoted\\"\\nword", limit: 3, deep: {"tags":["x",null]})\nann → now()\n',
    );
  });

  test('is cut at the width, and its arguments share the line', () => {
    const write = call('write_file', { text: 'x'.repeat(500), path: 'notes.md' });
    expect(new Screen({ columns: () => 60 }).print('ann', write).text).toBe(
      `ann → write_file(text: "${'x'.repeat(13)}…, path: "notes.md")\n`,
    );
    expect(new Screen().print('ann', call('say', { text: '日本'.repeat(90) })).text).toBe(
      `ann → say(text: "${'日本'.repeat(25)}…)\n`,
    );
    expect(
      new Screen({ columns: () => 40 }).print('assistant', call('calculate', { expression: '6 * 7' })).text,
    ).toBe(
      'assistant → calculate(expression: "6 *…)\n', // 40 columns
    );
    expect(new Screen({ columns: () => 20 }).print('ann', write).text).toBe(
      'ann → write_file(text: "…)\n', // the terminal breaks the line
    );
    expect(new Screen({ columns: () => 0 }).print('ann', call('say', { text: 'x'.repeat(200) })).text).toBe(
      `ann → say(text: "${'x'.repeat(101)}…)\n`,
    );
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key${i}`, 'value of the key']));
    expect(new Screen({ columns: () => 60 }).print('ann', call('set', many)).text).toBe(
      'ann → set(key0: "va…, key1: "va…, key2: "va…, key3: "va…, …)\n',
    );
  });

  test('that could not be read shows what the model wrote', () => {
    const raw: ContentBlock = { type: 'tool_use', id: 'c', name: 'say', input: {}, rawInput: '{"a": 1\n' };
    expect(new Screen().print('ann', raw).text).toBe('ann → say({"a": 1 )\n');
    expect(new Screen({ full: true }).print('ann', raw).text).toBe('ann → say:\n  {"a": 1\n  \n');
  });
});

describe('a tool result', () => {
  test('of one line stands beside the tool, cut at the width', () => {
    const screen = new Screen({ columns: () => 40 }).print('system', result('84'), result('y'.repeat(100)));
    expect(screen.text).toBe(`system ← look: 84\nsystem ← look: ${'y'.repeat(24)}…\n`);
  });

  test.each([
    [4, ['line 1', 'line 2', 'line 3', 'line 4']],
    [5, ['line 1', 'line 2', 'line 3', '… 2 more lines']],
    [5000, ['line 1', 'line 2', 'line 3', '… 4997 more lines']],
  ])('of %i lines shows the first ones', (count, shown) => {
    const { lines } = new Screen().print('system', result(`\n${numbered(count)}\n\n`));
    expect(lines).toEqual(['system ← look:', ...shown.map((line) => `  ${line}`), '']);
  });

  test.each(['', ' \n\n '])('without output says so: %j', (output) => {
    expect(new Screen().print('system', result(output)).text).toBe('system ← look: (no output)\n');
  });

  test('that is not ok shows its status', () => {
    const screen = new Screen();
    for (const status of ['error', 'denied', 'interrupted', 'unavailable'] as const)
      screen.print('system', result('why', status));
    expect(screen.lines).toEqual([
      'system ← look (error): why',
      'system ← look (denied): why',
      'system ← look (interrupted): why',
      'system ← look (unavailable): why',
      '',
    ]);
  });

  test('is told apart from others of the same tool by its arguments, and only then', () => {
    const screen = new Screen();
    screen.print('ann', call('look', { at: 'a' }, '1'), call('look', { at: 'b' }, '2'), call('now', {}, '3'));
    screen.print('system', result('B', 'ok', '2'), result('noon', 'ok', '3', 'now'), result('A', 'ok', '1'));
    screen.print('ann', call('look', { at: 'c' }, '4')).print('system', result('C', 'ok', '4'));
    expect(screen.lines.slice(3)).toEqual([
      'ann ← look(at: "b"): B',
      'ann ← now: noon',
      'ann ← look(at: "a"): A',
      'ann → look(at: "c")',
      'ann ← look: C',
      '',
    ]);
  });

  test('does not make the view keep every tool call that never had one', () => {
    const screen = new Screen();
    for (let i = 0; i <= 100; i++) screen.print(`agent ${i}`, call('look', {}, `${i}`));
    screen.text = '';
    screen.print('system', result('A', 'ok', '0'), result('B', 'ok', '100'));
    expect(screen.lines).toEqual(['system ← look: A', 'agent 100 ← look: B', '']);
  });
});

test('media are mentioned, with their size or where they are', () => {
  const media = (type: 'image' | 'audio' | 'video', bytes: number): ContentBlock => ({
    type,
    source: { type: 'base64', mediaType: 'x/y', data: 'A'.repeat((bytes * 4) / 3) },
  });
  const image = (url: string): ContentBlock => ({ type: 'image', source: { type: 'url', url } });
  const screen = new Screen().print(
    'ann',
    media('image', 12_345),
    media('audio', 999),
    media('video', 2_345_678),
    image('https://ann:secret@example.com/cat.png?key=secret'),
    image('data:image/png;base64,AAAA'),
    image('pictures/cat.png'),
    { type: 'file', filename: 'a\nb.pdf', source: { type: 'base64', mediaType: 'x/y', data: 'AAAA' } },
  );
  screen.print('system', {
    ...(result('') as ContentBlock & { type: 'tool_result' }),
    output: [
      { type: 'text', text: 'Here:' },
      { type: 'image', source: { type: 'base64', mediaType: 'x/y', data: 'AAAA' } },
    ],
  });
  expect(screen.lines).toEqual([
    'ann: [image, 12 kB]',
    'ann: [audio, 999 B]',
    'ann: [video, 2.3 MB]',
    'ann: [image, example.com]',
    'ann: [image]',
    'ann: [image, pictures/cat.png]',
    'ann: [file a b.pdf, 3 B]',
    'system ← look:',
    '  Here:',
    '  [image, 3 B]',
    '',
  ]);
});

describe('full', () => {
  test('shows whole arguments: on the line if they fit, else below each other, with the lines of texts', () => {
    const screen = new Screen({ full: true, columns: () => 40 });
    screen.print('ann', call('now', {}), call('look', { at: 'a', deep: true }));
    screen.print(
      'ann',
      call('write_file', {
        path: 'notes.md',
        text: `# Notes\n\n\tone\n${'long '.repeat(20)}`,
        mode: { owner: 'ann', tags: ['a', 'b'], unknown: null, very: 'deep' },
        small: { a: 1 },
        line: 'z'.repeat(60),
      }),
    );
    expect(screen.lines).toEqual([
      'ann → now()',
      'ann → look(at: "a", deep: true)',
      'ann → write_file:',
      '  path: "notes.md"',
      '  text:',
      '    # Notes',
      '    ',
      '      one',
      `    ${'long '.repeat(20)}`,
      '  mode: {',
      '    "owner": "ann",',
      '    "tags": [',
      '      "a",',
      '      "b"',
      '    ],',
      '    "unknown": null,',
      '    "very": "deep"',
      '  }',
      '  small: {"a":1}',
      `  line: "${'z'.repeat(60)}"`,
      '',
    ]);
  });

  test('shows whole results', () => {
    const screen = new Screen({ full: true, columns: () => 40 });
    screen.print('system', result(numbered(50)), result('y'.repeat(500), 'error'));
    expect(screen.lines).toEqual([
      'system ← look:',
      ...numbered(50)
        .split('\n')
        .map((line) => `  ${line}`),
      `system ← look (error): ${'y'.repeat(500)}`,
      '',
    ]);
  });
});

test('agents that speak at the same time stay apart, with tool calls and results between their lines', () => {
  const screen = new Screen();
  const say = (name: string, text: string): void =>
    screen.view.show(name, { type: 'text_delta', msgId: name, index: 0, text });
  say('ann', 'one');
  say('ben', 'two');
  screen.print('cem', call('look', {}));
  say('ben', ' more\n');
  say('ben', '');
  screen.print('system', result('x\ny'));
  say('ann', ' more');
  for (const msgId of ['ann', 'ben']) screen.view.show(msgId, { type: 'block_end', msgId, index: 0 });
  expect(screen.lines).toEqual([
    'ann: one',
    'ben: two',
    'cem → look()',
    'ben:  more',
    'cem ← look:',
    '  x',
    '  y',
    'ann:  more',
    '',
  ]);
});

test('a message that starts anew says so on a line of its own', () => {
  const screen = new Screen();
  screen.view.show('ann', { type: 'text_delta', msgId: 'm', index: 0, text: 'So' });
  screen.view.show('ann', { type: 'msg_reset', msgId: 'm', reason: 'line\nlost' });
  screen.view.show('ann', { type: 'text_delta', msgId: 'm', index: 0, text: 'Hello' });
  expect(screen.lines).toEqual(['ann: So', 'ann starts anew: line lost', 'ann: Hello']);
});

describe('on a terminal', () => {
  /** Says a text in pieces of a few characters. */
  function say(screen: Screen, name: string, text: string, type: 'text' | 'thinking' = 'text'): void {
    const pieces = text.match(/[^]{1,5}/gu) ?? [];
    const at = { msgId: name, index: 0 };
    for (const piece of pieces) {
      if (type === 'text') screen.view.show(name, { type: 'text_delta', ...at, text: piece });
      else screen.view.show(name, { type: 'thinking_delta', ...at, thinking: piece });
    }
  }
  const end = (screen: Screen, name: string): void =>
    screen.view.show(name, { type: 'block_end', msgId: name, index: 0 });

  test('lines break between words, at the width, after the name', () => {
    const screen = new Screen({ columns: () => 30 });
    say(screen, 'ann', 'It will be sunny in Lisbon for the whole week.\n\n  - 日本語日本語日本語日本語');
    end(screen, 'ann');
    expect(screen.lines).toEqual([
      'ann: It will be sunny in',
      'Lisbon for the whole week.',
      '',
      '  - 日本語日本語日本語日本語',
      '',
    ]);
  });

  test('a word is written when it is complete, and when another agent or a tool call comes between', () => {
    const screen = new Screen({ columns: () => 30, colors: true });
    say(screen, 'ann', 'It will be sun', 'thinking');
    expect(screen.lines).toEqual([
      '\u001b[2mann(thinking): \u001b[22m\u001b[2mIt\u001b[22m\u001b[2m will\u001b[22m\u001b[2m be\u001b[22m',
    ]);
    say(screen, 'ben', 'No, it wi');
    screen.print('cem', call('look', {}));
    say(screen, 'ann', 'ny.', 'thinking');
    end(screen, 'ann');
    end(screen, 'ben');
    expect(screen.text.replaceAll(/\u001b\[\d+m/g, '').split('\n')).toEqual([
      'ann(thinking): It will be sun',
      'ben: No, it wi',
      'cem → look()',
      'ann(thinking): ny.',
      '',
    ]);
    expect(screen.text).toContain('\u001b[2m sun\u001b[22m\n');
  });

  test('a new width counts from the next word on', () => {
    let columns: number | undefined = 40;
    const screen = new Screen({ columns: () => columns });
    say(screen, 'ann', 'one two three four five six ');
    columns = 20;
    say(screen, 'ann', 'seven eight nine te');
    columns = undefined;
    say(screen, 'ann', 'n eleven twelve thirteen');
    end(screen, 'ann');
    expect(screen.lines).toEqual([
      'ann: one two three four five six',
      'seven eight nine ten eleven twelve thirteen',
      '',
    ]);
  });
});

describe('colours', () => {
  const show = (screen: Screen): string =>
    screen
      .print(
        'ann',
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'Yes.' },
        call('look', { a: 1 }),
      )
      .print('system', result('no', 'denied')).text;

  test('set names, thinking and failures off, and end with each piece', () => {
    expect(show(new Screen({ colors: true })).split('\n')).toEqual([
      '\u001b[2mann(thinking): \u001b[22m\u001b[2mHm.\u001b[22m',
      '\u001b[36mann: \u001b[39mYes.',
      '\u001b[36mann → look\u001b[39m(a: 1)',
      '\u001b[36mann ← look\u001b[39m\u001b[31m (denied)\u001b[39m\u001b[2m: no\u001b[22m',
      '',
    ]);
  });

  test('are left out where output goes elsewhere', () => {
    vi.stubEnv('FORCE_COLOR', '1');
    expect(show(new Screen())).not.toContain('\u001b');
  });

  test.each([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { NO_COLOR: '1' }, false],
    [{ isTTY: true }, { NO_COLOR: '' }, true],
    [{ isTTY: true }, { TERM: 'dumb' }, false],
    [{ isTTY: true }, { FORCE_COLOR: '0' }, false],
    [{ isTTY: false }, {}, false],
    [{ isTTY: false }, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  ])('on standard output: %j with %j: %j', (stdout, variables, expected) => {
    for (const name of ['FORCE_COLOR', 'NO_COLOR', 'TERM']) vi.stubEnv(name, undefined);
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    let text = '';
    const write = (chunk: string): boolean => (text += chunk) !== '';
    const spy = vi
      .spyOn(process, 'stdout', 'get')
      .mockReturnValue({ ...stdout, columns: 40, write } as never);
    const view = new ConsoleView();
    view.show('ann', { type: 'text_delta', msgId: 'm', index: 0, text: 'Hi' });
    view.show('ann', { type: 'block_end', msgId: 'm', index: 0 });
    spy.mockRestore();
    expect(text).toBe(expected ? '\u001b[36mann: \u001b[39mHi\n' : 'ann: Hi\n');
  });
});

test('no text of a model or a tool reaches the terminal as a control sequence', () => {
  const nasty = fc.string({
    unit: fc.constantFrom('a', '\u001b', '[31m', '\u0007', '\r', '\b', '\u009b', '\t', '\n', '\u007f', '日'),
    maxLength: 20,
  });
  const views = fc.record({ full: fc.boolean(), colors: fc.boolean() });
  fc.assert(
    fc.property(views, fc.array(nasty, { minLength: 8, maxLength: 8 }), (options, texts) => {
      const [name = '', toolName = '', key = '', value = '', raw = '', output = '', text = '', file = ''] =
        texts;
      const screen = new Screen({ ...options, columns: () => 30 }).print(
        name,
        { type: 'text', text },
        { type: 'thinking', thinking: text },
        call(toolName, { [key]: value, list: [value] }),
        { type: 'tool_use', id: 'd', name: toolName, input: {}, rawInput: raw },
        { type: 'tool_result', id: 'c', name: toolName, output, status: 'error' },
        { type: 'file', filename: file, source: { type: 'url', url: value } },
      );
      const own = options.colors ? /\u001b\[(?:2|22|31|36|39)m/g : /(?!)/g;
      const written = screen.text.replace(own, '');
      expect(written).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      expect(screen.lines.length).toBeGreaterThan(4);
    }),
  );
});
