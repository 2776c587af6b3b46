import { getLogger } from '../config/run-config.ts';
import { randomFraction } from '../util/ids.ts';
import { isJsonObject, readJson } from '../util/json.ts';
import { readAnswer } from '../util/net/background-http.ts';
import { SseFraming } from '../util/net/framing.ts';
import { redactKeys } from '../util/redaction/key-patterns.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { requestInBackground } from '#background-http';
import type { UserInputBase } from '../user/user-input.ts';
import type { ItemBuffer } from './item-buffer.ts';
import { localStudioInput } from './local-studios.ts';
import {
  PROGRAM_PROTOCOL,
  STUDIO_MARK,
  type CommandResult,
  type ProgramBatch,
  type ProgramCommand,
  type ProgramIdentity,
  type ProgramItem,
} from './program-protocol.ts';
import type { StudioProgram } from './studio-program.ts';
import { backgroundDeadline } from './background-deadline.ts';

export interface StudioLinkOptions {
  /** Address of the Studio, without a slash at the end. */
  readonly base: string;
  readonly token: () => Promise<string | undefined>;
  readonly identity: ProgramIdentity;
  readonly program: StudioProgram;
  readonly buffer: ItemBuffer;
  /** Aborted when the program closes the connection. */
  readonly signal: AbortSignal;
}

/** Answer of a server to the first request. `local`: a Studio of this process, with the input by which it asks. */
export type Greeting = 'troupe' | 'other' | 'refused' | { readonly local: UserInputBase };

const BATCH_CHARS = 1_000_000;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_ANSWER_CHARS = 1_000_000;

/** Failure of one request, with the status if there was an answer. */
class LinkError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/**
 * The connection of a program to a Studio of troupe: batches of items upwards, commands downwards. Each batch is sent until the Studio has
 * taken it or refuses it for good; a lost connection is the caller's to make anew.
 */
export class StudioLink {
  readonly #options: StudioLinkOptions;
  #number = 0;
  /** Batch that the Studio has perhaps not taken. */
  #unsure: ProgramBatch | undefined;
  /** Items about the open state, in front of everything else. */
  #urgent: ProgramItem[] = [];
  #wake: (() => void) | undefined;

  constructor(options: StudioLinkOptions) {
    this.#options = options;
  }

  /** Finds out who answers at the address. Rejects if nobody does. */
  async greet(): Promise<Greeting> {
    try {
      const welcome = await this.#request('GET', 'program/hello');
      if (!isJsonObject(welcome) || welcome['studio'] !== STUDIO_MARK) return 'other';
      const local = localStudioInput(welcome['instance']);
      if (local !== undefined) return { local };
      if (welcome['protocol'] !== PROGRAM_PROTOCOL) {
        const versions = `${PROGRAM_PROTOCOL}, the Studio speaks ${JSON.stringify(welcome['protocol'])}`;
        getLogger().log('warn', `This program speaks version ${versions}: some views may be missing.`);
      }
      return 'troupe';
    } catch (error) {
      if (error instanceof LinkError && (error.status === 401 || error.status === 403)) return 'refused';
      if (error instanceof LinkError && error.status >= 400 && error.status < 500) return 'other';
      throw error;
    }
  }

  /** Tells that the buffer has items. */
  wake(): void {
    this.#wake?.();
  }

