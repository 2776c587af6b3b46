import type { EventBody } from '../../event/agent-event.ts';
import type { StepInit } from '../../event/step.ts';
import type { Msg } from '../../message/msg.ts';
import type { PendingDecision } from '../../message/pending-call.ts';
import type { Usage } from '../../message/usage.ts';
import type { AnySchema } from '../../util/schema.ts';
import type { TurnControl } from './turn-control.ts';
import type { Turn } from './turn.ts';

/** The part of a control that `reply` gets: the members of `Turn`, and nothing that ends or stops the agent call. */
export class ControlledTurn implements Turn {
  readonly runId: string;
  readonly agentPath: readonly string[];
  readonly signal: AbortSignal;
  readonly onPending: 'refuse' | 'close' | undefined;
  readonly #control: TurnControl;

  constructor(control: TurnControl) {
    this.#control = control;
    this.runId = control.runId;
    this.agentPath = control.agentPath;
    this.signal = control.signal;
    this.onPending = control.onPending;
  }

  /** The control of a turn; undefined for any other value. */
  static controlOf(turn: unknown): TurnControl | undefined {
    return typeof turn === 'object' && turn !== null && #control in turn ? turn.#control : undefined;
  }

  get replyId(): string {
    return this.#control.replyId;
  }

  get structuredModel(): AnySchema | undefined {
    return this.#control.structuredModel;
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
    return this.#control.takeDecisions();
  }

  commit(answer: Msg): void {
    this.#control.commit(answer);
  }
}

/** The control of a turn. @throws TypeError for any other object */
export function controlOf(turn: Turn): TurnControl {
  const control = ControlledTurn.controlOf(turn);
  if (control === undefined) throw new TypeError('This is no turn: pass on the turn that reply() got.');
  return control;
}

/** The signal of a turn; undefined for any other value. */
export function signalOfTurn({ turn }: { readonly turn?: unknown }): AbortSignal | undefined {
  return ControlledTurn.controlOf(turn)?.signal;
}

/** The signal of a turn as long as it has no answer. Hooks of an answer are not cut off: the agent call limits the wait for them. */
export function signalBeforeAnswer({ turn }: { readonly turn?: unknown }): AbortSignal | undefined {
  const control = ControlledTurn.controlOf(turn);
  return control?.state.answer === undefined ? control?.signal : undefined;
}
