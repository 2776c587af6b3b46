import { markList } from '../../memory/marks.ts';
import { Msg } from '../../message/msg.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { Entry, Stub, StubKind } from './working-memory.ts';

/** Messages offloaded together. */
export interface OffloadRecord {
  readonly uuid: string;
  readonly msgs: readonly Msg[];
}

/** Offloaded messages by uuid. */
export class OffloadStore {
  #offloads = new Map<string, OffloadRecord>();
  /** Number of offloads per message id. */
  #uses = new Map<string, number>();

  get items(): readonly OffloadRecord[] {
    return [...this.#offloads.values()];
  }

  get size(): number {
    return this.#offloads.size;
  }

  /** Original messages of an offload; empty for an unknown uuid. */
  get(uuid: string): readonly Msg[] {
    return this.#offloads.get(uuid)?.msgs ?? [];
  }

  /** True if any offload contains the message. */
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

/** Saved form of a message: the id of an original message, or the whole message. */
type SavedMsg = string | Msg;

/** Saved form of an entry. */
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

/** @throws TypeError if the JSON is not an entry. */
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

/** @throws TypeError if the JSON is not an offload. */
export function offloadFromJson(json: JsonValue): SavedOffload {
  const { uuid, msgs } = isJsonObject(json) ? json : {};
  if (typeof uuid !== 'string' || !Array.isArray(msgs)) throw new TypeError('the JSON is not an offload');
  return { uuid, msgs: (msgs as readonly JsonValue[]).map(msgFromJson) };
}

/** Replaces ids by original messages. @throws TypeError for an unknown id. */
export function lookedUp(msgs: readonly SavedMsg[], originals: Originals): readonly Msg[] {
  return msgs.map((saved) => {
    const msg = typeof saved === 'string' ? originals.get(saved) : saved;
    if (msg === undefined) throw new TypeError('the list refers to an unknown message');
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
    throw new TypeError('a stub has an unknown kind');
  }
  return { uuid, kind: kind as StubKind };
}
