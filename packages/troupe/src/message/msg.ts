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
} from './blocks.ts';
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
}

interface MsgInternals {
  readonly blocks?: readonly ContentBlock[];
  readonly extra?: JsonObject;
}

/** What a shorthand such as `Msg.user` takes besides the content. */
export type MsgExtras = Partial<Omit<MsgInit, 'content' | 'role'>>;

/** Whatever can be handed to an agent. */
export type MsgInput = Msg | string | readonly Msg[] | null | undefined;

const ROLES: readonly string[] = ['user', 'assistant', 'system'] satisfies Role[];
const KEYS: ReadonlySet<string> = new Set([
  'id',
  'name',
  'role',
  'content',
  'metadata',
  'timestamp',
  'usage',
]);
const EMPTY: JsonObject = Object.freeze({});
const extraKeys = Symbol('extraKeys');

/**
 * One message of a conversation. Deeply immutable: what is derived from it can be
 * cached, nothing needs copying, and no hook can change a history. `toJSON` and
 * `Msg.from` are exact inverses, keys that this version doesn't know included.
 */
export class Msg {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly content: string | readonly ContentBlock[];
  readonly metadata: JsonObject;
  readonly timestamp: string;
  /** On replies: what the model's answers cost. */
  declare readonly usage?: Usage;
  declare readonly [extraKeys]?: JsonObject;

  /**
   * @param internals For this folder: blocks that are checked and frozen already, and keys to carry along.
   * @throws InvalidMsgError
   */
  constructor(init: MsgInit, internals: MsgInternals = {}) {
    if (!isJsonObject(init)) throw new InvalidMsgError(`A message must be an object, not ${describe(init)}.`);
    this.id = text(init.id ?? newId(), 'id');
    this.name = text(init.name, 'name');
    this.role = role(init.role);
    this.content = internals.blocks ?? toContent(init.content);
    this.metadata = init.metadata === undefined ? EMPTY : toJsonObject(init.metadata, 'metadata');
    this.timestamp = text(init.timestamp ?? timestamp(), 'timestamp');
    if (init.usage !== undefined) this.usage = toUsage(init.usage);
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

  /** A message from the system; tool results are such messages too. */
  static system(content: MsgInit['content'], extras: MsgExtras = {}): Msg {
    return new Msg({ name: 'system', ...extras, role: 'system', content });
  }

  /**
   * The message that `toJSON` made.
   * @throws InvalidMsgError if it is not one. Nothing in it is ever run or looked up.
   */
  static from(json: unknown): Msg {
    const fields = toJsonObject(json, 'the message', MAX_BLOCK_DEPTH + 2);
    for (const key of ['id', 'timestamp']) text(fields[key], key);
    const extra: { [key: string]: JsonValue } = {};
    for (const key of Object.keys(fields)) {
      const value = fields[key];
      if (!KEYS.has(key) && value !== undefined) setOwn(extra, key, value);
    }
    return new Msg(known(fields), Object.keys(extra).length > 0 ? { extra: Object.freeze(extra) } : {});
  }

  /** Whatever was handed over, as a list of messages: a string is a user's message, nothing is none. */
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

  /** A copy with some fields changed. The id stays, unless another is given. */
  with(changes: Partial<MsgInit>): Msg {
    return Msg.from({ ...this.toJSON(), ...definedOnly(changes) });
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

  /** The blocks, or those of one or several types. Content that is a string counts as one text block. */
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
    const { id, name, role, content, metadata, timestamp, usage } = this;
    const json = {
      id,
      name,
      role,
      content,
      metadata,
      timestamp,
      ...(usage && { usage }),
      ...this[extraKeys],
    };
    return json as JsonObject;
  }
}

function toMsg(msg: unknown, i: number): Msg {
  if (msg instanceof Msg) return msg;
  throw new InvalidMsgError(`Expected a list of Msg, but number ${i} is ${describe(msg)}.`);
}

function known(fields: JsonObject): MsgInit {
  const { id, name, role, content, metadata, timestamp, usage } = fields as JsonObject & MsgInit;
  return { id, name, role, content, metadata, timestamp, usage };
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

function role(value: unknown): Role {
  if (typeof value === 'string' && ROLES.includes(value)) return value as Role;
  throw new InvalidMsgError(`role must be one of ${ROLES.join(', ')}.`);
}
