import type { ChatModelBase, ModelRequest } from '../model/chat-model-base.ts';
import type { JsonObject } from '../util/json.ts';

/**
 * Behaviour of the model in a case:
 * - `text`: answers every request with the text.
 * - `tools`: answers every request with the tool calls, in parallel.
 * - `stall`: sends some text, then nothing until aborted or abandoned.
 * - `failure`: fails with a ModelError before any content, every time.
 * - `breaks`: sends some text, then fails with a ModelError, every time.
 */
export type ContractScenario = 'text' | 'tools' | 'stall' | 'failure' | 'breaks';

/** Model, request and expected answer of a case. */
export interface ContractSubject {
  make(): Promise<ChatModelBase>;
  readonly request: ModelRequest;
  /** Text or tool calls of the answer. */
  readonly expected: string | readonly { readonly name: string; readonly input: JsonObject }[];
  readonly secret: string | undefined;
  workOf(model: ChatModelBase): number;
  readonly runningOf: ((model: ChatModelBase) => number) | undefined;
}

export type ChatModelCheck = (subject: ContractSubject) => Promise<void>;

export interface ChatModelCase {
  readonly name: string;
  readonly scenario: ContractScenario;
  readonly needsSecret?: boolean;
  readonly run: ChatModelCheck;
}
