import { markList } from '../../memory/marks.ts';
import { Msg } from '../../message/msg.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { Entry, Stub, StubKind } from './working-memory.ts';

/** What was taken out of a conversation at once. */
export interface OffloadRecord {
  readonly uuid: string;
  readonly msgs: readonly Msg[];
}

/** What was taken out of a conversation, by the uuid that stands in its place. */
export class OffloadStore {
  #offloads = new Map<string, OffloadRecord>();
  /** In how many of them a message is, by its id. */
  #uses = new Map<string, number>();

  get items(): readonly OffloadRecord[] {
    return [...this.#offloads.values()];
  }

  get size(): number {
    return this.#offloads.size;
  }

  /** The messages, as they were; none if nothing is kept under this uuid. */
  get(uuid: string): readonly Msg[] {
    return this.#offloads.get(uuid)?.msgs ?? [];
  }

  /** Whether a message is in any of them. */
  holds(id: string): boolean {
    return this.#uses.has(id);
  }

  set(uuid: string, msgs: readonly Msg[]): void {
    this.delete(uuid);
    this.#offloads.set(uuid, Object.freeze({ uuid, msgs: Object.freeze([...msgs]) }));
    for (const { id } of msgs) this.#uses.set(id, (this.#uses.get(id) ?? 0) + 1);
  }

  delete(uuid: string): void {
    for (const { id } of this.get(uuid)) {
      const uses = (this.#uses.get(id) ?? 1) - 1;
      if (uses > 0) this.#uses.set(id, uses);
      else this.#uses.delete(id);
    }
    this.#offloads.delete(uuid);
  }

  load(offloads: readonly OffloadRecord[]): void {
    this.#offloads = new Map();
    this.#uses = new Map();
    for (const { uuid, msgs } of offloads) this.set(uuid, msgs);
  }
}

/** A message as it is saved: by its id if it is one of the originals, else whole. */
type SavedMsg = string | Msg;

/** An entry, or what was saved of it, before its message was looked up. */
export interface SavedEntry extends Omit<Entry, 'msg'> {
  readonly msg: SavedMsg;
}

export interface SavedOffload {
  readonly uuid: string;
  readonly msgs: readonly SavedMsg[];
}

type Originals = ReadonlyMap<string, Msg>;

const KINDS: readonly string[] = [
  'tools',
  'round',
  'current',
  'message',
  'preview',
  'dropped',
] satisfies StubKind[];

export function entryToJson({ msg, marks, stub }: Entry, originals: Originals): JsonValue {
  const saved = msgToJson(msg, originals);
  if (typeof saved === 'string' && marks.length === 0 && stub === undefined) return saved;
  return {
    msg: saved,
    ...(marks.length > 0 && { marks }),
    ...(stub && { stub: { uuid: stub.uuid, kind: stub.kind } }),
  };
}

/** @throws Error if it is no entry. */
export function entryFromJson(json: JsonValue): SavedEntry {
  if (typeof json === 'string') return Object.freeze({ msg: json, marks: markList([]) });
  const { msg, marks, stub }: JsonObject = isJsonObject(json) ? json : {};
  return Object.freeze({
    msg: msgFromJson(msg),
    marks: markList(marks as readonly string[] | undefined),
    ...(stub !== undefined && { stub: stubFromJson(stub) }),
  });
}

export function offloadToJson({ uuid, msgs }: OffloadRecord, originals: Originals): JsonValue {
  return { uuid, msgs: msgs.map((msg) => msgToJson(msg, originals)) };
}

/** @throws Error if it is none. */
export function offloadFromJson(json: JsonValue): SavedOffload {
  const { uuid, msgs } = isJsonObject(json) ? json : {};
  if (typeof uuid !== 'string' || !Array.isArray(msgs)) throw new TypeError('it is not what was taken out');
  return { uuid, msgs: (msgs as readonly JsonValue[]).map(msgFromJson) };
}

/** The messages of a list, looked up. @throws Error if one is not there, or there twice. */
export function lookedUp(msgs: readonly SavedMsg[], originals: Originals): readonly Msg[] {
  return msgs.map((saved) => {
    const msg = typeof saved === 'string' ? originals.get(saved) : saved;
    if (msg === undefined) throw new TypeError('it refers to a message that is not there');
    return msg;
  });
}

function msgToJson(msg: Msg, originals: Originals): JsonValue {
  return originals.get(msg.id) === msg ? msg.id : msg.toJSON();
}

function msgFromJson(json: JsonValue | undefined): SavedMsg {
  return typeof json === 'string' ? json : Msg.from(json);
}

function stubFromJson(json: JsonValue): Stub {
  const { uuid, kind } = isJsonObject(json) ? json : {};
  if (typeof uuid !== 'string' || typeof kind !== 'string' || !KINDS.includes(kind)) {
    throw new TypeError('it stands for something unknown');
  }
  return { uuid, kind: kind as StubKind };
}
