// Interrupts before or while a hook changes a tool result or a model message.
import { describe, expect, test } from 'vitest';

import { InMemoryMemory, ReActAgent, tool, withRunConfig, type Msg } from '../src/index.ts';
import type { MemoryFilter } from '../src/memory/memory-base.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/index.ts';

const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Memory that takes more turns of the event loop to read than hooks have after an interrupt, as a store behind a network does. */
class SlowMemory extends InMemoryMemory {
  override async getMemory(filter?: MemoryFilter): Promise<readonly Msg[]> {
    for (let turn = 0; turn < 20; turn++) await yieldToEventLoop();
    return super.getMemory(filter);
  }
}

/** Pays, interrupts some ticks later, and has a hook that never ends. Returns the result stored, and whether the payment was complete in time. */
async function payAndInterrupt(ticks: number): Promise<{ output: unknown; isComplete: boolean }> {
  const agent = new ReActAgent({
    name: 'ann',
    model: new ScriptedModel([{ toolCalls: [{ id: 'c1', name: 'pay', input: {} }] }, 'Done.']),
    tools: [tool({ name: 'pay', execute: () => 'paid' })],
    console: false,
  });
  let isComplete = false;
  let interrupted: Promise<boolean> | undefined;
  agent.toolkit.registerMiddleware(async (call, next) => {
    const result = await next(call);
    void (async () => {
      for (let tick = 0; tick < ticks; tick++) await undefined;
      interrupted = agent.interrupt();
    })();
    return result;
  });
  agent.registerInstanceHook('postActing', 'redact', (_agent, _args, { status }) => {
    isComplete = status === 'ok';
    return new Promise<never>(() => {});
  });
  await agent.call('Pay.');
  await interrupted;
  const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
  expect(results).toHaveLength(1);
  return { output: results[0]?.output, isComplete };
}

test('a finished tool call whose hook an interrupt cuts off says that it was made, whenever the interrupt comes', async () => {
  let complete = 0;
  for (let ticks = 0; ticks < 60; ticks++) {
    const { output, isComplete } = await payAndInterrupt(ticks);
    expect(output).not.toContain('paid');
    if (!isComplete) continue;
    complete++;
    expect(output).toContain('The tool call was made, but its result is withheld');
  }
  expect(complete).toBeGreaterThan(5);
});

describe('a model message that is cut off', () => {
  const HALF: ScriptedTurn = { text: 'The code is 4711 and', chunkSize: 4, stall: true };
  const LOOK: ScriptedTurn = { toolCalls: [{ name: 'look', input: {} }] };
  const hide = (msg: Msg): Msg =>
    msg.with({ content: msg.text.replaceAll(/\d/g, '*'), metadata: { isHidden: true } });

  /** Calls an agent whose model stalls in the middle of its message, or of its summary, and ends the call. Returns what memory has of it. */
  async function cutOff(
    type: 'postReasoning' | 'postSummary',
    how: 'interrupt' | 'abort' | 'leave' | 'failure',
    hook: (msg: Msg, stop: () => void) => Msg | Promise<Msg>,
    turn = HALF,
    memory?: InMemoryMemory,
  ): Promise<string[]> {
    const last: ScriptedTurn = how === 'failure' ? { ...turn, stall: false, error: new Error('gone') } : turn;
    const agent = new ReActAgent({
      name: 'ann',
      model: new ScriptedModel(type === 'postSummary' ? [LOOK, last] : [last]),
      tools: [tool({ name: 'look', execute: () => 'seen' })],
      maxIters: 1,
      memory,
      console: false,
    });
    const abort = new AbortController();
    const stop = (): void => (how === 'abort' ? abort.abort(new Error('gone')) : void agent.interrupt());
    const run = (_agent: ReActAgent, _args: object, msg: Msg) =>
      msg.hasContentBlocks('tool_use') ? undefined : hook(msg, stop);
    agent.registerInstanceHook(type, 'hide', run);
    const stream = agent.stream('The code?', { signal: abort.signal });
    let shown = '';
    let isStopped = false;
    try {
      for await (const event of stream) {
        if (event.type === 'text_delta') shown += event.text;
        if (!shown.endsWith('and') || how === 'failure' || turn !== HALF || isStopped) continue;
        isStopped = true;
        if (how === 'leave') break;
        stop();
      }
    } catch (error) {
      expect(String(error)).toMatch(/gone|The postSummary hook 'hide' failed: broken/); // the hook gets the sentence in place of a summary too
    }
    expect(agent.isRunning).toBe(false);
    const said = (await agent.memory.getMemory()).filter(
      (msg) => msg.role === 'assistant' && msg.text !== '' && msg.metadata['_is_interrupted'] === undefined,
    );
    return said.filter(({ text }) => !text.startsWith('I have no answer')).map(({ text }) => text);
  }

  for (const type of ['postReasoning', 'postSummary'] as const) {
    test.each(['interrupt', 'abort', 'leave', 'failure'] as const)(
      `by %s is stored as ${type} hooks leave it`,
      async (how) => {
        expect(await cutOff(type, how, hide)).toEqual(['The code is **** and']);
        expect(await cutOff(type, how, async (msg) => hide(msg))).toEqual(['The code is **** and']);
      },
    );

    test(`is stored as ${type} hooks leave it, also in a memory that is slow to read`, async () => {
      for (const how of ['interrupt', 'abort', 'leave', 'failure'] as const)
        expect(await cutOff(type, how, hide, HALF, new SlowMemory())).toEqual(['The code is **** and']);
    });

    test(`runs no ${type} hook that begins after the end of the agent call`, async () => {
      const release = Promise.withResolvers<undefined>();
      const ran: string[] = [];
      const agent = new ReActAgent({
        name: 'ann',
        model: new ScriptedModel(type === 'postSummary' ? [LOOK, HALF] : [HALF]),
        tools: [tool({ name: 'look', execute: () => 'seen' })],
        maxIters: 1,
        console: false,
      });
      agent.registerInstanceHook(type, 'slow', (_agent: ReActAgent, _args: object, msg: Msg) => {
        if (msg.hasContentBlocks('tool_use')) return undefined;
        ran.push('slow');
        return release.promise;
      });
      agent.registerInstanceHook(type, 'next', (_agent: ReActAgent, _args: object, msg: Msg) => {
        if (!msg.hasContentBlocks('tool_use')) ran.push('next');
      });
      agent.on('text_delta', ({ text }) => void (text.includes('47') && agent.interrupt()));
      await agent.call('The code?');
      release.resolve(undefined);
      for (let turn = 0; turn < 10; turn++) await yieldToEventLoop();
      expect(ran).toEqual(['slow']);
    });

    test(`is not stored if a ${type} hook fails or hangs`, async () => {
      await withRunConfig({ logging: 'silent' }, async () => {
        const fail = (): never => {
          throw new Error('broken');
        };
        for (const how of ['interrupt', 'abort', 'leave', 'failure'] as const)
          expect(await cutOff(type, how, fail)).toEqual([]);
        for (const how of ['interrupt', 'abort', 'leave'] as const)
          expect(await cutOff(type, how, () => new Promise<never>(() => {}))).toEqual([]);
      });
    });

    test(`is not stored if a ${type} hook is cut off, which began after its end`, async () => {
      const whole: ScriptedTurn = { text: 'The code is 4711 and', chunkSize: 4 };
      const hang = (_msg: Msg, stop: () => void) => {
        stop();
        return new Promise<never>(() => {});
      };
      for (const how of ['interrupt', 'abort'] as const)
        expect(await cutOff(type, how, hang, whole)).toEqual([]);
    });
  }
});
