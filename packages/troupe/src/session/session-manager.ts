import { getLogger } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import type { StateModule } from '../state/state-module.ts';
import { ComponentState } from './format/component-state.ts';
import { AutoSave, givesSignals, type AutoSaveOptions } from './auto-save.ts';
import { SessionNotFoundError } from './format/session-error.ts';
import { toSessionId, toSessionKey, type SessionId } from './format/session-key.ts';
import type { LoadOptions, SaveOptions, Session } from './session.ts';
import { isSameFingerprint, fingerprintOf, type StateFingerprint } from './state-fingerprint.ts';

/**
 * Loads and saves some components together, under one session id:
 * `SessionManager.forSessionId(id).withSession(session).addComponent(agent)`.
 *
 * A component is saved under its own `componentName`, else under that of its class, else under the name of its class with a small
 * first letter. Minifiers change names of classes: name components of your own classes, `addComponent('name', component)`.
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
  /** State at the last save or load, as far as known. */
  #saved: StateFingerprint | undefined;

  private constructor(session: SessionId) {
    this.#key = { session };
  }

  /** @throws TroupeError for an unsafe id */
  static forSessionId(id: string): SessionManager {
    return new SessionManager(toSessionId(id));
  }

  /** Uses a session of this user, separate from sessions with the same id of other users. */
  forUser(user: string): this {
    this.#key = { ...this.#key, user: toSessionId(user, 'A user id') };
    return this;
  }

  /** Sets the session storage. */
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

  /**
   * Adds a component to load and save.
   * @throws TroupeError for a duplicate or missing name
   */
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

  /** Loads the components if the session exists. Returns whether it exists. */
  async loadIfExists(options: LoadOptions = {}): Promise<boolean> {
    const session = this.#configured();
    this.#assertComponents('load');
    const isLoaded = await session.load(this.#key, this.#named(), options);
    if (isLoaded) this.#saved = fingerprintOf(this.#named());
    return isLoaded;
  }

  /** @throws SessionNotFoundError, or a SessionError if the session has none of the components */
  async loadOrThrow(options: LoadOptions = {}): Promise<void> {
    if (!(await this.loadIfExists({ mustMatch: true, ...options })))
      throw new SessionNotFoundError(await toSessionKey(this.#key));
  }

  /**
   * Saves the components.
   * @throws SessionConflictError if another program has saved meanwhile
   * @throws TroupeError without a component
   */
  async saveSession(options: SaveOptions = {}): Promise<void> {
    const session = this.#configured();
    this.#assertComponents('save');
    const fingerprint = fingerprintOf(this.#named());
    await session.save(this.#key, this.#named(), options);
    this.#saved = fingerprint;
  }

  /** Alias of `saveSession`. */
  saveOrThrow(options: SaveOptions = {}): Promise<void> {
    return this.saveSession(options);
  }

  /** Saves only if the session exists. Returns whether it exists. */
  async saveIfExists(options: SaveOptions = {}): Promise<boolean> {
    if (!(await this.sessionExists())) return false;
    await this.saveSession(options);
    return true;
  }

  /**
   * Deletes the session. Returns whether it existed. The components keep their state and can be saved again;
   * pending automatic saves are dropped.
   */
  async deleteSession(): Promise<boolean> {
    const session = this.#configured();
    for (const autoSave of this.#autoSaves) autoSave.discard();
    const wasThere = await session.delete(this.#key, this.#named());
    this.#saved = fingerprintOf(this.#named());
    return wasThere;
  }

  /** Alias of `deleteSession`. */
  deleteIfExists(): Promise<boolean> {
    return this.deleteSession();
  }

  /** @throws SessionNotFoundError */
  async deleteOrThrow(): Promise<void> {
    if (!(await this.deleteSession())) throw new SessionNotFoundError(await toSessionKey(this.#key));
  }

  /**
   * Saves automatically when an agent call of the components ends, however it ends, and before a tool with a side effect runs. What
   * the caller and the stream are told is saved by then, unless `debounceMs` delays saves. Dispose the result, or the manager, to
   * save pending changes and stop; running agent calls are waited for.
   */
  autoSave(options: AutoSaveOptions = {}): AutoSave {
    this.#configured();
    this.#saved ??= fingerprintOf(this.#named());
    const autoSave = new AutoSave(
      () => this.saveSession(),
      options,
      () => !isSameFingerprint(this.#saved, fingerprintOf(this.#named())),
    );
    this.#autoSaves.add(autoSave);
    const components = [...this.#components.values()];
    for (const component of components) autoSave.watch(component);
    if (components.length > 0 && !components.some(givesSignals))
      getLogger().log(
        'warn',
        `autoSave of the session '${this.#key.session}' saves nothing before it is disposed of: no component is an agent or a pipeline. Add the agent: addComponent(agent).`,
      );
    return autoSave;
  }

  /** Stops automatic saving; the session stays open. */
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

  #assertComponents(verb: string): void {
    if (this.#components.size > 0) return;
    throw new TroupeError(
      'invalid_config',
      `There is nothing to ${verb}: the session has no component. Call addComponent(agent) first.`,
    );
  }

  #named(): Readonly<Record<string, StateModule>> {
    return Object.fromEntries(this.#components);
  }
}

function nameOf(component: StateModule): string {
  const own: unknown = Reflect.get(component, 'componentName');
  if (typeof own === 'string' && own.trim() !== '') return own;
  const { constructor } = component;
  if (Object.hasOwn(constructor, 'componentName')) {
    const { componentName } = constructor as typeof StateModule;
    if (componentName !== undefined && componentName.trim() !== '') return componentName;
  }
  const { name } = constructor;
  if (name !== '') return name.charAt(0).toLowerCase() + name.slice(1);
  throw new TroupeError(
    'invalid_input',
    "The component has no name. Give it one: addComponent('name', component).",
  );
}
