/**
 * The contract between the Studio's server and its page: every route, every live message and every record. Types and constants only, so
 * that the page imports this file as it is. `program-protocol.ts` of the library has the contract between a program and the server.
 *
 * Addresses are relative to the address of the page, so that the Studio works below any path. All bodies are JSON. Rules for every
 * request of the page:
 *
 * - `POST api/login` comes first. It sets a cookie that the browser then sends by itself; without the cookie every other route answers 401.
 * - State changes are `POST` with `content-type: application/json` and the header `x-troupe-studio: 1`. No `GET` changes anything.
 * - A failure has a status from 400 on and the body `ApiError`.
 *
 * Words: a *studio run* is one execution of a program (AgentScope's run), or one conversation that a person started from the page. It holds
 * any number of *agent calls*, each with the `runId` that its events carry. In this file `runId` alone is the id of a studio run, and
 * `callId` is the `runId` of an event.
 */

import type {
  AgentEvent,
  ContentBlock,
  JsonObject,
  JsonValue,
  PendingCall,
  RunStatus as CallStatus,
  ToolStatus,
  Usage,
} from 'troupe';

/** Version of this contract. The page shows a notice if the server's differs. */
export const STUDIO_PROTOCOL = 1;

/** Header that every state-changing request of the page carries, with the value `1`. */
export const STUDIO_HEADER = 'x-troupe-studio';

/** Scheme of a stored file in a media source: `studio-file:<id>`. The bytes are at `api/files/<id>`. */
export const FILE_SCHEME = 'studio-file:';

// Failures

/** Body of every failed request. `message` is for people. */
export interface ApiError {
  readonly code: ApiErrorCode;
  readonly message: string;
  /** Problems of single fields, such as fields of an answer with other types than its schema. */
  readonly problems?: readonly FieldProblem[];
}

export type ApiErrorCode =
  | 'unauthorized' // no cookie, or the Studio was restarted: log in again
  | 'forbidden' // foreign Host or Origin
  | 'not_found'
  | 'invalid' // the body does not fit
  | 'too_large'
  | 'gone' // no longer waiting, or the program has left
  | 'decided' // another window decided before
  | 'changed' // the arguments differ from the arguments that were shown
  | 'busy' // the agent answers another call
  | 'unsupported' // the run can not do this, such as a branch of a run of another program
  | 'timeout' // the program did not answer in time
  | 'failed'; // the program answered with an error

