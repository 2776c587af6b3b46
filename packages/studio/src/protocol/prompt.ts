/** Prompts of model calls, and their differences. */

import type { JsonObject, JsonValue, RunStatus as CallStatus, Usage } from 'troupe';
import type { PromptFacts } from 'troupe/studio';

/** One model call of the loop. `n` counts the model calls of a run from 1. */
export interface PromptInfo extends Pick<
  PromptFacts,
  'callId' | 'agentId' | 'agentPath' | 'purpose' | 'modelName'
> {
  readonly n: number;
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
