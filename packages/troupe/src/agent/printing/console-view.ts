import type { BlockChange } from '../../message/block-change.ts';
import {
  isProviderTool,
  type ContentBlock,
  type ProviderToolBlock,
  type ToolResultBlock,
  type ToolUseBlock,
} from '../../message/blocks.ts';
import { sourceLines, type Citation } from '../../message/citation.ts';
import { cutToWidth, displayWidth } from './display-width.ts';
import { LineWrapper } from './line-wrapper.ts';
import { oneLine, withoutControls } from '../../util/text.ts';
import { hasOutputColors, outputColumns, writeOutput } from '#platform';
import { mediaText, toolArgumentsText, toolOutputText, type BlockLayout } from './block-text.ts';

export interface ConsoleViewOptions {
  /** Shows whole arguments and tool results, not only their beginning. @default false */
  readonly full?: boolean;
  /** Receives the output. @default writes to standard output */
  readonly write?: (text: string) => void;
  /**
   * Shows names, thinking and failures in colours.
   * @default whether standard output is a terminal and `NO_COLOR` is not set; `FORCE_COLOR` wins. False with a `write` of your own
   */
  readonly colors?: boolean;
  /**
   * Returns the current width of the terminal, at which lines break between words; undefined if there is none.
   * @default the width of standard output. No terminal with a `write` of your own
   */
  readonly columns?: () => number | undefined;
}

/** A tool call that was shown and has no result yet. */
interface ShownCall {
  readonly caller: string;
  readonly tool: string;
  readonly arguments: string;
  /** Whether another call of the same tool was shown before this one had its result. */
  isOneOfSeveral: boolean;
}

type Style = readonly [start: number, end: number];

const CYAN: Style = [36, 39];
const RED: Style = [31, 39];
const DIM: Style = [2, 22];

/** Columns of tool calls and results where the output is no terminal. */
const DEFAULT_COLUMNS = 120;
/** Columns of the arguments that tell results of the same tool apart. */
const LABEL_COLUMNS = 40;
/** Tool calls without a result that are kept. */
const MAX_SHOWN_CALLS = 100;

/**
 * Shows messages on a console while they grow: text as `name: …`, thinking as `name(thinking): …`, tool calls and results
 * on a few lines. Writes only what is new. On a terminal, lines break between words at its width, and a word is written when
 * it is complete. When agents speak at the same time, each piece starts on a line of its own,
 * with the name. Control characters of a model or a tool are never written.
 *
 * @example
 * ```ts
 * import { ConsoleView, ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), console: new ConsoleView({ full: true }) });
 * await agent.call('Hello!');
 * ```
 */
export class ConsoleView {
  readonly #write: (text: string) => void;
  readonly #isFull: boolean;
  readonly #columns: () => number | undefined;
  #colors: boolean | undefined;
  readonly #calls = new Map<string, ShownCall>();
  readonly #wrapper = new LineWrapper();
  #speaking: string | undefined;
  /** Style of the text that is being spoken. */
  #style: Style | undefined;
  #isAtLineStart = true;

  /** @param options a function is `{ write }` */
  constructor(options: ConsoleViewOptions | ((text: string) => void) = {}) {
    const {
      write,
      full = false,
      colors,
      columns,
    }: ConsoleViewOptions = typeof options === 'function' ? { write: options } : options;
    this.#write = write ?? writeOutput;
    this.#isFull = full;
    this.#colors = write === undefined ? colors : (colors ?? false);
    this.#columns = columns ?? (write === undefined ? outputColumns : () => undefined);
  }

  show(name: string, change: BlockChange): void {
    switch (change.type) {
      case 'text_delta':
        return this.#speak(change, `${name}: `, change.text);
      case 'thinking_delta':
        return this.#speak(change, `${name}(thinking): `, change.thinking, DIM);
      case 'block_end':
        if (change.block !== undefined) this.#showBlock(name, change.block);
        return this.#endLine(change);
      case 'msg_reset':
        return this.#showLines(oneLine(`${name} starts anew: ${change.reason}`));
      case 'block_start':
      case 'audio_delta':
      case 'image_delta':
      case 'citations_delta':
      case 'tool_input_delta':
        return;
    }
  }

