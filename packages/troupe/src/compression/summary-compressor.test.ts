import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';

import type { CompressionEvent } from '../event/agent-event.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { COMPRESSED_MARK, summaryMsg } from '../memory/memory-base.ts';
import { findHistoryFaults } from '../message/history.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import { Msg } from '../message/msg.ts';
import type { Usage } from '../message/usage.ts';
import { ChatModelBase, PLAIN_CAPABILITIES, type ToolSchema } from '../model/chat-model-base.ts';
import { ModelError } from '../model/model-error.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { TokenCounterBase } from '../token/token-counter-base.ts';
import { copyJson, type JsonObject } from '../util/json.ts';
import type { CompressionTask } from './context-compressor.ts';
import { SummaryCompressor, type SummaryCompressorOptions } from './summary-compressor.ts';

/** One token per character of text, ten per tool call, tool result and tool. */
class LetterCounter extends TokenCounterBase {
  override async count(msgs: readonly Msg[], tools: readonly ToolSchema[] = []): Promise<number> {
    return msgs.reduce((sum, msg) => {
      const others = msg.getContentBlocks(['tool_use', 'tool_result']).length;
      return sum + msg.text.length + 10 * others;
    }, 10 * tools.length);
  }
}

const FIELDS = {
  task_overview: 'T',
  current_state: 'C',
  important_discoveries: 'I',
  next_steps: 'N',
  context_to_preserve: 'P',
};
const TEMPLATE = '{task_overview}|{current_state}|{important_discoveries}|{next_steps}|{context_to_preserve}';
const NOTE =
  '(Older messages were left out here because the conversation got too long. No summary tells of them.)';
const USAGE: Usage = { inputTokens: 5, outputTokens: 7 };

function answer(input: JsonObject | string = FIELDS): ScriptedTurn {
  return { toolCalls: [{ name: 'generate_response', input }], usage: USAGE };
}

function long(id: string, extras: Parameters<typeof Msg.user>[1] = {}): Msg {
  return Msg.user(id.padEnd(100, '.'), { id, ...extras });
}

/** A tool call with its result, as stored in memory by an agent. */
function exchange(id: string): readonly Msg[] {
  return [
    Msg.assistant([{ type: 'tool_use', id, name: 'look', input: {} }], { id: `call ${id}` }),
    Msg.system([{ type: 'tool_result', id, name: 'look', output: id, status: 'ok' }], { id: `result ${id}` }),
  ];
}

class Bench {
  readonly memory = new InMemoryMemory();
  readonly events: CompressionEvent[] = [];
  readonly steps: string[] = [];
  readonly usages: (Usage | undefined)[] = [];
  readonly stop = new AbortController();
  readonly model: ScriptedModel;
  readonly compressor: SummaryCompressor;

  constructor(
    script: readonly (string | ScriptedTurn)[],
    options: Partial<SummaryCompressorOptions> = {},
    readonly extras: Partial<CompressionTask> = {},
  ) {
    this.model = new ScriptedModel(script);
    this.compressor = new SummaryCompressor(this.memory, {
      triggerThreshold: 250,
      keepRecent: 1,
      tokenCounter: new LetterCounter(),
      summaryTemplate: TEMPLATE,
      ...options,
    });
  }

  compress(extras: Partial<CompressionTask> = {}): Promise<boolean> {
    return this.compressor.compress({
      signal: this.stop.signal,
      model: this.model,
      formatter: undefined,
      sysPrompt: 'Be good.',
      tools: [],
      hints: [],
      agentName: 'Friday',
      requestIds: new Set(),
      force: false,
      planHint: undefined,
      step: async ({ kind, name }, body) => {
        this.steps.push(`${kind} ${name}`);
        return body();
      },
      emit: (event) => void this.events.push(event),
      addUsage: (usage) => void this.usages.push(usage),
      ...this.extras,
      ...extras,
    });
  }

  /** Conversation as shown to the model: texts of messages, or their ids. */
  async shown(): Promise<string[]> {
    const msgs = await this.memory.getMemory({ excludeMark: COMPRESSED_MARK });
    return msgs.map((msg) => (msg.id.startsWith('summary_') ? msg.text : msg.id));
  }

