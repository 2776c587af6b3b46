import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError } from '../errors.ts';
import type { Emit } from '../event/agent-event.ts';
import { toBlock } from '../message/blocks.ts';
import { DeadlineError } from '../util/async/deadline.ts';
import { toToolOutput } from '../toolkit/tool/tool-output.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { ToolSuspension } from '../toolkit/tool/tool-suspension.ts';
import { tool, type Tool, type ToolContext } from '../toolkit/tool/tool.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import type { SchemaProblem } from '../util/schema.ts';
import { subAgentHere } from './limits/around.ts';
import { noteBinding } from './grants/bound-tools.ts';
import { LimitReached } from './limits/budget.ts';
import { checkedInput, type CheckedInput } from './checked-input.ts';
import { toDelegationContext, type DelegationContext } from './grants/delegation-context.ts';
import { KeptTasks, newTask, toEarlierTask, type DoneTask, type EarlierTask } from './kept-tasks.ts';
import { assertFits, assertOnlyOne, warnOf } from './lending-checks.ts';
import { contextOf, hostLimits, permissionsFor, tracerOf, type Lending } from './grants/lending.ts';
import type { PermissionBundle, SharedHeap } from './grants/permission-bundle.ts';
import { copyLimits } from './limits/safety-limits.ts';
import { failedResponse, failureFrom, type AboutTask, type SubAgentFailure } from './sub-agent-error.ts';
import type { SubAgentHost } from './sub-agent-host.ts';
import type { CheckedSpec } from './sub-agent-spec.ts';
import type { DelegateOptions, SubAgent, SubAgentClass } from './sub-agent.ts';
import { withTimeLimits } from './limits/time-limits.ts';
import { failSpan, inSpan } from '../tracing/tracer.ts';

export interface SubAgentOptions extends SharedHeap {
  /** @default `agent_` and the name of the sub-agent */
  readonly toolName?: string | undefined;
  /** The group of the host's tools that it is in. @default 'basic', which is always active */
  readonly group?: string | undefined;
  /** Sees all events of the sub-agent and of those below it, which the host's own stream does not. It is not waited for. */
  readonly observer?: Emit | undefined;
}

/** What a delegation that waited goes on with. */
interface Waiting {
  readonly agent: JsonObject;
  readonly context: JsonValue;
  readonly spent: JsonValue;
  readonly earlier: EarlierTask | undefined;
}

/** What is known about one delegation. */
interface Task {
  readonly lending: Lending;
  readonly context: ToolContext;
  /** Stops it: with the host, or when its time is up. */
  readonly signal: AbortSignal;
  readonly permissions: PermissionBundle;
  /** What its result will tell the program, if it fails. */
  readonly told: { about: AboutTask };
}

/** What a sub-agent is to work on: a task in words, or where it waited and what was decided about that. */
interface Assignment {
  readonly context: DelegationContext;
  readonly text?: string;
  readonly decisions?: DelegateOptions['decisions'];
  readonly earlier: EarlierTask | undefined;
}

/** What came of a task, before it is kept for later. */
interface Outcome {
  readonly response: ToolResponse;
  /** What is to be kept of it, if it can be gone on with. */
  readonly done?: DoneTask;
}

