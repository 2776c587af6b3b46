/**
 * Categories of steps. Budgets, recorders and durable engines decide by the kind, never by the name.
 *
 * - `model`: a model call, also for a summary or a search query. Budgets charge it.
 * - `tool`: a tool call, with the agent calls in its tool.
 * - `agent`: a request to an agent in another program.
 * - `input`: a question to a person.
 * - `knowledge`: a read or write of a long-term memory or knowledge base.
 * - `write`: a write to the agent's own memory. Running it twice must change nothing more.
 * - `id`: makes an id, so that a replayed run has the same id.
 * - `other`: anything else that a `reply` waits for.
 */
export type StepKind = 'model' | 'tool' | 'agent' | 'input' | 'knowledge' | 'write' | 'id' | 'other';

/** A part of a run that a `StepRunner` can record, replay, journal or fail. */
export interface Step {
  readonly kind: StepKind;
  /** For people: logs, traces, journals. */
  readonly name: string;
  /**
   * Unique in a run, and the same whenever the run is replayed: made of the positions of agent calls, tool call ids and
   * ordinals, never of the clock or random ids.
   */
  readonly key: string;
  /** True for a tool call whose tool has a `sideEffect`: a durable engine does not repeat it when its outcome is unknown. */
  readonly hasSideEffect?: boolean;
}

/** A step as `turn.step` takes it. */
export interface StepInit {
  readonly kind: StepKind;
  readonly name: string;
  /**
   * Tells steps of one agent call apart when they run in parallel, such as the id of a tool call.
   * @default the tool call in which the step runs, and the name
   */
  readonly key?: string | undefined;
  /** Name of the model, for a model call: has `model_start` and `model_end` sent. @default no events */
  readonly modelName?: string | undefined;
  /** Whether running the step twice differs from once. @default false */
  readonly hasSideEffect?: boolean | undefined;
}

/**
 * Runs the steps of a run: calls `body` and resolves to its result, or resolves to the result of an earlier run of the same step.
 * The default calls `body`; recorders, durable engines and fault drivers put themselves in between.
 *
 * A runner calls `body` at most once per call, passes errors of `body` on unchanged, and may run several steps at the same
 * time. A recorded result may come back through JSON: `undefined` as `null`, a `Msg` as `msg.toJSON()`. `docs/reference/steps.md` has
 * the whole contract, and `stepRunnerContract` of `troupe/testing` checks it.
 */
export type StepRunner = <T>(step: Step, body: () => Promise<T>) => Promise<T>;
