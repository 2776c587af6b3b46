import assert from 'node:assert/strict';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { findHistoryFaults } from '../message/history.ts';
import type { Msg } from '../message/msg.ts';
import { PermissionRules } from '../permission/permission-rules.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { interruptAtEvery } from '../testing/drivers.ts';
import { InstantPlayer } from '../testing/voice/instant-player.ts';
import { ScriptedRealtimeModel, type ScriptedResponse } from '../testing/voice/scripted-realtime-model.ts';
import { tool, type Tool } from '../toolkit/tool/tool.ts';
import { SinkPlayer } from '../tts/sink-player.ts';
import { startTimer } from '../util/clock.ts';
import { RealtimeAgent, type RealtimeAgentOptions } from './realtime-agent.ts';
import type { TalkEvent } from './talk-event.ts';
import { NOT_UNDERSTOOD } from './utterance.ts';

let clock: FakeClock;
beforeEach(() => void (clock = new FakeClock().install()));
afterEach(() => {
  assert.equal(clock.pendingTimers, 0); // no timer is left
  clock[Symbol.dispose]();
});

const NOWHERE = { write: () => {}, flush: () => {} };
const later = (ms: number): Promise<void> => new Promise((resolve) => void startTimer(ms, resolve));
const slow = (ms: number): Tool =>
  tool({
    name: 'look_up',
    schema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      await later(ms);
      return `Sunny in ${city}.`;
    },
  });
const CALL = { id: 'call_1', name: 'look_up', input: { city: 'Rome' } };

async function talkWith(
  script: readonly ScriptedResponse[],
  options: Partial<RealtimeAgentOptions> = {},
  capabilities: ConstructorParameters<typeof ScriptedRealtimeModel>[1] = {},
) {
  const model = new ScriptedRealtimeModel(script, capabilities);
  const agent = new RealtimeAgent({ name: 'Friday', realtimeModel: model, console: false, ...options });
  const talk = await agent.connect({ player: new SinkPlayer(NOWHERE) });
  const events: TalkEvent[] = [];
  talk.onEvent((event) => void events.push(event));
  const history = async (): Promise<string[]> => {
    const msgs = await agent.memory.getMemory();
    expect(findHistoryFaults(msgs)).toEqual([]);
    return msgs.map(lineOf);
  };
  return { model, agent, talk, events, history };
}

function lineOf(msg: Msg): string {
  const parts = msg.getContentBlocks().map((block) => {
    if (block.type === 'text') return block.text;
    if (block.type === 'tool_use') return `[${block.name}]`;
    return block.type === 'tool_result' ? `[${block.status}] ${String(block.output)}` : block.type;
  });
  return `${msg.name}: ${parts.join(' ')}`;
}

