import type { Msg } from '../message/msg.ts';
import { FormatterBase } from './formatter-base.ts';
import { PrefixMemo } from '../util/prefix-memo.ts';
import { PromptBuilder } from './prompt-builder.ts';
import type { Prompt } from './prompt.ts';

/**
 * Formatter for a conversation between a user and one assistant. Processes only the new messages of a growing
 * history.
 */
export class ChatFormatter extends FormatterBase {
  static override readonly className: string = 'ChatFormatter';

  readonly #known = new PrefixMemo<Msg, PromptBuilder>();

  override format(msgs: readonly Msg[]): Prompt {
    return this.#known
      .workOn(
        msgs,
        () => new PromptBuilder(),
        (prompt, msg) => prompt.add(msg),
        (prompt) => prompt.isSettled,
      )
      .finish();
  }
}
