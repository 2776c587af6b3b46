import { Msg } from '../message/msg.ts';

/** Text of a turn of the person that could not be written down. */
export const NOT_UNDERSTOOD = '(The user said something that could not be written down.)';

/** One turn of the person, whose words may come later than its end. */
export class Utterance {
  readonly itemId: string;
  readonly #userName: string;
  #text = '';
  #isDone = false;
  #msg: Msg | undefined;
  #resolve: () => void = () => {};
  /** Resolves when the words are complete. */
  readonly done: Promise<void>;

  constructor(itemId: string, userName: string) {
    this.itemId = itemId;
    this.#userName = userName;
    this.done = new Promise((resolve) => (this.#resolve = resolve));
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  get text(): string {
    return this.#text;
  }

  add(text: string): void {
    if (!this.#isDone) this.#text += text;
  }

  /** @param text the whole text, in place of the pieces */
  finish(text?: string): void {
    if (this.#isDone) return;
    if (text !== undefined && (text !== '' || this.#text === '')) this.#text = text;
    this.#isDone = true;
    this.#resolve();
  }

  /** The turn as a message, with the words so far: the same object each time. */
  toMsg(): Msg {
    this.#isDone = true;
    this.#resolve();
    return (this.#msg ??= Msg.user(this.#text.trim() || NOT_UNDERSTOOD, { name: this.#userName }));
  }
}
