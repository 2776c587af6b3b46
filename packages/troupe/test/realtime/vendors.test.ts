import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { findHistoryFaults } from '../../src/message/history.ts';
import type { Msg } from '../../src/message/msg.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import { RealtimeAgent } from '../../src/voice/realtime-agent.ts';
import type { TalkEvent } from '../../src/voice/talk-event.ts';
import type { Talk } from '../../src/voice/talk.ts';
import { DIALECTS, FakeVendor, type FakeResponse, type VendorName } from './fake-vendors.ts';
import { ManualPlayer } from './manual-player.ts';

const CALL = { id: 'call_1', name: 'look_up', input: { city: 'Rome' } };
const TEXT = 'One two three four five.';
const NAMES = Object.keys(DIALECTS) as VendorName[];
const lookUp = tool({
  name: 'look_up',
  schema: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}.`,
});

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

interface Setting {
  readonly vendor: FakeVendor;
  readonly agent: RealtimeAgent;
  readonly talk: Talk;
  readonly player: ManualPlayer;
  readonly events: TalkEvent[];
}

async function begin(name: VendorName, script: readonly FakeResponse[]): Promise<Setting> {
  const vendor = await FakeVendor.start(name, script);
  open.push(vendor);
  const agent = new RealtimeAgent({
    name: 'Friday',
    realtimeModel: vendor.newModel(),
    tools: [lookUp],
    sysPrompt: 'Be short.',
    console: false,
    falseAlarmMs: 500,
  });
  const player = new ManualPlayer();
  const talk = await agent.connect({ player });
  open.push(talk);
  const events: TalkEvent[] = [];
  talk.onEvent((event) => void events.push(event));
  return { vendor, agent, talk, player, events };
}

/** Waits for a condition while other work of the event loop goes on. @throws Error after many turns */
async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 2000; i++) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Never: ${what}`);
}

const lines = async (agent: RealtimeAgent): Promise<string[]> => {
  const msgs = await agent.memory.getMemory();
  expect(findHistoryFaults(msgs)).toEqual([]);
  return msgs.map(lineOf);
};

function lineOf(msg: Msg): string {
  const parts = msg.getContentBlocks().map((block) => {
    if (block.type === 'text') return block.text;
    if (block.type === 'tool_use') return `[${block.name} ${JSON.stringify(block.input)}]`;
    return block.type === 'tool_result' ? `[${block.status}] ${String(block.output)}` : block.type;
  });
  return `${msg.name}: ${parts.join(' ')}`;
}

const isHeld = async (agent: RealtimeAgent, count: number): Promise<boolean> =>
  !agent.isRunning && (await agent.memory.size()) >= count;

/** Plays everything until the agent has so many messages. */
async function playUntil({ agent, player }: Setting, count: number): Promise<void> {
  await until(`${count} messages`, async () => {
    player.advance(100);
    return isHeld(agent, count);
  });
}