export interface FieldProblem {
  /** Path in the value, such as `['address', 'city']`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

// Login and general information

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
  readonly shows: 'streaming' | 'tool' | 'approval' | 'interrupt' | 'sub_agent' | 'plan' | 'form';
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

// Projects and studio runs

/** `GET api/projects` → `{ projects: Project[] }`, the most recent first. */
export interface Project {
  readonly name: string;
  readonly runs: number;
  readonly running: number;
  readonly lastAt: string;
  readonly usage: UsageSum;
}

/** `POST api/projects/delete`: `{ names: string[] }` → `{ deleted: number }` runs. */

/** Status of a studio run. `waiting`: a person is asked. `lost`: the program stopped without ending the run. */
export type StudioRunStatus = 'running' | 'waiting' | 'idle' | 'done' | 'failed' | 'lost';

/** Origin of a studio run. */
export type RunSource = 'program' | 'conversation' | 'agentscope' | 'otlp';

export interface StudioRun {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly source: RunSource;
  readonly status: StudioRunStatus;
  readonly createdAt: string;
  /** Time of the last entry. */
  readonly updatedAt: string;
  /** Number of the last entry; 0: none yet. */
  readonly lastSeq: number;
  /** Entries up to this number were removed by a limit of size; 0: none. */
  readonly removedUpTo: number;
  /** Whether the program is connected now. */
  readonly isConnected: boolean;
  /** Name of the first agent that was called. */
  readonly rootAgent?: string;
  /** First line of the last message, for lists. */
  readonly preview?: string;
  readonly messages: number;
  readonly errors: number;
  /** Number of questions and approvals that wait. */
  readonly waiting: number;
  /** Time in which an agent worked, and in which it waited for a person. */
  readonly workMs: number;
  readonly waitMs: number;
  readonly usage: UsageSum;
  /** Entries that the program dropped because the Studio was slow or away. */
  readonly dropped: number;
  /** The run and the entry that this run is a branch of. */
  readonly forkOf?: ForkPoint;
  /** Session in which the conversation is saved. */
  readonly sessionId?: string;
  /** Key of the agent of a conversation. */
  readonly agentKey?: string;
  readonly can: RunAbilities;
  /** Process id and versions of the program. */
  readonly program?: ProgramInfo;
}

/** Actions that a person can take in a run now. The page hides or disables the others. */
export interface RunAbilities {
  /** Send a message that starts an agent call. */
  readonly send: boolean;
  /** Interrupt, steer and follow up. */
  readonly stepIn: boolean;
  readonly branch: boolean;
  readonly replay: boolean;
}

export interface ProgramInfo {
  readonly pid?: number;
  readonly host?: string;
  readonly library: string;
  readonly protocol: number;
}

export interface ForkPoint {
  readonly runId: string;
  /** Entry of the parent from which on the branch is its own: the parent's entries before `seq` are the branch's history. */
  readonly seq: number;
}

/** Sum of the usage of model calls. */
export interface UsageSum {
  readonly modelCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly cost: number;
}

/**
 * `GET api/runs?project=&status=&source=&q=&agent=&cursor=&limit=` → `RunPage`, the most recent first. `q` searches names, projects, agents
 * and the text of messages. `status` may be repeated.
 */
export interface RunPage {
  readonly runs: readonly StudioRun[];
  /** Cursor of the next page. */
  readonly next?: string;
  readonly total: number;
}

/** `GET api/runs/:id` → `RunDetail`. */
export interface RunDetail {
  readonly run: StudioRun;
  readonly agents: readonly AgentInfo[];
  /** Everything that waits, the oldest first. */
  readonly waiting: readonly Waiting[];
  /** Runs that branched from this one. */
  readonly branches: readonly StudioRun[];
}

/** `POST api/runs/delete`: `{ ids: string[] }` → `{ deleted: number }`. */
/** `POST api/runs/:id/rename`: `{ name: string }` → `StudioRun`. */

export interface AgentInfo {
  readonly id: string;
  readonly name: string;
  /** Class of the agent, such as `ReActAgent`. */
  readonly className: string;
  /** Agent names from the outermost agent. */
  readonly path: readonly string[];
  readonly isRunning: boolean;
  readonly modelName?: string;
  /** Whether the program still has the agent, so that a person can step in. */
  readonly isReachable: boolean;
  /** Ids of the hubs in which it takes part: agents with the same id share a room. */
  readonly hubs: readonly string[];
}

// The tape: entries of a run

/** One entry of a run. `seq` counts from 1 without gaps; entries never change. The entries of a run, in order, are its tape. */
export type RunEntry = EntryBody & {
  readonly seq: number;
  /** When the server took it. */
  readonly at: string;
};

export type EntryBody =
  /** An event, to be folded by `ConversationView` of `troupe/events`. Long base64 is replaced by `studio-file:` addresses. */
  | { readonly kind: 'event'; readonly event: AgentEvent; readonly agentId: string }
  /** Messages with which an agent call began. `ConversationView.addMsg` takes them. */
  | {
      readonly kind: 'input';
      readonly callId: string;
      /** Reply of the agent call: messages of its agent carry this id (`MsgView.replyId`). */
      readonly replyId: string;
      readonly agentId: string;
      readonly agentPath: readonly string[];
      /** Tool call of the agent around: a sub-agent is folded under this tool call. Its messages are not added to the conversation. */
      readonly toolCallId?: string;
      readonly messages: readonly MsgJson[];
    }
  /** A whole message of an AgentScope program. The same id replaces the message before. */
  | {
      readonly kind: 'message';
      readonly replyId: string;
      readonly replyName: string;
      readonly replyRole: string;
      readonly msg: MsgJson;
    }
  /** A question or an approval appears, or its state changes. The last entry with an id counts. */
  | { readonly kind: 'waiting'; readonly waiting: Waiting }
  /** A person did something. */
  | { readonly kind: 'action'; readonly action: ActionRecord }
  /** A model call with its prompt: details at `api/runs/:id/prompts/:n`. */
  | { readonly kind: 'prompt'; readonly prompt: PromptInfo }
  /** The memory, plan, tools or state of an agent were read: details at `api/runs/:id/agents/:agentId`. */
  | { readonly kind: 'snapshot'; readonly agentId: string }
  /** The program dropped this many items because the Studio was slow or away. */
  | { readonly kind: 'dropped'; readonly count: number }
  /** The program connected, ended the run, or was lost. */
  | { readonly kind: 'program'; readonly state: 'connected' | 'ended' | 'lost'; readonly reason?: string };

/** A message as JSON (`msg.toJSON()`). */
export interface MsgJson {
  readonly id: string;
  readonly name: string;
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string | readonly ContentBlock[];
  readonly metadata?: JsonObject;
  readonly timestamp?: string;
  readonly usage?: Usage;
}

/**
 * `GET api/runs/:id/entries?after=&before=&limit=&compact=1` → `EntryPage`. `after` and `before` are exclusive. `compact` joins the deltas
 * of each block into one entry, which has the number of the last of them: for the first load of a run. Without `after` and with `before`
 * (or `tail=1`) the last `limit` entries come, in ascending order.
 */
export interface EntryPage {
  readonly entries: readonly RunEntry[];
  /** Number of the last entry of the run. */
  readonly lastSeq: number;
  /** Whether more entries follow in the requested direction. */
  readonly hasMore: boolean;
  /** Entries up to this number were removed. */
  readonly removedUpTo: number;
}

/** `GET api/files/:id` → the bytes of a stored file, as an attachment that nothing runs. Only for images and audio it is `inline`. */

// The live connection

/**
 * `GET api/live` (upgrade to WebSocket): one for each tab. The server checks Host, Origin and cookie before the upgrade. Frames are JSON
 * texts of `LiveRequest` and `LiveMessage`. A reader that is too slow is closed with the code 4008 and resumes by `after`. Code 4001: log in
 * again. Code 4013: the server ends.
 */
export type LiveRequest =
  /** Sends the list of runs as it changes. */
  | { readonly type: 'watch_runs' }
  /** Sends entries of a run with numbers greater than `after`, first the stored ones, then the new ones. */
  | { readonly type: 'watch_run'; readonly runId: string; readonly after: number }
  | { readonly type: 'unwatch_run'; readonly runId: string }
  | { readonly type: 'ping' };

export type LiveMessage =
  | { readonly type: 'hello'; readonly protocol: number; readonly startedAt: string }
  /** A run is new or has changed. Sent to watchers of runs, at most a few times in a second for each run. */
  | { readonly type: 'run'; readonly run: StudioRun }
  | { readonly type: 'runs_deleted'; readonly ids: readonly string[] }
  /** Entries in ascending order, without gaps, from `after + 1` on. */
  | { readonly type: 'entries'; readonly runId: string; readonly entries: readonly RunEntry[] }
  /** The stored entries were sent; what follows is new. */
  | { readonly type: 'caught_up'; readonly runId: string; readonly lastSeq: number }
  /** Entries `from` to `to` were asked for and are no longer kept. */
  | { readonly type: 'gap'; readonly runId: string; readonly from: number; readonly to: number }
  /** Everything that waits, in all runs: sent at the start and with each change, for *Now* and the title. */
  | { readonly type: 'waiting'; readonly waiting: readonly Waiting[] }
  /** A problem of the Studio itself, such as a full disk; undefined: over. */
  | { readonly type: 'problem'; readonly problem?: string }
  | { readonly type: 'pong' };

// Questions and approvals that wait for a person

/** A question or an approval: one record for each tool call id or question id, wherever in the tree of agents it was asked. */
export type Waiting = ApprovalWaiting | QuestionWaiting;

/** `waiting` → `sent` (to the program) → `decided`. `gone`: withdrawn, or the program has left. */
export type WaitingState = 'waiting' | 'sent' | 'decided' | 'gone';

interface WaitingBase {
  /** Id for the action: of the pending tool call, or of the question. */
  readonly id: string;
  readonly runId: string;
  readonly runName: string;
  /** Agent names from the outermost agent to the one that asks. */
  readonly agentPath: readonly string[];
  readonly askedAt: string;
  readonly state: WaitingState;
  readonly changedAt: string;
  /** Decision in one word for people: `allowed`, `edited`, `denied`, `answered`, or the reason why the record is gone. */
  readonly outcome?: string;
  /** Window that decided: the id in `ActionRequest.windowId`. */
  readonly decidedBy?: string;
}

/** A pending tool call: of kind `approval` it needs permission, of kind `external` somebody gives its result. */
export interface ApprovalWaiting extends WaitingBase {
  readonly kind: 'approval';
  readonly pending: PendingCall;
  /** Hash of the arguments shown. A decision carries the hash, so that nobody approves arguments without seeing them. */
  readonly argsHash: string;
  /** JSON Schema of the tool's arguments, for the form of *Edit*. */
  readonly schema?: JsonObject;
  /** Arguments that a person put in their place. */
  readonly editedInput?: JsonObject;
}

/** A question of a `UserAgent`. */
export interface QuestionWaiting extends WaitingBase {
  readonly kind: 'question';
  readonly agentId: string;
  readonly agentName: string;
  /** JSON Schema of the structured answer, for a form; null: text only. */
  readonly schema: JsonObject | null;
}

/** `GET api/waiting` → `{ waiting: Waiting[] }` of all runs, the oldest first. */

// Actions

/**
 * `POST api/runs/:id/actions`: `ActionRequest` → 200 `ActionResult`, after the program has taken the action. Failures are `ApiError` with the
 * codes `gone`, `decided`, `changed`, `busy`, `invalid` (with `problems`), `timeout`, `failed`.
 */
export interface ActionRequest {
  readonly action: Action;
  /** Random id of the tab, so that the page knows its own actions again. */
  readonly windowId: string;
}

export type Action =
  /** Starts an agent call with a message. Without `agentId`: the agent of the conversation. */
  | { readonly type: 'send'; readonly agentId?: string; readonly content: string | readonly ContentBlock[] }
  | {
      readonly type: 'interrupt';
      readonly agentId?: string;
      readonly content?: string | readonly ContentBlock[];
    }
  | { readonly type: 'steer'; readonly agentId?: string; readonly content: string | readonly ContentBlock[] }
  | {
      readonly type: 'follow_up';
      readonly agentId?: string;
      readonly content: string | readonly ContentBlock[];
    }
  /** Decides one pending tool call. Others of the same agent stay pending. */
  | { readonly type: 'decide'; readonly id: string; readonly argsHash: string; readonly decision: Decision }
  /** Answers a question. */
  | {
      readonly type: 'answer';
      readonly id: string;
      readonly content: string | readonly ContentBlock[];
      readonly structured?: JsonObject;
    };

export type Decision =
  /** `input`: edited arguments. `scope: 'run'`: also allows further calls of this tool until the reply ends. */
  | { readonly verdict: 'allow'; readonly input?: JsonObject; readonly scope?: 'once' | 'run' }
  | { readonly verdict: 'deny'; readonly reason?: string }
  /** Result of a tool that somebody outside runs. */
  | { readonly verdict: 'result'; readonly output: string; readonly status?: ToolStatus };

export interface ActionResult {
  readonly ok: true;
  /** Number of the entry that records the action. */
  readonly seq: number;
}

/** An action as the tape keeps it. */
export interface ActionRecord {
  readonly type: Action['type'];
  readonly agentId?: string;
  readonly windowId: string;
  /** Id of the decided or answered record. */
  readonly waitingId?: string;
  readonly content?: string | readonly ContentBlock[];
  readonly structured?: JsonObject;
  readonly decision?: Decision;
}

// Traces

/** `GET api/runs/:id/spans?source=&after=&limit=` → `SpanPage`. `GET api/traces/:traceId` → `SpanPage` of one trace. */
export interface SpanPage {
  readonly spans: readonly Span[];
  /** Sources that have spans. `events`: made from the events of the run; `otlp`: sent by a tracer. @default the first */
  readonly sources: readonly SpanSource[];
  readonly source: SpanSource;
  readonly total: number;
}

export type SpanSource = 'events' | 'otlp';

/** One span. Times are milliseconds since 1970, with fractions. */
export interface Span {
  readonly id: string;
  readonly traceId: string;
  readonly parentId?: string;
  readonly name: string;
  readonly kind: 'agent' | 'model' | 'tool' | 'wait' | 'other';
  readonly startMs: number;
  /** Missing while it runs. */
  readonly endMs?: number;
  readonly status: 'running' | 'ok' | 'error' | 'interrupted' | 'suspended';
  readonly agentPath: readonly string[];
  readonly modelName?: string;
  readonly toolName?: string;
  readonly toolCallId?: string;
  readonly usage?: Usage;
  readonly error?: string;
  /** Entry of the run at the start of the span, and its message: to select both together. */
  readonly seq?: number;
  readonly msgId?: string;
  /** Attributes of a tracer. Keys are untrusted text. */
  readonly attributes: Readonly<Record<string, JsonValue>>;
  readonly events: readonly SpanEvent[];
}

export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, JsonValue>>;
}

