import { ReActAgent, tool, type ChatModelBase } from 'troupe';
import { z } from 'zod';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city, now.',
  schema: z.object({ city: z.string().describe('The name of the city.') }),
  readOnly: true,
  execute: ({ city }) => `${city}: sunny, 24 °C.`,
});

const sendPostcard = tool({
  name: 'send_postcard',
  description: 'Sends a postcard.',
  schema: z.object({ text: z.string().describe('What the postcard says.') }),
  sideEffect: true,
  execute: ({ text }) => `A postcard with ${text.split(/\s+/).length} words is on its way.`,
});

/** The agent of one conversation. Nothing is sent without approval. */
export function travelAgent(model: ChatModelBase): ReActAgent {
  return new ReActAgent({
    name: 'Friday',
    sysPrompt: 'You are a travel companion. Use the tools.',
    model,
    tools: [getWeather, sendPostcard],
    permissionPolicy: {
      decide: ({ call }) =>
        call.name === sendPostcard.name
          ? { behavior: 'ask', reason: 'It costs a stamp.' }
          : { behavior: 'allow' },
    },
    console: false,
  });
}
