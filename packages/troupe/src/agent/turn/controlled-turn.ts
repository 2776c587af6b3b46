import type { EventBody } from '../../event/agent-event.ts';
import type { StepInit } from '../../event/step.ts';
import type { Msg } from '../../message/msg.ts';
import type { PendingDecision } from '../../message/pending-call.ts';
import type { Usage } from '../../message/usage.ts';
import type { AnySchema } from '../../util/schema.ts';
import type { CallPlace } from './call-place.ts';
import type { CurrentReply } from './current-reply.ts';
import type { Inbox } from './inbox.ts';
import type { TurnCosts } from './spending.ts';
import type { TurnState } from './turn-state.ts';
import type { TurnSteps } from './turn-steps.ts';
import type { Turn } from './turn.ts';

/** The parts of a control that a turn passes on. */
interface TurnParts extends Pick<Turn, 'signal' | 'emit' | 'addUsage' | 'pause' | 'commit'> {
  readonly place: CallPlace;
  readonly reply: CurrentReply;
  readonly state: TurnState;
  readonly steps: TurnSteps;
  readonly costs: TurnCosts;
  readonly inbox: Inbox;
}

/** The part of a control that `reply` gets: the members of `Turn`, and nothing that ends or stops the agent call. */
export class ControlledTurn implements Turn {
  readonly runId: string;
  readonly agentPath: readonly string[];
  readonly signal: AbortSignal;
  readonly onPending: 'refuse' | 'close' | undefined;
  readonly #control: TurnParts;

  constructor(control: TurnParts) {
    this.#control = control;
    this.runId = control.place.runId;
    this.agentPath = control.place.agentPath;
    this.signal = control.signal;
    this.onPending = control.reply.onPending;
  }

  /** The control of a turn, as far as turns know it; undefined for any other value. */
  static partsOf(turn: unknown): TurnParts | undefined {
    return typeof turn === 'object' && turn !== null && #control in turn ? turn.#control : undefined;
  }

  get replyId(): string {
    return this.#control.reply.id;
  }

  get structuredModel(): AnySchema | undefined {
    return this.#control.reply.structuredModel;
  }

  get usage(): Usage | undefined {
    return this.#control.costs.usage;
  }

  emit(body: EventBody): void | Promise<void> {
    return this.#control.emit(body);
  }

  addUsage(usage: Usage | undefined, msgId?: string): void | Promise<void> {
    return this.#control.addUsage(usage, msgId);
  }

  step<T>(step: StepInit, body: () => Promise<T>): Promise<T> {
    return this.#control.steps.run(step, body);
  }

  write<T>(step: Omit<StepInit, 'kind'>, body: () => Promise<T>): Promise<T> {
    return this.#control.steps.write(step, body);
  }

  pause(): void | Promise<void> {
    return this.#control.pause();
  }

  takeSteering(): readonly Msg[] {
    return this.#control.inbox.takeSteering();
  }

  takeDecisions(): readonly PendingDecision[] {
    return this.#control.reply.takeDecisions();
  }

  commit(answer: Msg): void {
    this.#control.commit(answer);
  }
}

/** The signal of a turn; undefined for any other value. */
export function signalOfTurn({ turn }: { readonly turn?: unknown }): AbortSignal | undefined {
  return ControlledTurn.partsOf(turn)?.signal;
}

/** The signal of a turn as long as it has no answer. Hooks of an answer are not cut off: the agent call limits the wait for them. */
export function signalBeforeAnswer({ turn }: { readonly turn?: unknown }): AbortSignal | undefined {
  const control = ControlledTurn.partsOf(turn);
  return control?.state.answer === undefined ? control?.signal : undefined;
}
