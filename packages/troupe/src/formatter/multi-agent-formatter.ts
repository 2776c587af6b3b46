import type { TextBlock } from '../message/blocks.ts';
import { isProgramMsg, type Msg } from '../message/msg.ts';
import { escapeTags } from '../util/escape-tags.ts';
import { oneLine } from '../util/text.ts';
import { FormatterBase, type FormatContext } from './formatter-base.ts';
import { partsOf } from './msg-parts.ts';
import { isMedia } from './prompt-media.ts';
import { PrefixMemo } from '../util/prefix-memo.ts';
import { PromptBuilder } from './prompt-builder.ts';
import type { MediaBlock, Prompt, UserItem } from './prompt.ts';

export interface MultiAgentFormatterOptions {
  /** Text before the first history section. */
  readonly historyPrompt?: string | undefined;
}

const HISTORY_PROMPT =
  'Several people and agents talk with each other. What they said stands between the <history> tags, each line with the name of who said it.';

/** Partial result for a conversation. */
interface Work {
  readonly prompt: PromptBuilder;
  /** Messages of others since the agent's own last message. */
  readonly section: HistorySection | undefined;
  readonly hasHistory: boolean;
}

/**
 * Formatter for a conversation of several agents. Consecutive messages of others become one message with a
 * line `name: text` for each, between `<history>` tags. Tool calls, tool results and the agent's own messages
 * stay unchanged. Processes only the new messages of a growing conversation.
 */
export class MultiAgentFormatter extends FormatterBase {
  static override readonly className: string = 'MultiAgentFormatter';

  readonly #historyPrompt: string;
  readonly #known = new Map<string, PrefixMemo<Msg, Work>>();

  constructor({ historyPrompt = HISTORY_PROMPT }: MultiAgentFormatterOptions = {}) {
    super();
    this.#historyPrompt = historyPrompt;
  }

  override format(msgs: readonly Msg[], { agentName }: FormatContext = {}): Prompt {
    const { prompt, section } = this.#cacheFor(agentName).workOn(
      msgs,
      () => ({ prompt: new PromptBuilder(), section: undefined, hasHistory: false }),
      (work, msg) => this.#add(work, msg, agentName),
      (work) => work.prompt.isSettled,
    );
    const { items, repairs } = prompt.finish();
    return { items: section === undefined ? items : [...items, section.item], repairs };
  }

  #add({ prompt, section, hasHistory }: Work, msg: Msg, agentName: string | undefined): Work {
    if (isFromOthers(msg, agentName)) {
      const own = section ?? new HistorySection(hasHistory ? '' : `${this.#historyPrompt}\n`);
      own.add(msg);
      return { prompt, section: own, hasHistory: true };
    }
    if (section !== undefined) prompt.addItem(section.item);
    prompt.add(msg);
    return { prompt, section: undefined, hasHistory };
  }

  /** Cached results for the viewpoint of one agent. */
  #cacheFor(agentName = ''): PrefixMemo<Msg, Work> {
    let known = this.#known.get(agentName);
    if (known === undefined) this.#known.set(agentName, (known = new PrefixMemo()));
    return known;
  }
}

/** Consecutive messages of others as one prompt item. */
class HistorySection {
  /** Finished blocks up to the last medium. */
  readonly #done: (TextBlock | MediaBlock)[] = [];
  #text: string;
  #item: UserItem | undefined;

  constructor(prompt: string) {
    this.#text = `${prompt}<history>`;
  }

  add(msg: Msg): void {
    this.#item = undefined;
    const name = escapeTags(oneLine(msg.name).toWellFormed());
    for (const block of msg.getContentBlocks()) {
      if (block.type === 'text') this.#text += `\n${name}: ${escapeText(block.text.toWellFormed())}`;
      else if (isMedia(block)) {
        this.#done.push({ type: 'text', text: `${this.#text}\n${name}:`.replace(/^\n/, '') }, block);
        this.#text = '';
      }
    }
  }

  /** Same object until another message is added. */
  get item(): UserItem {
    this.#item ??= { role: 'user', name: 'history', content: [...this.#done, this.#end()] };
    return this.#item;
  }

  #end(): TextBlock {
    return { type: 'text', text: `${this.#text}\n</history>`.replace(/^\n/, '') };
  }
}

/**
 * Tells whether a message belongs to the history: not of the agent itself, not of the system or the program, without
 * tool calls and results.
 */
function isFromOthers(msg: Msg, agentName: string | undefined): boolean {
  const { results, calls, item } = partsOf(msg);
  if (item === undefined || results.length > 0 || calls.length > 0 || msg.role === 'system') return false;
  if (isProgramMsg(msg)) return false;
  return msg.role === 'user' || msg.name !== agentName;
}

/**
 * Text of one speaker. Indents further lines and escapes tags, so that nobody can speak for another or end
 * the history.
 */
function escapeText(text: string): string {
  return escapeTags(text).replace(/\r\n|[\r\n\u2028\u2029]/g, '\n  ');
}
