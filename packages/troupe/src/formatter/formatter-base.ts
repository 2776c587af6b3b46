import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/tool-schema.ts';
import type { Prompt } from './prompt.ts';

/** Request data for a formatter, besides the messages. */
export interface FormatContext {
  readonly tools?: readonly ToolSchema[] | undefined;
  /** Name of the calling agent. */
  readonly agentName?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Base class of formatters, which convert a history to a prompt valid for every provider: each tool call is
 * followed by its one result, no message is empty, and all ids and names have a portable format. Models
 * convert the prompt to their wire format. Folder `formatter`: start here.
 *
 * Equal messages give equal items, the same objects where possible, so that a model converts each item only
 * once.
 */
export abstract class FormatterBase {
  /** Name of this class in cache keys. Subclasses have a name of their own: without one it is the name of the class, which minifiers change. */
  static readonly className: string | undefined;

  /** Formatter for prompts that must hold every message. @default this formatter, which leaves out nothing */
  readonly untruncated?: FormatterBase | undefined;

  abstract format(msgs: readonly Msg[], context?: FormatContext): Prompt | Promise<Prompt>;
}
