import type { AgentBase } from '../agent/agent-base.ts';
import { getLogger } from '../config/run-config.ts';
import { AgentBusyError, messageOf } from '../errors.ts';
import type { PendingCall } from '../message/pending-call.ts';
import { StateModule } from '../state/state-module.ts';
import { abortable } from '../util/abort.ts';
import { checkAgents } from './check-agents.ts';
import { PipelineProgress } from './pipeline-progress.ts';

/** The agents of a pipeline by name, as part of its state. An agent that is in the pipeline twice is saved once. */
class PipelineAgents extends StateModule {
  static override readonly hasOptionalModules = true;

  constructor(agents: readonly AgentBase[]) {
    super();
    for (const agent of new Set(agents)) {
      const key = `agent_${agent.name}`; // the prefix keeps names apart from those of methods
      let name = key;
      for (let n = 2; name in this; n++) name = `${key}_${n}`;
      Object.defineProperty(this, name, { value: agent, enumerable: true });
    }
  }
}

/**
 * Pipeline with a state: its agents, and the progress of a call that has not finished (input and answers so far). A call that was
 * suspended, failed or was cut off by the end of the process is resumed by a call without input. Calls at the same time are
 * independent of each other; the state is that of the last one to start.
 *
 * With automatic saving, progress is saved after each answer, before the call resolves. Folder `pipeline`: start here.
 */
export abstract class PipelineBase extends StateModule {
  readonly agents: readonly AgentBase[];
  protected readonly members: StateModule;
  protected progress: PipelineProgress | null = null;
  readonly #settledListeners = new Set<() => void>();
  readonly #outcomeListeners = new Set<() => Promise<void>>();
  #running = 0;

  constructor(agents: readonly AgentBase[]) {
    super();
    this.agents = [...checkAgents('A pipeline', agents)];
    this.members = new PipelineAgents(this.agents);
    this.registerState('progress', {
      toJson: (progress: PipelineProgress | null) => progress?.toJSON() ?? null,
      fromJson: (json) => (json === null ? null : PipelineProgress.from(json, this.agents.length)),
    });
  }

  /** Pending tool calls of the agents. Decided by the option `decisions` of `call`. */
  get pendingCalls(): readonly PendingCall[] {
    return [...new Set(this.agents)].flatMap((agent) => agent.pendingCalls);
  }

  /** Whether a call of the pipeline or of one of its agents is being answered. */
  get isRunning(): boolean {
    return this.#running > 0 || this.agents.some((agent) => agent.isRunning);
  }

  /** Calls the listener each time a call of the pipeline or of an agent has settled. The returned function removes the listener. */
  onSettled(listener: () => void): () => void {
    const entry = (): void => {
      try {
        listener();
      } catch (error) {
        getLogger().log('warn', `A listener of a pipeline threw: ${messageOf(error)}`);
      }
    };
    return this.#listen(this.#settledListeners, entry, (agent, entry) => agent.onSettled(entry));
  }

  /** Adds a listener that is awaited before an outcome of the pipeline or of an agent is told. The returned function removes the listener. */
  onOutcome(listener: () => Promise<void>): () => void {
    return this.#listen(
      this.#outcomeListeners,
      async () => listener(), // throwing counts as rejecting
      (agent, entry) => agent.onOutcome(entry),
    );
  }

  /** Adds a listener that is awaited before a tool with a `sideEffect` runs. The returned function removes the listener. */
  onCheckpoint(listener: () => Promise<void>): () => void {
    return this.#listen(new Set<() => Promise<void>>(), listener, (agent, entry) =>
      agent.onCheckpoint(entry),
    );
  }

  /** Progress to resume. @throws AgentBusyError if the call is still running */
  protected progressToResume(): PipelineProgress | null {
    if (this.progress !== null && this.#running > 0)
      throw new AgentBusyError('The pipeline', 'Resume it when the call has ended.');
    return this.progress;
  }

  /** Runs a call that is resumed from this progress, if any, when it does not finish. */
  protected async track<T>(progress: PipelineProgress | null, work: () => Promise<T>): Promise<T> {
    this.progress = progress;
    this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
      for (const listener of this.#settledListeners) listener();
    }
  }

  /** Waits for the listeners of `onOutcome` after an answer. @param isFinished whether all agents have answered */
  protected async recorded(
    progress: PipelineProgress,
    isFinished: boolean,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (isFinished && this.progress === progress) this.progress = null;
    if (this.#outcomeListeners.size === 0) return;
    const waits = Promise.all(Array.from(this.#outcomeListeners, (listener) => listener()));
    const told = waits.catch((error: unknown) =>
      getLogger().log('warn', `The progress of a pipeline was not saved: ${messageOf(error)}`),
    );
    await (signal === undefined ? told : abortable(told, signal).catch(() => {}));
  }

  protected override assertStateCanLoad(): void {
    if (this.isRunning) throw new AgentBusyError('The pipeline', 'Load its state when it is idle.');
  }

  #listen<Listener>(
    own: Set<Listener>,
    entry: Listener,
    listenTo: (agent: AgentBase, entry: Listener) => () => void,
  ): () => void {
    own.add(entry);
    const stops = Array.from(new Set(this.agents), (agent) => listenTo(agent, entry));
    return () => {
      own.delete(entry);
      for (const stop of stops) stop();
    };
  }
}
