import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError } from '../errors.ts';
import type { Emit } from '../event/agent-event.ts';
import { toBlock } from '../message/blocks.ts';
import { DeadlineError } from '../util/async/deadline.ts';
import { toToolOutput } from '../toolkit/tool/tool-output.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { cancelSuspendedWork } from '../toolkit/tool/suspended-work.ts';
import { ToolSuspension } from '../toolkit/tool/tool-suspension.ts';
import { tool, type Tool, type ToolContext } from '../toolkit/tool/tool.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import type { SchemaProblem } from '../util/schema.ts';
import { subAgentHere } from './limits/delegation-scope.ts';
import { setBinding } from './grants/sub-agent-binding.ts';
import { checkedInput, type CheckedInput } from './checked-input.ts';
import type { DelegationContext } from './grants/context-text.ts';
import { toDelegationContext } from './grants/delegation-context.ts';
import { SavedTasks, newTask, toEarlierTask, type FinishedTask, type EarlierTask } from './saved-tasks.ts';
import { assertSpecFitsHost, assertNameIsFree, warnOfLikelyMistakes } from './grants/grant-checks.ts';
import {
  assertLevelLeft,
  contextOf,
  isTracingOff,
  permissionsFor,
  tracerOf,
  type ResourceGrant,
} from './grants/granted-resources.ts';
import type { SubAgentPermissions, SharedResources } from './grants/permission-bundle.ts';
import { copyLimits } from './limits/safety-limits.ts';
import { GrantedTools } from './grants/granted-tools.ts';
import { contextArgument } from './query-input.ts';
import {
  aboutTask,
  failedResponse,
  failureFrom,
  type AboutTask,
  type SubAgentFailure,
} from './sub-agent-error.ts';
import type { SubAgentHost } from './sub-agent-host.ts';
import type { CheckedSpec } from './sub-agent-spec.ts';
import type { DelegateOptions, SubAgent, SubAgentClass } from './sub-agent.ts';
import { withTimeLimits } from './limits/time-limits.ts';
import { withoutTracing } from '../tracing/instrumentation.ts';
import { inDelegationSpan, type SpanFailure } from '../tracing/tracer.ts';

export interface SubAgentOptions extends SharedResources {
  /** Name of the tool. @default `agent_` and the name of the sub-agent */
  readonly toolName?: string | undefined;
  /** Tool group in the host's toolkit. @default 'basic', which is always active */
  readonly group?: string | undefined;
  /**
   * Receives all events of the sub-agent and of nested sub-agents; the host's stream has none of them. Nobody
   * waits for the returned promise.
   */
  readonly onEvent?: Emit | undefined;
}

/** Saved state of a suspended delegation. */
interface SuspendedDelegation {
  readonly agent: JsonObject;
  readonly context: JsonValue;
  readonly spent: JsonValue;
  readonly earlier: EarlierTask | undefined;
}

/** State of one running delegation. */
interface RunningTask {
  readonly grant: ResourceGrant;
  readonly context: ToolContext;
  /** Aborted when the host's tool call stops or the time limit passes. */
  readonly signal: AbortSignal;
  readonly permissions: SubAgentPermissions;
  /** Metadata of the result; grows while the delegation runs, so that failures carry the known part. */
  readonly result: { about: AboutTask };
}

/** Work for a sub-agent: a task text, or the decisions for the pending tool calls of a suspended task. */
interface Assignment {
  readonly context: DelegationContext;
  readonly text?: string;
  readonly metadata?: JsonObject;
  readonly decisions?: DelegateOptions['decisions'];
  readonly earlier: EarlierTask | undefined;
}

/** Result of a task, before the task is saved. */
interface Outcome {
  readonly response: ToolResponse;
  /** Finished task to save. Only for continuable sub-agents. */
  readonly done?: FinishedTask;
}

/**
 * One kind of sub-agent (class and spec) as a tool. Every tool call makes a new instance, so that parallel
 * tool calls share nothing but granted resources, budgets and saved tasks.
 */
export class Delegation {
  readonly #cls: SubAgentClass;
  readonly #spec: CheckedSpec;
  readonly #options: SubAgentOptions;
  /** Shared by all tools of this kind, so that the schema is compiled once. */
  readonly #schema: ReturnType<typeof checkedInput>;
  readonly #granted: GrantedTools;
  readonly #saved: SavedTasks;

