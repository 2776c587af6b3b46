import assert from 'node:assert/strict';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { lineLogger } from '../../config/logger.ts';
import { withRunConfig } from '../../config/run-config.ts';
import { findHistoryFaults } from '../../message/history.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { ScriptedRealtimeModel } from '../../testing/voice/scripted-realtime-model.ts';
import { ScriptedSttModel } from '../../testing/voice/scripted-stt-model.ts';
import { ToneTtsModel } from '../../testing/voice/tone-tts-model.ts';
import { bytesOf, durationOf, samplesOf, type PcmAudio } from '../../util/audio/pcm.ts';
import { VoicePipeline } from '../pipeline/voice-pipeline.ts';
import { RealtimeAgent } from '../realtime-agent.ts';
import type { Talk } from '../talk.ts';
import { VoiceRoom } from './voice-room.ts';

let clock: FakeClock;
beforeEach(() => void (clock = new FakeClock().install()));
afterEach(() => {
  assert.equal(clock.pendingTimers, 0); // no timer is left
  clock[Symbol.dispose]();
});

const RATE = 48_000;
const tone = (ms: number, amplitude = 8000): PcmAudio => ({
  data: bytesOf(Int16Array.from({ length: (RATE * ms) / 1000 }, (_, i) => amplitude * Math.sin(i / 9))),
  rate: RATE,
});

class Speaker {
  ms = 0;
  peak = 0;
  readonly names = new Set<string>();
  write(audio: PcmAudio): void {
    this.ms += durationOf(audio);
    for (const sample of samplesOf(audio.data)) this.peak = Math.max(this.peak, Math.abs(sample));
  }
  flush(): void {}
}

function pipelineOf(name: string, answers: readonly string[], words: readonly string[], rate?: number) {
  const agent = new ReActAgent({ name, model: new ScriptedModel(answers), console: false });
  return new VoicePipeline({
    agent,
    sttModel: new ScriptedSttModel(words),
    ttsModel: new ToneTtsModel({ rate }),
  });
}

async function historyOf({ agent }: Talk): Promise<string[]> {
  assert(agent instanceof ReActAgent);
  const msgs = await agent.memory.getMemory();
  expect(findHistoryFaults(msgs)).toEqual([]);
  return msgs.map(({ name, text }) => `${name}: ${text}`);
}

