import type { FormatterBase } from '../formatter/formatter-base.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import type { Msg } from '../message/msg.ts';
import type { JsonObject } from '../util/json.ts';
import type { JsonSchema } from '../util/schema.ts';

/** A tool as a model sees it. */
export interface ToolSchema {
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema of type object. */
  readonly parameters: JsonSchema;
}

/** Whether the model may, must not or must call a tool, which one, or which ones it may choose from. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly name: string }
  | { readonly allowed: readonly string[]; readonly mode?: 'auto' | 'required' };

/** A shape that the answer's text shall have. Only for models whose `structured` capability is 'native'. */
export interface StructuredFormat {
  /** What the shape is called. @default 'answer' */
  readonly name?: string;
  readonly schema: JsonSchema;
}

/** How an answer is made. What a model doesn't know is not sent to it. */
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
  /** How many tokens the model may think, for models that count them; 0 turns thinking off. */
  readonly thinkingTokens?: number | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  /** Further fields of the request's body, sent as they are. They win over all others. */
  readonly extra?: JsonObject | undefined;
}

export interface ModelRequest {
  readonly messages: readonly Msg[];
  readonly tools?: readonly ToolSchema[] | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  readonly structured?: StructuredFormat | undefined;
  /** For this call only; what it leaves out is as the model was set up. */
  readonly generation?: GenerationOptions | undefined;
  /** Turns the messages into a prompt. @default the model's own */
  readonly formatter?: FormatterBase | undefined;
  /** The name of the agent that asks: in a conversation of several, its own messages are told from the others'. */
  readonly agentName?: string | undefined;
}

export interface ModelCallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** What a model can do. Data, so that others can choose by it. */
export interface ModelCapabilities {
  /** Takes images. */
  readonly vision: boolean;
  /** Takes audio. */
  readonly audio: boolean;
  /** Takes video. */
  readonly video: boolean;
  /** Takes documents, such as PDF. */
  readonly files: boolean;
  readonly tools: boolean;
  /** Whether it can be made to call a tool: always, never, or only while it doesn't think. */
  readonly forcedTools: 'always' | 'without_thinking' | 'never';
  /** Whether it can be held to a JSON Schema by itself. */
  readonly structured: 'native' | 'none';
}

/** What a model can do if nothing is known about it. */
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
 * A chat model. A provider writes `stream`; `call` is the same, folded.
 * A stream that is left or aborted stops the work behind it.
 */
export abstract class ChatModelBase {
  readonly capabilities: ModelCapabilities = PLAIN_CAPABILITIES;
  /** Its own options, for all its calls. Those of a request win over them. */
  readonly generation: GenerationOptions = NO_OPTIONS;
  /** Who offers it, in words; undefined where that makes no difference. */
  readonly vendorName: string | undefined = undefined;

  constructor(readonly modelName: string) {}

  abstract stream(request: ModelRequest, options?: ModelCallOptions): AsyncIterable<ModelDelta>;

  /** The whole answer. Its `metadata` tells the `finishReason` and the provider's `responseId`. */
  async call(request: ModelRequest, options?: ModelCallOptions): Promise<Msg> {
    const draft = new MsgDraft(request.agentName ?? 'assistant', {
      isCallIdTaken: (id) => request.messages.some((msg) => hasCall(msg, id)),
    });
    for await (const delta of this.stream(request, options)) draft.add(delta);
    const { finishReason, responseId } = draft;
    return draft.finish({
      ...(finishReason !== undefined && { finishReason }),
      ...(responseId !== undefined && { responseId }),
    });
  }
}

function hasCall(msg: Msg, id: string): boolean {
  return (
    typeof msg.content !== 'string' &&
    msg.content.some((block) => block.type === 'tool_use' && block.id === id)
  );
}
