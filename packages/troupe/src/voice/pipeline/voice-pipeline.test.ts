import assert from 'node:assert/strict';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { findHistoryFaults } from '../../message/history.ts';
import type { Msg } from '../../message/msg.ts';
import { PermissionRules } from '../../permission/permission-rules.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import type { ReActAgentOptions } from '../../react/react-agent-options.ts';
import { interruptAtEvery } from '../../testing/drivers.ts';
import type { TranscribeOptions } from '../../stt/stt-model-base.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { ScriptedSttModel } from '../../testing/voice/scripted-stt-model.ts';
import { ToneTtsModel } from '../../testing/voice/tone-tts-model.ts';
import { tool } from '../../toolkit/tool/tool.ts';
import { SinkPlayer } from '../../tts/sink-player.ts';
import { whenAborted } from '../../util/abort.ts';
import { bytesOf, durationOf, type PcmAudio } from '../../util/audio/pcm.ts';
import { startTimer } from '../../util/clock.ts';
import type { TalkEvent } from '../talk-event.ts';
import { VoicePipeline, type VoicePipelineOptions } from './voice-pipeline.ts';

let clock: FakeClock;
beforeEach(() => void (clock = new FakeClock().install()));
afterEach(() => {
  assert.equal(clock.pendingTimers, 0); // no timer is left
  clock[Symbol.dispose]();
});

const RATE = 16_000;
const frame = (amplitude: number): PcmAudio => ({
  data: bytesOf(Int16Array.from({ length: RATE / 50 }, (_, i) => amplitude * Math.sin(i / 3))),
  rate: RATE,
});
const later = (ms: number): Promise<void> => new Promise((resolve) => void startTimer(ms, resolve));

/** A memory whose messages are deleted when `hold` is over. */
class SlowMemory extends InMemoryMemory {
  hold: Promise<void> | undefined;
  override async delete(ids: readonly string[]): Promise<number> {
    await this.hold;
    return super.delete(ids);
  }
}

interface Setting {
  readonly words?: readonly (string | Error)[];
  readonly answers?: ConstructorParameters<typeof ScriptedModel>[0];
  readonly agent?: Partial<ReActAgentOptions>;
  readonly pipeline?: Partial<VoicePipelineOptions>;
  readonly ttsModel?: ToneTtsModel;
}

async function talkWith({ words = [], answers = [], agent: own = {}, pipeline = {}, ttsModel }: Setting) {
  const model = new ScriptedModel(answers);
  const agent = new ReActAgent({ name: 'Friday', model, console: false, ...own });
  const sttModel = new ScriptedSttModel(words);
  const voice = ttsModel ?? new ToneTtsModel(); // 10 ms for each character
  const sink = {
    playedMs: 0,
    write: (audio: PcmAudio) => void (sink.playedMs += durationOf(audio)),
    flush: () => {},
  };
  const talk = await new VoicePipeline({ agent, sttModel, ttsModel: voice, ...pipeline }).connect({
    player: new SinkPlayer(sink),
  });
  const events: TalkEvent[] = [];
  talk.onEvent((event) => void events.push(event));
  const hear = async (ms: number, amplitude: number): Promise<void> => {
    for (let i = 0; i < ms; i += 20) {
      talk.hear(frame(amplitude));
      await clock.advance(20);
    }
  };
  const history = async (): Promise<string[]> => {
    const msgs = await agent.memory.getMemory();
    expect(findHistoryFaults(msgs)).toEqual([]);
    return msgs.map(lineOf);
  };
  return {
    agent,
    model,
    talk,
    sink,
    sttModel,
    events,
    history,
    ttsModel: voice,
    speak: (ms = 400) => hear(ms, 8000),
    silence: (ms = 800) => hear(ms, 5),
    types: (...wanted: string[]) => events.map(({ type }) => type).filter((type) => wanted.includes(type)),
  };
}

function lineOf(msg: Msg): string {
  const parts = msg.getContentBlocks().map((block) => {
    if (block.type === 'text') return block.text;
    if (block.type === 'tool_use') return `[${block.name}]`;
    return block.type === 'tool_result' ? `[${block.status}] ${String(block.output)}` : block.type;
  });
  return `${msg.name}: ${parts.join(' ')}`;
}