  asked(i = 0): string[] {
    return (this.model.requests[i]?.messages ?? []).map((msg) => msg.text || msg.id);
  }
}

describe('when', () => {
  test('nothing happens up to the threshold, and it does with one token more', async () => {
    const bench = new Bench([answer()], { triggerThreshold: 308 });
    await bench.memory.add([long('a'), long('b'), long('c')]); // with the 8 of the system prompt: 308
    expect(await bench.compress()).toBe(false);
    expect(bench.model.requests.length).toBe(0);
    expect(bench.events).toEqual([]);
    expect(await bench.compress({ sysPrompt: 'Be good!!' })).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'c']);
  });

  test('hints behind the conversation count, and are not summed up', async () => {
    const bench = new Bench([answer()]);
    await bench.memory.add([long('a'), Msg.assistant('Well.'), long('c')]);
    expect(await bench.compress()).toBe(false);
    expect(await bench.compress({ hints: [long('hint')] })).toBe(true);
    expect(JSON.stringify(bench.asked())).not.toContain('hint');
  });

  test('tools, the part that is kept and the summary count too', async () => {
    const tool: ToolSchema = { name: 'look', parameters: { type: 'object' } };
    const tools = Array.from({ length: 10 }, () => tool);
    const bench = new Bench([answer()], { triggerThreshold: 360 });
    await bench.memory.add([long('a'), long('b')]);
    expect(await bench.compress()).toBe(false);
    await bench.memory.updateCompressedSummary('x'.repeat(60));
    expect(await bench.compress({ tools: tools.slice(1) })).toBe(false); // 8 + 200 + 60 + 90
    expect(await bench.compress({ tools })).toBe(true);
    expect(bench.events.map(({ tokensBefore }) => tokensBefore)).toEqual([368, 368]);
  });

  test('also below the threshold, after the model has refused the prompt', async () => {
    const bench = new Bench([answer()], { triggerThreshold: 10_000 });
    await bench.memory.add([long('a'), long('b'), long('c')]);
    expect(await bench.compress({ force: true })).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'c']);
  });

  test('a conversation that can not be shortened stays unchanged, also after a refusal', async () => {
    const bench = new Bench([]);
    await bench.memory.add(Msg.user('x'.repeat(1_000), { id: 'huge' }));
    expect(await bench.compress()).toBe(false);
    expect(await bench.compress({ force: true })).toBe(false);
    expect(await bench.shown()).toEqual(['huge']);
    expect(bench.events).toEqual([]);
  });

  test('messages shorter than the shortest note are not summed up', async () => {
    const bench = new Bench([]);
    await bench.memory.add([Msg.user('Hi', { id: 'hi' }), Msg.user('x'.repeat(1_000), { id: 'huge' })]);
    expect(await bench.compress()).toBe(false);
    expect(await bench.shown()).toEqual(['hi', 'huge']);
  });
});

