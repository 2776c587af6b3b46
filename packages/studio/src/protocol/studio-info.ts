/** Login, and general information about the Studio. */

/** `POST api/login`: `LoginRequest` → 204 and the cookie. The token is in the fragment of the printed address (`#t=…`). */
export interface LoginRequest {
  readonly token: string;
}

/** `GET api/info` → `StudioInfo`. */
export interface StudioInfo {
  readonly protocol: number;
  readonly version: string;
  readonly startedAt: string;
  /** Agents with which a conversation can be started from the page (`startStudio({ agents })`). */
  readonly agents: readonly OfferedAgent[];
  /** Whether `api/sessions` has a store. */
  readonly hasSessions: boolean;
  readonly storage: StorageInfo;
  readonly limits: StudioLimits;
  /** Connection facts for people: addresses for programs, whether the receivers are open. */
  readonly connect: ConnectInfo;
}

export interface OfferedAgent {
  /** Key in `startStudio({ agents })`. */
  readonly key: string;
  readonly name: string;
  readonly description: string;
  /** Model of the agent, for people, such as `offline model`. */
  readonly modelName?: string;
  /** Suggestions for the first messages of a conversation. */
  readonly suggestions: readonly Suggestion[];
  /** False if the agent is one object: then there is one conversation with it, and no branches. */
  readonly canStartMany: boolean;
  /** Names of models and tool sets that a branch may choose. Empty if the agent has no choice. */
  readonly models: readonly string[];
  readonly toolSets: readonly string[];
}

export interface Suggestion {
  /** Short label in English and Chinese. */
  readonly label: { readonly en: string; readonly zh: string };
  /** Text that is sent. */
  readonly text: string;
  /** Feature that the answer shows. */
  readonly shows:
    | 'streaming'
    | 'tool'
    | 'approval'
    | 'interrupt'
    | 'sub_agent'
    | 'plan'
    | 'question'
    | 'form';
}

export interface StorageInfo {
  /** Path of the database, for people. */
  readonly path: string;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly runs: number;
  /** Days after which finished runs are deleted; null: never. */
  readonly keepDays: number | null;
  /** Where a corrupt database was set aside at this start. */
  readonly setAside?: string;
  /** Why nothing is being written, such as a full disk. */
  readonly problem?: string;
}

export interface StudioLimits {
  readonly maxBodyBytes: number;
  readonly maxFileBytes: number;
}

export interface ConnectInfo {
  /** Address for `init({ studioUrl })`. */
  readonly studioUrl: string;
  /** Address for AgentScope programs (`agentscope.init(studio_url=…)`), with a key that can only write. */
  readonly agentscopeUrl: string;
  /** Address of the OTLP receiver, with the same key. */
  readonly otlpUrl: string;
}
