// An agent with two tools, and its events. The model is the OfflineModel, which follows simple rules but
// really calls the tools; any other model of the library can replace it.

import assert from 'node:assert/strict';

import { findHistoryFaults, ReActAgent, tool, type AgentEvent, type Msg } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { z } from 'zod';

const STATIONS: Readonly<Record<string, readonly string[]>> = {
  Lisbon: ['sunny, 24 °C', 'sunny, 26 °C', 'a breeze, 22 °C'],
  Bergen: ['rain, 9 °C', 'rain, 8 °C', 'more rain, 9 °C'],
};

/** An error of a tool is shown to the model, and is not a failure of the agent. */
function station(city: string): readonly string[] {
  const days = STATIONS[city];
  if (days === undefined) throw new Error(`There is no weather station in ${city}.`);
  return days;
}

const city = z.string().describe('The name of the city.');
const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city, now.',
  // the schema is shown to the model, validates the arguments, and infers that `city` is a string
  schema: z.object({ city }),
  execute: ({ city }) => station(city)[0],
});
const getForecast = tool({
  name: 'get_forecast',
  description: 'The forecast for a city, day by day.',
  schema: z.object({ city }),
  // A generator reports progress. Each value replaces the one before; the last value is the result.
  *execute({ city }) {
    const days = station(city);
    for (const [i] of days.entries()) yield days.slice(0, i + 1).join('; ');
  },
});

const agent = new ReActAgent({
  name: 'Friday',
  sysPrompt: 'You are a weather reporter. Use the tools.',
  model: new OfflineModel(),
  tools: [getWeather, getForecast],
  console: false, // this program prints the events itself
});

/** Asks the agent, and prints events. Leaving the loop early would interrupt the agent. */
async function ask(question: string): Promise<Msg> {
  console.log(`\nyou: ${question}`);
  const events = agent.stream(question);
  let step = await events.next();
  for (; !step.done; step = await events.next()) show(step.value);
  console.log();
  return step.value; // the stream returns the answer
}

function show(event: AgentEvent): void {
  if (event.type === 'tool_start') console.log(`  -> ${event.call.name} ${JSON.stringify(event.call.input)}`);
  if (event.type === 'tool_chunk') console.log(`  .. ${JSON.stringify(event.result.output)}`);
  if (event.type === 'tool_result')
    console.log(`  <- ${event.result.status}: ${JSON.stringify(event.result.output)}`);
  if (event.type === 'text_delta') process.stdout.write(event.text); // word by word
}

const now = await ask('What is the weather in Lisbon?');
const later = await ask('What is the forecast for Bergen?');
const nowhere = await ask('And how is the weather in Atlantis?');

assert.match(now.text, /sunny, 24 °C/);
assert.match(later.text, /rain, 9 °C; rain, 8 °C; more rain/);
assert.match(nowhere.text, /no weather station in Atlantis/);
assert.equal(nowhere.endReason, 'finished');

const memory = await agent.memory.getMemory();
assert.equal(memory.length, 12); // three times: question, tool call, tool result, answer
assert.deepEqual(findHistoryFaults(memory), []); // every tool call is followed by its result