describe.each(NAMES)('%s', (name) => {
  it('has a conversation with a tool call, and counts tokens of sound and text', async () => {
    const setting = await begin(name, [
      { text: 'Let me look.', call: CALL },
      { text: 'It is sunny in Rome.' },
      { text: 'Bye.' },
    ]);
    setting.vendor.say('Weather in Rome?');
    await playUntil(setting, 4);
    setting.vendor.say('Thanks.');
    await playUntil(setting, 6);
    expect(await lines(setting.agent)).toEqual([
      'user: Weather in Rome?',
      'Friday: Let me look. [look_up {"city":"Rome"}]',
      'system: [ok] Sunny in Rome.',
      'Friday: It is sunny in Rome.',
      'user: Thanks.',
      'Friday: Bye.',
    ]);
    expect(setting.talk.usage?.outputTokens).toBe(name === 'gemini' ? 60 : 90);
    const result = JSON.stringify(setting.vendor.frames);
    expect(result).toContain('Sunny in Rome.');
    expect(result).toContain('Be short.');
    expect(setting.vendor.urls[0]).not.toContain('sk-secret');
    expect(JSON.stringify(setting.vendor.headers[0])).toContain('sk-secret');
  });

  it('sends sound at the rate of the model', async () => {
    const { vendor, talk, agent } = await begin(name, []);
    talk.hear({ data: new Uint8Array(48_000 * 2), rate: 48_000 });
    await until('sound', () => vendor.frames.some((frame) => JSON.stringify(frame).length > 10_000));
    const sent =
      vendor.frames.map((frame) => JSON.stringify(frame)).find((text) => text.length > 10_000) ?? '';
    const base64 = /"(?:audio|data)":"([^"]*)"/.exec(sent)?.[1] ?? '';
    const samples = Buffer.from(base64, 'base64').length / 2;
    expect(Math.abs(samples - agent.realtimeModel.inputRate)).toBeLessThan(200);
  });

  it('answers text by call()', async () => {
    const setting = await begin(name, [{ text: 'Hello.' }]);
    const answer = setting.agent.call('Hi.');
    await playUntil(setting, 2);
    expect((await answer).text).toBe('Hello.');
    expect(JSON.stringify(setting.vendor.frames)).toContain('Hi.');
  });

  it(
    'stores what was heard for a barge-in at every frame, at three positions',
    { timeout: 120_000 },
    async () => {
      const probe = await FakeVendor.start(name);
      open.push(probe);
      const count = probe.framesOf({ text: TEXT });
      let cuts = 0;
      for (let frames = 1; frames <= count; frames += name === 'gemini' ? 1 : 3) {
        for (const share of [0, 0.5, 1]) {
          const setting = await begin(name, [{ text: TEXT }, { text: 'Yes?' }]);
          const { vendor, player, agent, events } = setting;
          vendor.frameLimit = frames;
          vendor.say('Count.');
          await until('a response', () => events.some(({ type }) => type === 'response_created'));
          await until(
            'its sound',
            () => events.filter(({ type }) => type === 'audio_delta').length >= soundsIn(name, frames),
          );
          player.advance(player.waitingMs * share);
          const isOver = !events.some(({ type }) => type === 'audio_delta')
            ? false
            : player.waitingMs === 0 && frames === count;
          vendor.say('Stop!');
          await playUntil(setting, 3);
          await until('the answer', async () => {
            player.advance(500);
            return (await lines(agent)).at(-1) === 'Friday: Yes?';
          });
          const history = await lines(agent);
          expect(history.filter((line) => line.startsWith('user'))).toEqual(['user: Count.', 'user: Stop!']);
          const heard =
            history.find((line) => line.startsWith('Friday: One'))?.slice('Friday: '.length) ?? '';
          expect(TEXT.startsWith(heard)).toBe(true);
          const [first] = player.items.values();
          if (isOver) expect(heard).toBe(TEXT);
          else if (first !== undefined) expect(heard.length * 50).toBeLessThanOrEqual(first.playedMs + 50);
          if (heard !== TEXT) cuts++;
          await setting.talk.close();
          await until('no socket', () => vendor.openSockets === 0);
        }
      }
      expect(cuts).toBeGreaterThan(3);
    },
  );

  it('goes on after a cut of the connection at every frame', { timeout: 120_000 }, async () => {
    const probe = await FakeVendor.start(name);
    open.push(probe);
    const response = { text: TEXT, call: CALL };
    const count = probe.framesOf(response);
    for (let frames = 0; frames <= count; frames += name === 'gemini' ? 1 : 3) {
      const setting = await begin(name, [
        response,
        { text: 'Here I am.' },
        { text: 'Again.' },
        { text: 'More.' },
      ]);
      const { vendor, agent, player, events } = setting;
      vendor.frameLimit = frames;
      const isSent = new Promise<void>((resolve) => (vendor.onHeldBack = resolve));
      vendor.say('Count.');
      await isSent;
      vendor.cut();
      await until('a new connection', () => events.some(({ type }) => type === 'reconnected'));
      await until('an end', async () => {
        player.advance(200);
        return !agent.isRunning && player.waitingMs === 0;
      });
      vendor.say('Are you there?');
      await until('an answer', async () => {
        player.advance(200);
        const history = await lines(agent);
        return (
          !agent.isRunning &&
          /: (?:Here|Again|More)/.test(history.at(-1) ?? '') &&
          history.some((line) => line.includes('there?'))
        );
      });
      expect(vendor.connections).toBe(2);
      await setting.talk.close();
      await until('no socket', () => vendor.openSockets === 0);
    }
  });

  it('bears frames that are late, repeated, unknown, null or no JSON', async () => {
    const setting = await begin(name, [{ text: TEXT }, { text: 'Fine.' }]);
    const { vendor, agent } = setting;
    vendor.frameLimit = 4;
    vendor.say('Count.');
    await until('a response', () => setting.events.some(({ type }) => type === 'response_created'));
    vendor.send(
      { type: 'surprise' },
      { type: null },
      {},
      { serverContent: null },
      { type: 'response.done', response: null },
    );
    vendor.send({ type: 'response.done', response: { id: 'resp_77', status: null, usage: null } });
    vendor.send({
      type: 'error',
      error: { type: 'x', code: null, message: 'sk-secret is odd', param: null },
    });
    vendor.sendRest();
    await playUntil(setting, 2);
    expect(await lines(agent)).toEqual(['user: Count.', `Friday: ${TEXT}`]);
    if (name !== 'gemini')
      expect(setting.events.find(({ type }) => type === 'error')).toMatchObject({ message: '*** is odd' });
    vendor.say('Go on.');
    await playUntil(setting, 4);
    expect((await lines(agent)).slice(2)).toEqual(['user: Go on.', 'Friday: Fine.']);
  });

  it('says what to check when the server refuses the connection', async () => {
    const vendor = await FakeVendor.start(name);
    const model = vendor.newModel();
    await vendor[Symbol.asyncDispose]();
    const agent = new RealtimeAgent({ name: 'Friday', realtimeModel: model, console: false });
    await expect(agent.connect({ player: new ManualPlayer() })).rejects.toThrow('Check the key');
  });

  it('ends the conversation when the vendor refuses to go on', async () => {
    const { vendor, talk, events } = await begin(name, []);
    vendor.close(1008, 'no such model sk-secret');
    await until('the end', () => talk.isClosed);
    expect(events.at(-1)).toMatchObject({ type: 'closed', canReconnect: false });
    expect(JSON.stringify(events)).not.toContain('sk-secret');
  });
});

/** Pieces of sound in the first frames of the response. */
function soundsIn(name: VendorName, frames: number): number {
  const words = TEXT.split(' ').length;
  return Math.min(words, name === 'gemini' ? frames : Math.max(0, Math.floor((frames - 3) / 2)));
}
