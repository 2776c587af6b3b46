import type { BlockChange } from '../message/block-change.ts';
import type { ContentBlock } from '../message/blocks.ts';
import { oneLine, withoutControls } from '../util/text.ts';
import { writeOutput } from '#platform';

/** Text is shown as it comes, media are not shown at all. */
const NOT_AS_JSON: readonly ContentBlock['type'][] = ['text', 'thinking', 'image', 'audio', 'video', 'file'];

/**
 * Shows messages on a console while they grow, as `name: …` and `name(thinking): …`.
 * Writes only what is new. When agents speak at the same time, each piece starts on
 * a line of its own, with the name.
 */
export class ConsoleView {
  readonly #write: (text: string) => void;
  #speaking: string | undefined;
  #isAtLineStart = true;

  constructor(write: (text: string) => void = writeOutput) {
    this.#write = write;
  }

  show(name: string, change: BlockChange): void {
    switch (change.type) {
      case 'text_delta':
        return this.#speak(`${change.msgId} ${change.index}`, `${name}: `, change.text);
      case 'thinking_delta':
        return this.#speak(`${change.msgId} ${change.index}`, `${name}(thinking): `, change.thinking);
      case 'block_end':
        if (change.block !== undefined && !NOT_AS_JSON.includes(change.block.type)) {
          this.#speak(`${change.msgId} ${change.index}`, `${name}: `, JSON.stringify(change.block, null, 2));
        }
        return this.#endLine(`${change.msgId} ${change.index}`);
      case 'msg_reset':
        return this.#startAnew(name, change.reason);
      case 'block_start':
      case 'audio_delta':
      case 'tool_input_delta':
        return;
    }
  }

  #startAnew(name: string, reason: string): void {
    const notice = `${this.#isAtLineStart ? '' : '\n'}${name} starts anew: ${oneLine(reason)}\n`;
    this.#speaking = undefined;
    this.#isAtLineStart = true;
    this.#write(notice);
  }

  #speak(speaker: string, prefix: string, text: string): void {
    let output = withoutControls(text);
    if (this.#speaking !== speaker) output = `${this.#isAtLineStart ? '' : '\n'}${prefix}${output}`;
    this.#speaking = speaker;
    this.#isAtLineStart = output.endsWith('\n');
    this.#write(output);
  }

  #endLine(speaker: string): void {
    if (this.#speaking !== speaker) return;
    if (!this.#isAtLineStart) this.#write('\n');
    this.#isAtLineStart = true;
    this.#speaking = undefined;
  }
}