  constructor(cls: SubAgentClass, spec: CheckedSpec, options: SubAgentOptions) {
    if (Object.hasOwn(options, 'permission')) {
      // Ignored, the old name would let every tool call run.
      throw new TroupeError('invalid_config', "The option 'permission' is called 'permissionPolicy'.");
    }
    this.#cls = cls;
    this.#spec = spec;
    this.#options = { ...options, safetyLimits: copyLimits(options.safetyLimits) };
    const { inputSchema = cls.inputSchema, continuable = false } = spec;
    this.#schema = checkedInput(inputSchema, continuable);
    this.#granted = new GrantedTools(spec);
    this.#saved = new SavedTasks(spec.name);
  }

  /**
   * Makes the tool for a host. When a sub-agent gets the tool, a new tool is made with the sub-agent as host.
   */
  toolFor(host: SubAgentHost, shared: SharedResources = this.#options): Tool {
    const { name, description, tags = [] } = this.#spec;
    const { toolName = `agent_${name}`, group } = this.#options;
    this.#granted.register(host.toolkit);
    const made = tool({
      name: toolName,
      description,
      ...(group !== undefined && { group }),
      ...(tags.length > 0 && { tags }),
      schema: this.#schema,
      timeoutMs: Infinity, // the sub-agent's own limits apply
      onAbandoned: cancelSuspendedWork,
      execute: (input: CheckedInput, context) => {
        // a wrapped or renamed tool serves the sub-agent that calls the tool
        const worker = subAgentHere() ?? host;
        const grant = this.#grant(worker, worker === host ? shared : {});
        return this.#execute(grant, input, context);
      },
    });
    return setBinding(made, {
      subagent: name,
      toolName,
      kind: this,
      bind: (other) => this.toolFor(other, {}),
    });
  }

  /**
   * Checks the spec against the host, makes one instance and runs its health check.
   * @throws SubAgentUnavailable, TroupeError
   */
  async probe(host: SubAgentHost): Promise<void> {
    const grant = this.#grant(host, this.#options);
    const permissions = permissionsFor(grant);
    assertSpecFitsHost(grant, permissions, this);
    warnOfLikelyMistakes(grant, permissions);
    await this.#export(host, permissions, true);
  }

  #grant(host: SubAgentHost, shared: SharedResources): ResourceGrant {
    return { host, shared, spec: this.#spec, limits: this.#options.safetyLimits ?? {} };
  }

  #export(host: SubAgentHost, permissions: SubAgentPermissions, runHealthcheck = false): Promise<SubAgent> {
    const { toolkit: hostToolkit, model: hostModel } = host;
    const spec = { ...this.#spec, toolsAllowlist: this.#granted.of(hostToolkit) };
    return this.#cls.exportAgent({ spec, permissions, hostToolkit, hostModel, runHealthcheck });
  }

