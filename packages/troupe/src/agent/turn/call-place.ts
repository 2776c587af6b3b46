import type { AgentEvent, EventBody } from '../../event/agent-event.ts';
import { timestamp } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';

interface CallPlaceOptions {
  readonly agentId: string;
  readonly agentName: string;
  /** Position of the agent call around. */
  readonly outer: CallPlace | undefined;
  /** Whether the call goes on when the agent call around stops; its steps are not steps of that run then. */
  readonly outlivesOuter: boolean;
  /** The tool call, of an agent call around, in which the call was made. */
  readonly outerToolCallId: string | undefined;
}

/** Counters of one run, shared by all agent calls in it. */
interface RunCounts {
  events: number;
  agentCalls: number;
}

/** Position of one agent call in its run: its ids and path, the tool call around it, and the agent calls that run inside. */
export class CallPlace {
  readonly runId: string;
  readonly agentId: string;
  /** Names of the agents from the outermost call of the run down to this one. */
  readonly agentPath: readonly string[];
  /** Whether the call goes on when the agent call around stops, which does not wait for it. */
  readonly outlivesOuter: boolean;
  /** The tool call, of an agent call around, in which the call was made. */
  readonly outerToolCallId: string | undefined;
  readonly #outer: CallPlace | undefined;
  readonly #run: RunCounts;
  readonly #nested = new Set<Promise<unknown>>();

  constructor({ agentId, agentName, outer, outlivesOuter, outerToolCallId }: CallPlaceOptions) {
    this.runId = outer?.runId ?? newId();
    this.agentId = agentId;
    this.agentPath = Object.freeze([...(outer?.agentPath ?? []), agentName]);
    this.outlivesOuter = outlivesOuter;
    this.outerToolCallId = outerToolCallId;
    this.#outer = outer;
    this.#run = outer === undefined ? { events: 0, agentCalls: 0 } : outer.#run;
    this.#run.agentCalls++;
  }

  /** Number of agent calls in the run so far. */
  get agentCallsInRun(): number {
    return this.#run.agentCalls;
  }

  /** The tool calls in which the call was made, from the outermost on. */
  get toolCallPath(): readonly string[] {
    const outer = this.#outer?.toolCallPath ?? [];
    return this.outerToolCallId === undefined ? outer : [...outer, this.outerToolCallId];
  }

  /** Nested agent calls that run. All stop with this call. */
  get nested(): Iterable<Promise<unknown>> {
    return this.#nested;
  }

  /** Adds a nested agent call until it ends. */
  adopt(call: Promise<unknown>): void {
    this.#nested.add(call);
    const settled = (): void => void this.#nested.delete(call);
    call.then(settled, settled);
  }

  /** Adds to an event where and when it happened. */
  locate(body: EventBody, replyId: string): AgentEvent {
    const { runId, agentPath } = this;
    const seq = this.#run.events++;
    return { ...body, id: `${runId}:${seq}`, runId, replyId, agentPath, seq, timestamp: timestamp() };
  }
}
