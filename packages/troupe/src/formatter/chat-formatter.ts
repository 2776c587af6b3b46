import type { Msg } from '../message/msg.ts';
import { FormatterBase } from './formatter-base.ts';
import { PrefixMemo } from './prefix-memo.ts';
import { PromptBuilder } from './prompt-builder.ts';
import type { Prompt } from './prompt.ts';

/** For a conversation between a user and one assistant. Of a history that has grown, only what is new is looked at. */
export class ChatFormatter extends FormatterBase {
  readonly #known = new PrefixMemo<Msg, PromptBuilder>();

  override format(msgs: readonly Msg[]): Prompt {
    const { work: prompt, length } = this.#known.take(msgs) ?? { work: new PromptBuilder(), length: 0 };
    for (let i = length; i < msgs.length; i++) prompt.add(msgs[i] as Msg);
    if (prompt.isSettled) this.#known.put(msgs, prompt);
    return prompt.finish();
  }
}