describe('RealtimeAgent', () => {
  it('says nothing more to the player about a response that was cut off', async () => {
    const model = new ScriptedRealtimeModel([
      { text: 'One two three four.', isOpen: true },
      { text: 'Yes?' },
    ]);
    const agent = new RealtimeAgent({ name: 'Friday', realtimeModel: model, console: false });
    const player = new SinkPlayer(NOWHERE);
    const finished: string[] = [];
    const finish = player.finish.bind(player);
    player.finish = (itemId) => {
      finished.push(itemId);
      finish(itemId);
    };
    await using talk = await agent.connect({ player });
    model.connection.say('Count.');
    await clock.advance(300);
    const known = finished.length;
    await talk.interrupt();
    model.connection.say('And?');
    await clock.advance(2000);
    expect([...new Set(finished.slice(known))]).toEqual(['item_2']);
  });

  it('answers a spoken turn, and stores the words of both sides', async () => {
    const { model, agent, talk, history } = await talkWith([{ text: 'It is sunny in Lisbon.' }]);
    model.connection.say('How is the weather?');
    await clock.advance(5000);
    expect(await history()).toEqual(['user: How is the weather?', 'Friday: It is sunny in Lisbon.']);
    expect(agent.isRunning).toBe(false);
    expect(talk.usage).toEqual({ inputTokens: 10, outputTokens: 20 });
    await talk.close();
  });

  it('answers text and images by call(), and sends each message once', async () => {
    const { model, agent, talk } = await talkWith([{ text: 'One.' }, { text: 'Two.' }], {
      sysPrompt: 'Be short.',
    });
    const first = agent.call('First?');
    await clock.advance(1000);
    expect((await first).text).toBe('One.');
    const second = agent.call('Second?');
    await clock.advance(1000);
    expect((await second).usage).toEqual({ inputTokens: 10, outputTokens: 20 });
    expect(model.connection.setup.instructions).toBe('Be short.');
    expect(model.connection.sent.map((one) => (one.type === 'msg' ? one.msg.text : one.type))).toEqual([
      'First?',
      'respond',
      'Second?',
      'respond',
    ]);
    await talk.close();
  });

  it('is silent at once when the person speaks, and stores the words that were heard', async () => {
    const text = 'One two three four five six seven eight nine ten.'; // 50 ms for each character
    const { model, talk, events, history } = await talkWith([{ text }, { text: 'Yes?' }]);
    model.connection.say('Count.');
    await clock.advance(1000); // 20 characters: 'One two three four f'
    const itemId = model.connection.beginSpeech();
    await clock.advance(300);
    model.connection.say('Stop!', itemId);
    await clock.advance(5000);
    expect(await history()).toEqual([
      'user: Count.',
      'Friday: One two three four',
      'user: Stop!',
      'Friday: Yes?',
    ]);
    const truncated = model.connection.sent.find(({ type }) => type === 'truncate');
    expect(truncated).toMatchObject({ itemId: 'item_1' });
    expect(truncated?.type === 'truncate' && Math.abs(truncated.ms - 1000)).toBeLessThanOrEqual(20);
    expect(events.filter(({ type }) => ['paused', 'resumed', 'cut'].includes(type))).toEqual([
      { type: 'paused' },
      { type: 'cut', responseId: 'resp_1', heard: 'One two three four' },
    ]);
    await talk.close();
  });

  it('goes on after a false alarm, and forgets the noise', async () => {
    const { model, talk, events, history } = await talkWith(
      [{ text: 'One two three four five six.' }],
      {},
      { liveTranscript: false },
    );
    model.connection.say('Count.');
    await clock.advance(500);
    const itemId = model.connection.beginSpeech();
    model.connection.emit({ type: 'speech_stopped', itemId });
    await clock.advance(5000);
    expect(await history()).toEqual(['user: Count.', 'Friday: One two three four five six.']);
    expect(events.filter(({ type }) => ['paused', 'resumed', 'cut'].includes(type))).toEqual([
      { type: 'paused' },
      { type: 'resumed' },
    ]);
    expect(model.connection.sent.filter(({ type }) => type !== 'respond')).toEqual([
      { type: 'discard', itemId },
    ]);
    await talk.close();
  });

  it.each([0, 1, 500, 999])('removes an answer of which no word was heard (%i ms)', async (ms) => {
    const { model, talk, history } = await talkWith([
      { text: 'Incomprehensibilities are long.' },
      { text: 'Yes?' },
    ]);
    model.connection.say('Talk.');
    await clock.advance(ms);
    model.connection.say('No!');
    await clock.advance(5000);
    expect(await history()).toEqual(['user: Talk.', 'user: No!', 'Friday: Yes?']);
    await talk.close();
  });

  it('keeps a whole answer when the person speaks after its end', async () => {
    const { model, talk, history } = await talkWith([{ text: 'One two.' }, { text: 'Bye.' }]);
    model.connection.say('Count.');
    await clock.advance(420);
    model.connection.say('Thanks.');
    await clock.advance(5000);
    expect(await history()).toEqual(['user: Count.', 'Friday: One two.', 'user: Thanks.', 'Friday: Bye.']);
    expect(model.connection.sent).toEqual([{ type: 'respond' }, { type: 'respond' }]);
    await talk.close();
  });

  it('runs tool calls while the conversation goes on', async () => {
    const script = [
      { text: 'Let me look.', calls: [CALL] },
      { text: 'I am still looking.' },
      { text: 'It is sunny in Rome.' },
    ];
    const { model, talk, history } = await talkWith(script, { tools: [slow(10_000)] });
    model.connection.say('Weather in Rome?');
    await clock.advance(3000);
    model.connection.say('Are you there?');
    await clock.advance(3000); // the tool still runs
    expect(model.connection.sent.filter(({ type }) => type === 'respond')).toHaveLength(2);
    expect(model.connection.sent.some(({ type }) => type === 'result')).toBe(false);
    await clock.advance(20_000);
    expect(await history()).toEqual([
      'user: Weather in Rome?',
      'Friday: Let me look. [look_up]',
      'system: [ok] Sunny in Rome.',
      'user: Are you there?',
      'Friday: I am still looking.',
      'Friday: It is sunny in Rome.',
    ]);
    await talk.close();
  });

  it('stores the words beside a tool call as far as they were heard', async () => {
    const script = [
      { text: 'Let me look into that for you.', calls: [CALL] },
      { text: 'Fine.' },
      { text: 'Sunny.' },
    ];
    const { model, talk, history } = await talkWith(script, { tools: [slow(200)] });
    model.connection.say('Weather in Rome?');
    await clock.advance(620); // 12 characters
    model.connection.say('Quick!');
    await clock.advance(10_000);
    expect(await history()).toEqual([
      'user: Weather in Rome?',
      'Friday: Let me look [look_up]',
      'system: [ok] Sunny in Rome.',
      'user: Quick!',
      'Friday: Fine.',
      'Friday: Sunny.',
    ]);
    await talk.close();
  });

  it('asks by voice before a tool call, and runs it after a plain yes', async () => {
    const { model, agent, talk, events, history } = await talkWith(
      [{ calls: [CALL] }, { text: 'May I look?' }, { text: 'Pardon?' }, { text: 'Sunny.' }],
      {
        tools: [slow(10)],
        permissionPolicy: new PermissionRules({ rules: [{ tool: 'look_up', behavior: 'ask' }] }),
        approvalByVoice: true,
      },
    );
    model.connection.say('Weather in Rome?');
    await clock.advance(2000);
    expect(agent.pendingCalls).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'approval_needed')).toHaveLength(1);
    model.connection.say('Yes, but not today.');
    await clock.advance(2000);
    expect(agent.pendingCalls).toHaveLength(1);
    model.connection.say('Yes!');
    await clock.advance(5000);
    expect(agent.pendingCalls).toEqual([]);
    expect(await history()).toEqual([
      'user: Weather in Rome?',
      'Friday: [look_up]',
      'system: [ok] Sunny in Rome.',
      'Friday: May I look?',
      'user: Yes, but not today.',
      'Friday: Pardon?',
      'user: Yes!',
      'Friday: Sunny.',
    ]);
    await talk.close();
  });

  it('runs an approved tool call after a decision of the program', async () => {
    const { model, agent, talk, history } = await talkWith([{ calls: [CALL] }, { text: 'Sunny.' }], {
      tools: [slow(10)],
      permissionPolicy: new PermissionRules({ rules: [{ tool: 'look_up', behavior: 'ask' }] }),
    });
    model.connection.say('Weather in Rome?');
    await clock.advance(1000);
    const [pending] = agent.pendingCalls;
    const answer = agent.call(undefined, { decisions: [{ id: pending?.id ?? '', verdict: 'deny' }] });
    await clock.advance(2000);
    expect((await answer).text).toBe('Sunny.');
    expect((await history())[2]).toContain('[denied]');
    await talk.close();
  });

  it('connects again with the conversation, and answers what was not answered', async () => {
    const { model, talk, events, history } = await talkWith([{ text: 'Sunny.' }, { text: 'Rainy.' }]);
    model.connection.say('Weather in Rome?');
    await clock.advance(2000);
    const first = model.connection;
    first.lose();
    await clock.advance(100);
    expect(model.connections).toHaveLength(2);
    expect(model.connection.setup.history.map(lineOf)).toEqual(['user: Weather in Rome?', 'Friday: Sunny.']);
    model.connection.say('And in Bergen?');
    await clock.advance(2000);
    expect((await history()).slice(2)).toEqual(['user: And in Bergen?', 'Friday: Rainy.']);
    expect(events.flatMap(({ type }) => (type.startsWith('reconnect') ? [type] : []))).toEqual([
      'reconnecting',
      'reconnected',
    ]);
    await talk.close();
  });

  it('renews an expiring connection when nobody speaks', async () => {
    const { model, talk, history } = await talkWith([{ text: 'One two three.' }]);
    model.connection.say('Count.');
    await clock.advance(100);
    model.connection.emit({ type: 'resumable', handle: 'h1' });
    model.connection.emit({ type: 'expiring', ms: 60_000 });
    await clock.advance(300);
    expect(model.connections).toHaveLength(1); // the agent speaks
    await clock.advance(1000);
    expect(model.connections).toHaveLength(2);
    expect(model.connections[0]?.isClosed).toBe(true);
    expect(model.connection.setup.handle).toBe('h1');
    expect(await history()).toEqual(['user: Count.', 'Friday: One two three.']);
    await talk.close();
  });

  it('ends the conversation when the connection is lost for good', async () => {
    const { model, agent, talk, events } = await talkWith([{ text: 'Sunny.' }]);
    model.connection.lose(false);
    await clock.advance(10);
    expect(talk.isClosed).toBe(true);
    expect(events.at(-1)).toEqual({
      type: 'closed',
      message: expect.stringContaining('lost') as string,
      canReconnect: false,
    });
    await expect(agent.call('Hello?')).rejects.toThrow('not connected');
  });

  it('stores a turn whose words never come, and does not wait for ever', async () => {
    const { model, talk, history } = await talkWith([{ text: 'Pardon?' }]);
    const itemId = model.connection.beginSpeech();
    model.connection.emit({ type: 'speech_stopped', itemId });
    await clock.advance(20_000);
    expect(await history()).toEqual([`user: ${NOT_UNDERSTOOD}`, 'Friday: Pardon?']);
    await talk.close();
  });

  it('drops late and repeated events', async () => {
    const { model, talk, history } = await talkWith([{ text: 'Sunny.' }]);
    model.connection.say('Weather?');
    await clock.advance(2000);
    for (const responseId of ['resp_1', 'resp_9']) {
      model.connection.emit({ type: 'transcript_delta', responseId, itemId: 'item_1', text: ' Late.' });
      model.connection.emit({
        type: 'tool_call',
        responseId,
        call: { id: 'x', name: 'look_up', json: '{}' },
      });
      model.connection.emit({ type: 'response_done', responseId, status: 'completed' });
    }
    await clock.advance(1000);
    expect(await history()).toEqual(['user: Weather?', 'Friday: Sunny.']);
    await talk.close();
  });

  it('runs hooks with what was said, and keeps its state in a session', async () => {
    const { model, agent, talk } = await talkWith([{ text: 'Sunny.' }]);
    const heard: string[] = [];
    agent.registerInstanceHook(
      'preReply',
      'log',
      (_agent, { msgs }) => void heard.push(...msgs.map(({ text }) => text)),
    );
    agent.registerInstanceHook('postReply', 'log', (_agent, _args, answer) => void heard.push(answer.text));
    model.connection.say('Weather?');
    await clock.advance(2000);
    expect(heard).toEqual(['Weather?', 'Sunny.']);
    await talk.close();
    const other = new RealtimeAgent({ name: 'Friday', realtimeModel: model, console: false });
    other.loadStateDict(JSON.parse(JSON.stringify(agent.stateDict())));
    expect((await other.memory.getMemory()).map(lineOf)).toEqual(['user: Weather?', 'Friday: Sunny.']);
  });

  it('interrupts by the program what it says, and stores what was heard', async () => {
    const { model, agent, talk, history } = await talkWith([{ text: 'One two three four five six.' }]);
    model.connection.say('Count.');
    await clock.advance(500);
    expect(await agent.interrupt()).toBe(true);
    await clock.advance(5000);
    expect(await history()).toEqual(['user: Count.', 'Friday: One two']);
    expect(model.connection.sent.map(({ type }) => type)).toEqual(['respond', 'truncate']);
    await talk.close();
  });

  it('keeps a valid history when it is interrupted at every point', async () => {
    const report = await interruptAtEvery(async () => {
      const script = [{ text: 'Let me look.', calls: [CALL] }, { text: 'It is sunny.' }];
      const model = new ScriptedRealtimeModel(script);
      const tools = [tool({ name: 'look_up', execute: () => 'sunny' })];
      const agent = new RealtimeAgent({ name: 'Friday', realtimeModel: model, tools, console: false });
      const talk = await agent.connect({ player: new InstantPlayer() });
      return {
        agent,
        input: 'Weather?',
        check: async ({ msg }) => {
          expect(msg).toBeDefined();
          const history = await agent.memory.getMemory();
          expect(findHistoryFaults(history)).toEqual([]);
          expect(history[0]?.text).toBe('Weather?');
          await talk.close();
        },
      };
    });
    expect(report.points).toBeGreaterThan(50);
  });

  it('refuses wrong options with advice', async () => {
    expect(() => new RealtimeAgent({ name: 'Friday' } as never)).toThrow('needs a realtimeModel');
    const agent = new RealtimeAgent({
      name: 'Friday',
      realtimeModel: new ScriptedRealtimeModel(),
      console: false,
    });
    await expect(agent.call('Hello?')).rejects.toThrow('connect');
    await expect(agent.connect({} as never)).rejects.toThrow('needs a player');
  });
});