  #execute(grant: ResourceGrant, input: CheckedInput, context: ToolContext): Promise<ToolResponse> {
    const { name, tags = [] } = this.#spec;
    const run = (): Promise<ToolResponse> => this.#answer(grant, input, context);
    if (isTracingOff(grant)) return withoutTracing(run);
    const operation = {
      type: 'subagent',
      action: 'delegate',
      name,
      supervisor: grant.host.name,
      tags,
    } as const;
    const failureOf = ({ metadata }: ToolResponse): SpanFailure | undefined => {
      const { error } = metadata ?? {};
      return typeof error === 'string' ? { code: error, message: `${name}: ${error}` } : undefined;
    };
    return inDelegationSpan(operation, { tracer: tracerOf(grant), signal: context.signal, failureOf }, run);
  }

  async #answer(
    grant: ResourceGrant,
    { input, continueId }: CheckedInput,
    context: ToolContext,
  ): Promise<ToolResponse> {
    const { signal, resume, isBackground = false } = context;
    const result: RunningTask['result'] = {
      about: aboutTask(this.#spec.name, grant.host.name, this.#spec.tags),
    };
    const over = new AbortController();
    const failed = (failure: SubAgentFailure): ToolResponse =>
      failedResponse(failure, result.about, getLogger());
    try {
      if (resume === undefined && !input.ok)
        return failed({ code: 'invalid_input', cause: problemsText(input.problems) });
      const suspended = resume === undefined ? undefined : toSuspended(resume.state);
      const permissions = permissionsFor(grant, suspended?.spent, over.signal);
      return await this.#saved.withLock(
        suspended === undefined ? continueId : suspended.earlier?.id,
        async () => {
          const { response, done } = await this.#inTime(permissions, signal, (stop) => {
            const task = { grant, context, signal: stop, permissions, result };
            if (suspended !== undefined) return this.#resume(task, suspended);
            return this.#begin(task, input.ok ? input.value : undefined, continueId);
          });
          return done === undefined ? response : await this.#saved.save(response, done, signal);
        },
      );
    } catch (error) {
      signal.throwIfAborted();
      if (!ToolSuspension.isInstance(error)) return failed(failureFrom(error));
      if (!isBackground) throw error;
      return failed({ code: 'unavailable', cause: NOBODY_TO_ASK });
    } finally {
      over.abort();
    }
  }

  /**
   * Applies the time limits to everything done for a task, loading and saving included.
   * @throws DeadlineError, LimitReached
   */
  async #inTime<T>(
    { budget }: SubAgentPermissions,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { timeoutMs } = this.#spec;
    try {
      return await withTimeLimits(budget, timeoutMs - budget.elapsedMs, signal, work);
    } catch (error) {
      throw error instanceof DeadlineError ? new DeadlineError(timeoutMs) : error;
    }
  }

  async #begin(task: RunningTask, input: unknown, continueId: string | undefined): Promise<Outcome> {
    const { grant, permissions } = task;
    assertLevelLeft(grant);
    assertNameIsFree(grant, this);
    permissions.budget.begin();
    const text = this.#cls.describeTask(input);
    const context = toDelegationContext(
      await this.#cls.preContextCompress(await contextOf(grant.host, permissions), text),
    );
    const agent = await this.#export(grant.host, permissions);
    const earlier = continueId === undefined ? undefined : await this.#saved.load(continueId, agent);
    return this.#delegate(task, agent, { context, text, metadata: contextArgument(input), earlier });
  }

  async #resume(
    task: RunningTask,
    { agent: state, context, earlier }: SuspendedDelegation,
  ): Promise<Outcome> {
    const agent = await this.#export(task.grant.host, task.permissions);
    const saved = earlier && (await this.#saved.reload(earlier, agent));
    const { decisions, isUnverified = false } = task.context.resume ?? {};
    agent.loadStateDict(state, { strict: false, acceptGrants: !isUnverified });
    return this.#delegate(task, agent, { context: toDelegationContext(context), decisions, earlier: saved });
  }

  /**
   * Runs the task in the sub-agent. Adds the id of the task to a suspension, so that a resumed task is saved
   * under its id.
   */
  async #delegate(
    { signal, result, context: { isBackground = false } }: RunningTask,
    agent: SubAgent,
    { context, text, metadata, decisions, earlier }: Assignment,
  ): Promise<Outcome> {
    const { continuable = false } = this.#spec;
    const { onEvent } = this.#options;
    const ephemeralMemory = !continuable;
    const options = { task: text, metadata, signal, onEvent, decisions, isBackground, ephemeralMemory };
    const saved = continuable ? (earlier ?? (await newTask(isBackground))) : undefined;
    result.about = { ...result.about, delegation_context: context };
    try {
      const response = toResponse(await agent.delegate(context.task_summary, context, options), result.about);
      if (saved === undefined || response.status !== 'ok') return { response };
      return { response, done: { id: saved.id, agent } };
    } catch (error) {
      if (saved === undefined || !ToolSuspension.isInstance(error) || error.nested === undefined) throw error;
      const { pending, state } = error.nested;
      const others = isJsonObject(state) ? state : {};
      throw new ToolSuspension(undefined, { pending, state: { ...others, earlier: { ...saved } } });
    }
  }
}

const NOBODY_TO_ASK = "needs a decision, and a background task can't ask for one.";

/**
 * Checks the value that `delegate` returned, and adds the metadata of the delegation (which wins over the
 * sub-agent's).
 * @throws TroupeError
 */
function toResponse(given: unknown, about: JsonObject): ToolResponse {
  if (!ToolResponse.isInstance(given))
    throw new TroupeError('invalid_reply', 'its delegate() gave no ToolResponse.');
  const { content, status, metadata, responseMsg } = given;
  const response = new ToolResponse(content, { status, metadata: { ...metadata, ...about }, responseMsg });
  try {
    toBlock({ type: 'tool_result', id: 'any', name: 'any', ...toToolOutput(response) }, 'result');
    return response;
  } catch (error) {
    throw new TroupeError('invalid_reply', messageOf(error));
  }
}

function problemsText(problems: readonly SchemaProblem[]): string {
  const lines = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return `can't read the arguments. Correct these and call it again: ${lines.join('; ')}`.slice(0, 2000);
}

/** Reads the saved state of a suspended delegation. @throws TroupeError if the state has another form. */
function toSuspended(state: JsonValue): SuspendedDelegation {
  if (isJsonObject(state)) {
    const { agent, context = {}, spent = {}, earlier } = state;
    if (isJsonObject(agent)) return { agent, context, spent, earlier: toEarlierTask(earlier) };
  }
  throw new TroupeError('invalid_state', 'The saved state of the suspended sub-agent is not readable.');
}
