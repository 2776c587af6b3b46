import type { AgentBase, CallOptions } from '../agent/agent-base.ts';
import { readDecisions } from '../approval/decisions.ts';
import { messageOf, TroupeError } from '../errors.ts';
import { Msg, type MsgInput, type StructuredMsg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { whenAborted } from '../util/abort.ts';
import type { AnySchema, SchemaOutput } from '../util/schema.ts';
import { checkAgents } from './check-agents.ts';
import { PipelineBase } from './pipeline-base.ts';
import { PipelineProgress } from './pipeline-progress.ts';
import { assertTakesInput, routeDecisions } from './route-decisions.ts';

export interface FanoutOptions {
  /** Calls the agents concurrently; otherwise one after the other. @default true */
  readonly concurrent?: boolean;
  /** Maximum agents called at the same time. @default all */
  readonly maxConcurrent?: number;
  /** When an agent fails: let the others finish, or abort them. @default 'finish' */
  readonly onError?: 'finish' | 'stop';
}

/** Failed agent call in a fanout. */
export interface AgentFailure {
  readonly agentName: string;
  readonly error: unknown;
}

/** Several agents of a fanout failed. `cause` is the first error. */
export class FanoutError extends TroupeError {
  override readonly name = 'FanoutError';
  /** In the order of the agents. */
  readonly failures: readonly AgentFailure[];

  constructor(failures: readonly AgentFailure[]) {
    const problems = failures.map(({ agentName, error }) => `${agentName}: ${messageOf(error)}`);
    super('fanout_failed', `${failures.length} agents failed. ${problems.join(' | ')}`, {
      cause: failures[0]?.error,
    });
    this.failures = failures;
  }

  /** The errors, as an `AggregateError` has them. */
  get errors(): readonly unknown[] {
    return this.failures.map(({ error }) => error);
  }

  override toJSON(): object {
    const failures = this.failures.map(({ agentName, error }) => ({ agentName, message: messageOf(error) }));
    return { ...super.toJSON(), failures };
  }
}

/**
 * Calls agents with the same input. The answers have the order of the agents; the answer of a suspended agent has `pending`. When
 * an agent fails, the others finish (or are aborted, by `onError`) before the error is thrown; several errors are a `FanoutError`.
 *
 * Decisions go to the agents that asked; those that fit no agent are refused before anything runs. A call without input while
 * agents are suspended resumes these agents, and gives the answers of these agents only: a `FanoutPipeline` knows the others too.
 *
 * @example
 * ```ts
 * import { fanoutPipeline, ReActAgent } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const critics = ['plot', 'style'].map(
 *   (name) => new ReActAgent({ name, model: new ScriptedModel([`The ${name} is good.`]), console: false }),
 * );
 * const answers = await fanoutPipeline(critics, 'What do you think of the story?');
 * console.log(answers.map((answer) => answer.text)); // in the order of the agents
 * ```
 */
export function fanoutPipeline<const S extends AnySchema>(
  agents: readonly AgentBase[],
  input: MsgInput,
  options: FanoutOptions & CallOptions & { readonly structuredModel: S },
): Promise<StructuredMsg<SchemaOutput<S>>[]>;
export function fanoutPipeline(
  agents: readonly AgentBase[],
  input?: MsgInput,
  options?: FanoutOptions & CallOptions,
): Promise<Msg[]>;
export async function fanoutPipeline(
  agents: readonly AgentBase[],
  input?: MsgInput,
  options: FanoutOptions & CallOptions = {},
): Promise<Msg[]> {
  const { progress, tasks } = planFanout(checkAgents('fanoutPipeline', agents), input, options);
  await runFanout(agents, tasks, options, async (i, answer) => progress.record(i, answer));
  return progress.answers;
}

/**
 * `fanoutPipeline` over the same agents, for several inputs. The input and the answers so far are part of its state: a call without
 * input calls the agents that were suspended, failed or cut off, also in another process, and gives all answers.
 */
export class FanoutPipeline extends PipelineBase {
  static override readonly componentName: string = 'fanoutPipeline';

  readonly #options: FanoutOptions;

  constructor(agents: readonly AgentBase[], options: FanoutOptions = {}) {
    checkConcurrency(options.maxConcurrent);
    super(agents);
    this.#options = options;
  }

  call<const S extends AnySchema>(
    input: MsgInput,
    options: CallOptions & { readonly structuredModel: S },
  ): Promise<StructuredMsg<SchemaOutput<S>>[]>;
  call(input?: MsgInput, options?: CallOptions): Promise<Msg[]>;
  async call(input?: MsgInput, options: CallOptions = {}): Promise<Msg[]> {
    const { agents } = this;
    const start = this.#resume(input, options) ?? planFanout(agents, input, options);
    const { progress, tasks } = start;
    await this.track(start.isPartial === true ? null : progress, () =>
      runFanout(agents, tasks, { ...this.#options, ...options }, async (i, answer) => {
        progress.record(i, answer);
        const isFinished = [...agents.keys()].every((index) => progress.hasAnswered(index));
        await this.recorded(progress, isFinished, options.signal);
      }),
    );
    return progress.answers;
  }

  #resume(input: MsgInput, { decisions: given = [] }: CallOptions): FanoutStart | undefined {
    if (Msg.list(input).length > 0) return undefined;
    const progress = this.progressToResume();
    if (progress === null) return undefined;
    const routed = routeDecisions(this.agents, readDecisions(given), (i) => !progress.hasAnswered(i));
    const tasks = this.agents.flatMap((agent, index): FanoutTask[] => {
      const decisions = routed.get(index);
      if (decisions !== undefined) return [{ index, msgs: [], decisions }];
      if (progress.hasAnswered(index)) return [];
      if (agent.pendingCalls.length === 0) return [{ index, msgs: progress.input, isRetry: true }];
      return progress.isSuspended(index) ? [] : [{ index, msgs: [] }]; // pending without a recorded question: asks again
    });
    return { progress, tasks };
  }
}

