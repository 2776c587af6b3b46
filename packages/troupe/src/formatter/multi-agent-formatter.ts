import type { TextBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import { oneLine } from '../util/text.ts';
import { FormatterBase, type FormatContext } from './formatter-base.ts';
import { partsOf } from './msg-parts.ts';
import { PrefixMemo } from '../util/prefix-memo.ts';
import { PromptBuilder } from './prompt-builder.ts';
import type { MediaBlock, Prompt, UserItem } from './prompt.ts';

export interface MultiAgentFormatterOptions {
  /** What stands before the first piece of history. */
  readonly historyPrompt?: string | undefined;
}

const HISTORY_PROMPT =
  'Several people and agents talk with each other. What they said stands between the <history> tags, each line with the name of who said it.';

/** A conversation on its way into a prompt. */
interface Work {
  readonly prompt: PromptBuilder;
  /** What others said since the agent itself spoke last. */
  readonly run: HistoryRun | undefined;
  readonly hasHistory: boolean;
}

/**
 * For a conversation of several agents. What others said in a row becomes one
 * message with a line `name: text` for each, between `<history>` tags. Tool calls
 * with their results, and what the agent itself said, stay as they are. Of a
 * conversation that has grown, only what is new is looked at.
 */
export class MultiAgentFormatter extends FormatterBase {
  readonly #historyPrompt: string;
  readonly #known = new Map<string, PrefixMemo<Msg, Work>>();

  constructor({ historyPrompt = HISTORY_PROMPT }: MultiAgentFormatterOptions = {}) {
    super();
    this.#historyPrompt = historyPrompt;
  }

  override format(msgs: readonly Msg[], { agentName }: FormatContext = {}): Prompt {
    const { prompt, run } = this.#knownTo(agentName).workOn(
      msgs,
      () => ({ prompt: new PromptBuilder(), run: undefined, hasHistory: false }),
      (work, msg) => this.#add(work, msg, agentName),
      (work) => work.prompt.isSettled,
    );
    const { items, repairs } = prompt.finish();
    return { items: run === undefined ? items : [...items, run.item], repairs };
  }

  #add({ prompt, run, hasHistory }: Work, msg: Msg, agentName: string | undefined): Work {
    if (isSaidByOthers(msg, agentName)) {
      const own = run ?? new HistoryRun(hasHistory ? '' : `${this.#historyPrompt}\n`);
      own.add(msg);
      return { prompt, run: own, hasHistory: true };
    }
    if (run !== undefined) prompt.addItem(run.item);
    prompt.add(msg);
    return { prompt, run: undefined, hasHistory };
  }

  /** What is known of conversations as an agent sees them. */
  #knownTo(agentName = ''): PrefixMemo<Msg, Work> {
    let known = this.#known.get(agentName);
    if (known === undefined) this.#known.set(agentName, (known = new PrefixMemo()));
    return known;
  }
}

/** What others said in a row, as one message. */
class HistoryRun {
  /** The blocks up to the last medium. */
  readonly #done: (TextBlock | MediaBlock)[] = [];
  #text: string;
  #item: UserItem | undefined;

  constructor(prompt: string) {
    this.#text = `${prompt}<history>`;
  }

  add(msg: Msg): void {
    this.#item = undefined;
    const name = oneLine(msg.name).toWellFormed();
    for (const block of msg.getContentBlocks()) {
      if (block.type === 'text') this.#text += `\n${name}: ${asSaid(block.text.toWellFormed())}`;
      else if (block.type !== 'thinking' && block.type !== 'tool_use' && block.type !== 'tool_result') {
        this.#done.push({ type: 'text', text: `${this.#text}\n${name}:`.replace(/^\n/, '') }, block);
        this.#text = '';
      }
    }
  }

  /** The same object as long as nobody says more. */
  get item(): UserItem {
    this.#item ??= { role: 'user', name: 'history', content: [...this.#done, this.#end()] };
    return this.#item;
  }

  #end(): TextBlock {
    return { type: 'text', text: `${this.#text}\n</history>`.replace(/^\n/, '') };
  }
}

/** Whether a message goes into the history: it is neither the agent's own nor the system's, and no part of a tool's use. */
function isSaidByOthers(msg: Msg, agentName: string | undefined): boolean {
  const { results, calls, item } = partsOf(msg);
  if (item === undefined || results.length > 0 || calls.length > 0 || msg.role === 'system') return false;
  return msg.role === 'user' || msg.name !== agentName;
}

/** The text as one speaker's: further lines are indented, so that nobody can speak for another, or end the history. */
function asSaid(text: string): string {
  return text
    .replace(/<(\s*\/?\s*history\b[^<>]*)>/gi, '&lt;$1&gt;')
    .replace(/\r\n|[\r\n\u2028\u2029]/g, '\n  ');
}