/** `GET api/traces?q=&cursor=&limit=` → `TracePage`: traces of all programs, the most recent first. */
export interface TracePage {
  readonly traces: readonly TraceInfo[];
  readonly next?: string;
}

export interface TraceInfo {
  readonly traceId: string;
  readonly name: string;
  readonly service: string;
  readonly runId?: string;
  readonly startMs: number;
  readonly durationMs: number;
  readonly spans: number;
  readonly errors: number;
  readonly usage: UsageSum;
}

// Prompts of model calls

/** One model call of the loop. `n` counts the model calls of a run from 1. */
export interface PromptInfo {
  readonly n: number;
  readonly callId: string;
  readonly agentId: string;
  readonly agentPath: readonly string[];
  readonly purpose: string;
  readonly modelName: string;
  readonly messages: number;
  readonly tools: number;
  /** Length of the JSON of all parts. */
  readonly bytes: number;
}

/** `GET api/runs/:id/prompts?agentId=` → `{ prompts: (PromptInfo & PromptOutcome)[] }`. */
export interface PromptOutcome {
  readonly seq: number;
  readonly at: string;
  readonly usage?: Usage;
  readonly durationMs?: number;
  readonly status?: CallStatus;
  readonly msgId?: string;
}

/** `GET api/runs/:id/prompts/:n` → `PromptDetail`. */
export interface PromptDetail extends PromptInfo, PromptOutcome {
  readonly parts: readonly PromptPart[];
  readonly settings: JsonObject;
}

