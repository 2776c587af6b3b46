// A weather agent that speaks its answers, sentence by sentence, while their text still streams. Offline: the voice is espeak-ng where
// it is installed, and a tone otherwise. The speech goes to a WAV file, and to the loudspeaker with `--play`.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { ReActAgent, tool } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { CommandTtsModel, durationOf, fromWav, TerminalSpeaker, WavFile } from 'troupe/speech';
import { ToneTtsModel } from 'troupe/testing';
import { z } from 'zod';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city, now.',
  schema: z.object({ city: z.string() }),
  execute: ({ city }) => `It is sunny in ${city}, 24 degrees.`,
});

/** A voice of this machine, or a tone. */
function voice(): CommandTtsModel | ToneTtsModel {
  try {
    return CommandTtsModel.espeak({ voice: 'en-us' });
  } catch {
    console.log('espeak-ng is not installed: the agent hums.');
    return new ToneTtsModel();
  }
}

const file = path.join(mkdtempSync(path.join(tmpdir(), 'troupe-')), 'answer.wav');
const wav = new WavFile(file);
const speaker = process.argv.includes('--play') ? new TerminalSpeaker() : wav;
const agent = new ReActAgent({
  name: 'Friday',
  model: new OfflineModel(),
  tools: [getWeather],
  ttsModel: voice(),
  speaker,
});

let pieces = 0;
for await (const event of agent.stream('What is the weather in Lisbon?'))
  if (event.type === 'audio_delta') pieces++;
wav.close();
if (speaker instanceof TerminalSpeaker) await speaker.drain();
else {
  const seconds = durationOf(fromWav(readFileSync(file))) / 1000;
  console.log(`${pieces} pieces of speech, ${seconds.toFixed(1)} s: ${file}`);
  assert.ok(pieces > 0 && seconds > 0.3);
  console.log('Friday has spoken.');
}