describe('the course of a compression', () => {
  test('a model sums up what is old; the messages stay in memory, and the summary is shown in their place', async () => {
    using _clock = new FakeClock().install();
    const bench = new Bench([answer()], { compressionPrompt: 'Sum up.' });
    await bench.memory.add([long('a'), long('b'), long('c')]);
    expect(await bench.compress()).toBe(true);

    expect(bench.asked()).toEqual(['Be good.', long('a').text, long('b').text, 'Sum up.']);
    expect(await bench.memory.getCompressedSummary()).toBe('T|C|I|N|P');
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'c']);
    expect((await bench.memory.getMemory({ mark: COMPRESSED_MARK, prependSummary: false })).length).toBe(2);
    expect(await bench.memory.size()).toBe(3);
    expect(bench.steps).toEqual(['model compression']);
    expect(bench.usages).toEqual([USAGE]);
    expect(bench.events).toEqual([
      {
        type: 'compression',
        phase: 'start',
        strategy: 'summary',
        compressedMessageCount: 2,
        tokensBefore: 308,
      },
      {
        type: 'compression',
        phase: 'end',
        strategy: 'summary',
        compressedMessageCount: 2,
        tokensBefore: 308,
        tokensAfter: 117,
        compressedMessageId: summaryMsg('T|C|I|N|P').id,
        nextMessageId: 'c',
        durationMs: 0,
        usage: USAGE,
      },
    ]);
    expect(await bench.compress()).toBe(false);
  });

  test('the summary before is worked into the new one, and shown only once', async () => {
    const bench = new Bench([answer(), answer({ ...FIELDS, task_overview: 'T2' })]);
    await bench.memory.add([long('a'), long('b'), long('c')]);
    await bench.compress();
    await bench.memory.add([long('d'), long('e')]);
    expect(await bench.compress()).toBe(true);
    expect(bench.asked(1).slice(0, -1)).toEqual(['Be good.', 'T|C|I|N|P', long('c').text, long('d').text]);
    expect(await bench.shown()).toEqual(['T2|C|I|N|P', 'e']);
  });

  test('without a template the fields stand one under the other, and empty ones are left out', async () => {
    const bench = new Bench([answer({ ...FIELDS, next_steps: ' ' })], {
      summaryTemplate: undefined,
      triggerThreshold: 600,
    });
    await bench.memory.add([Msg.user('x'.repeat(600), { id: 'a' }), long('b')]);
    await bench.compress();
    expect(await bench.memory.getCompressedSummary()).toBe(
      'This is a summary of the conversation so far. It takes the place of what was said before.\n\n' +
        '# Task overview\nT\n\n# Current state\nC\n\n# Important discoveries\nI\n\n# Context to preserve\nP',
    );
  });

  test('a schema and a template of your own; a field that may be missing leaves its place empty', async () => {
    const summarySchema = z.object({ facts: z.array(z.string()), mood: z.string().optional() });
    const summaryTemplate = 'Facts: {facts} {mood} {not a field}';
    const bench = new Bench([answer({ facts: ['{mood}', '$&'] })], { summarySchema, summaryTemplate });
    await bench.memory.add([long('a'), long('b'), long('c')]);
    expect(await bench.compress()).toBe(true);
    expect(await bench.memory.getCompressedSummary()).toBe('Facts: ["{mood}","$&"]  {not a field}');
  });

  test('a template that names a field which the schema does not have is refused at once', () => {
    const make = () => new Bench([], { summaryTemplate: '{task_overview} {nothing}' });
    expect(make).toThrow('summaryTemplate names {nothing}, which is not a field of the summary schema.');
  });

  test('another model sums up, if one is given, and is told what the plan is', async () => {
    const model = new ScriptedModel([answer()]);
    const bench = new Bench([], { model, compressionPrompt: 'Sum up.' });
    await bench.memory.add([long('a'), long('b'), long('c')]);
    expect(await bench.compress({ planHint: 'The plan is X.' })).toBe(true);
    expect(model.requests[0]?.messages.at(-1)?.text).toBe('Sum up.\n\nThe plan is X.');
  });

  test('a recorded step is used as it was, and no model is asked', async () => {
    const bench = new Bench([]);
    await bench.memory.add([long('a'), long('b'), long('c')]);
    const recorded = { text: 'As recorded.', durationMs: 5 };
    const step: CompressionTask['step'] = async () => recorded as never;
    expect(await bench.compress({ step })).toBe(true);
    expect(await bench.shown()).toEqual(['As recorded.', 'c']);
  });

  test('a step resolves to JSON', async () => {
    for (const turn of [answer(), { error: new ModelError('No.', { kind: 'overloaded' }) }]) {
      const bench = new Bench([turn]);
      await bench.memory.add([long('a'), long('b'), long('c')]);
      const seen: unknown[] = [];
      const step: CompressionTask['step'] = async (_step, body) => {
        const value = await body();
        seen.push(value);
        return value;
      };
      await bench.compress({ step });
      expect(copyJson(seen[0], 'it')).toEqual(seen[0]);
    }
  });

  test('an image is described to a model that takes none, and sent to one that does', async () => {
    const source = { type: 'base64', mediaType: 'image/png', data: 'SECRETBYTES' } as const;
    const file = {
      type: 'file',
      filename: 'a.pdf',
      source: { type: 'url', url: 'https://x.example/a' },
    } as const;
    const result = {
      type: 'tool_result',
      id: 'c',
      name: 'look',
      output: [{ type: 'image', source }, file],
      status: 'ok',
    } as const;
    for (const vision of [false, true]) {
      const model = new ScriptedModel([answer()]);
      Object.assign(model, { capabilities: { ...PLAIN_CAPABILITIES, vision } });
      const bench = new Bench([], { model });
      await bench.memory.add([
        Msg.user(
          [
            { type: 'text', text: 'x'.repeat(200) },
            { type: 'image', source },
          ],
          { id: 'a' },
        ),
        Msg.assistant([{ type: 'tool_use', id: 'c', name: 'look', input: {} }], { id: 'b' }),
        Msg.system([result], { id: 'r' }),
        Msg.assistant('I see.', { id: 'd' }),
        long('c'),
      ]);
      expect(await bench.compress()).toBe(true);
      const sent = JSON.stringify(model.requests[0]);
      expect(sent.includes('SECRETBYTES')).toBe(vision);
      expect(sent.includes('[image, image/png]')).toBe(!vision);
      expect(sent).toContain('[file, a.pdf]');
      expect(
        (await bench.memory.getMemory({ mark: COMPRESSED_MARK })).some((msg) =>
          msg.hasContentBlocks('image'),
        ),
      ).toBe(true);
    }
  });
});