/** One part of a prompt: a message or the schema of a tool. Parts with the same hash are the same. */
export interface PromptPart {
  readonly kind: 'system' | 'tool' | 'message' | 'hint';
  readonly hash: string;
  readonly value: JsonValue;
  /** Text of the part, for diffs. */
  readonly text: string;
  /** Estimated number of tokens. */
  readonly tokens: number;
  /** Estimated from the provider's count of cached tokens: whether the part was read from the cache. */
  readonly isCached: boolean;
}

/**
 * `GET api/runs/:id/prompts/:n/diff?to=&run=` → `PromptDiff` against model call `to` of the same run, or of `run`.
 * @default the model call before of the same agent
 */
export interface PromptDiff {
  readonly before: PromptInfo | null;
  readonly after: PromptInfo;
  readonly changes: readonly PromptChange[];
  /** Settings that differ: `[before, after]`. */
  readonly settings: Readonly<Record<string, readonly [JsonValue | null, JsonValue | null]>>;
}

/** `changed` has both parts: the page shows the difference of their texts. */
export type PromptChange =
  | { readonly type: 'same'; readonly count: number; readonly tokens: number }
  | { readonly type: 'added'; readonly part: PromptPart }
  | { readonly type: 'removed'; readonly part: PromptPart }
  | { readonly type: 'changed'; readonly before: PromptPart; readonly after: PromptPart };

