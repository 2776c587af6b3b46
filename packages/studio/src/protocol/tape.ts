/** The tape: entries of a run. */

import type { AgentEvent, ContentBlock, JsonObject, Usage } from 'troupe';
import type { CallInput } from 'troupe/studio';

import type { ActionRecord } from './action.ts';
import type { PromptInfo } from './prompt.ts';
import type { Waiting } from './waiting.ts';

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
  | (Omit<CallInput, 'messages'> & { readonly kind: 'input'; readonly messages: readonly MsgJson[] })
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
