import type { FormatterBase } from '../formatter/formatter-base.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import type { Msg } from '../message/msg.ts';
import { installTracedStream } from '../tracing/traced-model-stream.ts';
import type { JsonObject } from '../util/json.ts';
import type { JsonSchema } from '../util/schema.ts';
import type { HttpCallOptions } from './http/http-call-options.ts';

/** Tool definition sent to a model. */
export interface ToolSchema {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of type object. */
  readonly parameters: JsonSchema;
}

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

/** Capabilities of a model, as data for choosing strategies. */
export interface ModelCapabilities {
  /** Accepts images. */
  readonly vision: boolean;
  /** Accepts audio. */
  readonly audio: boolean;
  /** Accepts video. */
  readonly video: boolean;
  /** Accepts documents, such as PDF. */
  readonly files: boolean;
  readonly tools: boolean;
  /** Support for forced tool calls: always, never, or only without thinking. */
  readonly forcedTools: 'always' | 'without_thinking' | 'never';
  /** Support for output that follows a JSON Schema. */
  readonly structured: 'native' | 'none';
}

/** Capabilities assumed for unknown models. */
export const PLAIN_CAPABILITIES: ModelCapabilities = Object.freeze({
  vision: false,
  audio: false,
  video: false,
  files: false,
  tools: true,
  forcedTools: 'always',
  structured: 'none',
});

const NO_OPTIONS: GenerationOptions = Object.freeze({});

/**
 * Base class of chat models. Providers implement `stream`; `call` folds the same stream into a message.
 * Aborting or leaving a stream stops the request behind it. Folder `model`: start here.
 */
export abstract class ChatModelBase {
  /** Whether each stream is a span. False for models that only pass on the streams of other models, which are spans themselves. */
  static readonly isTraced: boolean = true;
  /** Name of this class in cache keys. Subclasses have a name of their own: without one it is the name of the class, which minifiers change. */
  static readonly className: string | undefined;

  readonly capabilities: ModelCapabilities = PLAIN_CAPABILITIES;
  /** Default options for all model calls. Options of a request override them. */
  readonly generation: GenerationOptions = NO_OPTIONS;
  /** Name of the provider for messages; undefined where it makes no difference. */
  readonly vendorName: string | undefined = undefined;
  /** Host of the server, with its port; undefined for a model without one. */
  readonly host: string | undefined = undefined;

  constructor(readonly modelName: string) {
    if (new.target.isTraced) installTracedStream(this, new.target);
  }

  abstract stream(request: ModelRequest, options?: ModelCallOptions): AsyncIterable<ModelDelta>;

  /** The whole answer, with its `finishReason` and the provider's `responseId`. */
  async call(request: ModelRequest, options?: ModelCallOptions): Promise<Msg> {
    const draft = new MsgDraft(request.agentName ?? 'assistant', {
      isToolCallIdTaken: (id) => request.messages.some((msg) => hasCall(msg, id)),
    });
    for await (const delta of this.stream(request, options)) draft.add(delta);
    return draft.finish();
  }
}

function hasCall(msg: Msg, id: string): boolean {
  return (
    typeof msg.content !== 'string' &&
    msg.content.some((block) => block.type === 'tool_use' && block.id === id)
  );
}
