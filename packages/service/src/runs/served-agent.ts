import type { AgentBase } from 'troupe';
import type { FileSystemBase } from 'troupe/filesystem';
import type { Talker } from 'troupe/realtime';

/** Behaviour of a request for a run while the session has another one. */
export type OnBusySession = 'reject' | 'queue' | 'interrupt' | 'steer';

/** For whom an agent is made. */
export interface AgentContext {
  readonly user: string;
  readonly session: string;
  /** Id of the run; undefined when the agent is made to read its messages. */
  readonly run: string | undefined;
  /** Files of the session, which its user reads and writes too. For a `FileSystemHandle`. */
  readonly files: FileSystemBase;
}

/** Makes an agent without state; the service loads the state of the session into it. Called for each attempt at a run. */
export type AgentFactory = (context: AgentContext) => AgentBase | Promise<AgentBase>;

/** An agent that a service offers. */
export interface ServedAgent {
  readonly make: AgentFactory;
  readonly description?: string | undefined;
  /** @default 'reject' */
  readonly onBusy?: OnBusySession | undefined;
  /** Lets people talk with the agent, such as by a `VoicePipeline`. A `RealtimeAgent` needs none. */
  readonly talk?: ((agent: AgentBase) => Talker) | undefined;
}

export type ServedAgents = Readonly<Record<string, AgentFactory | ServedAgent>>;

/** The agents of a service by name. */
export class AgentTable {
  readonly #agents: ReadonlyMap<string, ServedAgent>;
  readonly #filesOf: (context: Omit<AgentContext, 'files'>) => FileSystemBase;

  constructor(agents: ServedAgents, filesOf: (context: Omit<AgentContext, 'files'>) => FileSystemBase) {
    this.#filesOf = filesOf;
    const entries = Object.entries(Object(agents) as ServedAgents).map(
      ([name, agent]): [string, ServedAgent] => [name, typeof agent === 'function' ? { make: agent } : agent],
    );
    for (const [name, { make }] of entries) {
      if (typeof make !== 'function')
        throw new TypeError(
          `The agent '${name}' needs a function that makes it: ${name}: () => new ReActAgent({ … }).`,
        );
    }
    if (entries.length === 0)
      throw new TypeError('A service needs an agent: agents: { assistant: () => new ReActAgent({ … }) }.');
    this.#agents = new Map(entries);
  }

  get(name: string): ServedAgent | undefined {
    return this.#agents.get(name);
  }

  get names(): readonly string[] {
    return [...this.#agents.keys()];
  }

  async make(name: string, context: Omit<AgentContext, 'files'>): Promise<AgentBase> {
    const agent = this.#agents.get(name);
    if (agent === undefined) throw new Error(`This program has no agent '${name}' any more.`);
    const made = await agent.make({ ...context, files: this.#filesOf(context) });
    made.setConsoleOutputEnabled(false);
    return made;
  }
}
