import type { StandardSchemaV1 } from '@standard-schema/spec';

import type { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import type { ToolResultBlock, ToolUseBlock } from '../../message/blocks.ts';
import type { StateModule } from '../../state/state-module.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import type { AnySchema, JsonSchema } from '../../util/schema.ts';
import type { Confinement } from './confinement.ts';
import type { ToolResume } from './tool-suspension.ts';

/** Type of the first argument of `execute`: the output of the schema. */
export type ToolInput<S extends AnySchema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : JsonObject;

/** Second argument of `execute`. */
export interface ToolContext {
  /** Aborted on an interrupt or timeout. Later effects of the tool on its result are ignored. */
  readonly signal: AbortSignal;
  /** Reports progress. Each snapshot is complete and replaces the one before. */
  readonly emit: (snapshot: unknown) => void;
  readonly call: ToolUseBlock;
  /** Application data from `CallToolOptions.context`, e.g. the user. */
  readonly context: unknown;
  /** Name of the agent that made the tool call, if an agent did. */
  readonly agentName: string | undefined;
  /** Decisions, when a tool that threw a `ToolSuspension` runs again. */
  readonly resume?: ToolResume | undefined;
  /**
   * Limits for this tool call, which nobody was asked about. `none`: a person has lifted all limits for this tool
   * call. @default the tool's own settings
   */
  readonly confinement?: Confinement | 'none' | undefined;
  /**
   * The tool call was already answered and continues in the background: approvals are impossible, and an
   * interrupt of the agent does not stop it.
   */
  readonly isBackground?: boolean | undefined;
}

/** Retries of a tool that failed or timed out. */
export interface ToolRetry {
  /** Maximum runs, including the first. */
  readonly maxAttempts: number;
  /**
   * @default retries every failure, except timeouts of a tool with a `sideEffect`, which may still be running
   */
  readonly shouldRetry?: (error: unknown, attempt: number) => boolean;
  /** Upper limit of the first delay in milliseconds; doubles with each retry. @default 500 */
  readonly baseDelayMs?: number;
}

export type ToolCallResult = ToolResultBlock;

/** Execution settings and properties of a tool. */
export interface ToolSettings {
  /** Tool group. @default 'basic', which is always active */
  readonly group?: string;
  /** Arguments hidden from the model. They win over arguments sent by the model. */
  readonly preset?: JsonObject;
  /**
   * Changes results and snapshots before anyone sees them. Returns a result, any value that a tool may
   * return, or nothing to keep the result.
   */
  readonly postProcess?: (call: ToolUseBlock, result: ToolCallResult) => unknown;
  /** Time limit of one attempt; `Infinity` for none. @default the toolkit's */
  readonly timeoutMs?: number;
  /** Retries after failures. @default none */
  readonly retry?: ToolRetry;
  /**
   * Maximum tool calls of this tool that run at the same time; others wait in order. After an interrupt or
   * timeout a tool call counts until the tool has really stopped, but for a minute at most.
   * @default no limit
   */
  readonly maxConcurrent?: number;
  /** Maximum characters of text in a result. @default the toolkit's */
  readonly maxOutputChars?: number;
  /** Whether numbers, booleans and JSON sent as strings are converted. @default true */
  readonly coerce?: boolean;
  /** Changes something outside, so that running the tool twice differs from once. */
  readonly sideEffect?: boolean;
  /** Changes nothing outside of the agent. */
  readonly readOnly?: boolean;
  /** The result is the agent's answer. */
  readonly returnDirect?: boolean;
  /** Labels for programs that choose or audit tools. Not shown to the model. */
  readonly tags?: readonly string[];
}

/** Binding of a tool to files. Made by `makeFileTool`. */
export interface ToolFiles {
  /** The tool as it was made. A copy with another function or schema can't be bound to other files. */
  readonly tool: Tool;
  /** Makes the same tool for other files. */
  readonly bind: (handle: FileSystemHandle) => Tool;
}

/** Schema with changing content. `current` returns the same object until a change. */
export interface LiveSchema {
  current(): JsonSchema;
}

/**
 * Function that a model can call.
 *
 * `execute` may return, or resolve to, a string, a list of blocks, a `ToolResponse`, any data (shown to the
 * model as JSON text, dates, maps, sets and bigints included), or nothing. A sync or async generator yields snapshots like `emit`; the last snapshot is
 * the result unless the generator returns one. Thrown errors are shown to the model. Folder `toolkit/tool`: start here.
 *
 * @example
 * ```ts
 * import { ReActAgent, type Tool } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * // `tool()` infers the type of the arguments from a schema; an object with these members is a tool, too.
 * const rollDice: Tool = { name: 'roll_dice', description: 'Rolls a dice.', execute: () => 4 };
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), tools: [rollDice], console: false });
 * console.log(agent.toolkit.has('roll_dice')); // true
 * ```
 */
export interface Tool<Input = never> extends ToolSettings {
  /** Name for the model: letters, digits, `_` and `-`, at most 64. */
  readonly name: string;
  readonly description?: string;
  /** Schema of the arguments, an object. @default no arguments */
  readonly schema?: AnySchema | LiveSchema | undefined;
  readonly execute: (input: Input, context: ToolContext) => unknown;
  /**
   * Called when a suspended tool call of the tool is closed without being resumed, with the state of its suspension: the tool frees what it
   * has kept for it. Not called for the tool calls of an earlier process that nobody closes.
   */
  readonly onAbandoned?: ((state: JsonValue) => void) | undefined;
  /** State module behind the tool, such as an agent; saved with the toolkit's state. */
  readonly module?: StateModule | undefined;
  /** Where the tool comes from, such as `mcp:docs` for a server. Tools from elsewhere match only rules that name their source. @default 'program' */
  readonly source?: string | undefined;
  /**
   * Says why a tool call can't run within limits; undefined if the tool obeys `ToolContext.confinement`. A tool
   * without this function never runs commands unasked.
   */
  readonly checkConfinement?:
    | ((input: JsonObject, confinement: Confinement) => Promise<string | undefined>)
    | undefined;
  /** Files of the tool. A sub-agent that is granted the tool gets the tool for its own files. */
  readonly files?: ToolFiles | undefined;
}

/** Tool with a schema, which validates the arguments and infers their types. */
export interface ToolOptions<S extends AnySchema> extends Tool<ToolInput<S>> {
  readonly schema: S;
}

/** Tool without arguments. */
export interface PlainToolOptions extends Tool<Readonly<Record<string, never>>> {
  readonly schema?: undefined;
}

/**
 * Makes a tool. The schema infers the type of the arguments of `execute`.
 *
 * @example
 * ```ts
 * import { tool } from 'troupe';
 * import { z } from 'zod';
 *
 * const forecast = tool({
 *   name: 'forecast',
 *   description: 'The weather of the next days.',
 *   schema: z.object({ city: z.string(), days: z.number().int().default(3) }),
 *   execute: ({ city, days }) => `${city}: sun for ${days} days.`,
 * });
 * console.log(forecast.name);
 * ```
 */
export function tool<S extends AnySchema>(options: ToolOptions<S>): Tool<ToolInput<S>>;
export function tool(options: PlainToolOptions): Tool<Readonly<Record<string, never>>>;
export function tool(options: Tool): Tool {
  return Object.freeze({ ...options });
}
