import { TroupeError } from '../errors.ts';
import type { AnyClass } from '../hooks/class-hooks.ts';
import { Msg } from '../message/msg.ts';
import { describe, isJsonObject, type JsonObject } from '../util/json.ts';
import { AgentBase, type AgentOptions } from '../agent/agent-base.ts';
import type { Turn } from '../agent/turn.ts';
import { TerminalUserInput, type UserInputBase, type UserInputData } from './user-input.ts';

export interface UserAgentOptions extends AgentOptions {
  /** How to reach the user. @default that of the class, or else the terminal */
  readonly input?: UserInputBase;
}

const NO_ANSWER = 'The question was withdrawn before I answered it.';

/** The input methods set for a class, for it and its subclasses; the last one counts. */
const classInputs = new WeakMap<AnyClass, readonly { readonly input: UserInputBase }[]>();

/**
 * The user as an agent: its replies are what a person, or a program in place of one, enters.
 * An interrupt withdraws the question at once.
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
  #input: UserInputBase | undefined;
  #isWaiting = false;
  /** The reply that is on the console without being printed there. */
  #shownMsgId: string | undefined;

  constructor({ input, ...options }: UserAgentOptions) {
    super({ interruptReply: NO_ANSWER, ...options });
    if (input !== undefined) this.overrideInstanceInputMethod(input);
  }

  /** Whether the user is being asked right now. */
  get isWaitingForInput(): boolean {
    return this.#isWaiting;
  }

  /** Has this agent ask in another way. The returned function takes that back. */
  overrideInstanceInputMethod(input: UserInputBase): () => void {
    checkInput(input);
    const previous = this.#input;
    this.#input = input;
    return () => {
      if (this.#input === input) this.#input = previous;
    };
  }

  /** Has all agents of this class and of its subclasses ask in another way. The returned function takes that back. */
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

  /** What a person has just typed on the console is there already. */
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

/** A single block of text says no more than its text. */
function toContent(content: UserInputData['content']): UserInputData['content'] {
  const only: unknown = Array.isArray(content) && content.length === 1 ? content[0] : undefined;
  return isJsonObject(only) && only['type'] === 'text' && typeof only['text'] === 'string'
    ? only['text']
    : content;
}
