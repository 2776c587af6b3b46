import type { ContentBlock, ProviderMeta } from './blocks.ts';
import type { Citation } from './citation.ts';
import type { AnsweredBy } from './answered-by.ts';
import type { Usage } from './usage.ts';

/** Reason for the end of a model message. */
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
 * One piece of a model message while it streams. Text and thinking continue the last
 * block, unless a delta of another type came in between or the block already has its
 * `providerMeta`, which comes last. A tool call counts only after its `tool_use_end`:
 * incomplete arguments never run a tool.
 *
 * @example
 * ```ts
 * import { ChatModelBase, ReActAgent } from 'troupe';
 * import type { ModelDelta } from 'troupe/provider';
 *
 * class ParrotModel extends ChatModelBase {
 *   async *stream(): AsyncIterable<ModelDelta> {
 *     yield { type: 'text', text: 'Hello, ' };
 *     yield { type: 'text', text: 'hello!' };
 *     yield { type: 'finish', reason: 'stop' };
 *   }
 * }
 * const model = new ParrotModel('parrot');
 * const agent = new ReActAgent({ name: 'Polly', model, console: false });
 * console.log((await agent.call('Hi!')).text); // Hello, hello!
 * ```
 */
export type ModelDelta =
  | { readonly type: 'text'; readonly text: string; readonly providerMeta?: ProviderMeta }
  | { readonly type: 'thinking'; readonly thinking: string; readonly providerMeta?: ProviderMeta }
  /** Sources of the text before, which is the last block. */
  | { readonly type: 'citations'; readonly citations: readonly Citation[] }
  | {
      readonly type: 'tool_use_start';
      readonly index: number;
      readonly id?: string;
      readonly name: string;
      /** The provider that runs the tool itself: the block is a `provider_tool_use`, and no tool call. */
      readonly executedBy?: string;
      readonly providerMeta?: ProviderMeta;
    }
  | { readonly type: 'tool_input'; readonly index: number; readonly json: string }
  | { readonly type: 'tool_use_end'; readonly index: number; readonly providerMeta?: ProviderMeta }
  /** One piece of audio, as base64 that decodes on its own. Consecutive pieces form one block; so do pieces with the same `index`. */
  | {
      readonly type: 'audio';
      /** Number of the sound. Text may come between its pieces, and is one text then. */
      readonly index?: number;
      readonly data: string;
      readonly mediaType: string;
      readonly providerMeta?: ProviderMeta;
    }
  | { readonly type: 'block'; readonly block: ContentBlock }
  /** An image as far as it is made, in place of the last one. The whole image follows as a `block`. */
  | { readonly type: 'partial_image'; readonly data: string; readonly mediaType: string }
  /** Total usage so far; replaces the previous usage. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: FinishReason }
  | { readonly type: 'response_id'; readonly id: string }
  /** Data of the provider about the answer as a whole. Merged with earlier deltas of this type, key by key of the provider. */
  | { readonly type: 'provider_meta'; readonly providerMeta: ProviderMeta }
  /** The model that gives the answer, of several; a later delta of this type replaces it. */
  | ({ readonly type: 'answered_by' } & AnsweredBy)
  /** The message starts again, e.g. from another model: all earlier deltas are void, but their usage counts. */
  | { readonly type: 'reset'; readonly reason: string };
