import type { FormatterBase } from '../formatter/formatter-base.ts';
import type { Msg } from '../message/msg.ts';
import type { JsonObject } from '../util/json.ts';
import type { JsonSchema } from '../util/schema.ts';
import type { HttpCallOptions } from './http/http-call-options.ts';
import type { ToolSchema } from './tool-schema.ts';

/** Rule for tool calls: optional, forbidden, required, one named tool, or a choice of allowed tools. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly name: string }
  | { readonly allowed: readonly string[]; readonly mode?: 'auto' | 'required' };

/** JSON Schema for the text of the response. Only for models with `structured: 'native'`. */
export interface StructuredFormat {
  /** Name of the schema. @default 'answer' */
  readonly name?: string;
  readonly schema: JsonSchema;
}

/**
 * Whether a provider keeps the prompt, so that the next call of the same conversation is cheaper and faster.
 * `key` names conversations with the same beginning, `ttl` is the time to keep it, where a provider has them.
 */
export type Caching =
  | 'auto'
  | 'off'
  | { readonly ttl?: '5m' | '1h' | '24h' | undefined; readonly key?: string | undefined };

/** Generation options. Options unknown to a model are not sent. */
export interface GenerationOptions {
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | undefined;
  /** Maximum thinking tokens, for models with such a limit; 0 turns thinking off. */
  readonly thinkingTokens?: number | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  /** Caching of the prompt. @default the provider's */
  readonly caching?: Caching | undefined;
  /** Service tier in the provider's words, such as 'flex' or 'priority'. */
  readonly serviceTier?: string | undefined;
  /** Additional fields of the request body, sent unchanged. They override all others. */
  readonly extra?: JsonObject | undefined;
}

/**
 * One request to a model, the same for all providers.
 *
 * @example
 * ```ts
 * import { Msg, type ModelRequest } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const request: ModelRequest = { messages: [Msg.user('What is 6 times 7?')], generation: { temperature: 0 } };
 * const answer = await new OfflineModel().call(request);
 * console.log(answer.text, answer.finishReason);
 * ```
 */
export interface ModelRequest {
  readonly messages: readonly Msg[];
  readonly tools?: readonly ToolSchema[] | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  readonly structured?: StructuredFormat | undefined;
  /** Options for this model call; missing options come from the model. */
  readonly generation?: GenerationOptions | undefined;
  /** Converts the messages to a prompt. @default the model's own formatter */
  readonly formatter?: FormatterBase | undefined;
  /** Name of the calling agent, to tell its messages from those of other agents. */
  readonly agentName?: string | undefined;
  /** Settings of the HTTP request of this model call; missing settings come from the model. */
  readonly http?: HttpCallOptions | undefined;
}

export interface ModelCallOptions {
  readonly signal?: AbortSignal | undefined;
}
