import type { Step, StepInit, StepKind, StepRunner } from '../../event/step.ts';
import { abortable } from '../../util/abort.ts';
import { withModelEvents, type CallOfModel } from './model-call-events.ts';
import { currentScope } from './run-scope.ts';
import type { StepKeys } from './step-keys.ts';
import type { Turn } from './turn.ts';

/** The agent call whose steps run. */
type SteppedCall = CallOfModel & Pick<Turn, 'pause'>;

/** The steps of one agent call: their keys, and the step runner of the call options. */
export class TurnSteps {
  /** Step runner of this call, and of agent calls nested in it. */
  readonly runStep: StepRunner | undefined;
  readonly keys: StepKeys;
  readonly #call: SteppedCall;

  constructor(call: SteppedCall, runStep: StepRunner | undefined, keys: StepKeys) {
    this.#call = call;
    this.runStep = runStep;
    this.keys = keys;
  }

  /** Runs a step. Rejects as soon as the call is stopped, even if `body` goes on. */
  run<T>(init: StepInit, body: () => Promise<T>): Promise<T> {
    const step = this.#keyed(init.kind, init); // before any wait, so that parallel steps have keys in the order of their calls
    const pauses = this.#call.pause();
    return pauses ? pauses.then(() => this.#start(init, step, body)) : this.#start(init, step, body);
  }

  async #start<T>({ name, modelName }: StepInit, step: Step | undefined, body: () => Promise<T>): Promise<T> {
    const call = this.#call;
    const run = (): Promise<T> => {
      call.signal.throwIfAborted();
      return abortable(this.relay(step, body), call.signal);
    };
    return modelName === undefined ? run() : withModelEvents(name, modelName, call, run);
  }

  /** Runs a write to the agent's memory as a step, also after a stop. */
  async write<T>(init: Omit<StepInit, 'kind'>, body: () => Promise<T>): Promise<T> {
    return this.relay(this.#keyed('write', init), body);
  }

  /** Runs a step of this call, or of one nested in it, by the step runner of this call. */
  relay<T>(step: Step | undefined, body: () => Promise<T>): Promise<T> {
    return this.runStep && step ? this.runStep(step, body) : body();
  }

  /** Adds the key to a step; undefined without a step runner. */
  #keyed(kind: StepKind, { name, key, hasSideEffect = false }: Omit<StepInit, 'kind'>): Step | undefined {
    if (this.runStep === undefined) return undefined;
    const { toolCall } = currentScope();
    const toolCallId = toolCall?.madeBy === this.#call ? toolCall.id : undefined;
    const step: Step = { kind, name, key: this.keys.next({ kind, name, key }, toolCallId) };
    return hasSideEffect ? { ...step, hasSideEffect } : step;
  }
}
