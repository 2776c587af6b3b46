import type { StandardSchemaV1 } from '@standard-schema/spec';

import type { ToolResultBlock, ToolUseBlock } from '../../message/blocks.ts';
import type { StateModule } from '../../state/state-module.ts';
import type { JsonObject } from '../../util/json.ts';
import type { AnySchema, JsonSchema } from '../../util/schema.ts';
import type { ToolResume } from './tool-suspension.ts';

/** What `execute` is given: what the schema made of the arguments. */
export type ToolInput<S extends AnySchema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : JsonObject;

/** What a tool is told besides its arguments. */
export interface ToolContext {
  /** Aborted when the call is interrupted or takes too long. Nothing that the tool does after that has an effect. */
  readonly signal: AbortSignal;
  /** Shows how far the tool has got. Each snapshot is whole: it takes the place of the one before. */
  readonly emit: (snapshot: unknown) => void;
  readonly call: ToolUseBlock;
  /** What whoever called gave along, e.g. who the user is. */
  readonly context: unknown;
  /** The agent that made the call, if one did. */
  readonly agentName: string | undefined;
  /** What was decided, when a tool that threw a `ToolSuspension` is run again. */
  readonly resume?: ToolResume | undefined;
  /** The call was answered already, and goes on by itself: nobody can be asked, and it does not stop with the agent. */
  readonly isBackground?: boolean | undefined;
}

/** When a tool that threw, or took too long, is run again. */
export interface ToolRetry {
  /** How often it runs at most, the first time included. */
  readonly maxAttempts: number;
  /** @default every failure is tried again, except when a tool with a `sideEffect` took too long: it may still be at it */
  readonly shouldRetry?: (error: unknown, attempt: number) => boolean;
  /** The upper limit of the first wait. It doubles from wait to wait. @default 500 */
  readonly baseDelayMs?: number;
}

/** What comes of a call. */
export type ToolCallResult = ToolResultBlock;

/** How a tool is run, and what others may know about it. */
export interface ToolSettings {
  /** @default 'basic', which is always active */
  readonly group?: string;
  /** Arguments that the model doesn't see. They win over whatever it sends. */
  readonly preset?: JsonObject;
  /**
   * Changes what the tool gave, snapshots included, before anybody sees it: returns a result or anything
   * that a tool may return; nothing, to leave it as it is.
   */
  readonly postProcess?: (call: ToolUseBlock, result: ToolCallResult) => unknown;
  /** How long one attempt may take; `Infinity` for as long as it likes. @default the toolkit's */
  readonly timeoutMs?: number;
  /** @default none */
  readonly retry?: ToolRetry;
  /**
   * How many calls of it may run at the same time; others wait for their turn. A call that was interrupted, or took too
   * long, counts until the tool has really stopped, but for a minute at most. @default any number
   */
  readonly maxConcurrent?: number;
  /** How much text of a result the model gets. @default the toolkit's */
  readonly maxOutputChars?: number;
  /** Whether numbers, booleans and JSON that a model put in strings are taken out of them. @default true */
  readonly coerce?: boolean;
  /** It changes something outside, so running it twice is not the same as once. */
  readonly sideEffect?: boolean;
  /** It changes nothing outside of the agent. */
  readonly readOnly?: boolean;
  /** Its result is the agent's answer. */
  readonly returnDirect?: boolean;
}

/** A schema that depends on the moment. It must give the same object for as long as nothing has changed. */
export interface LiveSchema {
  current(): JsonSchema;
}

/**
 * A function that a model can call.
 *
 * `execute` may return, or resolve to, a string, a list of blocks, a `ToolResponse`, any JSON (which the model sees
 * as text), or nothing. It may be a generator, sync or async: each value that it yields is a snapshot, as those
 * of `emit`, and the last one is the result, unless it returns one. What it throws is told to the model.
 */
export interface Tool<Input = never> extends ToolSettings {
  /** What the model calls it: letters, digits, `_` and `-`, at most 64. */
  readonly name: string;
  readonly description?: string;
  /** What the arguments are: an object. @default there are none */
  readonly schema?: AnySchema | LiveSchema | undefined;
  readonly execute: (input: Input, context: ToolContext) => unknown;
  /** What the tool stands for, such as an agent: its state is saved with the toolkit's. */
  readonly module?: StateModule | undefined;
}

/** A tool whose arguments are checked by a schema, which also tells their types. */
export interface ToolOptions<S extends AnySchema> extends Tool<ToolInput<S>> {
  readonly schema: S;
}

/** A tool without arguments. */
export interface PlainToolOptions extends Tool<Readonly<Record<string, never>>> {
  readonly schema?: undefined;
}

/** Makes a tool, whose `execute` gets arguments of the types that the schema tells. */
export function tool<S extends AnySchema>(options: ToolOptions<S>): Tool<ToolInput<S>>;
export function tool(options: PlainToolOptions): Tool<Readonly<Record<string, never>>>;
export function tool(options: Tool): Tool {
  return Object.freeze({ ...options });
}