/** Agent call in a fanout. */
interface FanoutTask {
  /** Index of the agent. */
  readonly index: number;
  readonly msgs: readonly Msg[];
  readonly decisions?: readonly PendingDecision[] | undefined;
  /** Whether the agent may have had the messages before. */
  readonly isRetry?: boolean;
}

interface FanoutStart {
  readonly progress: PipelineProgress;
  readonly tasks: readonly FanoutTask[];
  /** Whether answers of agents that are not called are unknown. */
  readonly isPartial?: boolean;
}

/**
 * Start of a fanout without known progress: all agents, or, without input, the suspended ones if there are any.
 * @throws TroupeError before anything has changed
 */
function planFanout(
  agents: readonly AgentBase[],
  input: MsgInput,
  { decisions = [], onPending }: CallOptions,
): FanoutStart {
  const msgs = Msg.list(input);
  const routed = routeDecisions(agents, readDecisions(decisions));
  if (msgs.length > 0) assertTakesInput(agents, msgs, onPending, routed);
  const tasks = agents.map((_, index) => ({ index, msgs, decisions: routed.get(index) }));
  const suspended = tasks.filter(({ index }) => agents[index]?.pendingCalls.length);
  const isPartial = msgs.length === 0 && suspended.length > 0;
  const progress = new PipelineProgress(msgs, agents.length);
  return { progress, tasks: isPartial ? suspended : tasks, isPartial };
}

/** @param record gets each answer */
async function runFanout(
  agents: readonly AgentBase[],
  tasks: readonly FanoutTask[],
  {
    concurrent = true,
    maxConcurrent = Infinity,
    onError = 'finish',
    ...options
  }: FanoutOptions & CallOptions,
  record: (index: number, answer: Msg) => Promise<void>,
): Promise<void> {
  checkConcurrency(maxConcurrent);
  const failures = new Map<number, AgentFailure>();
  const controller = new AbortController();
  const { signal } = controller;
  const unlink = whenAborted(options.signal, (reason) => controller.abort(reason));
  const remaining = tasks.values();
  let isCut = false;

  async function callRemaining(): Promise<void> {
    for (const { index, msgs, decisions, isRetry = options.isRetry } of remaining) {
      const agent = agents[index];
      if (agent === undefined) continue;
      if (signal.aborted) return void (isCut = true);
      try {
        await record(index, await agent.call(msgs, { ...options, decisions, isRetry, signal }));
      } catch (error) {
        if (signal.aborted && error === signal.reason) return void (isCut = true);
        failures.set(index, { agentName: agent.name, error });
        if (onError === 'stop') controller.abort(error);
      }
    }
  }

  const width = Math.min(concurrent ? maxConcurrent : 1, tasks.length);
  await Promise.all(Array.from({ length: width }, callRemaining));
  unlink();
  if (isCut && signal.reason === options.signal?.reason) signal.throwIfAborted();
  const inOrder = [...failures].sort(([a], [b]) => a - b).map(([, failure]) => failure);
  const [first, ...others] = inOrder;
  if (first !== undefined) throw others.length === 0 ? first.error : new FanoutError(inOrder);
}

function checkConcurrency(maxConcurrent = Infinity): void {
  if (maxConcurrent === Infinity || (Number.isInteger(maxConcurrent) && maxConcurrent >= 1)) return;
  throw new TroupeError('invalid_config', 'maxConcurrent must be a whole number of 1 or more.');
}
