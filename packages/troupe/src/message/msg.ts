import { InvalidMsgError } from '../errors.ts';
import { timestamp } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import { describe, isJsonObject, setOwn, type JsonObject, type JsonValue } from '../util/json.ts';
import {
  MAX_BLOCK_DEPTH,
  toBlock,
  toJsonObject,
  type BlockOf,
  type BlockType,
  type ContentBlock,
  type ProviderMeta,
} from './blocks.ts';
import { toAnsweredBy, type AnsweredBy } from './answered-by.ts';
import { END_REASONS, type EndReason } from './end-reason.ts';
import { FINISH_REASONS, type FinishReason } from './model-delta.ts';
import { fromOldForm } from './old-form.ts';
import { toPendingCalls, type PendingCall } from './pending-call.ts';
import { toUsage, type Usage } from './usage.ts';

export type Role = 'user' | 'assistant' | 'system';

export interface MsgInit {
  readonly name: string;
  readonly role: Role;
  readonly content: string | readonly ContentBlock[];
  readonly id?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly timestamp?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly endReason?: EndReason | undefined;
  readonly finishReason?: FinishReason | undefined;
  readonly responseId?: string | undefined;
  readonly answeredBy?: AnsweredBy | undefined;
  readonly providerMeta?: ProviderMeta | undefined;
  /** Pending tool calls. An empty list is the same as none. */
  readonly pending?: readonly PendingCall[] | undefined;
  /** The structured output, as returned by the schema. `metadata` holds the same data as JSON. */
  readonly structured?: unknown;
}

interface MsgInternals {
  readonly blocks?: readonly ContentBlock[];
  readonly extra?: JsonObject;
}

/** Further fields for shorthands such as `Msg.user`. */
export type MsgExtras = Partial<Omit<MsgInit, 'content' | 'role'>>;

/** Input of an agent call: messages, text or nothing. */
export type MsgInput = Msg | string | readonly Msg[] | null | undefined;

/** The answer of an agent call with `structuredModel`. `structured` is undefined after an interrupt or a suspension. */
export interface StructuredMsg<Output> extends Msg {
  readonly structured?: Output;
}

const ROLES: readonly Role[] = ['user', 'assistant', 'system'];
const KEYS: ReadonlySet<string> = new Set([
  'id',
  'name',
  'role',
  'content',
  'metadata',
  'timestamp',
  'usage',
  'endReason',
  'finishReason',
  'responseId',
  'answeredBy',
  'providerMeta',
  'pending',
]);
/** Maximum nesting of a message. The block of a pending tool call is two levels deeper than a block of the content. */
const MAX_MSG_DEPTH = MAX_BLOCK_DEPTH + 4;
const EMPTY: JsonObject = Object.freeze({});
const extraKeys = Symbol('extraKeys');

/**
 * One message of a conversation. Deeply immutable: derived values can be cached,
 * nothing needs copying, and no hook can change a history. `toJSON` and `Msg.from`
 * are exact inverses, including keys unknown to this version. Folder `message`: start here.
 *
 * @example
 * ```ts
 * import { Msg } from 'troupe';
 *
 * const question = Msg.user('What is on the picture?', { name: 'ann' });
 * const shorter = question.with({ content: 'What is it?' }); // a copy with the same id
 * console.log(shorter.text, JSON.stringify(Msg.from(question.toJSON())));
 * ```
 */
export class Msg {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly content: string | readonly ContentBlock[];
  readonly metadata: JsonObject;
  readonly timestamp: string;
  /** On replies: the cost of all model calls of the reply. */
  declare readonly usage?: Usage;
  /** On the last message of a reply: the reason for its end. */
  declare readonly endReason?: EndReason;
  /** On model messages: the reason for their end. */
  declare readonly finishReason?: FinishReason;
  /** On model messages: the provider's id of the response. */
  declare readonly responseId?: string;
  /** On model messages of a FallbackModel: the model that gave the answer, unless it is the first. */
  declare readonly answeredBy?: AnsweredBy;
  /** On model messages: what the provider says about the answer besides its blocks, such as a service tier. Kept unchanged. */
  declare readonly providerMeta?: ProviderMeta;
  /** On the reply of a suspended agent call: the pending tool calls. */
  declare readonly pending?: readonly PendingCall[];
  /**
   * On the answer of an agent call with `structuredModel`: the structured output, as returned by the schema. Not part of the JSON;
   * a loaded message has the same data in `metadata`.
   */
  declare readonly structured?: unknown;
  declare readonly [extraKeys]?: JsonObject;

