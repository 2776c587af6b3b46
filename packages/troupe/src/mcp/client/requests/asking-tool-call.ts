import { currentTurn } from '../../../agent/turn/current-turn.ts';
import type { PendingDecision } from '../../../message/pending-call.ts';
import type { UserQuestion } from '../../../message/user-question.ts';
import { forgetSuspendedWork, keepSuspendedWork } from '../../../toolkit/tool/suspended-work.ts';
import { ToolSuspension } from '../../../toolkit/tool/tool-suspension.ts';
import type { ToolContext } from '../../../toolkit/tool/tool.ts';
import { whenAborted } from '../../../util/abort.ts';
import { elapsedSince, monotonic } from '../../../util/clock.ts';
import { newId } from '../../../util/ids.ts';
import { isJsonObject, type JsonValue } from '../../../util/json.ts';
import type { McpCallOptions } from '../mcp-connection.ts';
import type { McpAnswer } from './server-question.ts';

interface OpenQuestion {
  readonly question: UserQuestion;
  readonly answer: PromiseWithResolvers<McpAnswer>;
}

type CallOptions = Pick<McpCallOptions, 'signal' | 'onProgress' | 'onQuestion' | 'turn'>;

/** Time for which the result of a tool call that ended while its question was open is kept. */
const KEEP_MS = 3_600_000;

/** Suspended tool calls of this process, by the unguessable id in the state of their suspension. */
const suspended = new Map<string, AskingToolCall>();

/**
 * A tool call at a server that may ask a person meanwhile. A question suspends the tool call of the agent, while the request to the
 * server stays open. The decision about the question resumes it here; in another process there is nothing to resume.
 */
export class AskingToolCall {
  readonly #id = newId('mcp_');
  readonly #stop = new AbortController();
  readonly #questions: OpenQuestion[] = [];
  readonly #result: Promise<unknown>;
  /** The question for which the tool call is suspended. */
  #shown: OpenQuestion | undefined;
  #asked = Promise.withResolvers<void>();
  #emit: ToolContext['emit'] = () => {};
  /** The agent call that waits for the tool call, or did last. */
  #turn = currentTurn();
  /** When the request was answered, on the clock that only moves forward. */
  #endedAt: number | undefined;

  /** @param start sends the request */
  constructor(start: (options: CallOptions) => Promise<unknown>) {
    this.#result = start({
      signal: this.#stop.signal,
      onProgress: (text) => this.#emit(text),
      onQuestion: (question, { signal }) => this.#ask(question, signal),
      turn: () => this.#turn,
    });
    const over = (): void => {
      this.#endedAt = monotonic();
      this.#asked.resolve();
    };
    this.#result.then(over, over);
  }

  /** The suspended tool call of a state, which can be taken once. Undefined if it began in another process, or is over. */
  static take(state: JsonValue): AskingToolCall | undefined {
    const id = isJsonObject(state) ? state['mcpToolCall'] : undefined;
    const call = typeof id === 'string' ? suspended.get(id) : undefined;
    if (call === undefined) return undefined;
    call.#leave();
    return call;
  }

  /** Answers the question that was shown. Without effect if the server no longer waits for it. */
  decide(decision: PendingDecision | undefined): void {
    const { answer } = this.#shown ?? {};
    if (decision?.verdict === 'answer') answer?.resolve({ action: 'accept', content: decision.answer });
    else answer?.resolve({ action: decision?.verdict === 'deny' ? 'decline' : 'cancel' });
    this.#close(this.#shown);
  }

  /** Ends the request. */
  cancel(): void {
    this.#stop.abort(new Error('The tool call was closed.'));
  }

  /** Waits for the result. @throws ToolSuspension for a question */
  async next({ signal, emit }: Pick<ToolContext, 'signal' | 'emit'>): Promise<unknown> {
    this.#emit = emit;
    this.#turn = currentTurn();
    const unlink = whenAborted(signal, (reason) => this.#stop.abort(reason));
    try {
      for (;;) {
        await this.#asked.promise;
        if (this.#endedAt !== undefined || signal.aborted) return await this.#result;
        const [open] = this.#questions;
        if (open !== undefined) throw this.#suspend(open);
        this.#asked = Promise.withResolvers(); // the server has withdrawn its question
      }
    } finally {
      unlink();
      this.#emit = () => {};
    }
  }

  /** Whether the result has waited too long for somebody to resume the tool call. */
  get #isForgotten(): boolean {
    return this.#endedAt !== undefined && elapsedSince(this.#endedAt) > KEEP_MS;
  }

  #leave(): void {
    suspended.delete(this.#id);
    forgetSuspendedWork(this.#id);
  }

  #suspend(open: OpenQuestion): ToolSuspension {
    this.#shown = open;
    for (const call of suspended.values()) if (call.#isForgotten) call.#leave();
    suspended.set(this.#id, this);
    keepSuspendedWork(this.#id, () => {
      this.#leave();
      this.cancel();
    });
    return ToolSuspension.ask(open.question, { state: { mcpToolCall: this.#id } });
  }

  async #ask(question: UserQuestion, signal: AbortSignal): Promise<McpAnswer> {
    const answer = Promise.withResolvers<McpAnswer>();
    const open = { question, answer };
    this.#questions.push(open);
    this.#asked.resolve();
    const unlink = whenAborted(signal, () => answer.resolve({ action: 'cancel' }));
    try {
      return await answer.promise;
    } finally {
      unlink();
      this.#close(open);
    }
  }

  #close(open: OpenQuestion | undefined): void {
    const at = this.#questions.findIndex((one) => one === open);
    if (at >= 0) this.#questions.splice(at, 1);
  }
}
