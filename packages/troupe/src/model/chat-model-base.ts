import type { ModelDelta } from '../message/model-delta.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import type { Msg } from '../message/msg.ts';
import type { JsonSchema } from '../util/schema.ts';

/** A tool as a model sees it. */
export interface ToolSchema {
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema of type object. */
  readonly parameters: JsonSchema;
}

/** Whether the model may, must not or must call a tool, or which one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

export interface ModelRequest {
  readonly messages: readonly Msg[];
  readonly tools?: readonly ToolSchema[];
  readonly toolChoice?: ToolChoice;
}

export interface ModelCallOptions {
  readonly signal?: AbortSignal;
}

/**
 * A chat model. A provider writes `stream`; `call` is the same, folded.
 * A stream that is left or aborted stops the work behind it.
 */
export abstract class ChatModelBase {
  constructor(readonly modelName: string) {}

  abstract stream(request: ModelRequest, options?: ModelCallOptions): AsyncIterable<ModelDelta>;

  /** The whole answer. */
  async call(request: ModelRequest, options?: ModelCallOptions): Promise<Msg> {
    const draft = new MsgDraft('assistant');
    for await (const delta of this.stream(request, options)) draft.add(delta);
    return draft.finish();
  }
}
