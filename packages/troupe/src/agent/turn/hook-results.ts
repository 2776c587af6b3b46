import type { Msg } from '../../message/msg.ts';
import type { GenerationOptions } from '../../model/chat-model-base.ts';
import type { HttpCallOptions } from '../../model/http/http-call-options.ts';
import { LoopControl } from './loop-control.ts';

/** Why a model is called: for the next model message, or for an answer at the limit of model calls. */
export type ModelCallPurpose = 'reasoning' | 'summary';

/** The prompt of a model call, as hooks see and change it. */
export interface ModelPrompt {
  /** System prompt, history and hints: everything that the model reads. */
  readonly messages: readonly Msg[];
  readonly generation: GenerationOptions | undefined;
  /** Settings of the HTTP request, such as the key of one customer; missing settings come from the model. */
  readonly http: HttpCallOptions | undefined;
}

/** Key of the controls of hooks after reasoning; those after acting have the id of their tool call. */
const REASONING = '';

/** Results of the hooks of one agent call, until the method that the hooks surround takes them. */
export class HookResults {
  /** Prompt of the running model call as its hooks left it; undefined if there are no hooks. */
  prompt: ModelPrompt | undefined;
  readonly #controls = new Map<string, readonly LoopControl[]>();

  addControl(control: LoopControl, toolCallId: string = REASONING): void {
    this.#controls.set(toolCallId, [...(this.#controls.get(toolCallId) ?? []), control]);
  }

  /** Takes the joined controls of the hooks after reasoning, or after a tool call. */
  takeControl(toolCallId: string = REASONING): LoopControl | undefined {
    const given = this.#controls.get(toolCallId);
    this.#controls.delete(toolCallId);
    return given && LoopControl.merged(given);
  }
}
