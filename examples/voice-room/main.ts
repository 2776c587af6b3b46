// Two agents in a room hear each other and take turns; their voices go to one WAV file. Offline, with stand-ins: the models answer from a script, and speech
// recognition knows the words that it will hear. The turns, the sound and who hears whom are real. With `--voices`, espeak-ng speaks in place of tones.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { ReActAgent } from 'troupe';
import { VoicePipeline, VoiceRoom } from 'troupe/realtime';
import { CommandTtsModel, durationOf, fromWav, WavFile } from 'troupe/speech';
import { ScriptedModel, ScriptedSttModel, ToneTtsModel } from 'troupe/testing';

const GREETING = 'Hello, I am Alice. Who are you?';
const REPLY = 'I am Bob, and I like the sea.';

function member(
  name: string,
  answers: readonly string[],
  hears: readonly string[],
  voice: string,
): VoicePipeline {
  const agent = new ReActAgent({ name, model: new ScriptedModel(answers), console: false });
  const ttsModel = process.argv.includes('--voices') ? CommandTtsModel.espeak({ voice }) : new ToneTtsModel();
  return new VoicePipeline({ agent, sttModel: new ScriptedSttModel(hears), ttsModel });
}

const file = path.join(mkdtempSync(path.join(tmpdir(), 'troupe-')), 'room.wav');
const speaker = new WavFile(file);
const alice = member('Alice', [GREETING, 'Nice to meet you, Bob.'], [REPLY], 'en-us');
const bob = member('Bob', [REPLY], [GREETING], 'en-gb');
const room = await VoiceRoom.open([alice, bob], { speaker, maxTurns: 3 });

const ended = new Promise<void>((resolve) => {
  let answers = 0;
  room.onEvent((name, event) => {
    if (event.type === 'input_transcript_done') console.log(`${name} hears: ${event.text}`);
    if (event.type === 'response_done' && ++answers === 3) setTimeout(resolve, 1000); // until all is played
  });
});
await room.talks[0]?.agent.call('Introduce yourself to Bob.');
await ended;
await room.close();
speaker.close();

const { agent } = bob;
assert.ok(agent instanceof ReActAgent);
const memory = await agent.memory.getMemory();
assert.deepEqual(
  memory.map(({ name, text }) => `${name}: ${text}`),
  [`Alice: ${GREETING}`, `Bob: ${REPLY}`],
);
const seconds = durationOf(fromWav(readFileSync(file))) / 1000;
assert.ok(seconds > 0.5);
console.log(`${seconds.toFixed(1)} s of voices: ${file}`);
console.log('Alice and Bob have met.');
