// Checked by the compiler, never run: the types of answers and streams follow from the schema and the event types.

import type { StandardSchemaV1 } from '@standard-schema/spec';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';

import { stopAgent } from './turn/loop-control.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { AgentStream } from '../event/agent-stream.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Msg, type StructuredMsg } from '../message/msg.ts';
import type { ReActAgent } from '../react/react-agent.ts';
import type { UserAgent } from '../user/user-agent.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';
import type { AnySchema, JsonSchema } from '../util/schema.ts';
import { AgentBase, type CallOptions } from './agent-base.ts';

declare const agent: ReActAgent;
declare const user: UserAgent;
declare const options: CallOptions;
declare const anySchema: AnySchema;
declare const jsonSchema: JsonSchema;
/** As arktype and others make one. */
declare const standard: StandardSchemaV1<unknown, { city: string; height?: number }>;

const City = z.object({ name: z.string(), metres: z.number().default(0) });
const answer = await agent.call('Where?', { structuredModel: City });
expectTypeOf(answer).toExtend<Msg>();
expectTypeOf(answer).toEqualTypeOf<StructuredMsg<{ name: string; metres: number }>>();
expectTypeOf(answer.structured).toEqualTypeOf<{ name: string; metres: number } | undefined>();
expectTypeOf(answer.metadata).toEqualTypeOf<JsonObject>();
// @ts-expect-error It may be undefined: the call may have been interrupted.
void answer.structured.name;

// Every library that speaks Standard Schema, and what a schema makes of the output.
const valibot = toStandardJsonSchema(v.object({ city: v.string() }));
expectTypeOf((await agent.call('Where?', { structuredModel: valibot })).structured).toEqualTypeOf<
  { city: string } | undefined
>();
expectTypeOf((await agent.call('Where?', { structuredModel: standard })).structured).toEqualTypeOf<
  { city: string; height?: number } | undefined
>();
const day = z.object({ day: z.iso.date().transform((text) => new Date(text)) });
expectTypeOf((await agent.call('When?', { structuredModel: day })).structured?.day).toEqualTypeOf<
  Date | undefined
>();

// A JSON Schema says whether it is one of an object, and no more.
const object = await agent.call('Where?', { structuredModel: { type: 'object', properties: {} } });
expectTypeOf(object.structured).toEqualTypeOf<JsonObject | undefined>();
const text = await agent.call('Where?', { structuredModel: { type: 'string' } });
expectTypeOf(text.structured).toEqualTypeOf<JsonValue | undefined>();
const some = await agent.call('Where?', { structuredModel: jsonSchema });
expectTypeOf(some.structured).toEqualTypeOf<JsonValue | undefined>();
expectTypeOf(
  (await agent.call('Where?', { structuredModel: anySchema })).structured,
).toEqualTypeOf<unknown>();

// A user is asked in the same way. Without a schema there is nothing to know.
expectTypeOf(
  (await user.call(undefined, { structuredModel: z.object({ age: z.number() }) })).structured,
).toEqualTypeOf<{ age: number } | undefined>();
expectTypeOf(await agent.call('Hi.')).toEqualTypeOf<Msg>();
expectTypeOf(await agent.call('Hi.', options)).toEqualTypeOf<Msg>();
expectTypeOf((await agent.call('Hi.')).structured).toEqualTypeOf<unknown>();

// Subclasses write `reply` as before, and may give structured output of their own.
class Own extends AgentBase {
  override async reply(): Promise<Msg> {
    return Msg.assistant('Lima', { metadata: { name: 'Lima' }, structured: { name: 'Lima', metres: 0 } });
  }
}
const own = await new Own({ name: 'own' }).call('Where?', { structuredModel: City, onBusy: 'queue' });
expectTypeOf(own.structured?.metres).toEqualTypeOf<number | undefined>();

// @ts-expect-error A schema is one.
void agent.call('Where?', { structuredModel: 'City' });

// A stream knows its answer, and its events by type.
const stream = agent.stream('Where?', { structuredModel: City, nested: true });
expectTypeOf((await stream.answer).structured?.metres).toEqualTypeOf<number | undefined>();
expectTypeOf(agent.stream('Hi.')).toEqualTypeOf<AgentStream<Msg>>();
for await (const event of stream) expectTypeOf(event).toEqualTypeOf<AgentEvent>();
for await (const said of stream.text) expectTypeOf(said).toEqualTypeOf<string>();
for await (const event of stream.filter('text_delta')) expectTypeOf(event.text).toEqualTypeOf<string>();
for await (const event of stream.filter('tool_start', 'tool_result')) {
  if (event.type === 'tool_start') expectTypeOf(event.call).toEqualTypeOf<ToolUseBlock>();
  else expectTypeOf(event.result).toEqualTypeOf<ToolResultBlock>();
}
expectTypeOf(stream.toReadableStream()).toEqualTypeOf<ReadableStream<AgentEvent>>();
// @ts-expect-error No event has this name.
stream.filter('text_deltas');

// A listener knows the event by its type.
expectTypeOf(
  agent.on('tool_start', ({ call }) => expectTypeOf(call).toEqualTypeOf<ToolUseBlock>()),
).toEqualTypeOf<() => void>();
agent.on('*', (event) => expectTypeOf(event).toEqualTypeOf<AgentEvent>(), { nested: true });
// @ts-expect-error No event has this name.
agent.on('tool_started', () => {});

// Hooks of agents with tools see the prompt, steer the loop and bring tools; others do not.
agent.registerInstanceHook(
  'preReasoning',
  'rules',
  (_agent, { messages, generation }) => {
    expectTypeOf(messages).toEqualTypeOf<readonly Msg[]>();
    return { messages: [...messages], generation: { ...generation, temperature: 0 } };
  },
  { tools: [], priority: 1 },
);
agent.registerInstanceHook('postActing', 'stop', (_agent, _args, { status }) =>
  status === 'ok' ? stopAgent('Enough.') : undefined,
);
// @ts-expect-error A summary can't be sent back.
agent.registerInstanceHook('postSummary', 'stop', () => stopAgent());
// @ts-expect-error An agent without tools takes none.
user.registerInstanceHook('preReply', 'tools', () => {}, { tools: [] });