  #showBlock(name: string, block: ContentBlock): void {
    if (block.type === 'thinking') return; // shown by its deltas
    if (block.type === 'text') return this.#showSources(block.citations);
    if (block.type === 'tool_use') this.#showCall(name, block);
    else if (block.type === 'tool_result') this.#showResult(name, block);
    else if (isProviderTool(block)) this.#showProviderTool(name, block);
    else this.#showLines(this.#painted(CYAN, oneLine(`${name}: `)) + mediaText(block));
  }

  #showCall(name: string, call: ToolUseBlock): void {
    const head = oneLine(`${name} → ${call.name}`);
    this.#remember(name, call);
    this.#showLines(this.#painted(CYAN, head) + toolArgumentsText(call, this.#layoutAfter(head)));
  }

  /** Shows a call or a result of a tool that the provider runs, by double arrows. */
  #showProviderTool(name: string, block: ProviderToolBlock): void {
    const isCall = block.type === 'provider_tool_use';
    const head = oneLine(`${name} ${isCall ? '⇒' : '⇐'} ${block.name}`);
    const status = isCall || block.status === 'ok' ? '' : ` (${block.status})`;
    const layout = this.#layoutAfter(head + status);
    const rest = isCall
      ? toolArgumentsText(block, layout)
      : this.#painted(DIM, toolOutputText(block, layout));
    this.#showLines(this.#painted(CYAN, head) + this.#painted(RED, status) + rest);
  }

  /** Shows the sources of a text, each on a line below the text. */
  #showSources(citations: readonly Citation[] = []): void {
    if (citations.length === 0) return;
    const { columns } = this.#layoutAfter('');
    const lines = sourceLines(citations).map((line) => `  ${oneLine(line)}`);
    const shown = this.#isFull ? lines : lines.map((line) => cutToWidth(line, columns));
    this.#showLines(this.#painted(DIM, shown.join('\n')));
  }

  #showResult(name: string, result: ToolResultBlock): void {
    const call = this.#calls.get(result.id);
    this.#calls.delete(result.id);
    const label = call?.isOneOfSeveral ? call.arguments : '';
    const head = oneLine(`${call?.caller ?? name} ← ${result.name}${label}`);
    const status = result.status === 'ok' ? '' : ` (${result.status})`;
    const output = toolOutputText(result, this.#layoutAfter(head + status));
    this.#showLines(this.#painted(CYAN, head) + this.#painted(RED, status) + this.#painted(DIM, output));
  }

  /** Keeps the caller of a tool call for its result, which comes in a message of the system. */
  #remember(caller: string, call: ToolUseBlock): void {
    const text = toolArgumentsText(call, { isFull: false, columns: LABEL_COLUMNS, used: 0 });
    const shown = { caller, tool: call.name, arguments: text, isOneOfSeveral: false };
    for (const other of this.#calls.values()) {
      if (other.caller === caller && other.tool === call.name)
        other.isOneOfSeveral = shown.isOneOfSeveral = true;
    }
    this.#calls.set(call.id, shown);
    if (this.#calls.size <= MAX_SHOWN_CALLS) return;
    for (const oldest of this.#calls.keys()) return void this.#calls.delete(oldest);
  }

  #layoutAfter(head: string): BlockLayout {
    const columns = this.#columns() || DEFAULT_COLUMNS; // some terminals say 0
    return { isFull: this.#isFull, columns, used: displayWidth(head) };
  }

  /** Shows whole lines, between what agents say. */
  #showLines(lines: string): void {
    this.#write(`${this.#endSpeech()}${lines}\n`);
  }

  #speak(block: { msgId: string; index: number }, prefix: string, text: string, style?: Style): void {
    const speaker = `${block.msgId} ${block.index}`;
    const clean = withoutControls(text);
    let output = '';
    if (this.#speaking !== speaker) {
      const name = oneLine(prefix);
      output = this.#endSpeech() + this.#painted(style ?? CYAN, name);
      this.#wrapper.start(displayWidth(name));
      this.#speaking = speaker;
      this.#style = style;
      this.#isAtLineStart = false;
    }
    if (clean !== '') this.#isAtLineStart = clean.endsWith('\n');
    const columns = this.#columns();
    const spoken = columns ? this.#wrapper.push(clean, columns) : this.#wrapper.flush(Infinity) + clean;
    output += this.#painted(style, spoken);
    if (output !== '') this.#write(output);
  }

  #endLine({ msgId, index }: { msgId: string; index: number }): void {
    if (this.#speaking !== `${msgId} ${index}`) return;
    const output = this.#endSpeech();
    if (output !== '') this.#write(output);
  }

  /** Ends the line of the agent that speaks. Returns the end of the line: the word that was held back, and a line feed. */
  #endSpeech(): string {
    const word = this.#wrapper.flush(this.#columns() || Infinity);
    const output = this.#painted(this.#style, word) + (this.#isAtLineStart ? '' : '\n');
    this.#speaking = undefined;
    this.#isAtLineStart = true;
    return output;
  }

  /** A text in a style, which ends with the text: output of others is never coloured. */
  #painted(style: Style | undefined, text: string): string {
    if (style === undefined || text === '') return text;
    const [start, end] = style;
    this.#colors ??= hasOutputColors();
    return this.#colors ? `\u001b[${start}m${text}\u001b[${end}m` : text;
  }
}
