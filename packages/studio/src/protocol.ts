/**
 * The contract between the Studio's server and its page: every route, every live message and every record. Types and constants only, so
 * that the page imports this file as it is; each subject has a file in the folder `protocol`. `program-protocol.ts` of the library has
 * the contract between a program and the server, and the facts that both contracts carry are defined there.
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

export type { FieldProblem } from 'troupe/studio';

export type { ApiError, ApiErrorCode } from './protocol/failures.ts';
export type {
  ConnectInfo,
  LoginRequest,
  OfferedAgent,
  StorageInfo,
  StudioInfo,
  StudioLimits,
  Suggestion,
} from './protocol/studio-info.ts';
export type {
  AgentInfo,
  ForkPoint,
  ProgramInfo,
  Project,
  RunAbilities,
  RunDetail,
  RunPage,
  RunSource,
  StudioRun,
  StudioRunStatus,
  UsageSum,
} from './protocol/studio-run.ts';
export type { EntryBody, EntryPage, MsgJson, RunEntry } from './protocol/tape.ts';
export type { LiveMessage, LiveRequest } from './protocol/live.ts';
export type { ApprovalWaiting, QuestionWaiting, Waiting, WaitingState } from './protocol/waiting.ts';
export type { Action, ActionRecord, ActionRequest, ActionResult, Decision } from './protocol/action.ts';
export type { Span, SpanEvent, SpanPage, SpanSource, TraceInfo, TracePage } from './protocol/span.ts';
export type {
  PromptChange,
  PromptDetail,
  PromptDiff,
  PromptInfo,
  PromptOutcome,
  PromptPart,
} from './protocol/prompt.ts';
export type {
  AgentInside,
  BudgetInside,
  CompressionInside,
  HookInside,
  MemoryInside,
  MemoryMsg,
  OffloadedInside,
  PlanInside,
  SubtaskInside,
  ToolGroupInside,
  ToolInside,
} from './protocol/agent-inside.ts';
export type {
  BranchRequest,
  ComparedTurn,
  Comparison,
  ConversationRequest,
  ReplayDifference,
  ReplayReport,
  TurnInfo,
} from './protocol/turn.ts';
export type { SessionFile, SessionList, StudioSession } from './protocol/session.ts';
export type { ChartSeries, ChartTotals, Charts } from './protocol/charts.ts';

/** Version of this contract. The page shows a notice if the server's differs. */
export const STUDIO_PROTOCOL = 1;

/** Header that every state-changing request of the page carries, with the value `1`. */
export const STUDIO_HEADER = 'x-troupe-studio';

/** Scheme of a stored file in a media source: `studio-file:<id>`. The bytes are at `api/files/<id>`. */
export const FILE_SCHEME = 'studio-file:';
