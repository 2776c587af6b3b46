import { createHash } from 'node:crypto';

import type { AutoSave } from '../../session/auto-save.ts';
import type { SessionComponents } from '../../session/format/component-state.ts';
import { SessionConflictError } from '../../session/format/session-error.ts';
import { SessionManager } from '../../session/session-manager.ts';
import type { Session } from '../../session/session.ts';

/** Whose conversation: a user's, by the name that they know it by. */
export interface A2AContext {
  /** Whom `authenticate` has recognised; the empty string where nobody is asked. */
  readonly user: string;
  /** The conversation, as the client knows it. */
  readonly contextId: string;
}

/** Keeps one conversation in a session. Users and contexts have any names there are, so theirs are hashes of those. */
export class ContextKeeper {
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

  /** Whether somebody else has saved it since. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** Loads what is kept, if anything is. From then on it is saved before the agent does what can't be undone. */
  async open(components: SessionComponents): Promise<void> {
    for (const [name, component] of Object.entries(components)) this.#manager.addComponent(name, component);
    await this.#manager.loadIfExists();
    this.#autoSave = this.#manager.autoSave();
  }

  /** @throws SessionConflictError if somebody else has saved meanwhile. */
  async save(): Promise<void> {
    this.#autoSave?.discard(); // this is that
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