const LONG = 'One two three four five six. Seven eight nine ten eleven twelve. The end of it all.';
/** Length of its speech: the spaces between sentences have no sound. */
const SPOKEN_MS = (LONG.length - 2) * 10;

describe('VoicePipeline', () => {
  it('answers a spoken turn aloud, and stores the words of both sides', async () => {
    const one = await talkWith({ words: ['How is the weather?'], answers: ['It is sunny in Lisbon.'] });
    await one.silence(200);
    await one.speak(500);
    await one.silence();
    await one.silence(300);
    expect(await one.history()).toEqual(['user: How is the weather?', 'Friday: It is sunny in Lisbon.']);
    expect(one.ttsModel.texts).toEqual(['It is sunny in Lisbon.']);
    expect(one.sink.playedMs).toBe(220);
    const [heardMs = 0] = one.sttModel.heardMs;
    expect(heardMs).toBeGreaterThan(500); // with the sound before the detector has noticed
    expect(heardMs).toBeLessThan(1700);
    expect(
      one.types('speech_started', 'speech_stopped', 'response_created', 'response_done', 'paused'),
    ).toEqual(['speech_started', 'speech_stopped', 'response_created', 'response_done']);
    await one.talk.close();
  });

  it('speaks the first sentence before the text is complete', async () => {
    const answers = [{ text: 'It is sunny. Take your', chunkSize: 5, stall: true }];
    const one = await talkWith({ words: ['Weather?'], answers });
    await one.speak();
    await one.silence();
    await one.silence(400);
    expect([one.sink.playedMs, one.agent.isRunning]).toEqual([120, true]);
    await one.talk.close();
  });

  it.each([0, 100, 280, 300, 480, 700, 830])(
    'is silent at once when the person speaks after %i ms, and keeps the text that was heard',
    async (ms) => {
      const one = await talkWith({ words: ['Count.', 'Stop!'], answers: [LONG, 'Yes?'] });
      await one.speak();
      await one.silence(680);
      for (let i = 0; i < 200 && one.sink.playedMs === 0; i++) await one.silence(20);
      await one.silence(ms);
      const before = one.sink.playedMs;
      await one.speak(300);
      const after = one.sink.playedMs;
      expect(after - before).toBeLessThanOrEqual(100);
      await one.silence();
      await one.silence(600);
      const [first, heard, second, last] = await one.history();
      if (after >= SPOKEN_MS) {
        expect(heard).toBe(`Friday: ${LONG}`);
      } else {
        const text = heard?.slice('Friday: '.length) ?? '';
        expect(LONG.startsWith(text)).toBe(true);
        expect(text.length * 10).toBeLessThanOrEqual(after + 30); // the spaces between sentences have no sound
        expect(text.length * 10).toBeGreaterThan(after - 100);
        expect(one.types('paused', 'resumed', 'cut')).toEqual(['paused', 'cut']);
      }
      expect([first, second, last]).toEqual(['user: Count.', 'user: Stop!', 'Friday: Yes?']);
      expect(JSON.stringify(one.model.requests[1]?.messages)).not.toContain('interrupted me');
      await one.talk.close();
    },
  );

  it('goes on where it paused after a sound without words', async () => {
    const one = await talkWith({ words: ['Count.', ''], answers: [LONG] });
    await one.speak();
    await one.silence(900);
    await one.speak(200);
    await one.silence(3000);
    expect(await one.history()).toEqual(['user: Count.', `Friday: ${LONG}`]);
    expect(one.sink.playedMs).toBe(SPOKEN_MS);
    expect(one.types('paused', 'resumed', 'cut')).toEqual(['paused', 'resumed']);
    await one.talk.close();
  });

  it('goes on when speech can not be written down', async () => {
    const one = await talkWith({ words: ['Count.', new Error('no ears')], answers: [LONG] });
    await one.speak();
    await one.silence(900);
    await one.speak(200);
    await one.silence(3000);
    expect(await one.history()).toEqual(['user: Count.', `Friday: ${LONG}`]);
    expect(one.events.filter(({ type }) => type === 'error')).toEqual([
      { type: 'error', message: 'no ears' },
    ]);
    await one.talk.close();
  });

  it('leaves out sentences that can not be spoken', async () => {
    const ttsModel = new ToneTtsModel({
      onText: (text) => {
        if (text.startsWith('Seven')) throw new Error('no voice');
      },
    });
    const one = await talkWith({ words: ['Count.'], answers: [LONG], ttsModel });
    await one.speak();
    await one.silence(2000);
    expect(ttsModel.texts).toEqual(['One two three four five six.', 'The end of it all.']);
    expect(await one.history()).toEqual(['user: Count.', `Friday: ${LONG}`]);
    expect(one.types('error')).toEqual(['error']);
    await one.talk.close();
  });

  it('runs tools, and hands words over to the running reply while the agent is silent', async () => {
    const lookUp = tool({
      name: 'look_up',
      schema: z.object({}),
      execute: async () => {
        await later(5000);
        return 'Sunny.';
      },
    });
    const one = await talkWith({
      words: ['Weather?', 'In Rome.'],
      answers: [
        { text: 'Let me look.', toolCalls: [{ name: 'look_up', input: {} }] },
        'It is sunny in Rome.',
      ],
      agent: { tools: [lookUp] },
    });
    await one.speak();
    await one.silence(1500);
    await one.speak();
    await one.silence(5000);
    expect(await one.history()).toEqual([
      'user: Weather?',
      'Friday: Let me look. [look_up]',
      'system: [ok] Sunny.',
      'user: In Rome.',
      'Friday: It is sunny in Rome.',
    ]);
    expect(one.ttsModel.texts).toEqual(['Let me look.', 'It is sunny in Rome.']);
    await one.talk.close();
  });

  it('cuts the words beside tool calls too, and keeps the history valid', async () => {
    const lookUp = tool({ name: 'look_up', schema: z.object({}), execute: () => later(60_000) });
    const text = 'Let me look at that very carefully for you, please wait.';
    const one = await talkWith({
      words: ['Weather?', 'Stop.'],
      answers: [{ text, toolCalls: [{ name: 'look_up', input: {} }] }, 'Yes?'],
      agent: { tools: [lookUp] },
    });
    await one.speak();
    await one.silence(900);
    await one.speak(200);
    await one.silence(1500);
    const [, cut = '', result, ...rest] = await one.history();
    expect(cut).toMatch(/^Friday: Let me look.* \[look_up\]$/);
    expect(cut).not.toContain('wait');
    expect(result).toContain('[interrupted]');
    expect(rest).toEqual(['user: Stop.', 'Friday: Yes?']);
    await one.talk.close();
    await clock.advance(60_000);
  });

  it('asks for an approval aloud, and takes a plain yes only', async () => {
    const pay = tool({ name: 'pay', schema: z.object({}), execute: () => 'Paid.' });
    const one = await talkWith({
      words: ['Pay it.', 'Perhaps, perhaps not.', 'Yes.'],
      answers: [{ toolCalls: [{ name: 'pay', input: {} }] }, 'It is paid.'],
      agent: {
        tools: [pay],
        permissionPolicy: new PermissionRules({ rules: [{ tool: 'pay', behavior: 'ask' }] }),
      },
      pipeline: { approvalByVoice: true },
    });
    await one.speak();
    await one.silence(3000);
    expect(one.agent.pendingCalls).toHaveLength(1);
    await one.speak();
    await one.silence(3000);
    expect(one.agent.pendingCalls).toHaveLength(1);
    await one.speak();
    await one.silence(2000);
    expect(one.ttsModel.texts.filter((text) => text.startsWith('May I run pay'))).toHaveLength(2);
    expect((await one.history()).slice(-3)).toEqual([
      'Friday: [pay]',
      'system: [ok] Paid.',
      'Friday: It is paid.',
    ]);
    await one.talk.close();
  });

  it('does not decide by voice unless that is wanted', async () => {
    const pay = tool({ name: 'pay', schema: z.object({}), execute: () => 'Paid.' });
    const one = await talkWith({
      words: ['Pay it.', 'Yes.'],
      answers: [{ toolCalls: [{ name: 'pay', input: {} }] }, 'It is paid.'],
      agent: {
        tools: [pay],
        permissionPolicy: new PermissionRules({ rules: [{ tool: 'pay', behavior: 'ask' }] }),
      },
    });
    await one.speak();
    await one.silence(1500);
    await one.speak();
    await one.silence(1500);
    expect([one.agent.pendingCalls.length, one.ttsModel.texts]).toEqual([1, []]);
    expect(one.types('approval_needed')).toEqual(['approval_needed']);
    await one.talk.close();
  });

  it('speaks agent calls of the program, and falls silent when the program interrupts the agent', async () => {
    const one = await talkWith({ answers: [LONG, { text: LONG, stall: true }] });
    await one.agent.call('Count.');
    await clock.advance(2000);
    expect(one.sink.playedMs).toBe(SPOKEN_MS);
    const second = one.agent.call('Again.');
    await clock.advance(300);
    await one.agent.interrupt();
    await second;
    const before = one.sink.playedMs;
    await clock.advance(3000);
    expect(one.sink.playedMs).toBe(before);
    const history = await one.history();
    expect(history).toHaveLength(4);
    expect(LONG.startsWith(history[3]?.slice('Friday: '.length) ?? '?')).toBe(true);
    await one.talk.close();
  });

  it('keeps code that was passed over, and nothing behind the words that were heard', async () => {
    const text = 'Run this:\n```\nnpm start\n```\nThen open the page **quickly** and look around in it.';
    const one = await talkWith({ words: ['How?', 'Stop.'], answers: [text, 'Yes?'] });
    await one.speak();
    await one.silence(700);
    for (let i = 0; i < 200 && one.sink.playedMs < 380; i++) await one.silence(20);
    await one.speak(200);
    await one.silence(1500);
    const [, heard] = await one.history();
    expect(heard).toContain('Friday: Run this:\n```\nnpm start\n```\nThen open the page **quickly');
    expect(heard).not.toContain('around');
    await one.talk.close();
  });

  it('cuts what was not heard when the conversation is closed', async () => {
    const one = await talkWith({ answers: [LONG] });
    const answer = one.agent.call('Count.');
    await clock.advance(300);
    await answer;
    await one.talk.close();
    const [, heard = ''] = await one.history();
    expect(heard.length).toBeLessThan(50);
    expect(heard.length).toBeGreaterThan(20);
    expect(one.talk.isClosed).toBe(true);
  });

  it('hears what the person says after a turn of the longest length', async () => {
    const one = await talkWith({
      words: ['First part.', 'Second part.'],
      answers: ['One.', 'Two.'],
      pipeline: { maxTurnMs: 1500 },
    });
    await one.speak(2000);
    await one.silence();
    await one.silence(300);
    expect(one.types('speech_started', 'speech_stopped')).toEqual([
      'speech_started',
      'speech_stopped',
      'speech_started',
      'speech_stopped',
    ]);
    expect((await one.history()).filter((line) => line.startsWith('user'))).toEqual([
      'user: First part.',
      'user: Second part.',
    ]);
    const [first = 0, second = 0] = one.sttModel.heardMs;
    expect(first + second).toBeGreaterThan(2400);
    await one.talk.close();
  });

  it('counts the sound of turns that are not written down yet', async () => {
    const one = await talkWith({ words: ['Hi.'], answers: ['Hello.'] });
    await one.speak();
    expect(one.talk.bufferedBytes).toBe(0); // the open turn is bounded by its longest length
    one.talk.commit();
    expect(one.talk.bufferedBytes).toBeGreaterThan(400 * 32 - 1);
    await clock.advance(500);
    expect(one.talk.bufferedBytes).toBe(0);
    await one.talk.close();
  });

  it('cuts an answer without waiting for the calls behind it', async () => {
    const one = await talkWith({
      answers: [
        { text: LONG, stall: true },
        { text: 'Two.', stall: true },
      ],
    });
    const calls = [one.agent.call('One.'), one.agent.call('Two.', { onBusy: 'queue' })];
    await clock.advance(300);
    const cut = one.talk.interrupt().then(() => 'cut');
    await clock.advance(100);
    expect(await Promise.race([cut, calls[1]])).toBe('cut');
    expect([one.agent.isRunning, one.model.requests.length]).toEqual([true, 2]);
    const [question, heard = '', next] = await one.history();
    expect([question, next]).toEqual(['user: One.', 'user: Two.']);
    expect(heard.length).toBeLessThan(60);
    await one.talk.close();
    await Promise.all(calls);
  });

  it.each(['in an answer', 'beside an answer that began later'])(
    'drops words %s when the conversation is closed before the answer is cut off',
    async (place) => {
      const memory = new SlowMemory();
      const one = await talkWith({
        words: place === 'in an answer' ? ['Count.', 'Stop!'] : ['Stop!'],
        answers: [{ text: `${LONG} ${LONG} ${LONG}`, stall: true }, 'Yes?'],
        agent: { memory },
      });
      if (place === 'in an answer') {
        await one.speak();
        await one.silence(1100);
        await one.speak(300);
      } else {
        await one.speak(300);
        void one.agent.call('Count.');
        await one.speak(100);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      memory.hold = promise;
      await one.silence();
      expect(one.types('input_transcript_done').length).toBeGreaterThan(0);
      const closed = one.talk.close();
      const next = one.agent.call('Next.'); // of the program
      resolve();
      await closed;
      await clock.advance(3000);
      await next;
      expect(one.model.requests.length).toBeLessThanOrEqual(2);
      const said = (await one.history()).filter((line) => line.startsWith('user'));
      expect(said).toEqual(['user: Count.', 'user: Next.']);
    },
  );

  it('stops writing down all turns when it is closed', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const sttModel = new ScriptedSttModel([]);
    sttModel.transcribe = async function* (_sound, { signal }: TranscribeOptions = {}) {
      signals.push(signal);
      await new Promise<void>((resolve) => whenAborted(signal, () => resolve()));
      signal?.throwIfAborted();
      yield { text: 'Never.' };
    };
    const one = await talkWith({ pipeline: { sttModel } });
    for (let i = 0; i < 3; i++) {
      await one.speak();
      if (i < 2) await one.silence();
    }
    expect(signals.map((signal) => signal?.aborted)).toEqual([false, false, false]);
    await one.talk.close();
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true, true]);
  });

  it('makes speech only a few sentences ahead', async () => {
    const text = Array.from({ length: 20 }, (_, i) => `This is the long sentence number ${i}.`).join(' ');
    const one = await talkWith({ answers: [text] });
    await one.agent.call('Count.');
    await clock.advance(100);
    expect(one.ttsModel.texts).toHaveLength(4);
    await clock.advance(10_000);
    expect(one.ttsModel.texts).toHaveLength(20);
    await one.talk.close();
  });

  it('keeps the history valid, and only text that was heard, when interrupted at every event and await', async () => {
    const report = await interruptAtEvery(async () => {
      const answers = [
        { text: 'Let me look.', toolCalls: [{ name: 'look_up', input: {} }] },
        { text: LONG, chunkSize: 40 },
        'Again.',
      ];
      const tools = [tool({ name: 'look_up', schema: z.object({}), execute: () => 'Sunny.' })];
      const one = await talkWith({ answers, agent: { tools } });
      return {
        agent: one.agent,
        input: 'Weather?',
        check: async () => {
          await one.talk.close();
          const [question, ...rest] = await one.history(); // checks the history
          expect(question).toBe('user: Weather?');
          const heard = rest
            .filter((line) => line.startsWith('Friday'))
            .join(' ')
            .replaceAll(/Friday: ?|\[look_up\]/g, '');
          expect(heard.replaceAll(/\s/g, '').length * 10).toBeLessThanOrEqual(one.sink.playedMs + 20);
        },
      };
    });
    expect(report.points).toBeGreaterThan(30);
    await clock.advance(2000); // the conversation that was not disturbed ends
  });

  it('names the part that is missing', () => {
    const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel([]) });
    const sttModel = new ScriptedSttModel([]);
    expect(() => new VoicePipeline({ agent, sttModel } as never)).toThrow('needs a ttsModel');
    expect(() => new VoicePipeline({ agent } as never)).toThrow('needs an sttModel');
    expect(() => new VoicePipeline({} as never)).toThrow('needs an agent');
  });
});
