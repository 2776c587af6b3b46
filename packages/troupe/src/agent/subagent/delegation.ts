import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import type { Emit } from '../../event/agent-event.ts';
import { InMemorySession } from '../../session/in-memory-session.ts';
import type { Session } from '../../session/session.ts';
import { ToolResponse } from '../../toolkit/tool-response.ts';
import { ToolSuspension } from '../../toolkit/tool-suspension.ts';
import { tool, type Tool, type ToolContext } from '../../toolkit/tool.ts';
import { newId } from '../../util/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { SchemaProblem } from '../../util/schema.ts';
import { currentTurn } from '../turn.ts';
import { isSubAgentTool, noteBinding } from './bound-tools.ts';
import { LimitReached } from './budget.ts';
import { checkedInput, type CheckedInput } from './checked-input.ts';
import { toDelegationContext } from './delegation-context.ts';
import { allowedTools } from './export-agent.ts';
import { contextOf, hostLimits, permissionsFor, tracerOf, type Lending } from './lending.ts';
import type { PermissionBundle, SharedHeap } from './permission-bundle.ts';
import { copyLimits } from './safety-limits.ts';
import { failedResponse, failureFrom, type SubAgentFailure } from './sub-agent-error.ts';
import type { SubAgentHost } from './sub-agent-host.ts';
import type { CheckedSpec } from './sub-agent-spec.ts';
import type { DelegateOptions, SubAgent, SubAgentClass } from './sub-agent.ts';
import { failSpan, inSpan } from './tracer.ts';

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
  readonly continueId: string | undefined;
}

/** What is known about one delegation. */
interface Task {
  readonly lending: Lending;
  readonly context: ToolContext;
  readonly about: JsonObject;
}

/** A kind of sub-agent, as it works for its hosts: every call makes a new one. */
export class Delegation {
  readonly #cls: SubAgentClass;
  readonly #spec: CheckedSpec;
  readonly #options: SubAgentOptions;
  /** The earlier tasks that are being gone on with. */
  readonly #continuing = new Set<string>();
  /** Where tasks are kept that can be gone on with, if the host has no session. */
  #ownSession: Session | undefined;

  constructor(cls: SubAgentClass, spec: CheckedSpec, options: SubAgentOptions) {
    this.#cls = cls;
    this.#spec = spec;
    this.#options = { ...options, safetyLimits: copyLimits(options.safetyLimits) };
  }

  /** The tool by which a host has such sub-agents. For a sub-agent that has the tool, it is made anew: that is the host then. */
  toolFor(host: SubAgentHost, heap: SharedHeap = this.#options): Tool {
    const { name, description, inputSchema = this.#cls.inputSchema, continuable = false } = this.#spec;
    const { toolName = `agent_${name}`, group } = this.#options;
    const made = tool({
      name: toolName,
      description,
      ...(group !== undefined && { group }),
      schema: checkedInput(inputSchema, continuable),
      timeoutMs: Infinity, // it has limits of its own
      execute: (input: CheckedInput, context) => this.#execute(this.#lending(host, heap), input, context),
    });
    return noteBinding(made, (other) => this.toolFor(other, {}));
  }

  /** Makes one to see whether that can be done, and asks it whether it is well. @throws SubAgentUnavailable, TroupeError */
  async probe(host: SubAgentHost): Promise<void> {
    const lending = this.#lending(host, this.#options);
    this.#assertFits(lending);
    await this.#export(host, permissionsFor(lending), true);
  }

  #lending(host: SubAgentHost, heap: SharedHeap): Lending {
    return { host, heap, spec: this.#spec, limits: this.#options.safetyLimits ?? {} };
  }

  /** What is wrong here will always be. @throws TroupeError */
  #assertFits(lending: Lending): void {
    const { name, toolsAllowlist, tools = [] } = this.#spec;
    const { toolkit } = lending.host;
    const { names, unknown } = allowedTools(toolkit, toolsAllowlist);
    if (unknown.length > 0) {
      const shown = unknown.map((one) => `'${String(one).slice(0, 64)}'`).join(', ');
      throw new TroupeError(
        'invalid_config',
        `The sub-agent '${name}' is allowed ${shown}, which ${lending.host.name} has not. Register it first, or put it into 'tools'.`,
      );
    }
    const given = [...names.map((one) => toolkit.get(one)), ...(typeof tools === 'function' ? [] : tools)];
    const { maxDepth = 0 } = hostLimits(lending);
    if (maxDepth < 2 && given.some(isSubAgentTool)) {
      throw new TroupeError(
        'invalid_config',
        `The sub-agent '${name}' has sub-agents of its own. Allow that by safetyLimits.maxDepth of the host.`,
      );
    }
  }

