import { Msg, type MsgInput } from '../message/msg.ts';
import type { JsonValue } from '../util/json.ts';
import { MemoryBase } from './memory-base.ts';

/** A memory that lasts as long as the program, unless its state is saved. */
export class InMemoryMemory extends MemoryBase {
  /** By id, in the order in which they came. */
  protected content: ReadonlyMap<string, Msg> = new Map();

  constructor() {
    super();
    this.registerState('content', {
      toJson: (content: ReadonlyMap<string, Msg>) => Array.from(content.values(), (msg) => msg.toJSON()),
      fromJson: (json) => byId((json as readonly JsonValue[]).map((msg) => Msg.from(msg))),
    });
  }

  override async add(msgs: MsgInput): Promise<void> {
    const content = this.content as Map<string, Msg>;
    for (const msg of Msg.list(msgs)) if (!content.has(msg.id)) content.set(msg.id, msg);
  }

  override async delete(ids: readonly string[]): Promise<number> {
    const content = this.content as Map<string, Msg>;
    return ids.filter((id) => content.delete(id)).length;
  }

  override async size(): Promise<number> {
    return this.content.size;
  }

  override async clear(): Promise<void> {
    this.content = new Map();
  }

  override async getMemory(): Promise<readonly Msg[]> {
    return [...this.content.values()];
  }
}

function byId(msgs: readonly Msg[]): ReadonlyMap<string, Msg> {
  return new Map(msgs.map((msg) => [msg.id, msg]));
}
