import type {
  CallToolResult,
  InputRequest,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server';

import { TroupeError } from '../../errors.ts';
import { whenAborted } from '../../util/abort.ts';
import { startTimer } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import { mcpServerSdk } from '../protocol/sdk.ts';

/** Sends a request of a tool to the client, and resolves to its unchecked answer. */
export type AskClient = (request: InputRequest) => Promise<unknown>;

/** A tool call as the client sees it. */
export interface ClientSide {
  readonly ask: AskClient;
  /** Aborted when the client cancels, or does not answer in time. */
  readonly signal: AbortSignal;
  /** The request that the client waits for; the last one while it answers questions. */
  readonly request: ServerContext['mcpReq'];
}

/** Runs a tool call, which may ask the client. */
export type StartToolCall = (client: ClientSide) => Promise<CallToolResult>;

/** Time for the client's next request, in which a person answers. */
const ROUND_MS = 600_000;
/** Maximum tool calls that wait for their clients; a further one fails. */
const MAX_WAITING = 1000;

/**
 * Tool calls that ask their clients in the protocol of 2026: the request of the tool call is answered with questions, and
 * the client sends it again with the answers. The tool meanwhile runs on in this process, found by an unguessable token
 * that is valid once.
 */
export class ClientRounds {
  readonly #waiting = new Map<string, AskingToolCall>();

  /** Starts a tool call, or continues the one whose token came with the request. */
  async answer(
    request: ServerContext['mcpReq'],
    start: StartToolCall,
  ): Promise<CallToolResult | InputRequiredResult> {
    const token = request.requestState<string>();
    const call = token === undefined ? new AskingToolCall(request, start) : this.#take(token);
    if (call === undefined)
      return failed('The tool call is unknown here: it has ended, or was answered already.');
    const outcome = await call.next(request);
    if (!('inputRequests' in outcome)) return outcome;
    if (this.#waiting.size >= MAX_WAITING) {
      call.abort('too many tool calls wait for their clients');
      return failed('The server is too busy to ask.');
    }
    const requestState = newId();
    this.#waiting.set(requestState, call);
    call.abortAfter(ROUND_MS, () => void this.#waiting.delete(requestState));
    return mcpServerSdk.inputRequired({ ...outcome, requestState });
  }

  close(): void {
    for (const call of this.#waiting.values()) call.abort('the server was closed');
    this.#waiting.clear();
  }

  #take(token: string): AskingToolCall | undefined {
    const call = this.#waiting.get(token);
    this.#waiting.delete(token);
    return call;
  }
}

interface Question {
  readonly request: InputRequest;
  readonly answer: PromiseWithResolvers<unknown>;
}

/** One running tool call, across the requests of its client. */
class AskingToolCall implements ClientSide {
  request: ServerContext['mcpReq'];
  readonly #stop = new AbortController();
  readonly #questions = new Map<string, Question>();
  readonly #result: Promise<CallToolResult>;
  #asked = Promise.withResolvers<void>();
  #cancelTimer = (): void => {};

  constructor(request: ServerContext['mcpReq'], start: StartToolCall) {
    this.request = request;
    this.#result = start(this);
    this.#result.catch(() => {}); // read by `next`
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  readonly ask: AskClient = async (request) => {
    this.signal.throwIfAborted();
    const answer = Promise.withResolvers<unknown>();
    this.#questions.set(newId(), { request, answer });
    this.#asked.resolve();
    return answer.promise;
  };

  /** Gives the tool the answers that came with a request, and waits for its result or its next questions. */
  async next(
    request: ServerContext['mcpReq'],
  ): Promise<CallToolResult | { inputRequests: Record<string, InputRequest> }> {
    const { signal, inputResponses = {} } = request;
    this.request = request;
    this.#cancelTimer();
    for (const [key, question] of this.#questions) {
      if (!Object.hasOwn(inputResponses, key)) continue;
      this.#questions.delete(key);
      question.answer.resolve(inputResponses[key]);
    }
    if (this.#questions.size === 0) this.#asked = Promise.withResolvers();
    const unlink = whenAborted(signal, (reason) => this.#stop.abort(reason));
    try {
      const result = await Promise.race([this.#result, this.#asked.promise]);
      if (result !== undefined) return result;
      const requests = Array.from(this.#questions, ([key, { request }]) => [key, request] as const);
      return { inputRequests: Object.fromEntries(requests) };
    } finally {
      unlink();
    }
  }

  abort(problem: string): void {
    this.#cancelTimer();
    this.#stop.abort(new TroupeError('mcp_failed', `The tool call was ended: ${problem}.`));
    for (const { answer } of this.#questions.values()) answer.reject(this.#stop.signal.reason);
    this.#questions.clear();
  }

  abortAfter(ms: number, then: () => void): void {
    this.#cancelTimer = startTimer(ms, () => {
      then();
      this.abort('the client did not answer in time');
    });
  }
}

function failed(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}