// Inside an agent

/**
 * `GET api/runs/:id/agents/:agentId?at=&refresh=1` → `AgentInside`. `at`: the last snapshot up to that entry. `refresh`: asks the program
 * now, if it is connected.
 */
export interface AgentInside {
  readonly agent: AgentInfo;
  /** When and at which entry it was read. */
  readonly readAt: string;
  readonly seq: number;
  /** Parts that the agent does not have are missing. */
  readonly memory?: MemoryInside;
  readonly plan?: PlanInside | null;
  readonly toolGroups?: readonly ToolGroupInside[];
  readonly budget?: BudgetInside;
  readonly hooks: readonly HookInside[];
  /** State tree as `stateDict()` gives it, without secrets. */
  readonly state?: JsonObject;
  readonly sysPrompt?: string;
  /** Parts that were too large and were left out. */
  readonly leftOut: readonly string[];
}

export interface MemoryInside {
  readonly className: string;
  /** `working`: messages of the next prompt. `original`: all messages of the conversation. */
  readonly working: readonly MemoryMsg[];
  readonly original?: readonly MemoryMsg[];
  readonly offloaded?: readonly OffloadedInside[];
  readonly compressions: readonly CompressionInside[];
}

export interface MemoryMsg {
  readonly msg: MsgJson;
  readonly marks: readonly string[];
}

