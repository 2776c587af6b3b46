// Agent calls that are refused: known before the first event, with nothing changed, so that a server can answer 409.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { AgentBase, Msg, ReActAgent, tool, Toolkit, TroupeError } from '../src/index.ts';
import type { AgentEvent, AgentStream, CallOptions } from '../src/index.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/index.ts';

const Path = z.object({ path: z.string() });
const remove = (id: string) => ({ name: 'remove', id, input: { path: `/${id}` } });

class Setting {
  readonly ran: string[] = [];
  readonly hooks: string[] = [];
  readonly agent: ReActAgent;

  constructor(script: readonly (string | ScriptedTurn)[]) {
    const removes = tool({
      name: 'remove',
      schema: Path,
      execute: ({ path }) => {
        this.ran.push(path);
        return `removed ${path}`;
      },
    });
    this.agent = new ReActAgent({
      name: 'Friday',
      model: new ScriptedModel(script),
      toolkit: new Toolkit({ tools: [removes] }),
      permissionPolicy: { decide: () => ({ behavior: 'ask', reason: 'it deletes' }) },
      parallelToolCalls: true,
      console: false,
    });
    for (const type of ['postReply', 'postCall', 'error'] as const)
      this.agent.registerInstanceHook(type, 'note', () => void this.hooks.push(type));
  }

  get ids(): readonly string[] {
    return this.agent.pendingCalls.map(({ id }) => id);
  }
}

/** An agent with two pending tool calls. */
async function waiting(...further: readonly string[]): Promise<Setting> {
  const setting = new Setting([{ toolCalls: [remove('a'), remove('b')] }, ...further]);
  await setting.agent.call('Clean up.');
  if (setting.ids.length < 2) throw new Error('two tool calls should be pending');
  setting.hooks.length = 0;
  return setting;
}

/** Reads a stream to its end. @returns the events, and the error if it failed */
async function read(stream: AgentStream): Promise<{ events: AgentEvent[]; error?: unknown }> {
  const events: AgentEvent[] = [];
  try {
    for await (const event of stream) events.push(event);
    return { events };
  } catch (error) {
    return { events, error };
  }
}

type Refused = (ids: readonly string[]) => [input: string | undefined, options: CallOptions];

const REFUSED: readonly [string, string, Refused][] = [
  ['new input while tool calls are pending', 'pending_calls', () => ['Something else.', {}]],
  [
    'input with a decision about one of two',
    'pending_calls',
    ([id = '']) => ['And be quick.', { decisions: [{ id, verdict: 'deny' }] }],
  ],
  [
    'a decision about an unknown tool call',
    'decision_refused',
    ([id = '']) => [
      undefined,
      {
        decisions: [
          { id, verdict: 'allow' },
          { id: 'other', verdict: 'allow' },
        ],
      },
    ],
  ],
  [
    'two decisions about one tool call',
    'decision_refused',
    ([id = '']) => [
      undefined,
      {
        decisions: [
          { id, verdict: 'allow' },
          { id, verdict: 'deny' },
        ],
      },
    ],
  ],
  [
    'a decision that is none',
    'decision_refused',
    ([id = '']) => [undefined, { decisions: [{ id, verdict: 'maybe' as 'allow' }] }],
  ],
];

