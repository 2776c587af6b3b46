import { createHash } from 'node:crypto';

import type { AutoSave } from '../../session/auto-save.ts';
import type { SessionComponents } from '../../session/format/component-state.ts';
import { SessionConflictError } from '../../session/format/session-error.ts';
import { SessionManager } from '../../session/session-manager.ts';
import type { Session } from '../../session/session.ts';

/** Identity of a conversation. */
export interface A2AContext {
  /** User id from `authenticate`; empty without authentication. */
  readonly user: string;
  /** Conversation id of the client. */
  readonly contextId: string;
}

/**
 * Saves one conversation in a session. The session id is a hash, because user and context ids may contain any
 * character.
 */
export class SavedContext {
  readonly #manager: SessionManager;
  #autoSave: AutoSave | undefined;
  #isOutdated = false;

  constructor(session: Session, who: A2AContext) {
    this.#manager = SessionManager.forSessionId(hashOf(who.contextId)).withSession(session);
    if (who.user !== '') this.#manager.forUser(hashOf(who.user));
  }

  exists(): Promise<boolean> {
    return this.#manager.sessionExists();
  }

  /** Whether another process has saved the conversation since. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** Loads the saved state, if any, and then saves before every irreversible step of the agent. */
  async open(components: SessionComponents): Promise<void> {
    for (const [name, component] of Object.entries(components)) this.#manager.addComponent(name, component);
    await this.#manager.loadIfExists();
    this.#autoSave = this.#manager.autoSave();
  }

  /** @throws SessionConflictError if another process has saved meanwhile. */
  async save(): Promise<void> {
    this.#autoSave?.discard(); // this save replaces the scheduled one
    try {
      await this.#manager.saveSession();
    } catch (error) {
      this.#isOutdated ||= error instanceof SessionConflictError;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#autoSave?.discard();
    if (!this.#isOutdated) await this.#manager[Symbol.asyncDispose]();
  }
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 32);
}