  /**
   * @param internals for this folder only: checked and frozen blocks, and unknown keys to keep
   * @throws InvalidMsgError
   */
  constructor(init: MsgInit, internals: MsgInternals = {}) {
    if (!isJsonObject(init)) throw new InvalidMsgError(`A message must be an object, not ${describe(init)}.`);
    this.id = text(init.id ?? newId(), 'id');
    this.name = text(init.name, 'name');
    this.role = oneOf(ROLES, init.role, 'role');
    this.content = internals.blocks ?? toContent(init.content);
    this.metadata = init.metadata === undefined ? EMPTY : toJsonObject(init.metadata, 'metadata');
    this.timestamp = text(init.timestamp ?? timestamp(), 'timestamp');
    if (init.usage !== undefined) this.usage = toUsage(init.usage);
    if (init.endReason !== undefined) this.endReason = oneOf(END_REASONS, init.endReason, 'endReason');
    if (init.finishReason !== undefined)
      this.finishReason = oneOf(FINISH_REASONS, init.finishReason, 'finishReason');
    if (init.responseId !== undefined) this.responseId = text(init.responseId, 'responseId');
    if (init.answeredBy !== undefined) this.answeredBy = toAnsweredBy(init.answeredBy);
    if (init.providerMeta !== undefined) this.providerMeta = toJsonObject(init.providerMeta, 'providerMeta');
    const pending = init.pending === undefined ? [] : toPendingCalls(init.pending);
    if (pending.length > 0) this.pending = pending;
    if (init.structured !== undefined) Object.defineProperty(this, 'structured', { value: init.structured });
    if (internals.extra !== undefined) Object.defineProperty(this, extraKeys, { value: internals.extra });
    if (new.target === Msg) Object.freeze(this);
  }

  /** A message from the user. */
  static user(content: MsgInit['content'], extras: MsgExtras = {}): Msg {
    return new Msg({ name: 'user', ...extras, role: 'user', content });
  }

  /** A message from an agent. */
  static assistant(content: MsgInit['content'], extras: MsgExtras = {}): Msg {
    return new Msg({ name: 'assistant', ...extras, role: 'assistant', content });
  }

  /** A message from the system. Messages with tool results have this role too. */
  static system(content: MsgInit['content'], extras: MsgExtras = {}): Msg {
    return new Msg({ name: 'system', ...extras, role: 'system', content });
  }

  /**
   * Restores the JSON of `toJSON`, from this version or from an earlier version. Runs no code from the JSON.
   * @throws InvalidMsgError if `json` is not a message.
   */
  static from(json: unknown): Msg {
    const fields = fromOldForm(toJsonObject(json, 'the message', MAX_MSG_DEPTH));
    for (const key of ['id', 'timestamp']) text(fields[key], key);
    return fromFields(fields);
  }

  /** The input of an agent call as a list: a string becomes a user message, undefined and null an empty list. */
  static list(input: MsgInput): readonly Msg[] {
    if (input === undefined || input === null) return [];
    if (typeof input === 'string') return [Msg.user(input)];
    const msgs: unknown = input instanceof Msg ? [input] : input;
    if (!Array.isArray(msgs)) {
      throw new InvalidMsgError(
        `Expected a Msg, a list of Msg, a string or nothing, not ${describe(input)}.`,
      );
    }
    return Object.freeze(Array.from(msgs, toMsg));
  }

  /** A copy with changed fields. The id stays, unless a new id is given; `structured` stays while `metadata` stays. */
  with({ structured, ...changes }: Partial<MsgInit>): Msg {
    const fields = toJsonObject({ ...this.toJSON(), ...definedOnly(changes) }, 'the message', MAX_MSG_DEPTH);
    return fromFields(fields, structured ?? (changes.metadata === undefined ? this.structured : undefined));
  }

