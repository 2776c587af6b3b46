import type { EventBody } from '../../event/agent-event.ts';
import type { StepInit } from '../../event/step.ts';
import type { Msg } from '../../message/msg.ts';
import type { PendingDecision } from '../../message/pending-call.ts';
import type { Usage } from '../../message/usage.ts';
import type { AnySchema } from '../../util/schema.ts';

/**
 * One call of an agent, as its `reply` sees it: ids, signal, events, steps, and messages that arrive meanwhile.
 *
 * After the end of the call a turn has no effect: events and messages of late work are dropped. Folder `agent/turn`: start here.
 *
 * @example
 * ```ts
 * import { AgentBase, Msg, type Turn } from 'troupe';
 *
 * class Greeter extends AgentBase {
 *   override async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
 *     const text = await turn.step({ kind: 'tool', name: 'greeting' }, async () => 'Good morning.');
 *     turn.signal.throwIfAborted();
 *     const answer = Msg.assistant(text, { name: this.name });
 *     turn.commit(answer); // a later interrupt does not change it
 *     await this.print(answer);
 *     return answer;
 *   }
 * }
 * console.log((await new Greeter({ name: 'Greeter', console: false }).call('Hello')).text);
 * ```
 */
export interface Turn {
  /** Id of the run: the same for every agent call in it. */
  readonly runId: string;
  /** Id of the current reply. A follow-up in the same call gets a new id. */
  readonly replyId: string;
  /** Names of the agents from the outermost call of the run down to this one. */
  readonly agentPath: readonly string[];
  /** Aborted by an interrupt, by the caller's signal, when the consumer of the stream leaves, or with the agent call around this one. */
  readonly signal: AbortSignal;
  /** Schema of the structured output that the caller wants. */
  readonly structuredModel: AnySchema | undefined;
  /** The caller's rule for new input while tool calls are pending; undefined leaves the choice to the agent. */
  readonly onPending: 'refuse' | 'close' | undefined;
  /** Costs of this agent call so far, nested agent calls included. */
  readonly usage: Usage | undefined;

  /** Sends an event to the stream. Returns a promise only when the consumer is slow, or when other work has to get time. */
  emit(body: EventBody): void | Promise<void>;

  /** Adds the costs of a model call to this agent call and the calls around it, and sends a `usage` event. */
  addUsage(usage: Usage | undefined, msgId?: string): void | Promise<void>;

  /**
   * Runs a model call, a tool call or anything else that takes time, by the `runStep` of the call options.
   * Rejects as soon as the signal is aborted, even if `body` goes on.
   */
  step<T>(step: StepInit, body: () => Promise<T>): Promise<T>;

  /** Runs a write to the agent's memory as a step. Unlike `step` it also runs after an abort, so that nothing is left half written. */
  write<T>(step: Omit<StepInit, 'kind'>, body: () => Promise<T>): Promise<T>;

  /** Gives timers, input and interrupts time after many calls without a wait. Long loops that await nothing else call it. */
  pause(): void | Promise<void>;

  /** Messages from `steer` since the last time. */
  takeSteering(): readonly Msg[];

  /** Decisions of the caller about pending tool calls. Returned once. */
  takeDecisions(): readonly PendingDecision[];

  /**
   * Declares the answer, just before it is stored. A later interrupt does not change it.
   * @throws the reason of the signal, if that was aborted before
   */
  commit(answer: Msg): void;
}
