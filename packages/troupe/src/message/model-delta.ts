import type { ContentBlock, ProviderMeta } from './blocks.ts';
import type { AnsweredBy } from './answered-by.ts';
import type { Usage } from './usage.ts';

/** Why a model stopped. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'refusal' | 'other';

export const FINISH_REASONS: readonly FinishReason[] = [
  'stop',
  'tool_calls',
  'length',
  'content_filter',
  'refusal',
  'other',
];

/**
 * One piece of a model's answer, as it arrives. Text and thinking go on where they
 * were, unless something else came in between, or the block has got its `providerMeta`,
 * which comes last. A tool call is made only once
 * `tool_use_end` has come: arguments that were cut off are never acted on.
 */
export type ModelDelta =
  | { readonly type: 'text'; readonly text: string; readonly providerMeta?: ProviderMeta }
  | { readonly type: 'thinking'; readonly thinking: string; readonly providerMeta?: ProviderMeta }
  | {
      readonly type: 'tool_use_start';
      readonly index: number;
      readonly id?: string;
      readonly name: string;
      readonly providerMeta?: ProviderMeta;
    }
  | { readonly type: 'tool_input'; readonly index: number; readonly json: string }
  | { readonly type: 'tool_use_end'; readonly index: number; readonly providerMeta?: ProviderMeta }
  /** Sound, as base64 that can be decoded by itself. Pieces in a row make one block. */
  | {
      readonly type: 'audio';
      readonly data: string;
      readonly mediaType: string;
      readonly providerMeta?: ProviderMeta;
    }
  | { readonly type: 'block'; readonly block: ContentBlock }
  /** What the answer cost in all so far: a later one replaces it. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: FinishReason }
  | { readonly type: 'response_id'; readonly id: string }
  /** The model that gives the answer, of several. A later one replaces it. */
  | ({ readonly type: 'answered_by' } & AnsweredBy)
  /** The answer starts anew, e.g. by another model: what came before is void, except for its usage. */
  | { readonly type: 'reset'; readonly reason: string };
