import type { ModelDelta } from '../message/model-delta.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import type { Msg } from '../message/msg.ts';
import { installTracedStream } from '../tracing/traced-model-stream.ts';
import type { GenerationOptions, ModelCallOptions, ModelRequest } from './model-request.ts';

export type {
  Caching,
  GenerationOptions,
  ModelCallOptions,
  ModelRequest,
  StructuredFormat,
  ToolChoice,
} from './model-request.ts';
export type { ToolSchema } from './tool-schema.ts';

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
 *
 * @example
 * ```ts
 * import { ChatModelBase, ReActAgent, type ModelRequest } from 'troupe';
 * import type { ModelDelta } from 'troupe/provider';
 *
 * class EchoModel extends ChatModelBase {
 *   async *stream({ messages }: ModelRequest): AsyncIterable<ModelDelta> {
 *     yield { type: 'text', text: `You said: ${messages.at(-1)?.text}` };
 *     yield { type: 'finish', reason: 'stop' };
 *   }
 * }
 * const agent = new ReActAgent({ name: 'Echo', model: new EchoModel('echo-1'), console: false });
 * console.log((await agent.call('Hello')).text); // You said: Hello
 * ```
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