  /** The text blocks, joined; the empty string when there are none. */
  get text(): string {
    return this.getTextContent() ?? '';
  }

  /** The text blocks, joined; undefined when there are none. */
  getTextContent(separator = '\n'): string | undefined {
    if (typeof this.content === 'string') return this.content;
    const texts = this.getContentBlocks('text').map((block) => block.text);
    return texts.length === 0 ? undefined : texts.join(separator);
  }

  /** All blocks, or the blocks of some types. A string as content counts as one text block. */
  getContentBlocks(): readonly ContentBlock[];
  getContentBlocks<Type extends BlockType>(type: Type | readonly Type[]): readonly BlockOf<Type>[];
  getContentBlocks(type?: BlockType | readonly BlockType[]): readonly ContentBlock[] {
    const blocks: readonly ContentBlock[] =
      typeof this.content === 'string' ? [{ type: 'text', text: this.content }] : this.content;
    if (type === undefined) return blocks;
    const types = typeof type === 'string' ? [type] : type;
    return blocks.filter((block) => types.includes(block.type));
  }

  hasContentBlocks(type?: BlockType | readonly BlockType[]): boolean {
    return (type === undefined ? this.getContentBlocks() : this.getContentBlocks(type)).length > 0;
  }

  toJSON(): JsonObject {
    const { id, name, role, content, metadata, timestamp } = this;
    const { usage, endReason, finishReason, responseId, answeredBy, providerMeta, pending } = this;
    const json = {
      id,
      name,
      role,
      content,
      metadata,
      timestamp,
      ...(usage && { usage }),
      ...(endReason && { endReason }),
      ...(finishReason && { finishReason }),
      ...(responseId !== undefined && { responseId }),
      ...(answeredBy && { answeredBy }),
      ...(providerMeta && { providerMeta }),
      ...(pending && { pending: pending as readonly (JsonObject & PendingCall)[] }),
      ...this[extraKeys],
    };
    return json as JsonObject;
  }
}

function toMsg(msg: unknown, i: number): Msg {
  if (msg instanceof Msg) return msg;
  throw new InvalidMsgError(`Expected a list of Msg, but number ${i} is ${describe(msg)}.`);
}

/** A message from JSON fields. Unknown fields are kept. */
function fromFields(fields: JsonObject, structured?: unknown): Msg {
  const extra: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (!KEYS.has(key) && value !== undefined) setOwn(extra, key, value);
  }
  const hasExtra = Object.keys(extra).length > 0;
  return new Msg({ ...known(fields), structured }, hasExtra ? { extra: Object.freeze(extra) } : {});
}

function known(fields: JsonObject): MsgInit {
  const { id, name, role, content, metadata, timestamp, usage, ...rest } = fields as JsonObject & MsgInit;
  const { endReason, finishReason, responseId, answeredBy, providerMeta, pending } = rest;
  const init = { id, name, role, content, metadata, timestamp, usage };
  return { ...init, endReason, finishReason, responseId, answeredBy, providerMeta, pending };
}

function definedOnly(changes: object): object {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

function toContent(content: unknown): string | readonly ContentBlock[] {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) {
    throw new InvalidMsgError(`content must be a string or a list of blocks, not ${describe(content)}.`);
  }
  return Object.freeze(Array.from(content, (block: unknown, i) => toBlock(block, `content[${i}]`)));
}

function text(value: unknown, key: string): string {
  if (typeof value !== 'string')
    throw new InvalidMsgError(`${key} must be a string, not ${describe(value)}.`);
  return value;
}

function oneOf<Value extends string>(values: readonly Value[], value: unknown, key: string): Value {
  const found = values.find((known) => known === value);
  if (found !== undefined) return found;
  throw new InvalidMsgError(`${key} must be one of ${values.join(', ')}.`);
}

/** Messages of the program, by identity: no text from elsewhere can pass for one. */
const made = new WeakSet<Msg>();

/** Message of the program itself in a prompt, such as a hint or retrieved documents: nobody in the conversation said it. */
export function programMsg(content: MsgInit['content'], extras: MsgExtras = {}): Msg {
  const msg = Msg.user(content, extras);
  made.add(msg);
  return msg;
}

export function isProgramMsg(msg: Msg): boolean {
  return made.has(msg);
}
