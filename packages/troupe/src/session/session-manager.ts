import { TroupeError } from '../errors.ts';
import type { StateModule } from '../state/state-module.ts';
import { ComponentState } from './format/component-state.ts';
import { AutoSave, type AutoSaveOptions } from './auto-save.ts';
import { SessionNotFoundError } from './format/session-error.ts';
import { toSessionId, toSessionKey, type SessionId } from './format/session-key.ts';
import type { LoadOptions, SaveOptions, Session } from './session.ts';
import { isSameMark, markOf, type StateMark } from './state-mark.ts';

/**
 * Loads and saves some components together, under one session id:
 * `SessionManager.forSessionId(id).withSession(session).addComponent(agent)`.
 *
 * A component is saved under its own `componentName`, or else under the name of its class with a small first letter.
 *
 * @example
 * ```ts
 * import { InMemorySession, ReActAgent, SessionManager } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel() });
 * const session = SessionManager.forSessionId('chat').withSession(new InMemorySession()).addComponent(agent);
 * await session.loadIfExists();
 * await agent.call('Hello!');
 * await session.saveSession();
 * ```
 */
export class SessionManager implements AsyncDisposable {
  #key: { readonly session: SessionId; readonly user?: SessionId };
  #session: Session | undefined;
  readonly #components = new Map<string, StateModule>();
  readonly #autoSaves = new Set<AutoSave>();
  /** What is saved, as far as is known. */
  #mark: StateMark | undefined;

  private constructor(session: SessionId) {
    this.#key = { session };
  }

  /** @throws TroupeError if the id is not one that is safe everywhere. */
  static forSessionId(id: string): SessionManager {
    return new SessionManager(toSessionId(id));
  }

  /** Makes it a session of this user, which has nothing to do with sessions of the same id of others. */
  forUser(user: string): this {
    this.#key = { ...this.#key, user: toSessionId(user, 'A user id') };
    return this;
  }

  /** Where it is saved. */
  withSession(session: Session): this {
    if (typeof session?.save !== 'function') {
      throw new TroupeError(
        'invalid_input',
        'withSession needs a session, such as new JsonSession(directory).',
      );
    }
    this.#session = session;
    return this;
  }

  /** Adds what is loaded and saved. @throws TroupeError if there is one of that name, or it has none. */
  addComponent(component: StateModule): this;
  addComponent(name: string, component: StateModule): this;
  addComponent(first: string | StateModule, second?: StateModule): this {
    const component = typeof first === 'string' ? second : first;
    if (typeof component?.stateParts !== 'function') {
      throw new TroupeError(
        'invalid_input',
        'addComponent needs a StateModule, such as an agent or a memory.',
      );
    }
    const name = typeof first === 'string' ? first : nameOf(component);
    if (this.#components.has(name)) {
      throw new TroupeError(
        'invalid_input',
        `There is a component '${name}' already. Name one of them: addComponent('other', component).`,
      );
    }
    new ComponentState({ [name]: component });
    this.#components.set(name, component);
    for (const autoSave of this.#autoSaves) autoSave.watch(component);
    return this;
  }

  sessionExists(): Promise<boolean> {
    return this.#configured().exists(this.#key);
  }

  /** Loads the components, if there is such a session. Returns whether there is. */
  async loadIfExists(options: LoadOptions = {}): Promise<boolean> {
    const isLoaded = await this.#configured().load(this.#key, this.#named(), options);
    if (isLoaded) this.#mark = markOf(this.#named());
    return isLoaded;
  }

  /** @throws SessionNotFoundError, or a SessionError if the session holds none of the components. */
  async loadOrThrow(options: LoadOptions = {}): Promise<void> {
    if (!(await this.loadIfExists({ mustMatch: true, ...options })))
      throw new SessionNotFoundError(toSessionKey(this.#key));
  }

  /** @throws SessionConflictError if somebody else has saved meanwhile. */
  async saveSession(options: SaveOptions = {}): Promise<void> {
    const session = this.#configured();
    const mark = markOf(this.#named());
    await session.save(this.#key, this.#named(), options);
    this.#mark = mark;
  }

  /** The same as `saveSession`, by its other name. */
  saveOrThrow(options: SaveOptions = {}): Promise<void> {
    return this.saveSession(options);
  }

  /** Saves only if there is such a session. Returns whether there is. */
  async saveIfExists(options: SaveOptions = {}): Promise<boolean> {
    if (!(await this.sessionExists())) return false;
    await this.saveSession(options);
    return true;
  }

  /**
   * Deletes the session. Returns whether there was one. The components keep their state and may be saved anew; what was
   * going to be saved by itself is not.
   */
  async deleteSession(): Promise<boolean> {
    const session = this.#configured();
    for (const autoSave of this.#autoSaves) autoSave.discard();
    const wasThere = await session.delete(this.#key, this.#named());
    this.#mark = markOf(this.#named());
    return wasThere;
  }

  /** The same as `deleteSession`, by its other name. */
  deleteIfExists(): Promise<boolean> {
    return this.deleteSession();
  }

  /** @throws SessionNotFoundError */
  async deleteOrThrow(): Promise<void> {
    if (!(await this.deleteSession())) throw new SessionNotFoundError(toSessionKey(this.#key));
  }

  /**
   * Saves by itself whenever an agent among the components has ended a call, in whatever way, and before a tool
   * with a side effect runs. Dispose of what is returned, or of the manager, to save what is left and stop; a call
   * that still runs is waited for.
   */
  autoSave(options: AutoSaveOptions = {}): AutoSave {
    this.#configured();
    this.#mark ??= markOf(this.#named());
    const autoSave = new AutoSave(
      () => this.saveSession(),
      options,
      () => !isSameMark(this.#mark, markOf(this.#named())),
    );
    this.#autoSaves.add(autoSave);
    for (const component of this.#components.values()) autoSave.watch(component);
    return autoSave;
  }

  /** Ends the automatic saving; the session stays open. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ends = await Promise.allSettled(
      Array.from(this.#autoSaves, (autoSave) => autoSave[Symbol.asyncDispose]()),
    );
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  #configured(): Session {
    if (this.#session !== undefined) return this.#session;
    throw new TroupeError('invalid_config', 'There is no session to use. Call withSession(session) first.');
  }

  #named(): Readonly<Record<string, StateModule>> {
    return Object.fromEntries(this.#components);
  }
}

function nameOf(component: StateModule): string {
  const own: unknown = Reflect.get(component, 'componentName');
  if (typeof own === 'string' && own.trim() !== '') return own;
  const { name } = component.constructor;
  if (name !== '') return name.charAt(0).toLowerCase() + name.slice(1);
  throw new TroupeError(
    'invalid_input',
    "The component has no name. Give it one: addComponent('name', component).",
  );
}