describe('VoiceRoom', () => {
  it('lets agents hear each other over sound of different rates, by name, until a number of turns', async () => {
    const alice = pipelineOf(
      'Alice',
      ['Hello, I am Alice, nice to meet you.'],
      ['Alice, say hello.', 'Hello, I am Bob.'],
    );
    const bob = pipelineOf(
      'Bob',
      ['Hello, I am Bob, and how are you today?'],
      ['Hello, I am Alice.'],
      16_000,
    );
    const speaker = new Speaker();
    const room = await VoiceRoom.open([alice, bob], { speaker, maxTurns: 1, userName: 'Ann' });
    const [first, second] = room.talks;
    assert(first && second);
    first.hear(tone(400)); // only Alice is spoken to
    await clock.advance(3000);
    expect(await historyOf(first)).toEqual([
      'Ann: Alice, say hello.',
      'Alice: Hello, I am Alice, nice to meet you.',
    ]);
    expect(await historyOf(second)).toEqual([]); // one turn is the limit
    await room.close();
    expect(room.talks.every(({ isClosed }) => isClosed)).toBe(true);
    expect(speaker.ms).toBeGreaterThanOrEqual(360);
    expect(speaker.ms).toBeLessThan(420);
  });

  it('goes on between the agents as long as turns are left', async () => {
    const alice = pipelineOf(
      'Alice',
      ['Hello, I am Alice, nice to meet you.', 'Fine, thank you.'],
      ['Alice, say hello.', 'I am Bob.'],
    );
    const bob = pipelineOf('Bob', ['Hello, I am Bob, and how are you today?'], ['I am Alice.'], 16_000);
    const speaker = new Speaker();
    const room = await VoiceRoom.open([alice, bob], { speaker, maxTurns: 3, userName: 'Ann' });
    const [first, second] = room.talks;
    assert(first && second);
    first.hear(tone(400));
    await clock.advance(6000);
    expect(await historyOf(first)).toEqual([
      'Ann: Alice, say hello.',
      'Alice: Hello, I am Alice, nice to meet you.',
      'Bob: I am Bob.',
      'Alice: Fine, thank you.',
    ]);
    expect(await historyOf(second)).toEqual([
      'Alice: I am Alice.',
      'Bob: Hello, I am Bob, and how are you today?',
    ]);
    await room.close();
  });

  it('has one agent speak at a time', async () => {
    const speaker = new Speaker();
    const room = await VoiceRoom.open(
      [
        pipelineOf('Alice', ['I answer first, for a long while.'], []),
        pipelineOf('Bob', ['And I come second, after that.'], []),
      ],
      { speaker, maxTurns: 0 },
    );
    const answers = room.say('Hello!');
    await clock.advance(3000);
    expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(speaker.ms).toBeGreaterThanOrEqual(630); // both, one after the other
    expect(speaker.peak).toBeLessThan(9000); // not one over the other
    await room.close();
  });

  it('gives all agents the sound of the person at the rate of their models, and silence without end', async () => {
    const models = [new ScriptedRealtimeModel(), new ScriptedRealtimeModel()];
    const agents = models.map(
      (realtimeModel, i) => new RealtimeAgent({ name: `A${i}`, realtimeModel, console: false }),
    );
    const room = await VoiceRoom.open(agents);
    let loud = 0;
    for (const { connection } of models) {
      const send = connection.sendAudio.bind(connection);
      connection.sendAudio = (audio) => {
        loud += samplesOf(audio.data).filter((sample) => sample !== 0).length / (audio.rate / 1000);
        send(audio);
      };
    }
    room.hear(tone(500));
    await clock.advance(2000);
    for (const { connection } of models) expect(Math.abs(connection.heardMs - 2000)).toBeLessThan(60);
    expect(Math.abs(loud - 1000)).toBeLessThan(60); // 500 ms for each, at the speed of speech
    await room.close();
  });

  it('names the agent in the words that another agent has heard', async () => {
    const models = [
      new ScriptedRealtimeModel([{ text: 'I am the first one.' }]),
      new ScriptedRealtimeModel([]),
    ];
    const agents = models.map(
      (realtimeModel, i) => new RealtimeAgent({ name: `A${i}`, realtimeModel, console: false }),
    );
    const room = await VoiceRoom.open(agents);
    const events: string[] = [];
    room.onEvent((name, { type }) => void events.push(`${name} ${type}`));
    room.talks[0]?.respond();
    await clock.advance(500);
    const itemId = models[1]?.connection.beginSpeech();
    await clock.advance(2000);
    models[1]?.connection.say('I am the first one.', itemId);
    await clock.advance(3000);
    assert(room.talks[1]);
    expect((await historyOf(room.talks[1]))[0]).toBe('A0: I am the first one.');
    expect(events).toContain('A0 response_created');
    expect(events).toContain('A1 speech_started');
    await room.close();
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('unplugged'))],
    [
      'throws',
      () => {
        throw new Error('unplugged');
      },
    ],
  ])('goes on when the speaker %s, and logs that once', async (_, write) => {
    const lines: string[] = [];
    await withRunConfig({ logging: lineLogger('warn', (line) => lines.push(line)) }, async () => {
      const models = [new ScriptedRealtimeModel([{ text: 'I am here.' }]), new ScriptedRealtimeModel()];
      const agents = models.map(
        (realtimeModel, i) => new RealtimeAgent({ name: `A${i}`, realtimeModel, console: false }),
      );
      const room = await VoiceRoom.open(agents, { speaker: { write, flush: () => {} } });
      room.talks[0]?.respond();
      await clock.advance(2000);
      for (const { connection } of models) expect(Math.abs(connection.heardMs - 2000)).toBeLessThan(60);
      await room.close();
    });
    expect(lines).toEqual([expect.stringContaining('Sound of a room could not be played: unplugged')]);
  });

  it('closes the conversations that are open if an agent can not be connected', async () => {
    const alice = pipelineOf('Alice', [], []);
    const agent = new ReActAgent({ name: 'Bob', model: new ScriptedModel([]), console: false });
    const bob = { agent, connect: () => Promise.reject(new Error('no model')) };
    await expect(VoiceRoom.open([alice, bob])).rejects.toThrow('no model');
    expect(alice.talk).toBeUndefined();
  });
});
