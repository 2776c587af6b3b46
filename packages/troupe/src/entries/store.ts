/** Entry `troupe/store`: for authors of memories, session stores and compressors. */

export type {
  AutoContextEvent,
  AutoContextStrategy,
  CompressionStrategy,
} from '../compression/auto-context/auto-context-event.ts';
export { AutoContextTokenCounter } from '../compression/auto-context/auto-context-token-counter.ts';
export {
  isContextCompressor,
  type ContextCompressor,
  type CompressionTask,
} from '../compression/context-compressor.ts';
export {
  COMPRESSED_MARK,
  summaryMsg,
  type AddOptions,
  type MarkChange,
  type MemoryFilter,
} from '../memory/memory-base.ts';
export type { ConversationId } from '../memory/stored-memory.ts';
export type { SaveSignals } from '../session/auto-save.ts';
export type { CheckedKey, SessionKey, StoredId } from '../session/format/session-key.ts';
export type { ApprovalKey } from '../session/format/component-macs.ts';
export type { SessionOptions } from '../session/session.ts';
export type { UserFilter } from '../session/session-page.ts';
export type {
  Commit,
  LogPart,
  ListCursor,
  ListQuery,
  LogRange,
  SessionStore,
  StoredHead,
  StoredItem,
} from '../session/format/session-store.ts';
export type { StateList, StateParts, StateSource } from '../state/state-module.ts';
