import { getLogger, type RunConfig } from '../config/run-config.ts';
import { whenAborted } from '../util/abort.ts';
import type { JsonObject } from '../util/json.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { AgentScopeApiError, type AgentScopeApi } from './agentscope-api.ts';
import { listenToSocketIo } from './socket-io-client.ts';
import { waitBeforeRetry } from './studio-link.ts';

/** An answer of a person: blocks of AgentScope, and data. */
export type AgentScopeReply = readonly [blocks: unknown, structured: unknown];

interface OpenQuestion {
  readonly input: JsonObject;
  readonly answer: (answer: AgentScopeReply) => void;
}

/**
 * The questions of one run and their answers, over one socket. AgentScope's Studio ends a run and forgets all its questions as soon as a
 * socket of the run closes, so that questions must not have sockets of their own. A lost connection is made again, with growing pauses,
 * and open questions are asked again. The socket is open while a question is, or from `open` to `close`.
 */
export class AgentScopeAnswers {
  readonly #api: AgentScopeApi;
  readonly #config: RunConfig;
  readonly #questions = new Map<string, OpenQuestion>();
  #connection: AbortController | undefined;
  #isConnected = false;
  #isKept = false;

  /** @param config configuration of the run, which a restarted Studio is told again */
  constructor(api: AgentScopeApi, config: RunConfig) {
    this.#api = api;
    this.#config = config;
  }

  /** Whether nothing is asked, and the socket is closed. */
  get isIdle(): boolean {
    return this.#questions.size === 0 && !this.#isKept;
  }

  /** Opens the socket, and keeps it open: its end is the end of the run. */
  open(): void {
    this.#isKept = true;
    this.#connect();
  }

  close(): void {
    this.#isKept = false;
    this.#connection?.abort(new Error('The run is over.'));
    this.#connection = undefined;
    this.#isConnected = false;
  }

  /** Asks a question until it is answered. Rejects with the reason of the signal when the question is withdrawn. */
  ask(requestId: string, input: JsonObject, signal: AbortSignal): Promise<AgentScopeReply> {
    return new Promise<AgentScopeReply>((resolve, reject) => {
      signal.throwIfAborted();
      let stopWatching = (): void => {};
      const end = (settle: () => void): void => {
        if (!this.#questions.delete(requestId)) return;
        stopWatching();
        settle();
        if (this.#questions.size === 0 && !this.#isKept) this.close();
      };
      this.#questions.set(requestId, { input, answer: (answer) => end(() => resolve(answer)) });
      stopWatching = whenAborted(signal, (reason) => end(() => reject(reason)));
      this.#connect();
      if (this.#isConnected) this.#request(input);
    });
  }

  #connect(): void {
    if (this.#connection !== undefined) return;
    this.#connection = new AbortController();
    void this.#stayConnected(this.#connection.signal);
  }

  async #stayConnected(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await listenToSocketIo({
          url: this.#api.base,
          namespace: '/python',
          auth: { run_id: this.#config.runId },
          headers: this.#api.headers,
          signal,
          onConnect: () => {
            attempt = 0;
            this.#isConnected = true;
            for (const { input } of this.#questions.values()) this.#request(input);
          },
          onEvent: (name, args) => {
            if (name === 'forwardUserInput') this.#questions.get(String(args[0]))?.answer([args[1], args[2]]);
          },
        });
      } catch (error) {
        if (signal.aborted) return;
        this.#isConnected = false;
        if (attempt === 0 && this.#questions.size > 0) warn(error);
      }
      await waitBeforeRetry(attempt, signal).catch(() => {});
    }
  }

  /** Sends a question. A Studio that does not know the run, because it was restarted, is told of the run first. */
  #request(input: JsonObject): void {
    const signal = this.#connection?.signal;
    const send = (): Promise<void> => this.#api.call('requestUserInput', input, signal);
    const resend = async (error: unknown): Promise<void> => {
      if (!(error instanceof AgentScopeApiError) || error.status !== 400) throw error;
      await this.#api.registerRun(this.#config, signal);
      await send();
    };
    send()
      .catch(resend)
      .catch((error: unknown) => {
        if (signal?.aborted === true) return;
        warn(error);
        // The question is asked again with a new connection.
        this.#connection?.abort(error);
        this.#connection = undefined;
        this.#isConnected = false;
        this.#connect();
      });
  }
}

function warn(error: unknown): void {
  getLogger().log('warn', `The Studio can not be asked: ${redactedMessage(error)}. Trying again.`);
}