  /** Sends items and takes commands until the connection fails or is closed. Rejects at the end. */
  async run(): Promise<never> {
    const ended = new AbortController();
    const stop = (): void => ended.abort();
    this.#options.signal.addEventListener('abort', stop, { once: true });
    this.#urgent = [...this.#options.program.openItems()];
    try {
      return await Promise.race([this.#sendForever(ended.signal), this.#takeCommands(ended.signal)]);
    } finally {
      this.#options.signal.removeEventListener('abort', stop);
      ended.abort();
    }
  }

  /** Sends everything that is in the buffer now. Rejects if the connection fails. */
  async flush(): Promise<void> {
    while (this.#hasWork) await this.#sendBatch();
  }

  get #hasWork(): boolean {
    const { buffer } = this.#options;
    return this.#unsure !== undefined || this.#urgent.length > 0 || buffer.size > 0 || buffer.dropped > 0;
  }

  async #sendForever(signal: AbortSignal): Promise<never> {
    for (;;) {
      signal.throwIfAborted();
      if (!this.#hasWork) await this.#untilWoken(signal);
      await this.#sendBatch();
    }
  }

  async #untilWoken(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', stop, { once: true });
      this.#wake = () => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
    }).finally(() => (this.#wake = undefined));
  }

  async #sendBatch(): Promise<void> {
    const { buffer, identity } = this.#options;
    if (this.#unsure === undefined) {
      const urgent = this.#urgent;
      this.#urgent = [];
      const items = urgent.length > 0 ? urgent : buffer.take(BATCH_CHARS);
      const dropped = buffer.takeDropped();
      if (items.length === 0 && dropped === 0) return;
      this.#unsure = { program: identity, number: ++this.#number, dropped, items };
    }
    try {
      const answer = await this.#request('POST', 'program/batches', redactKeys(JSON.stringify(this.#unsure)));
      this.#unsure = undefined;
      if (isJsonObject(answer) && answer['isUnknown'] === true && this.#number > 1)
        this.#urgent = [...this.#options.program.openItems()];
    } catch (error) {
      if (!(error instanceof LinkError) || error.status < 400 || error.status >= 500) throw error;
      if (error.status === 401 || error.status === 403) throw error;
      getLogger().log('warn', `The Studio refused a batch: ${redactedMessage(error)}`);
      this.#unsure = undefined;
    }
  }

  async #takeCommands(signal: AbortSignal): Promise<never> {
    const { base, identity } = this.#options;
    const url = `${base}/program/commands?program=${encodeURIComponent(identity.id)}`;
    const answer = await requestInBackground(url, { method: 'GET', headers: await this.#headers(), signal });
    if (answer.status !== 200) throw new LinkError('the Studio takes no commands', answer.status);
    const framing = new SseFraming();
    for await (const chunk of answer.chunks) {
      for (const { data } of framing.feed(chunk)) {
        const command = readJson(data);
        if (isJsonObject(command)) void this.#carryOut(command as object as ProgramCommand);
      }
    }
    throw new LinkError('the Studio closed the connection', 0);
  }

  async #carryOut(command: ProgramCommand): Promise<void> {
    const { program, identity } = this.#options;
    const outcome = await program.run(command);
    const result: CommandResult = { program: identity.id, id: command.id, ...outcome };
    try {
      await this.#request('POST', 'program/results', JSON.stringify(result));
    } catch (error) {
      getLogger().log('debug', `A result did not reach the Studio: ${redactedMessage(error)}`);
    }
  }

  async #request(method: 'GET' | 'POST', path: string, body?: string): Promise<unknown> {
    const { base, signal } = this.#options;
    const deadline = backgroundDeadline(REQUEST_TIMEOUT_MS, signal);
    try {
      const headers = {
        ...(await this.#headers()),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      };
      const answer = await requestInBackground(`${base}/${path}`, {
        method,
        headers,
        body,
        signal: deadline.signal,
      });
      const text = await readAnswer(answer, MAX_ANSWER_CHARS);
      if (answer.status >= 400) throw new LinkError(`status ${answer.status}`, answer.status);
      return readJson(text);
    } finally {
      deadline.clear();
    }
  }

  async #headers(): Promise<Record<string, string>> {
    const token = await this.#options.token();
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }
}

/** Waits before the next attempt: longer each time, with some chance in it, up to half a minute. */
export async function waitBeforeRetry(attempt: number, signal: AbortSignal): Promise<void> {
  const limit = Math.min(30_000, 500 * 2 ** Math.min(attempt, 10));
  const { signal: over, clear } = backgroundDeadline(limit * (0.5 + randomFraction() / 2), signal);
  try {
    await new Promise<void>((resolve) => over.addEventListener('abort', () => resolve(), { once: true }));
  } finally {
    clear();
  }
  signal.throwIfAborted();
}