describe('kept messages', () => {
  test('with fewer units than are to be kept, nothing is taken out', async () => {
    const bench = new Bench([], { keepRecent: 3 });
    await bench.memory.add([long('a'), long('b'), long('c')]);
    expect(await bench.compress()).toBe(false);
    expect(await bench.shown()).toEqual(['a', 'b', 'c']);
  });

  test('if the model has refused the prompt, fewer units are kept, but always the newest request', async () => {
    for (const [length, shown] of [
      [120, ['T|C|I|N|P', 'b', 'c']],
      [60, ['T|C|I|N|P', 'c']], // one of them is not worth it
      [20, ['a', 'b', 'c']],
    ] as const) {
      const bench = new Bench([answer()], { keepRecent: 3 });
      await bench.memory.add(['a', 'b', 'c'].map((id) => Msg.user('x'.repeat(length), { id })));
      expect(await bench.compress({ force: true })).toBe(length > 20);
      expect(await bench.shown()).toEqual(shown);
    }
  });

  test('the newest turn stays whole if the past is enough', async () => {
    const bench = new Bench([answer()], { triggerThreshold: 500 });
    await bench.memory.add([long('a'), Msg.assistant('x'.repeat(300), { id: 'b' }), long('ask')]);
    for (const id of ['1', '2', '3']) await bench.memory.add(exchange(id));
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual([
      'T|C|I|N|P',
      'ask',
      ...['1', '2', '3'].flatMap((id) => exchange(id).map((msg) => msg.id)),
    ]);
  });

  test('otherwise the request stays, and the oldest exchanges behind it go', async () => {
    const bench = new Bench([answer()], { keepRecent: 2, triggerThreshold: 150 });
    await bench.memory.add([long('a'), Msg.assistant('Yes.', { id: 'b' }), long('ask')]);
    for (const id of ['1', '2', '3', '4']) await bench.memory.add(exchange(id));
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'ask', 'call 3', 'result 3', 'call 4', 'result 4']);
    expect(bench.asked().slice(0, -1)).toEqual([
      'Be good.',
      long('a').text,
      'Yes.',
      long('ask').text,
      'call 1',
      'result 1',
      'call 2',
      'result 2',
    ]);
  });

  test('a steered request stays with its steering messages', async () => {
    const bench = new Bench([answer()]);
    await bench.memory.add([
      long('old'),
      Msg.assistant('Well.'),
      long('ask'),
      ...exchange('1'),
      long('on'),
      ...exchange('2'),
      long('steer'),
      ...exchange('3'),
      ...exchange('4'),
    ]);
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'ask', 'steer', 'call 4', 'result 4']);
  });

  test.each([
    [
      'what the agent was asked, as it is told',
      ['ask', 'more'],
      ['T|C|I|N|P', 'ask', 'more', 'call 4', 'result 4'],
    ],
    [
      'or all that was said since the last answer',
      [],
      ['T|C|I|N|P', 'ask', 'more', 'known', 'call 4', 'result 4'],
    ],
  ])('%s', async (_, ids, shown) => {
    const bench = new Bench([answer()]);
    const ask = Msg.assistant('Ask'.padEnd(100), { id: 'ask', name: 'Planner' });
    const task = ['1', '2', '3', '4'].flatMap(exchange);
    await bench.memory.add([
      long('old'),
      Msg.assistant('Well.', { id: 'well' }),
      ask,
      long('more'),
      long('known'),
    ]);
    await bench.memory.add(task);
    expect(await bench.compress({ requestIds: new Set(ids) })).toBe(true);
    expect(await bench.shown()).toEqual(shown);
  });

  test('nothing is removed if there are only requests', async () => {
    const bench = new Bench([]);
    await bench.memory.add([long('a'), long('b'), long('c'), ...exchange('1')]);
    expect(await bench.compress({ requestIds: new Set(['a', 'b', 'c']), force: true })).toBe(false);
  });

  test('but if nobody says what was asked, the newest is enough then', async () => {
    const bench = new Bench([answer()]);
    await bench.memory.add([long('a'), long('b'), long('c'), ...exchange('1')]);
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'c', 'call 1', 'result 1']);
  });

  test('calls that wait for a result stay, also among the old', async () => {
    const bench = new Bench([answer()]);
    await bench.memory.add([long('a'), Msg.assistant('Well.', { id: 'b' }), ...exchange('1').slice(0, 1)]);
    await bench.memory.add([long('c'), long('d'), long('e')]);
    expect(await bench.compress({ requestIds: new Set(['e']) })).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'call 1', 'e']);
  });

  test('instructions stay', async () => {
    const bench = new Bench([answer()]);
    await bench.memory.add([long('a'), Msg.system('Speak French.', { id: 'rule' }), long('b'), long('c')]);
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'rule', 'c']);
  });

  test('calls and results are never torn apart, the newest request stays, nothing is lost: whatever the conversation is', async () => {
    const unit = fc.oneof(
      fc.constantFrom('user', 'assistant', 'system', 'exchange'),
      fc.record({ parallel: fc.integer({ min: 2, max: 3 }), between: fc.boolean() }),
    );
    let compressed = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(unit, { maxLength: 14 }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        async (units, keepRecent, force, fails, isPending) => {
          const msgs = units.flatMap((kind, i) => {
            const id = `${i}`;
            if (kind === 'exchange') return exchange(id);
            if (kind === 'user') return [long(id)];
            if (kind === 'assistant') return [Msg.assistant('x'.repeat(60), { id })];
            if (kind === 'system') return [Msg.system('Rule', { id })];
            const { parallel } = kind as { parallel: number };
            const calls = Array.from(
              { length: parallel },
              (_, n) => ({ type: 'tool_use', id: `${id}.${n}`, name: 'f', input: {} }) as const,
            );
            const results = calls.map((call) =>
              Msg.system([{ type: 'tool_result', id: call.id, name: 'f', output: 'x', status: 'ok' }], {
                id: `r${call.id}`,
              }),
            );
            return [Msg.assistant(calls, { id }), ...results];
          });
          if (isPending)
            msgs.push(
              Msg.assistant([{ type: 'tool_use', id: 'p', name: 'f', input: {} }], { id: 'pending' }),
            );
          const when = () => true;
          const bench = new Bench([fails ? { when, text: 'nonsense' } : { when, ...answer() }], {
            keepRecent,
            maxAttempts: 1,
          });
          await bench.memory.add(msgs);
          const faults = findHistoryFaults(msgs).length;
          const hasChanged = await bench.compress({ force });

          const shown = await bench.memory.getMemory({ excludeMark: COMPRESSED_MARK, prependSummary: false });
          expect(findHistoryFaults(shown).length).toBe(faults);
          expect(await bench.memory.size()).toBe(msgs.length);
          expect(shown).toEqual(msgs.filter((msg) => shown.includes(msg)));
          const request = msgs.findLast(({ role }) => role === 'user');
          if (request !== undefined) expect(shown).toContain(request);
          if (msgs.length > 0) expect(shown).toContain(msgs.at(-1));
          expect(hasChanged).toBe(shown.length < msgs.length);
          expect((await bench.memory.getCompressedSummary()) !== '').toBe(hasChanged);
          expect(bench.events.filter(({ phase }) => phase === 'end').length > 0).toBe(hasChanged);
          if (hasChanged) compressed++;
        },
      ),
      { numRuns: 300 },
    );
    expect(compressed).toBeGreaterThan(100);
  });
});

