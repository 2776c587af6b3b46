// Structured output with a zod schema and with a valibot schema. The first answer of the model is invalid:
// the problems go back to the model in the words of the schema's library, and the model tries again. The
// model is a ScriptedModel, to make the mistake on purpose.

import assert from 'node:assert/strict';

import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { ReActAgent, tool, type AnySchema, type JsonObject } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import * as v from 'valibot';
import { z } from 'zod';

const ZodTrip = z.object({
  city: z.string(),
  nights: z.number().int().positive(),
  packing: z.array(z.enum(['umbrella', 'sunglasses', 'boots'])),
});
const ValibotTrip = v.object({
  city: v.string(),
  nights: v.pipe(v.number(), v.integer(), v.minValue(1)),
  packing: v.array(v.picklist(['umbrella', 'sunglasses', 'boots'])),
});

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
  execute: ({ city }) => `Rain in ${city}, as usual.`,
});

/** Model that looks up the weather, gives an invalid answer, and then a valid one. */
function travelModel(): ScriptedModel {
  const answer = (input: JsonObject) => ({ toolCalls: [{ name: 'generate_response', input }] });
  return new ScriptedModel([
    { toolCalls: [{ name: 'get_weather', input: { city: 'Bergen' } }] },
    answer({ city: 'Bergen', nights: 0, packing: ['a hat'] }),
    answer({ city: 'Bergen', nights: 2, packing: ['umbrella', 'boots'] }),
  ]);
}

/** Plans a trip with any schema, and returns the structured output. */
async function planTrip(library: string, structuredModel: AnySchema): Promise<JsonObject> {
  const agent = new ReActAgent({
    name: 'planner',
    model: travelModel(),
    tools: [getWeather],
    console: false,
  });

  // For this agent call there is an additional tool, generate_response, with the schema as arguments. A valid
  // tool call of it is the answer.
  const answer = await agent.call('Where shall we go this weekend?', { structuredModel });

  const memory = await agent.memory.getMemory();
  // the first is of get_weather
  const [, wrong] = memory.flatMap((msg) => msg.getContentBlocks('tool_result'));
  assert.ok(wrong?.status === 'error' && typeof wrong.output === 'string');
  console.log(`${library} said to the model:\n${wrong.output.replaceAll(/^/gm, '  ')}`);
  assert.equal(answer.endReason, 'structured');
  return answer.metadata;
}

// A schema of zod 4.2 or later provides its JSON Schema; one of valibot is wrapped.
const byZod = ZodTrip.parse(await planTrip('zod', ZodTrip)); // parsed only for the type; already validated
const byValibot = v.parse(ValibotTrip, await planTrip('valibot', toStandardJsonSchema(ValibotTrip)));

console.log(`\nWe go to ${byZod.city} for ${byZod.nights} nights and take: ${byZod.packing.join(', ')}.`);
assert.deepEqual(byZod, { city: 'Bergen', nights: 2, packing: ['umbrella', 'boots'] });
assert.deepEqual(byValibot, byZod);
