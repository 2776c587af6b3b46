// The agent of the page: over OpenAI's realtime model, or offline by a voice pipeline with stand-ins for all three models.

import type { ServedAgents } from '@troupe/service';
import { ReActAgent, tool } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { OpenAIRealtimeModel } from 'troupe/openai';
import { RealtimeAgent, VoicePipeline } from 'troupe/realtime';
import { CommandTtsModel } from 'troupe/speech';
import { ScriptedSttModel, ToneTtsModel } from 'troupe/testing';
import { z } from 'zod';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city, now.',
  schema: z.object({ city: z.string() }),
  execute: ({ city }) =>
    `It is sunny in ${city}, 24 degrees, with a light wind from the sea. Tomorrow will be as warm, and the day after tomorrow a little cooler.`,
});

/** The agent over a realtime model, if there is a key. */
export function realAgents(): ServedAgents | undefined {
  if (!process.env['OPENAI_API_KEY']) return undefined;
  const make = () =>
    new RealtimeAgent({
      name: 'Friday',
      realtimeModel: new OpenAIRealtimeModel({ modelName: 'gpt-realtime-2.1' }),
      tools: [getWeather],
    });
  return { friday: { make } };
}

/** A voice of this machine, or a tone. */
function voice(): CommandTtsModel | ToneTtsModel {
  try {
    return CommandTtsModel.espeak({ voice: 'en-us' });
  } catch {
    return new ToneTtsModel();
  }
}

/** The agent without a key: it takes every sound for the same question. @param words what it hears, sound by sound */
export function standIns(words: readonly string[] = [], ttsModel = voice()): ServedAgents {
  const question = 'What is the weather in Lisbon?';
  return {
    friday: {
      make: () => new ReActAgent({ name: 'Friday', model: new OfflineModel(), tools: [getWeather] }),
      talk: (agent) => {
        const sttModel = new ScriptedSttModel([...words, ...Array.from({ length: 100 }, () => question)]);
        return new VoicePipeline({ agent, sttModel, ttsModel, approvalByVoice: true });
      },
    },
  };
}
