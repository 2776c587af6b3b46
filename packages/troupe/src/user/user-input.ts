import { InputEndedError, TroupeError } from '../errors.ts';
import type { ContentBlock } from '../message/blocks.ts';
import { copyJsonObject, describe, type JsonObject } from '../util/json.ts';
import { validateWith, type AnySchema } from '../util/schema.ts';
import { openTerminal } from '#platform';
import { problemText, UserForm } from './user-form.ts';

/** Question of an agent to its user. */
export interface UserInputRequest {
  readonly agentId: string;
  readonly agentName: string;
  /** Schema of the structured output, requested in addition to the content. */
  readonly structuredModel?: AnySchema | undefined;
  /** Aborted when the question is withdrawn. */
  readonly signal: AbortSignal;
}

/** Answer of the user. */
export interface UserInputData {
  readonly content: string | readonly ContentBlock[];
  /** Structured output; required if the question has a structured model. */
  readonly structured?: JsonObject;
}

/** Port for input of the user: a terminal, a web page, a program. */
export abstract class UserInputBase {
  /** True if the console already shows the answers, so that the agent does not print them again. */
  readonly showsAnswers: boolean = false;

  /** Asks the user and waits for the answer. Rejects if there is no more input. */
  abstract ask(request: UserInputRequest): Promise<UserInputData>;
}

export interface TerminalUserInputOptions {
  /** @default 'User Input: ' */
  readonly prompt?: string;
}

/**
 * Asks on the terminal for a line of text and then for the fields of the structured model, if there is one. Lines that are pasted
 * together are one answer, which Enter sends. Ctrl-C clears a line that is half typed. Questions of several agents are asked one
 * after the other. Rejects with an `InputEndedError` after Ctrl-D, or at the end of a pipe.
 */
export class TerminalUserInput extends UserInputBase {
  override readonly showsAnswers = true;
  readonly #prompt: string;

  constructor({ prompt = 'User Input: ' }: TerminalUserInputOptions = {}) {
    super();
    this.#prompt = prompt;
  }

  async ask({ agentName, structuredModel, signal }: UserInputRequest): Promise<UserInputData> {
    const form = structuredModel && new UserForm(structuredModel);
    const terminal = await openTerminal(signal);
    const ask = async (prompt: string): Promise<string> => {
      const line = await terminal.ask(prompt);
      if (line === undefined)
        throw new InputEndedError(`There is no more input for ${agentName} on the terminal.`);
      return line;
    };
    try {
      const content = await ask(this.#prompt);
      if (form === undefined) return { content };
      return { content, structured: await form.fillIn({ ask, say: (line) => terminal.say(line) }) };
    } finally {
      terminal.close();
    }
  }
}

/** An answer, or only its content. */
export type ProgrammedAnswer = UserInputData | UserInputData['content'];

/** Returns the next answer; undefined if there are no more answers. */
export type AnswerFunction = (
  request: UserInputRequest,
) => ProgrammedAnswer | undefined | Promise<ProgrammedAnswer | undefined>;

/**
 * Answers in place of a person, from a list or by a function. Rejects with an `InputEndedError` if there
 * are no more answers, and with a `TroupeError` if an answer does not fit the structured model.
 */
export class ProgrammaticUserInput extends UserInputBase {
  readonly #next: AnswerFunction;

  constructor(answers: readonly ProgrammedAnswer[] | AnswerFunction) {
    super();
    if (typeof answers !== 'function' && !Array.isArray(answers)) {
      throw new TroupeError('invalid_config', `Answers are a list or a function, not ${describe(answers)}.`);
    }
    const list = typeof answers === 'function' ? [] : [...answers];
    this.#next = typeof answers === 'function' ? answers : () => list.shift();
  }

  async ask(request: UserInputRequest): Promise<UserInputData> {
    const answer = await this.#next(request);
    if (answer === undefined)
      throw new InputEndedError(`There are no more programmed answers for ${request.agentName}.`);
    const data: UserInputData = isContent(answer) ? { content: answer } : answer;
    if (request.structuredModel === undefined) return data;
    const checked = await validateWith(request.structuredModel, data.structured ?? {});
    if (checked.ok) return { ...data, structured: copyJsonObject(checked.value, 'the structured answer') };
    const problems = checked.problems.map(problemText).join(' ');
    throw new TroupeError('invalid_input', `An answer for ${request.agentName} does not fit: ${problems}`);
  }
}

function isContent(answer: ProgrammedAnswer): answer is UserInputData['content'] {
  return typeof answer === 'string' || Array.isArray(answer);
}
