import { TroupeError } from '../errors.ts';
import type { AnyClass } from '../hooks/class-hooks.ts';
import { Msg } from '../message/msg.ts';
import { describe, isJsonObject, type JsonObject } from '../util/json.ts';
import { AgentBase, type AgentOptions } from '../agent/agent-base.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { TerminalUserInput, type UserInputBase, type UserInputData } from './user-input.ts';

export interface UserAgentOptions extends AgentOptions {
  /** Input method. @default the input method of the class, otherwise the terminal */
  readonly input?: UserInputBase;
}

const NO_ANSWER = 'The question was withdrawn before I answered it.';

/** Input methods of classes and their subclasses; the last entry counts. */
const classInputs = new WeakMap<AnyClass, readonly { readonly input: UserInputBase }[]>();

/**
 * The user as an agent: a person, or a program in place of a person, enters the replies.
 * An interrupt withdraws the question at once. Folder `user`: start here.
 *
 * @example
 * ```ts
 * import { ProgrammaticUserInput, UserAgent } from 'troupe';
 *
 * const user = new UserAgent({ name: 'ann', input: new ProgrammaticUserInput(['Hello!']) }); // the terminal by default
 * console.log((await user.call()).text);
 * ```
 */
export class UserAgent extends AgentBase {
  static override readonly componentName: string = 'userAgent';

  #input: UserInputBase | undefined;
  #isWaiting = false;
  /** Id of the reply that the user typed on the console. */
  #shownMsgId: string | undefined;

  constructor({ input, ...options }: UserAgentOptions) {
    super({ interruptReply: NO_ANSWER, ...options });
    if (input !== undefined) this.overrideInstanceInputMethod(input);
  }

  /** True while the user is asked for input. */
  get isWaitingForInput(): boolean {
    return this.#isWaiting;
  }

  /** Replaces the input method of this agent. The returned function restores the previous one. */
  overrideInstanceInputMethod(input: UserInputBase): () => void {
    checkInput(input);
    const previous = this.#input;
    this.#input = input;
    return () => {
      if (this.#input === input) this.#input = previous;
    };
  }

  /** Replaces the input method of this class and its subclasses. The returned function removes the replacement. */
  static overrideClassInputMethod(input: UserInputBase): () => void {
    checkInput(input);
    const entry = { input };
    const entries = (): readonly { input: UserInputBase }[] => classInputs.get(this) ?? [];
    classInputs.set(this, [...entries(), entry]);
    return () => {
      classInputs.set(
        this,
        entries().filter((other) => other !== entry),
      );
    };
  }

  async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const input = this.#input ?? inputOfClass(this.constructor) ?? new TerminalUserInput();
    const { content, structured } = await this.#ask(input, turn);
    const output = turn.structuredModel === undefined ? undefined : structured;
    const msg = Msg.user(toContent(content), { name: this.name, metadata: structured, structured: output });
    this.#shownMsgId = input.showsAnswers ? msg.id : undefined;
    await this.print(msg);
    return msg;
  }

  /** False for a reply that the user typed on the console. */
  protected override showsOnConsole(msg: Msg): boolean {
    return msg.id !== this.#shownMsgId;
  }

  protected override interruptReply(): Msg {
    return super.interruptReply().with({ role: 'user' });
  }

  async #ask(input: UserInputBase, turn: Turn): Promise<UserInputData> {
    const { signal, structuredModel } = turn;
    this.#isWaiting = true;
    try {
      const request = { agentId: this.id, agentName: this.name, structuredModel, signal };
      const data: unknown = await turn.step({ kind: 'input', name: 'user input' }, () => input.ask(request));
      if (isJsonObject(data)) return data as JsonObject & UserInputData;
      const name = input.constructor.name;
      throw new TroupeError(
        'invalid_input',
        `ask() of ${name} must return { content, structured? }, not ${describe(data)}.`,
      );
    } finally {
      this.#isWaiting = false;
    }
  }
}

function checkInput(input: unknown): asserts input is UserInputBase {
  if (isJsonObject(input) && typeof (input as Partial<UserInputBase>).ask === 'function') return;
  throw new TroupeError('invalid_config', `An input method must be a UserInputBase, not ${describe(input)}.`);
}

function inputOfClass(cls: unknown): UserInputBase | undefined {
  for (let c = cls; typeof c === 'function'; c = Object.getPrototypeOf(c)) {
    const entry = classInputs.get(c as AnyClass)?.at(-1);
    if (entry !== undefined) return entry.input;
  }
  return undefined;
}

/** Replaces a single text block by its text. */
function toContent(content: UserInputData['content']): UserInputData['content'] {
  const only: unknown = Array.isArray(content) && content.length === 1 ? content[0] : undefined;
  return isJsonObject(only) && only['type'] === 'text' && typeof only['text'] === 'string'
    ? only['text']
    : content;
}
