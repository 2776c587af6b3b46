// Checked by the compiler, never run: the type of a structured answer follows from its schema.

import { expectTypeOf } from 'vitest';
import { z } from 'zod';

import type { ErrorCode } from '../../errors.ts';
import type { Msg } from '../../message/msg.ts';
import type { Usage } from '../../message/usage.ts';
import type { JsonValue } from '../../util/json.ts';
import type { AnySchema, JsonSchema } from '../../util/schema.ts';
import type { ChatModelBase, ModelRequest } from '../chat-model-base.ts';
import type { StructuredOutputError } from './structured-output-error.ts';
import { callStructured, type StructuredAnswer } from './structured-output.ts';
import type { StructuredStrategy } from './structured-strategy.ts';

declare const model: ChatModelBase;
declare const request: ModelRequest;
declare const jsonSchema: JsonSchema;
declare const anySchema: AnySchema;
declare const error: StructuredOutputError;

// A Standard Schema gives its output: after defaults and changes, not before.
const object = await callStructured(model, request, z.object({ city: z.string(), n: z.number().default(1) }));
expectTypeOf(object).toEqualTypeOf<StructuredAnswer<{ city: string; n: number }>>();
expectTypeOf(object.value.n).toEqualTypeOf<number>();
expectTypeOf((await callStructured(model, request, z.array(z.string()))).value).toEqualTypeOf<string[]>();
expectTypeOf(
  (await callStructured(model, request, z.object({ at: z.string().transform((text) => text.length) }))).value,
).toEqualTypeOf<{ at: number }>();
expectTypeOf(
  (await callStructured(model, request, z.union([z.literal('yes'), z.literal('no')]))).value,
).toEqualTypeOf<'yes' | 'no'>();

// A JSON Schema says nothing to the compiler.
expectTypeOf((await callStructured(model, request, jsonSchema)).value).toEqualTypeOf<JsonValue>();
expectTypeOf((await callStructured(model, request, { type: 'object' })).value).toEqualTypeOf<JsonValue>();
expectTypeOf((await callStructured(model, request, anySchema)).value).toEqualTypeOf<unknown>();

// The rest of it.
expectTypeOf(object.msg).toEqualTypeOf<Msg>();
expectTypeOf(object.strategy).toEqualTypeOf<StructuredStrategy>();
expectTypeOf(object.tried).toEqualTypeOf<readonly StructuredStrategy[]>();
expectTypeOf(object.attempts).toEqualTypeOf<number>();
expectTypeOf(object.usage).toEqualTypeOf<Usage | undefined>();
expectTypeOf(error.code).toEqualTypeOf<ErrorCode>();
expectTypeOf(error.lastAnswer).toEqualTypeOf<string>();

// @ts-expect-error A strategy is one of three.
void callStructured(model, request, jsonSchema, { strategy: 'json' });
// @ts-expect-error A schema is one.
void callStructured(model, request, 'an object');
// @ts-expect-error The answer is read-only.
object.attempts = 2;