export interface OffloadedInside {
  readonly id: string;
  readonly messages: readonly MsgJson[];
}

export interface CompressionInside {
  readonly at: string;
  readonly strategy: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  /** Ids of the messages that it removed. */
  readonly removedIds: readonly string[];
  readonly summaryId?: string;
}

export interface PlanInside {
  readonly name: string;
  readonly description: string;
  readonly state: string;
  readonly outcome?: string;
  readonly subtasks: readonly SubtaskInside[];
}

export interface SubtaskInside {
  readonly name: string;
  readonly description: string;
  readonly state: 'todo' | 'in_progress' | 'done' | 'abandoned';
  readonly outcome?: string;
}

export interface ToolGroupInside {
  readonly name: string;
  readonly description: string;
  readonly isActive: boolean;
  readonly tools: readonly ToolInside[];
}

export interface ToolInside {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
}

export interface BudgetInside {
  readonly spent: UsageSum;
  readonly limits: Readonly<Record<string, number>>;
}

export interface HookInside {
  readonly type: string;
  readonly name: string;
  readonly level: 'instance' | 'class';
}

// Conversations, branches, replays

/** `POST api/conversations`: `ConversationRequest` → `StudioRun`. */
export interface ConversationRequest {
  /** Key of an offered agent. */
  readonly agent: string;
  readonly name?: string;
}

/**
 * `GET api/runs/:id/turns` → `{ turns: Turn[] }`: the agent calls of a run from which it can be branched or replayed.
 */
export interface TurnInfo {
  readonly callId: string;
  /** Entry of the input, and of the end. */
  readonly seq: number;
  readonly endSeq?: number;
  readonly input: readonly MsgJson[];
  readonly status?: CallStatus;
  /** First line of the answer. */
  readonly answer?: string;
  readonly canBranch: boolean;
  readonly canReplay: boolean;
  /** Tools that ran in this turn and in later ones, with their counts: they would act again in a branch. */
  readonly tools: Readonly<Record<string, number>>;
}

/**
 * `POST api/runs/:id/branch`: `BranchRequest` → `StudioRun`, a new run whose history is the parent's before the turn. The turn then runs
 * live: it may spend and act. `tools`: what tools do in the branch. @default 'ask'
 */