  #export(host: SubAgentHost, permissions: PermissionBundle, runHealthcheck = false): Promise<SubAgent> {
    const { toolkit: hostToolkit, model: hostModel } = host;
    return this.#cls.exportAgent({ spec: this.#spec, permissions, hostToolkit, hostModel, runHealthcheck });
  }

  #execute(lending: Lending, input: CheckedInput, context: ToolContext): Promise<ToolResponse> {
    const { name } = this.#spec;
    const about = { subagent: name, supervisor: lending.host.name };
    const attributes = { 'subagent.name': name, 'subagent.supervisor': lending.host.name };
    return inSpan(tracerOf(lending), `subagent ${name}`, attributes, async (span) => {
      const response = await this.#answer({ lending, context, about }, input);
      const { error } = response.metadata ?? {};
      if (typeof error === 'string') failSpan(span, error, `${name}: ${error}`);
      return response;
    });
  }

  async #answer(task: Task, { input, continueId }: CheckedInput): Promise<ToolResponse> {
    const { signal, resume } = task.context;
    try {
      if (resume !== undefined) {
        const waiting = toWaiting(resume.state);
        return await this.#kept(task, waiting.continueId, () => this.#goOn(task, waiting));
      }
      if (!input.ok)
        return this.#failed(task, { code: 'invalid_input', cause: problemsText(input.problems) });
      return await this.#kept(task, continueId, () => this.#begin(task, input.value, continueId));
    } catch (error) {
      signal.throwIfAborted();
      if (ToolSuspension.isInstance(error)) throw error;
      return this.#failed(task, failureFrom(error));
    }
  }

  async #begin(task: Task, input: unknown, continueId: string | undefined): Promise<ToolResponse> {
    const { lending } = task;
    const { maxDepth = 0 } = hostLimits(lending);
    if (maxDepth < 1) throw new LimitReached('levels of sub-agents');
    const permissions = permissionsFor(lending);
    permissions.budget.begin();
    const text = this.#cls.describeTask(input);
    const context = toDelegationContext(
      await this.#cls.preContextCompress(await contextOf(lending.host, permissions), text),
    );
    const agent = await this.#export(lending.host, permissions);
    if (continueId !== undefined && !(await this.#sessionOf(permissions).load(continueId, { agent }))) {
      return this.#failed(task, { code: 'invalid_input', cause: NO_SUCH_TASK });
    }
    return this.#delegate(task, agent, { context, text, continueId, decisions: undefined });
  }

  async #goOn(task: Task, { agent: state, context, spent, continueId }: Waiting): Promise<ToolResponse> {
    const { lending } = task;
    const agent = await this.#export(lending.host, permissionsFor(lending, spent));
    agent.loadStateDict(state, { strict: false });
    const decisions = task.context.resume?.decisions;
    return this.#delegate(task, agent, {
      context: toDelegationContext(context),
      text: undefined,
      continueId,
      decisions,
    });
  }

  /** Lets a sub-agent work, and keeps it for later if it can be gone on with. */
  async #delegate(
    { context: { signal } }: Task,
    agent: SubAgent,
    {
      context,
      text,
      continueId,
      decisions,
    }: Pick<DelegateOptions, 'decisions'> & {
      readonly context: ReturnType<typeof toDelegationContext>;
      readonly text: string | undefined;
      readonly continueId: string | undefined;
    },
  ): Promise<ToolResponse> {
    const { timeoutMs, continuable = false } = this.#spec;
    const { observer } = this.#options;
    const options = { task: text, signal, timeoutMs, observer, decisions, ephemeralMemory: !continuable };
    const id = continuable ? (continueId ?? (await makeId())) : undefined;
    try {
      const response = await agent.delegate(context.task_summary, context, options);
      if (id === undefined || response.status !== 'ok') return response;
      await this.#sessionOf(agent.permissions).save(id, { agent }, { overwrite: decisions !== undefined });
      return withContinueId(response, id);
    } catch (error) {
      if (id === undefined || !ToolSuspension.isInstance(error) || error.nested === undefined) throw error;
      const { pending, state } = error.nested;
      const kept = isJsonObject(state) ? state : {};
      throw new ToolSuspension(undefined, { pending, state: { ...kept, continue_id: id } });
    }
  }

  /** Lets an earlier task be gone on with by one call at a time. */
  async #kept(task: Task, id: string | undefined, work: () => Promise<ToolResponse>): Promise<ToolResponse> {
    if (id === undefined) return work();
    if (this.#continuing.has(id)) {
      return this.#failed(task, {
        code: 'unavailable',
        cause: 'is being gone on with by another call. Wait for that.',
      });
    }
    this.#continuing.add(id);
    try {
      return await work();
    } finally {
      this.#continuing.delete(id);
    }
  }

  #sessionOf({ session }: PermissionBundle): Session {
    return session ?? (this.#ownSession ??= new InMemorySession());
  }

  #failed({ about, lending }: Task, failure: SubAgentFailure): ToolResponse {
    const { name } = this.#spec;
    getLogger().log('warn', `The sub-agent ${name} of ${lending.host.name} ${failure.cause}`);
    return failedResponse(failure, name, about);
  }
}

const NO_SUCH_TASK = 'has no earlier task of that id. Leave continue_id out to begin a new one.';

/** The same one when the run is replayed. */
async function makeId(): Promise<string> {
  const turn = currentTurn();
  return turn === undefined ? newId() : turn.step('continue id', async () => newId());
}

function withContinueId({ content, metadata = {}, status }: ToolResponse, id: string): ToolResponse {
  const note = `continue_id: ${id}`;
  const shown =
    typeof content === 'string'
      ? `${note}\n\n${content}`
      : [{ type: 'text', text: note } as const, ...content];
  return new ToolResponse(shown, { status, metadata: { ...metadata, continue_id: id } });
}

function problemsText(problems: readonly SchemaProblem[]): string {
  const told = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return `can't read the arguments. Correct these and call it again: ${told.join('; ')}`.slice(0, 2000);
}

/** @throws TroupeError if it is not what a delegation was suspended with. */
function toWaiting(state: JsonValue): Waiting {
  if (isJsonObject(state)) {
    const { agent, context = {}, spent = {}, continue_id: id } = state;
    if (isJsonObject(agent))
      return { agent, context, spent, continueId: typeof id === 'string' ? id : undefined };
  }
  throw new TroupeError('invalid_state', 'What the sub-agent waited with is not readable.');
}
