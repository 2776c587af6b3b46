import type { AgentBase, CallOptions } from '../agent/agent-base.ts';
import { readDecisions } from '../approval/decisions.ts';
import { refused } from '../approval/refused.ts';
import { Msg, type MsgInput, type StructuredMsg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import type { AnySchema, SchemaOutput } from '../util/schema.ts';
import { checkAgents } from './check-agents.ts';
import { PipelineBase } from './pipeline-base.ts';
import { PipelineProgress } from './pipeline-progress.ts';
import { assertTakesInput, routeDecisions } from './route-decisions.ts';

type SomeAgents = readonly [AgentBase, ...AgentBase[]];

/** Result of a sequence: the answer of its last agent; where there may be no agents, the answer or the input. */
type SequenceResult<Agents extends readonly AgentBase[], Input, Answer> = Agents extends SomeAgents
  ? Answer
  : Answer | Input;

/**
 * Calls agents one after the other, each with the previous answer. Without agents the input is the result. A
 * `structuredModel` is for the last agent.
 *
 * A suspended answer (pending tool calls) ends the pipeline and is the result. A call with `decisions`, or without input, goes on
 * with the suspended agent and those after it. Decisions that fit no agent are refused before anything runs.
 *
 * @example
 * ```ts
 * import { ReActAgent, sequentialPipeline } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const writer = new ReActAgent({ name: 'writer', model: new ScriptedModel(['A draft.']), console: false });
 * const editor = new ReActAgent({ name: 'editor', model: new ScriptedModel(['A better draft.']), console: false });
 * const answer = await sequentialPipeline([writer, editor], 'Write about the sea.');
 * console.log(answer.text); // A better draft.
 * ```
 */
export function sequentialPipeline<const S extends AnySchema>(
  agents: SomeAgents,
  input: MsgInput,
  options: CallOptions & { readonly structuredModel: S },
): Promise<StructuredMsg<SchemaOutput<S>>>;
export function sequentialPipeline(agents: SomeAgents, input?: MsgInput, options?: CallOptions): Promise<Msg>;
export function sequentialPipeline(agents: readonly AgentBase[]): Promise<Msg | undefined>;
export function sequentialPipeline<Input extends MsgInput, const S extends AnySchema>(
  agents: readonly AgentBase[],
  input: Input,
  options: CallOptions & { readonly structuredModel: S },
): Promise<StructuredMsg<SchemaOutput<S>> | Input>;
export function sequentialPipeline<Input extends MsgInput>(
  agents: readonly AgentBase[],
  input: Input,
  options?: CallOptions,
): Promise<Msg | Input>;
export async function sequentialPipeline(
  agents: readonly AgentBase[],
  input?: MsgInput,
  options: CallOptions = {},
): Promise<MsgInput> {
  const start = planStart(checkAgents('sequentialPipeline', agents), input, options);
  return agents.length === 0 ? input : runSequence(agents, start, options, async () => {});
}

/**
 * `sequentialPipeline` over the same agents, for several inputs. The position, the input and the answers so far are part of its
 * state: a call without input goes on where the last one was suspended, failed or cut off, also after a restart of the program.
 */
export class SequentialPipeline<
  const Agents extends readonly AgentBase[] = readonly AgentBase[],
> extends PipelineBase {
  static override readonly componentName: string = 'sequentialPipeline';

  constructor(agents: Agents) {
    super(agents);
  }

  call(): Promise<SequenceResult<Agents, undefined, Msg>>;
  call<Input extends MsgInput, const S extends AnySchema>(
    input: Input,
    options: CallOptions & { readonly structuredModel: S },
  ): Promise<SequenceResult<Agents, Input, StructuredMsg<SchemaOutput<S>>>>;
  call<Input extends MsgInput>(
    input: Input,
    options?: CallOptions,
  ): Promise<SequenceResult<Agents, Input, Msg>>;
  async call(input?: MsgInput, options: CallOptions = {}): Promise<MsgInput> {
    const { agents } = this;
    const start = this.#resume(input, options) ?? planStart(agents, input, options);
    if (agents.length === 0) return input;
    const { progress, position = 0 } = start;
    const recorded = (isFinished: boolean): Promise<void> =>
      this.recorded(progress, isFinished, options.signal);
    return this.track(position > 0 ? null : progress, () => runSequence(agents, start, options, recorded));
  }

  #resume(input: MsgInput, { decisions: given = [] }: CallOptions): SequenceStart | undefined {
    const msgs = Msg.list(input);
    if (msgs.length > 0 && given.length === 0) return undefined;
    const progress = this.progressToResume();
    if (progress === null) return undefined;
    const { position } = progress;
    const decisions = readDecisions(given);
    routeDecisions(this.agents, decisions, (i) => i === position);
    const isPending = (this.agents[position]?.pendingCalls.length ?? 0) > 0; // maybe without a recorded question
    return { progress, msgs: msgs.length > 0 || isPending ? msgs : undefined, decisions, isRetry: true };
  }
}

interface SequenceStart {
  /** Its position is the agent to start with, unless `position` says otherwise. */
  readonly progress: PipelineProgress;
  /** Input of the first agent to call, if not that of the position. */
  readonly msgs: readonly Msg[] | undefined;
  /** Decisions for the first agent to call. */
  readonly decisions: readonly PendingDecision[];
  /** Index of the suspended agent to start with, if the progress is unknown. */
  readonly position?: number;
  /** Whether the first agent to call may have had its input before. */
  readonly isRetry?: boolean;
}

/**
 * Start of a sequence without known progress: at the first agent, or at a suspended one.
 * @throws TroupeError before anything has changed
 */
function planStart(
  agents: readonly AgentBase[],
  input: MsgInput,
  { decisions: given = [], onPending }: CallOptions,
): SequenceStart {
  const msgs = Msg.list(input);
  const decisions = readDecisions(given);
  const progress = new PipelineProgress(msgs, agents.length);
  const routed = routeDecisions(agents, decisions);
  const [position, ...others] = routed.keys();
  for (const index of others)
    throw refused(routed.get(index)?.[0]?.id, 'belongs to a second agent. Decide about one agent at a time');
  if (position !== undefined) return { progress, position, msgs, decisions };
  if (msgs.length === 0) {
    const suspended = agents.findIndex(({ pendingCalls }) => pendingCalls.length > 0);
    return { progress, position: Math.max(suspended, 0), msgs, decisions };
  }
  assertTakesInput(agents, msgs, onPending, routed);
  return { progress, msgs, decisions };
}

/** @param recorded awaited after each answer */
async function runSequence(
  agents: readonly AgentBase[],
  { progress, msgs, decisions, position = progress.position, isRetry = false }: SequenceStart,
  { structuredModel, ...options }: CallOptions,
  recorded: (isFinished: boolean) => Promise<void>,
): Promise<MsgInput> {
  let answer: Msg | undefined;
  for (const [i, agent] of agents.entries()) {
    if (i < position) continue;
    const isFirst = i === position;
    const isLast = i === agents.length - 1;
    const before = i === 0 ? progress.input : progress.answerOf(i - 1);
    answer = await agent.call(isFirst && msgs !== undefined ? msgs : before, {
      ...options,
      decisions: isFirst ? decisions : undefined,
      isRetry: (isFirst && isRetry) || options.isRetry,
      structuredModel: isLast ? structuredModel : undefined,
    });
    progress.record(i, answer);
    const isSuspended = progress.isSuspended(i);
    await recorded(isLast && !isSuspended);
    if (isSuspended) break; // a message with unfinished tool calls is no input of the next agent
  }
  return answer;
}
