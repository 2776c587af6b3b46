import type { TextBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import { oneLine } from '../util/text.ts';
import { FormatterBase, type FormatContext } from './formatter-base.ts';
import { partsOf } from './msg-parts.ts';
import { PromptBuilder } from './prompt-builder.ts';
import type { MediaBlock, Prompt, UserItem } from './prompt.ts';

export interface MultiAgentFormatterOptions {
  /** What stands before the first piece of history. */
  readonly historyPrompt?: string;
}

const HISTORY_PROMPT =
  'Several people and agents talk with each other. What they said stands between the <history> tags, each line with the name of who said it.';

/**
 * For a conversation of several agents. What others said in a row becomes one
 * message with a line `name: text` for each, between `<history>` tags. Tool calls
 * with their results, and what the agent itself said, stay as they are.
 */
export class MultiAgentFormatter extends FormatterBase {
  readonly #historyPrompt: string;
  readonly #runs = new WeakMap<Msg, Run>();

  constructor({ historyPrompt = HISTORY_PROMPT }: MultiAgentFormatterOptions = {}) {
    super();
    this.#historyPrompt = historyPrompt;
  }

  override format(msgs: readonly Msg[], { agentName }: FormatContext = {}): Prompt {
    const prompt = new PromptBuilder();
    let run: Msg[] = [];
    let isFirst = true;
    const endRun = (): void => {
      if (run.length === 0) return;
      prompt.addItem(this.#historyItem(run, isFirst));
      isFirst = false;
      run = [];
    };
    for (const msg of msgs) {
      if (isSaidByOthers(msg, agentName)) run.push(msg);
      else {
        endRun();
        prompt.add(msg);
      }
    }
    endRun();
    return prompt.finish();
  }

  /** The item of a run: the same object as the last time, if the run is the same. */
  #historyItem(msgs: readonly Msg[], isFirst: boolean): UserItem {
    const [first] = msgs;
    const before = first && this.#runs.get(first);
    if (before?.isFirst === isFirst && isSameList(before.msgs, msgs)) return before.item;
    const item: UserItem = {
      role: 'user',
      name: 'history',
      content: render(msgs, isFirst ? `${this.#historyPrompt}\n` : ''),
    };
    if (first) this.#runs.set(first, { msgs, isFirst, item });
    return item;
  }
}

interface Run {
  readonly msgs: readonly Msg[];
  readonly isFirst: boolean;
  readonly item: UserItem;
}

/** Whether a message goes into the history: it is neither the agent's own nor the system's, and no part of a tool's use. */
function isSaidByOthers(msg: Msg, agentName: string | undefined): boolean {
  const { results, calls, item } = partsOf(msg);
  if (item === undefined || results.length > 0 || calls.length > 0 || msg.role === 'system') return false;
  return msg.role === 'user' || msg.name !== agentName;
}

function render(msgs: readonly Msg[], prompt: string): (TextBlock | MediaBlock)[] {
  const content: (TextBlock | MediaBlock)[] = [];
  let text = `${prompt}<history>`;
  for (const msg of msgs) {
    for (const block of msg.getContentBlocks()) {
      if (block.type === 'text') text += `\n${oneLine(msg.name)}: ${withoutTags(block.text.toWellFormed())}`;
      else if (block.type !== 'thinking' && block.type !== 'tool_use' && block.type !== 'tool_result') {
        content.push({ type: 'text', text: `${text}\n${oneLine(msg.name)}:` }, block);
        text = '';
      }
    }
  }
  content.push({ type: 'text', text: `${text}\n</history>`.replace(/^\n/, '') });
  return content;
}

/** Nobody can end the history by what they say. */
function withoutTags(text: string): string {
  return text.replace(/<(\/?\s*history\s*)>/gi, '&lt;$1&gt;');
}

function isSameList(a: readonly Msg[], b: readonly Msg[]): boolean {
  return a.length === b.length && a.every((msg, i) => msg === b[i]);
}
