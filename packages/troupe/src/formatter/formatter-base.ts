import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import type { Prompt } from './prompt.ts';

/** What a formatter may want to know about the request besides the messages. */
export interface FormatContext {
  readonly tools?: readonly ToolSchema[] | undefined;
  /** The agent that asks. */
  readonly agentName?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Turns a history into a prompt that every provider accepts: each call has its one
 * result behind it, nothing is empty, all ids and names are of a form that goes
 * everywhere. How that looks on the wire is the model's business.
 *
 * The same messages give the same items, the very same objects where possible, so
 * that a model turns each of them into its wire form only once.
 */
export abstract class FormatterBase {
  abstract format(msgs: readonly Msg[], context?: FormatContext): Prompt | Promise<Prompt>;
}