/** A kind of sub-agent, as it works for its hosts: every call makes a new one. */
export class Delegation {
  readonly #cls: SubAgentClass;
  readonly #spec: CheckedSpec;
  readonly #options: SubAgentOptions;
  /** One for all tools of the kind, so that it is compiled once. */
  readonly #schema: ReturnType<typeof checkedInput>;
  readonly #kept: KeptTasks;

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
    this.#kept = new KeptTasks(spec.name);
  }

  /** The tool by which a host has such sub-agents. For a sub-agent that has the tool, it is made anew: that is the host then. */
  toolFor(host: SubAgentHost, heap: SharedHeap = this.#options): Tool {
    const { name, description } = this.#spec;
    const { toolName = `agent_${name}`, group } = this.#options;
    const made = tool({
      name: toolName,
      description,
      ...(group !== undefined && { group }),
      schema: this.#schema,
      timeoutMs: Infinity, // it has limits of its own
      execute: (input: CheckedInput, context) => {
        const worker = subAgentHere() ?? host; // whatever the tool was wrapped in, it works for the one that calls it
        const lending = this.#lending(worker, worker === host ? heap : {});
        return this.#execute(lending, input, context);
      },
    });
    return noteBinding(made, {
      subagent: name,
      toolName,
      kind: this,
      bind: (other) => this.toolFor(other, {}),
    });
  }

  /** Makes one to see whether that can be done, and asks it whether it is well. @throws SubAgentUnavailable, TroupeError */
  async probe(host: SubAgentHost): Promise<void> {
    const lending = this.#lending(host, this.#options);
    assertFits(lending, this);
    const permissions = permissionsFor(lending);
    warnOf(lending, permissions);
    await this.#export(host, permissions, true);
  }

  #lending(host: SubAgentHost, heap: SharedHeap): Lending {
    return { host, heap, spec: this.#spec, limits: this.#options.safetyLimits ?? {} };
  }

  #export(host: SubAgentHost, permissions: PermissionBundle, runHealthcheck = false): Promise<SubAgent> {
    const { toolkit: hostToolkit, model: hostModel } = host;
    return this.#cls.exportAgent({ spec: this.#spec, permissions, hostToolkit, hostModel, runHealthcheck });
  }

  #execute(lending: Lending, input: CheckedInput, context: ToolContext): Promise<ToolResponse> {
    const { name } = this.#spec;
    const attributes = { 'subagent.name': name, 'subagent.supervisor': lending.host.name };
    return inSpan(tracerOf(lending), `subagent ${name}`, attributes, async (span) => {
      const response = await this.#answer(lending, input, context);
      const { error } = response.metadata ?? {};
      if (typeof error === 'string') failSpan(span, error, `${name}: ${error}`);
      return response;
    });
  }

  async #answer(
    lending: Lending,
    { input, continueId }: CheckedInput,
    context: ToolContext,
  ): Promise<ToolResponse> {
    const { signal, resume, isBackground = false } = context;
    const told: Task['told'] = { about: { subagent: this.#spec.name, supervisor: lending.host.name } };
    const over = new AbortController();
    const failed = (failure: SubAgentFailure): ToolResponse =>
      failedResponse(failure, told.about, getLogger());
    try {
      if (resume === undefined && !input.ok)
        return failed({ code: 'invalid_input', cause: problemsText(input.problems) });
      const waiting = resume === undefined ? undefined : toWaiting(resume.state);
      const permissions = permissionsFor(lending, waiting?.spent, over.signal);
      return await this.#kept.alone(waiting === undefined ? continueId : waiting.earlier?.id, async () => {
        const { response, done } = await this.#inTime(permissions, signal, (stop) => {
          const task = { lending, context, signal: stop, permissions, told };
          if (waiting !== undefined) return this.#goOn(task, waiting);
          return this.#begin(task, input.ok ? input.value : undefined, continueId);
        });
        return done === undefined ? response : await this.#kept.keep(response, done, signal);
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!ToolSuspension.isInstance(error)) return failed(failureFrom(error));
      if (!isBackground) throw error;
      return failed({ code: 'unavailable', cause: NOBODY_TO_ASK });
    } finally {
      over.abort();
    }
  }

  /** Everything that is done for a task counts as its time. @throws DeadlineError, LimitReached */
  async #inTime<T>(
    { budget }: PermissionBundle,
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

  async #begin(task: Task, input: unknown, continueId: string | undefined): Promise<Outcome> {
    const { lending, permissions } = task;
    const { maxDepth = 0 } = hostLimits(lending);
    if (maxDepth < 1) throw new LimitReached('levels of sub-agents');
    assertOnlyOne(lending, this);
    permissions.budget.begin();
    const text = this.#cls.describeTask(input);
    const context = toDelegationContext(
      await this.#cls.preContextCompress(await contextOf(lending.host, permissions), text),
    );
    const agent = await this.#export(lending.host, permissions);
    const earlier = continueId === undefined ? undefined : await this.#kept.load(continueId, agent);
    return this.#delegate(task, agent, { context, text, earlier });
  }

  async #goOn(task: Task, { agent: state, context, earlier }: Waiting): Promise<Outcome> {
    const agent = await this.#export(task.lending.host, task.permissions);
    const kept = earlier && (await this.#kept.reload(earlier, agent));
    agent.loadStateDict(state, { strict: false });
    const { decisions } = task.context.resume ?? {};
    return this.#delegate(task, agent, { context: toDelegationContext(context), decisions, earlier: kept });
  }

  /** Lets a sub-agent work. */
  async #delegate(
    { signal, told, context: { isBackground = false } }: Task,
    agent: SubAgent,
    { context, text, decisions, earlier }: Assignment,
  ): Promise<Outcome> {
    const { continuable = false } = this.#spec;
    const { observer } = this.#options;
    const options = { task: text, signal, observer, decisions, isBackground, ephemeralMemory: !continuable };
    const kept = continuable ? (earlier ?? (await newTask(isBackground))) : undefined;
    told.about = { ...told.about, delegation_context: context };
    try {
      const response = toResponse(await agent.delegate(context.task_summary, context, options), told.about);
      if (kept === undefined || response.status !== 'ok') return { response };
      return { response, done: { id: kept.id, agent } };
    } catch (error) {
      if (kept === undefined || !ToolSuspension.isInstance(error) || error.nested === undefined) throw error;
      const { pending, state } = error.nested;
      const others = isJsonObject(state) ? state : {};
      throw new ToolSuspension(undefined, { pending, state: { ...others, earlier: { ...kept } } });
    }
  }
}

const NOBODY_TO_ASK = "needs somebody to decide, who can't be asked from the background.";

/** What `delegate` gave, as a result that a toolkit takes; it is known whose it is, whatever it says. @throws TroupeError */
function toResponse(given: unknown, about: JsonObject): ToolResponse {
  if (!ToolResponse.isInstance(given))
    throw new TroupeError('invalid_reply', 'its delegate() gave no ToolResponse.');
  const { content, status, metadata } = given;
  const response = new ToolResponse(content, { status, metadata: { ...metadata, ...about } });
  try {
    toBlock({ type: 'tool_result', id: 'any', name: 'any', ...toToolOutput(response) }, 'result');
    return response;
  } catch (error) {
    throw new TroupeError('invalid_reply', messageOf(error));
  }
}

function problemsText(problems: readonly SchemaProblem[]): string {
  const told = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return `can't read the arguments. Correct these and call it again: ${told.join('; ')}`.slice(0, 2000);
}

/** @throws TroupeError if it is not what a delegation was suspended with. */
function toWaiting(state: JsonValue): Waiting {
  if (isJsonObject(state)) {
    const { agent, context = {}, spent = {}, earlier } = state;
    if (isJsonObject(agent)) return { agent, context, spent, earlier: toEarlierTask(earlier) };
  }
  throw new TroupeError('invalid_state', 'What the sub-agent waited with is not readable.');
}
