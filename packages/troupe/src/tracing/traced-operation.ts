import type { FinishReason } from '../message/model-delta.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from '../message/usage.ts';
import type { GenerationOptions, ModelRequest } from '../model/model-request.ts';

/** Description of a model in a span. */
export interface TracedModel {
  readonly modelName: string;
  /** Name of the provider, if known. */
  readonly vendorName: string | undefined;
  /** Host of the server with its port, if there is one. */
  readonly host: string | undefined;
}

/** One operation of a run that is a span: its kind, and the data from which the attributes are made. */
export type TracedOperation =
  | {
      readonly type: 'agent';
      readonly id: string;
      readonly name: string;
      /** Ids of the events of this agent call. */
      readonly runId: string;
      readonly replyId: string;
      readonly agentPath: readonly string[];
      readonly input: readonly Msg[];
    }
  | {
      readonly type: 'model';
      readonly model: TracedModel & { readonly generation: GenerationOptions };
      readonly request: ModelRequest;
    }
  | { readonly type: 'tool'; readonly call: ToolUseBlock; readonly description: string | undefined }
  | { readonly type: 'format'; readonly target: string; readonly msgCount: number }
  | {
      readonly type: 'embedding';
      readonly model: TracedModel;
      readonly inputCount: number;
      readonly dimensions: number | undefined;
    }
  | { readonly type: 'retrieval'; readonly source: string; readonly query: () => string }
  | { readonly type: 'compression'; readonly isForced: boolean }
  | { readonly type: 'session'; readonly action: 'save' | 'load'; readonly components: readonly string[] }
  | {
      readonly type: 'subagent';
      readonly action: 'delegate' | 'register';
      readonly name: string;
      readonly supervisor: string;
      readonly tags: readonly string[];
    }
  | {
      readonly type: 'mcp';
      readonly side: 'client' | 'server';
      /** Method of the protocol, such as `tools/call`. */
      readonly method: string;
      /** Name of the tool or prompt. */
      readonly target: string | undefined;
      /** Name of the server for the client. */
      readonly server: string | undefined;
      readonly transport: 'stdio' | 'http' | undefined;
    }
  | { readonly type: 'a2a'; readonly agentName: string }
  | { readonly type: 'function'; readonly name: string; readonly input: readonly unknown[] };

/** Ending of an operation. `suspended` is no failure: a decision is awaited. */
export type SpanStatus = 'ok' | 'error' | 'interrupted' | 'aborted' | 'suspended' | 'denied' | 'unavailable';

/** The end of an operation, and what is known then. */
export interface SpanOutcome {
  readonly status: SpanStatus;
  /** Thrown value, or a code and one line without content of the conversation. */
  readonly error?: unknown;
  /** Answer of an agent or of a model. */
  readonly answer?: Msg | undefined;
  readonly usage?: Usage | undefined;
  readonly finishReason?: FinishReason | undefined;
  readonly responseId?: string | undefined;
  /** Time from the start to the first delta of a model. */
  readonly firstDeltaMs?: number | undefined;
  readonly toolResult?: ToolResultBlock | undefined;
  /** Number of results: prompt items, documents, vectors. */
  readonly count?: number | undefined;
  /** Whether a compression changed the conversation. */
  readonly hasChanged?: boolean | undefined;
  /** Number of the saved revision. */
  readonly revision?: number | undefined;
  /** Return value of a function of the program. */
  readonly output?: unknown;
}