export interface BranchRequest {
  /** Turn (`TurnInfo.callId`) that is said again. */
  readonly callId: string;
  /** Message in place of the turn's input. @default the same input */
  readonly content?: string | readonly ContentBlock[];
  readonly model?: string;
  readonly toolSet?: string;
  readonly tools?: 'run' | 'ask' | 'recorded';
}

/**
 * `POST api/runs/:id/replay`: `{ callId: string }` → `ReplayReport`. The turn runs against the present code with the recorded answers of
 * models and tools: nothing is spent, nothing acts. It stops at the first difference.
 */
export interface ReplayReport {
  readonly callId: string;
  /** Steps that were the same. */
  readonly steps: number;
  /** `same`: the whole turn. */
  readonly result: 'same' | 'different' | 'failed';
  readonly difference?: ReplayDifference;
}

export interface ReplayDifference {
  readonly kind: 'prompt' | 'step' | 'answer' | 'error';
  /** For people, such as `The prompt of model call 2 differs`. */
  readonly message: string;
  readonly before?: string;
  readonly after?: string;
  /** Changes of a prompt. */
  readonly changes?: readonly PromptChange[];
}

/** `GET api/compare?a=&b=` → `Comparison` of two runs, aligned at their fork, otherwise turn by turn. */
export interface Comparison {
  readonly a: StudioRun;
  readonly b: StudioRun;
  readonly rows: readonly ComparedTurn[];
  /** Index of the first row that differs. */
  readonly firstDifferent?: number;
}

export interface ComparedTurn {
  readonly a?: TurnInfo;
  readonly b?: TurnInfo;
  readonly isSame: boolean;
  /** Whether both are the same recorded turn, before the fork. */
  readonly isShared: boolean;
}

// Sessions

/** `GET api/sessions?cursor=&limit=` → `SessionList`. */
export interface SessionList {
  readonly sessions: readonly StudioSession[];
  readonly next?: string;
}

export interface StudioSession {
  readonly id: string;
  readonly agentKey?: string;
  readonly title?: string;
  readonly updatedAt: string;
  readonly revision: number;
  /** Run of the conversation, if it is open. */
  readonly runId?: string;
}

/** `POST api/sessions/:id/resume`: `{}` → `StudioRun`, the conversation with this session. */
/** `POST api/sessions/:id/branch`: `{}` → `StudioRun`, a conversation with a copy of this session. */
/** `GET api/sessions/:id/export` → `SessionFile`, as an attachment. */
/** `POST api/sessions/import`: `SessionFile` → `StudioSession`, under a new id. */
/** `POST api/sessions/delete`: `{ ids: string[] }` → `{ deleted: number }`. */
export interface SessionFile {
  readonly format: 'troupe-studio-session';
  readonly version: 1;
  readonly agentKey?: string;
  readonly title?: string;
  readonly state: JsonObject;
}

// Charts

/**
 * `GET api/charts?from=&to=&by=model|agent|tool&project=` → `Charts`. Times are ISO texts.
 * @default the last 24 hours, by model
 */
export interface Charts {
  readonly from: string;
  readonly to: string;
  /** Length of one bucket. */
  readonly bucketMs: number;
  /** Start of each bucket, in milliseconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly totals: ChartTotals;
}

/** Values of one model, agent or tool, one for each bucket. */
export interface ChartSeries {
  readonly key: string;
  readonly calls: readonly number[];
  readonly errors: readonly number[];
  readonly inputTokens: readonly number[];
  readonly outputTokens: readonly number[];
  readonly cachedTokens: readonly number[];
  readonly cost: readonly number[];
  /** Mean and 95th percentile of the duration; null: no calls. */
  readonly meanMs: readonly (number | null)[];
  readonly p95Ms: readonly (number | null)[];
  readonly totals: ChartTotals;
}

export interface ChartTotals extends UsageSum {
  readonly calls: number;
  readonly errors: number;
  readonly meanMs: number | null;
  readonly p95Ms: number | null;
}
