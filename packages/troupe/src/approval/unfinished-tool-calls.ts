import type { TurnControl } from '../agent/turn/turn-control.ts';
import type { OrderedMemory } from '../memory/ordered-memory.ts';
import type { ToolResultEvent } from '../event/agent-event.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { PendingCall } from '../message/pending-call.ts';
import { checkAnswers } from './answers.ts';
import type { JsonValue } from '../util/json.ts';
import { planCallStart, unfinishedExchange, type CallStart, type CallStartOptions } from './call-start.ts';
import { readDecisions } from './decisions.ts';
import type { OpenExchange } from './open-exchange.ts';

interface UnfinishedToolCallsOptions extends Pick<CallStartOptions, 'fit'> {
  /** Rule for agent calls without their own. @default 'refuse' */
  readonly onPending?: CallStartOptions['onPending'] | undefined;
  /** Told of suspended tool calls that were closed without being resumed. Must not throw. */
  readonly onAbandoned: (toolName: string, state: JsonValue) => void;
}

/**
 * The unfinished tool calls of an agent: those of one exchange at a time. The exchange is added to memory when every tool
 * call has a result; until then it is part of the agent's state.
 */
export class UnfinishedToolCalls {
  /** The exchange whose tool calls run or are pending. */
  current: OpenExchange | undefined;
  readonly #memory: OrderedMemory;
  readonly #options: UnfinishedToolCallsOptions;

  constructor(memory: OrderedMemory, options: UnfinishedToolCallsOptions) {
    this.#memory = memory;
    this.#options = options;
  }

  get pending(): readonly PendingCall[] {
    return this.current?.statuses.pending ?? [];
  }

  /**
   * Plans the start of an agent call. Unfinished tool calls at the end of the history, such as those of another program,
   * are taken out of memory and treated like the agent's own.
   * @throws TroupeError before anything has changed
   */
  async begin(agentName: string, msgs: readonly Msg[], control: TurnControl): Promise<CallStart> {
    const { onPending = 'refuse', fit } = this.#options;
    const history = await this.#memory.recall();
    control.stop.assertNotOver(); // the memory may be slow
    const given = readDecisions(control.reply.takeDecisions());
    const hasAnswers = given.some(({ verdict }) => verdict === 'answer');
    const decisions = hasAnswers ? await checkAnswers(given, this.pending) : given;
    control.stop.assertNotOver(); // checking loads a validator
    const position = history.findIndex(({ id }) => id === this.current?.exchange.modelMsg.id);
    const settled = position === -1 ? undefined : this.current; // saved between its write to memory and `forget`
    const current = settled === undefined ? this.current : undefined;
    const foreign = current === undefined ? unfinishedExchange(history, agentName) : undefined;
    const open = current ?? foreign?.open;
    const retried = lastOf(history, control.reply.retriedIds);
    const isResumed = retried !== -1 && open !== undefined; // the tool calls are those of the cut off call
    const start = planCallStart(open, isResumed ? [] : msgs, decisions, {
      onPending: control.reply.onPending ?? onPending,
      hasStructuredModel: control.reply.structuredModel !== undefined,
      fit,
      outerToolCallId: control.place.outerToolCallId,
      settled,
    });
    this.current = current;
    if (foreign !== undefined) {
      this.current = foreign.open; // first, so that a state saved now has the exchange at least once
      await this.#memory.delete(foreign.msgs); // added again with a result for each tool call
    }
    const known = retried === -1 || isResumed ? undefined : knownAnswer(history, retried, agentName);
    if (
      known !== undefined &&
      (known.endReason === 'structured') === (control.reply.structuredModel !== undefined)
    )
      return { ...start, input: [], answer: known };
    if (settled === undefined || control.reply.structuredModel !== undefined || start.input.length > 0)
      return start;
    const isDecision = decisions.length > 0 || msgs.length > 0; // then the messages are results
    return isDecision ? { ...start, answer: answerAfter(history, position, agentName) } : start;
  }

  /** Forgets an exchange that is in memory by now. */
  forget(open: OpenExchange): void {
    if (this.current === open) this.current = undefined;
    const { suspended } = open.statuses;
    for (const { id, name } of open.exchange.calls) {
      const state = suspended.get(id);
      if (state !== undefined) this.#options.onAbandoned(name, state);
    }
  }

  /**
   * Adds the exchange to memory; unfinished tool calls get the status `interrupted`.
   * @returns the tool calls whose end was not told yet
   */
  async close(): Promise<readonly ToolResultEvent[]> {
    const open = this.current;
    if (open === undefined) return [];
    const msgs = open.exchange.toMsgs();
    await this.#memory.add([...msgs, ...open.postponed]);
    this.forget(open);
    return resultsIn(msgs).flatMap((result) => open.takeEnd(result) ?? []);
  }
}

/** The tool results in messages. */
export function resultsIn(msgs: readonly Msg[]): readonly ToolResultBlock[] {
  return msgs.flatMap((msg) => msg.getContentBlocks('tool_result'));
}

/** The agent's answer at the end of a history, if it comes after a position. */
function answerAfter(history: readonly Msg[], position: number, agentName: string): Msg | undefined {
  const last = history.slice(position + 1).at(-1);
  return last?.role === 'assistant' && last.name === agentName && last.endReason === 'finished'
    ? last
    : undefined;
}

/** The agent's first answer after a position, however it ended. Messages of other agents in a hub may be around it. */
function knownAnswer(history: readonly Msg[], position: number, agentName: string): Msg | undefined {
  return history
    .slice(position + 1)
    .find(
      ({ role, name, endReason }) => role === 'assistant' && name === agentName && endReason !== undefined,
    );
}

/** Position of the last of these messages, if all are in a history; otherwise -1. */
function lastOf(history: readonly Msg[], ids: readonly string[]): number {
  const positions = ids.map((id) => history.findIndex((msg) => msg.id === id));
  return positions.includes(-1) ? -1 : Math.max(-1, ...positions);
}