describe('an agent call that is refused', () => {
  test.each(REFUSED)('%s: rejects before any event, and nothing changes', async (_, code, refused) => {
    const { agent, ids, hooks, ran } = await waiting('Done.');
    const before = JSON.stringify([agent.stateDict(), await agent.memory.getMemory()]);
    const [input, options] = refused(ids);

    const { events, error } = await read(agent.stream(input, options));
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code, isRefusal: true });
    await expect(agent.call(input, options)).rejects.toMatchObject({ code, isRefusal: true });
    const stream = agent.stream(input, options);
    await expect(stream.started).rejects.toMatchObject({ code, isRefusal: true });
    await expect(stream.answer).rejects.toMatchObject({ code });

    expect(JSON.stringify([agent.stateDict(), await agent.memory.getMemory()])).toBe(before);
    expect([agent.isRunning, hooks, ran]).toEqual([false, [], []]);
    const decisions = ids.map((id) => ({ id, verdict: 'allow' as const }));
    expect((await agent.call(undefined, { decisions })).text).toBe('Done.');
    expect(ran).toEqual(['/a', '/b']);
  });

  test('a decision when nothing is pending, a busy agent: the same', async () => {
    const { agent } = new Setting(['Done.', 'Again.']);
    const decisions = [{ id: 'x', verdict: 'allow' as const }];
    expect(await read(agent.stream('Hello.', { decisions }))).toMatchObject({
      events: [],
      error: { code: 'decision_refused', isRefusal: true },
    });
    expect(await agent.memory.getMemory()).toEqual([]);
    const first = agent.call('Hello.');
    expect(await read(agent.stream('Me too.'))).toMatchObject({
      events: [],
      error: { code: 'agent_busy', isRefusal: true },
    });
    await expect(agent.stream('Me too.').started).rejects.toMatchObject({ isRefusal: true });
    expect((await first).text).toBe('Done.');
  });

  test('structured output that was wanted and is not asked for again', async () => {
    const { agent } = new Setting([{ toolCalls: [remove('a')] }]);
    await agent.call('Clean up.', { structuredModel: Path });
    expect(await read(agent.stream())).toMatchObject({
      events: [],
      error: { code: 'pending_calls', isRefusal: true },
    });
  });

  test('other errors are no refusals', async () => {
    const { agent } = new Setting([]);
    const { events, error } = await read(agent.stream('Hello.'));
    expect(events.map(({ type }) => type)).toEqual([
      'reply_start',
      'model_start',
      'model_end',
      'reply_end',
      'run_end',
    ]);
    expect(error).toMatchObject({ code: 'script_failed', isRefusal: false });
    expect(new TroupeError('agent_closed', 'x').isRefusal).toBe(false);
  });

  test('a message that a hook printed before the refusal is followed by the end of the run', async () => {
    const { agent } = await waiting();
    agent.registerInstanceHook('preReply', 'greet', async (self) => {
      await self.print(Msg.assistant('One moment.', { name: 'Friday' }));
    });
    const { events, error } = await read(agent.stream('Something else.'));
    expect(error).toMatchObject({ code: 'pending_calls' });
    expect(events.map(({ type }) => type)).toEqual([
      'reply_start',
      'block_start',
      'text_delta',
      'block_end',
      'reply_end',
      'run_end',
    ]);
    expect(events.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('an agent call that is interrupted before it could be refused begins with its start', async () => {
    const { agent } = await waiting();
    const reached = Promise.withResolvers<void>();
    agent.registerInstanceHook('preReply', 'slow', async () => {
      reached.resolve();
      await new Promise<never>(() => {});
    });
    const reading = read(agent.stream('Something else.'));
    await reached.promise;
    await agent.interrupt();
    const { events, error } = await reading;
    expect(error).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual([
      'reply_start',
      'block_start',
      'text_delta',
      'block_end',
      'reply_end',
      'run_end',
    ]);
    expect(agent.pendingCalls).toHaveLength(2);
  });

  test('inside of another agent, its events do not begin either', async () => {
    const { agent: inner } = await waiting();
    class Outer extends AgentBase {
      async reply(): Promise<Msg> {
        const refused = await inner.call('Something else.').catch((error: unknown) => error);
        return Msg.assistant(TroupeError.isInstance(refused) ? refused.code : 'none', { name: this.name });
      }
    }
    const stream = new Outer({ name: 'outer', console: false }).stream('Hi.', { nested: true });
    const { events } = await read(stream);
    expect(events.map(({ type, agentPath }) => `${agentPath.join('/')} ${type}`)).toEqual([
      'outer reply_start',
      'outer reply_end',
      'outer run_end',
    ]);
    expect((await stream.answer).text).toBe('pending_calls');
  });

  test('events of an agent that a hook calls come after the start of the outer reply', async () => {
    const { agent } = new Setting(['Done.']);
    class Helper extends AgentBase {
      async reply(): Promise<Msg> {
        return Msg.assistant('Help.', { name: this.name });
      }
    }
    const helper = new Helper({ name: 'helper', console: false });
    agent.registerInstanceHook('preReply', 'help', async () => void (await helper.call('Hi.')));
    const { events } = await read(agent.stream('Hello.', { nested: true }));
    expect(events.slice(0, 5).map(({ type, agentPath }) => `${agentPath.join('/')} ${type}`)).toEqual([
      'Friday reply_start',
      'Friday/helper reply_start',
      'Friday/helper reply_end',
      'Friday model_start',
      'Friday block_start',
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i));
  });
});

describe('a stream that is awaited before it is read', () => {
  test('has all of its events, in every way to read it', async () => {
    const types =
      'reply_start model_start block_start text_delta model_end block_end reply_end run_end'.split(' ');
    const streamed = async (): Promise<AgentStream> => {
      const stream = new Setting(['Hello.']).agent.stream('Hi.');
      await stream.started;
      await stream.started; // twice is the same
      return stream;
    };
    const { events } = await read(await streamed());
    expect(events.map(({ type }) => type)).toEqual(types);
    let text = '';
    for await (const piece of (await streamed()).text) text += piece;
    expect(text).toBe('Hello.');
    expect((await (await streamed()).answer).text).toBe('Hello.');
    expect(await (await streamed()).toResponse().text()).toMatch(/^:\n\nid: 0\nevent: reply_start\n/);
    const read1 = await streamed();
    await read1.next();
    await read1.started; // after the first read
    expect((await read1.next()).value).toMatchObject({ type: 'model_start' });
    await read1.return();
  });

  test('is interrupted when it is left, and never starts when it was left before', async () => {
    const { agent } = new Setting(['Hello.']);
    const stream = agent.stream('Hi.');
    await stream.started;
    expect(agent.isRunning).toBe(true);
    await stream.return();
    expect(agent.isRunning).toBe(false);
    expect((await stream.answer).endReason).toBe('interrupted');
    const left = agent.stream('Hi.');
    await left.return();
    await expect(left.started).rejects.toMatchObject({ code: 'interrupted' });
    expect((await agent.call('Hi.')).text).toBe('Hello.'); // no model was called before
  });
});