describe('failures', () => {
  /** Three messages; the oldest is removed, down to three quarters of the limit. */
  async function truncates(bench: Bench, problem: RegExp): Promise<void> {
    await bench.memory.add([long('a'), long('b'), Msg.user('c', { id: 'c' })]);
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual([NOTE, 'b', 'c']);
    expect(
      bench.events.map(({ phase, strategy, compressedMessageCount: count }) => [phase, strategy, count]),
    ).toEqual([
      ['start', 'summary', 2],
      ['failed', 'summary', 2],
      ['end', 'truncation', 1],
    ]);
    expect(bench.events[1]?.problem).toMatch(problem);
    expect(bench.events[2]).toMatchObject({ tokensAfter: 8 + NOTE.length + 101, nextMessageId: 'b' });
  }
  const options = { triggerThreshold: 200 };

  test('an answer that lacks a field is asked for again', async () => {
    const { task_overview: _left, ...incomplete } = FIELDS;
    const bench = new Bench([answer(incomplete), answer()]);
    await bench.memory.add([long('a'), long('b'), long('c')]);
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'c']);
    expect(bench.usages).toEqual([{ inputTokens: 10, outputTokens: 14 }]);
  });

  test('after so many tries the oldest messages are left out', async () => {
    const { task_overview: _left, ...incomplete } = FIELDS;
    const bench = new Bench([answer(incomplete), answer(incomplete)], { ...options, maxAttempts: 2 });
    await truncates(bench, /^No structured output after 2 answers/);
    bench.model.assertUsedUp();
    expect(bench.usages).toEqual([{ inputTokens: 10, outputTokens: 14 }]);
    expect(bench.events[1]?.usage).toEqual({ inputTokens: 10, outputTokens: 14 });
  });

  test.each<[string, ScriptedTurn, RegExp]>([
    [
      'words in the place of an answer',
      { when: () => true, text: 'I would rather not.' },
      /^No structured output/,
    ],
    [
      'fields without content',
      answer({ ...FIELDS, ...Object.fromEntries(Object.keys(FIELDS).map((key) => [key, ' '])) }),
      /^The summary is empty/,
    ],
    [
      'a summary that is longer than what it is about',
      answer({ ...FIELDS, task_overview: 'x'.repeat(300) }),
      /^The summary is not shorter/,
    ],
    ['a model that fails', { error: new ModelError('Overloaded.', { kind: 'overloaded' }) }, /^Overloaded/],
    [
      'a model that throws something',
      { error: new TypeError('x is not a function') },
      /^x is not a function/,
    ],
    [
      'a model that breaks in the middle',
      { text: 'Well', error: new ModelError('Gone.', { kind: 'network' }) },
      /^Gone/,
    ],
  ])('%s: the oldest messages are left out', (_problem, turn, problem) =>
    truncates(new Bench([turn], options), problem),
  );

  test.each([false, true])(
    'a model that hangs is left after the timeout (stubborn: %s)',
    async (stubborn) => {
      const clock = new FakeClock();
      using _installed = clock.install();
      const bench = new Bench([{ text: 'Well', stall: true, stubborn }], { ...options, timeoutMs: 5_000 });
      const done = truncates(bench, /^It took longer than 5 s/);
      await clock.advance(4_999);
      expect(bench.events.length).toBe(1);
      await clock.advance(1);
      await done;
      expect(bench.events[1]?.durationMs).toBe(5_000);
      expect(clock.pendingTimers).toBe(0);
    },
  );

  test('when the model has refused the prompt and nobody can sum it up, all that is old is left out', async () => {
    const bench = new Bench([{ error: new ModelError('No.', { kind: 'overloaded' }) }], {
      triggerThreshold: 10_000,
    });
    await bench.memory.add([long('a'), long('b'), long('c')]);
    expect(await bench.compress({ force: true })).toBe(true);
    expect(await bench.shown()).toEqual([NOTE, 'c']);
  });

  test('the note comes once, behind the summary so far', async () => {
    const bench = new Bench([{ when: () => true, text: 'No.' }], options);
    await bench.memory.updateCompressedSummary('Before.');
    await bench.memory.add([long('a'), long('b'), long('c')]);
    await bench.compress();
    await bench.memory.add([long('d'), long('e')]);
    await bench.compress();
    expect(await bench.shown()).toEqual([`Before.\n\n${NOTE}`, 'e']);
  });

  test('messages too long for the summarizing model are summed up in parts, each added to the summary so far', async () => {
    const tooLong = { error: new ModelError('Too long.', { kind: 'context_overflow' }) };
    const second = answer({ ...FIELDS, task_overview: 'T2' });
    const bench = new Bench([tooLong, tooLong, answer(), second, answer({ ...FIELDS, task_overview: 'T3' })]);
    await bench.memory.add(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => long(id)));
    expect(await bench.compress({ force: true })).toBe(true);
    expect(bench.model.requests.map(({ messages }) => messages.length)).toEqual([7, 5, 4, 5, 4]);
    expect(bench.asked(3).slice(0, -1)).toEqual(['Be good.', 'T|C|I|N|P', long('c').text, long('d').text]);
    expect(await bench.shown()).toEqual(['T3|C|I|N|P', 'f']);
  });

  test('ends when the prompt fits, also between parts', async () => {
    const tooLong = { error: new ModelError('Too long.', { kind: 'context_overflow' }) };
    const bench = new Bench([tooLong, answer()], { triggerThreshold: 450 });
    await bench.memory.add(['a', 'b', 'c', 'd', 'e'].map((id) => long(id)));
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'c', 'd', 'e']);
  });

  test('one who can not even read one message is not asked for ever', async () => {
    const tooLong = { when: () => true, error: new ModelError('Too long.', { kind: 'context_overflow' }) };
    const bench = new Bench([tooLong]);
    await bench.memory.add(Array.from({ length: 40 }, (_, i) => long(`${i}`)));
    expect(await bench.compress()).toBe(true);
    expect(bench.model.requests.length).toBeLessThanOrEqual(8);
    expect((await bench.shown())[0]).toBe(NOTE);
  });

  test('nor one who can read only a few at a time', async () => {
    const error = new ModelError('Too long.', { kind: 'context_overflow' });
    const bench = new Bench([
      { when: ({ messages }) => messages.length > 5, error },
      { when: () => true, ...answer() },
    ]);
    await bench.memory.add(Array.from({ length: 40 }, (_, i) => long(`${i}`)));
    expect(await bench.compress({ force: true })).toBe(true);
    expect(bench.model.requests.length).toBe(8);
    expect(await bench.shown()).toEqual([`T|C|I|N|P\n\n${NOTE}`, '39']);
  });

  test('a counter that fails or hangs is replaced by an estimate', async () => {
    class Broken extends TokenCounterBase {
      override async count(): Promise<number> {
        throw new Error('no network');
      }
    }
    class Hanging extends TokenCounterBase {
      override count(): Promise<number> {
        return new Promise(() => {});
      }
    }
    const clock = new FakeClock();
    using _installed = clock.install();
    for (const tokenCounter of [new Broken(), new Hanging()]) {
      const bench = new Bench([answer()], { tokenCounter, triggerThreshold: 100, timeoutMs: 10 });
      await bench.memory.add([Msg.user('word '.repeat(200), { id: 'a' }), long('b')]);
      const done = bench.compress();
      await clock.advance(10);
      expect(await done).toBe(true);
      expect(await bench.shown()).toEqual(['T|C|I|N|P', 'b']);
    }
  });

  test('a counter that hangs is waited for once in some minutes', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const tokenCounter = new LetterCounter();
    const counted = vi.spyOn(tokenCounter, 'count').mockReturnValue(new Promise(() => {}));
    const bench = new Bench([], { tokenCounter, timeoutMs: 10 });
    const done = bench.compress();
    await clock.advance(10);
    expect([await done, await bench.compress(), counted.mock.calls.length]).toEqual([false, false, 1]);
  });

  test('a listener that hangs does not keep an interrupt waiting', async () => {
    const bench = new Bench([answer()], {}, { emit: () => new Promise(() => {}) });
    await bench.memory.add([long('a'), long('b'), long('c')]);
    const done = bench.compress();
    setImmediate(() => bench.stop.abort(new Error('stop')));
    await expect(done).rejects.toThrow('stop');
  });

  test('a model that never ends and never waits is stopped', async () => {
    class Endless extends ChatModelBase {
      count = 0;
      override async *stream(): AsyncGenerator<ModelDelta, void, void> {
        for (; this.count < 500_000; this.count++) yield { type: 'text', text: 'x' };
      }
    }
    const model = new Endless('endless');
    const bench = new Bench([], { ...options, model, maxAttempts: 1 });
    await truncates(bench, /^The summary is longer than the messages it replaces/);
    expect(model.count).toBeLessThan(2000);
  });

  test('a summary that is a little too long is one; what is far too long is cut', async () => {
    const fields = { ...FIELDS, current_state: 's'.repeat(310), next_steps: 'n'.repeat(2000) };
    const bench = new Bench([answer(fields)], { triggerThreshold: 2500, maxAttempts: 1 });
    await bench.memory.add(Array.from({ length: 30 }, (_, i) => long(`${i}`)));
    expect(await bench.compress({ requestIds: new Set(['29']) })).toBe(true);
    expect((await bench.shown())[0]).toBe(`T|${'s'.repeat(310)}|I|${'n'.repeat(400)}…|P`);
  });

  test('failing listeners do not break compression', async () => {
    const fail = () => Promise.reject(new Error('no'));
    const bench = new Bench([answer()], {}, { emit: fail, addUsage: fail });
    await bench.memory.add([long('a'), long('b'), long('c')]);
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'c']);
  });

  test('a program that dies between summary and marks still shows all messages', async () => {
    const bench = new Bench([answer()]);
    await bench.memory.add([long('a'), long('b'), long('c')]);
    bench.memory.updateMessagesMark = () => Promise.reject(new Error('the program died'));
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'a', 'b', 'c']);
  });

  test('a memory that fails does not fail the reply', async () => {
    const bench = new Bench([answer()]);
    await bench.memory.add([long('a'), long('b'), long('c')]);
    bench.memory.updateCompressedSummary = () => Promise.reject(new Error('disk full'));
    expect(await bench.compress()).toBe(false);
    expect(await bench.shown()).toEqual(['a', 'b', 'c']);
  });

  test.each([true, false])(
    'an interrupt leaves everything as it is (while the model hangs: %s)',
    async (stall) => {
      const bench = new Bench([stall ? { text: 'Well', stall } : answer()]);
      await bench.memory.add([long('a'), long('b'), long('c')]);
      const reason = new Error('stop');
      const addUsage = () => bench.stop.abort(reason); // the model is done by then
      const emit = () => (stall ? void setImmediate(() => bench.stop.abort(reason)) : undefined);
      await expect(bench.compress({ emit, addUsage })).rejects.toBe(reason);
      expect(await bench.shown()).toEqual(['a', 'b', 'c']);
      expect(await bench.memory.getCompressedSummary()).toBe('');
    },
  );

  test('a stream in small pieces gives a summary as well', async () => {
    const bench = new Bench([{ ...answer(), chunkSize: 1 }]);
    await bench.memory.add([long('a'), long('b'), long('c')]);
    expect(await bench.compress()).toBe(true);
    expect(await bench.shown()).toEqual(['T|C|I|N|P', 'c']);
  });

  test.each([
    [{ triggerThreshold: 0 }, 'triggerThreshold'],
    [{ triggerThreshold: NaN }, 'triggerThreshold'],
    [{ keepRecent: 0 }, 'keepRecent'],
    [{ keepRecent: 1.5 }, 'keepRecent'],
    [{ timeoutMs: 0 }, 'timeoutMs'],
    [{ maxAttempts: 0 }, 'maxAttempts'],
  ])('options that make no sense are refused: %j', (wrong, name) => {
    expect(() => new Bench([], wrong)).toThrow(`${name} must be a`);
  });
});
