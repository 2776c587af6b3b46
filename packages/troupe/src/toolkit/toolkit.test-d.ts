// Checked by the compiler, never run: the types of a tool's arguments follow from its schema.

import type { StandardSchemaV1 } from '@standard-schema/spec';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';

import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import type { JsonObject } from '../util/json.ts';
import type { JsonSchema } from '../util/schema.ts';
import type { ToolMiddleware } from './call/tool-middleware.ts';
import { ToolResponse } from './tool/tool-response.ts';
import { tool, type Tool, type ToolCallResult, type ToolContext } from './tool/tool.ts';
import { Toolkit } from './toolkit.ts';

declare const toolkit: Toolkit;
declare const call: ToolUseBlock;
declare const jsonSchema: JsonSchema;
declare const standard: StandardSchemaV1<{ raw: string }, { parsed: number }>;

// A Standard Schema tells what it makes of the arguments: after defaults and changes, not before.
const weather = tool({
  name: 'weather',
  schema: z.object({
    city: z.string(),
    days: z.number().default(3),
    at: z.string().transform((s) => s.length),
  }),
  execute(input, context) {
    expectTypeOf(input).toEqualTypeOf<{ city: string; days: number; at: number }>();
    expectTypeOf(context).toEqualTypeOf<ToolContext>();
    return `${input.city} ${input.days}`;
  },
});
expectTypeOf(weather).toEqualTypeOf<Tool<{ city: string; days: number; at: number }>>();

tool({
  name: 'any_library',
  schema: standard,
  execute: (input) => expectTypeOf(input).toEqualTypeOf<{ parsed: number }>(),
});

// A JSON Schema says nothing to the compiler but that there is an object.
tool({
  name: 'json',
  schema: { type: 'object', properties: { a: { type: 'string' } } },
  execute: (input) => expectTypeOf(input).toEqualTypeOf<JsonObject>(),
});
tool({
  name: 'json',
  schema: jsonSchema,
  execute: (input) => expectTypeOf(input).toEqualTypeOf<JsonObject>(),
});

// Without a schema there are no arguments.
tool({
  name: 'now',
  execute(input) {
    expectTypeOf(input).toEqualTypeOf<Readonly<Record<string, never>>>();
  },
});

// The same holds where a tool is registered.
toolkit.registerToolFunction({
  name: 'inline',
  schema: z.object({ n: z.number() }),
  execute: (input) => expectTypeOf(input).toEqualTypeOf<{ n: number }>(),
});
toolkit.registerToolFunction({ name: 'inline', execute: () => 1 });
expectTypeOf(toolkit.registerToolFunction(weather, { namesakeStrategy: 'rename' })).toEqualTypeOf<string>();
toolkit.registerToolFunction(toolkit.metaTool);
toolkit.withTools(weather, tool({ name: 'x', execute: () => 'x' }));

// Generators and promises are fine.
tool({
  name: 'g',
  async *execute(_, { emit }) {
    emit('0');
    yield '1';
    yield new ToolResponse('2');
  },
});
tool({ name: 'p', execute: async (_, { signal }) => signal.aborted });

// Tools of any arguments go into one toolkit.
void new Toolkit({ tools: [weather, tool({ name: 'now', execute: () => 'noon' })] });

// The outcome of a tool call is a result that a message can hold.
expectTypeOf(toolkit.callToolFunction(call)).toEqualTypeOf<Promise<ToolCallResult>>();
expectTypeOf<ToolCallResult>().toExtend<ToolResultBlock>();
expectTypeOf(toolkit.getJsonSchemas()).toEqualTypeOf<readonly ToolSchema[]>();

// A middleware returns a result.
const passes: ToolMiddleware = (given, next) => next(given);
const answers: ToolMiddleware = async () => new ToolResponse('no', { status: 'denied' });
toolkit.registerMiddleware(passes);
toolkit.registerMiddleware(answers);
// @ts-expect-error One that forgets to return is a mistake.
toolkit.registerMiddleware(async (given, next) => {
  await next(given);
});

// @ts-expect-error A tool has a name.
tool({ execute: () => 1 });
// @ts-expect-error A tool can be executed.
tool({ name: 'x' });
// @ts-expect-error The arguments are those of the schema.
tool({ name: 'x', schema: z.object({ a: z.string() }), execute: (input: { b: string }) => input.b });
// @ts-expect-error A schema is one.
tool({ name: 'x', schema: 'string', execute: () => 1 });
// @ts-expect-error There are four strategies.
toolkit.registerToolFunction(weather, { namesakeStrategy: 'replace' });
// @ts-expect-error A status is one of five.
void new ToolResponse('x', { status: 'fine' });
// @ts-expect-error A tool whose arguments are not known can't be called by hand.
toolkit.get('weather')?.execute({}, {});
