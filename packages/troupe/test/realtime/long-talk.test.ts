import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ReActAgent } from '../../src/react/react-agent.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { ScriptedModel } from '../../src/testing/scripted-model.ts';
import { ScriptedRealtimeModel } from '../../src/testing/voice/scripted-realtime-model.ts';
import { ScriptedSttModel } from '../../src/testing/voice/scripted-stt-model.ts';
import { ToneTtsModel } from '../../src/testing/voice/tone-tts-model.ts';
import { SinkPlayer } from '../../src/tts/sink-player.ts';
import { bytesOf, type PcmAudio } from '../../src/util/audio/pcm.ts';
import { VoicePipeline } from '../../src/voice/pipeline/voice-pipeline.ts';
import { RealtimeAgent } from '../../src/voice/realtime-agent.ts';
import type { Talker } from '../../src/voice/talk.ts';
import { sampleOf } from '../fair-sample.ts';

let clock: FakeClock;
beforeEach(() => void (clock = new FakeClock().install()));
afterEach(() => clock[Symbol.dispose]());

const RATE = 16_000;
const frame = (amplitude: number): PcmAudio => ({
  data: bytesOf(Int16Array.from({ length: RATE / 50 }, (_, i) => amplitude * Math.sin(i / 3))),
  rate: RATE,
});
const [LOUD, QUIET] = [frame(8000), frame(5)];
const NOWHERE = { write: () => {}, flush: () => {} };
const TEXT = 'One two three four five six seven. Eight nine ten eleven twelve thirteen. '.repeat(3);

function heap(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

interface Case {
  readonly talker: Talker;
  /** Has the person say something, if the model does not hear by itself. */
  readonly say: () => void;
}

const cases: Readonly<Record<string, (turns: number) => Case>> = {
  RealtimeAgent: (turns) => {
    const realtimeModel = new ScriptedRealtimeModel(Array.from({ length: turns }, () => ({ text: TEXT })));
    const agent = new RealtimeAgent({ name: 'Friday', realtimeModel, console: false });
    return {
      talker: agent,
      say: () => {
        realtimeModel.connection.sent.length = 0; // the notes of the test must not grow
        realtimeModel.connection.say('Go on, please.');
      },
    };
  },
  VoicePipeline: (turns) => {
    const model = new ScriptedModel([
      { when: () => (model.requests.length = 0) === 0, text: TEXT, chunkSize: 8 },
    ]);
    const agent = new ReActAgent({ name: 'Friday', model, console: false });
    const sttModel = new ScriptedSttModel(Array.from({ length: turns }, () => 'Go on, please.'));
    const ttsModel = new ToneTtsModel({ msPerCharacter: 50, onText: () => void (ttsModel.texts.length = 0) });
    return { talker: new VoicePipeline({ agent, sttModel, ttsModel }), say: () => {} };
  },
};

describe.each(Object.keys(cases))('A long conversation with a %s', (name) => {
  it('keeps its memory flat over 20 minutes, with barge-in in every turn', { timeout: 300_000 }, async () => {
    const minutes = sampleOf(`minutes of conversation with a ${name}`, 20, 2);
    const turns = minutes * 10; // six seconds each
    const { talker, say } = (cases[name] as (turns: number) => Case)(turns);
    const talk = await talker.connect({ player: new SinkPlayer(NOWHERE) });
    let [cuts, start] = [0, 0];
    talk.onEvent(({ type }) => void (type === 'cut' && cuts++));
    for (let turn = 0; turn < turns; turn++) {
      if (turn === 10) start = heap();
      for (let ms = 0; ms < 6000; ms += 20) {
        talk.hear(ms < 600 ? LOUD : QUIET);
        if (ms === 600) say();
        await clock.advance(20);
      }
    }
    const grown = heap() - start;
    await talk.close();
    expect(cuts).toBeGreaterThanOrEqual(turns - 2);
    expect(grown).toBeLessThan(0.03 * turns + 1); // the messages themselves, and nothing for each frame
    expect(clock.pendingTimers).toBe(0);
  });
});
