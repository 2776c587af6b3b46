import { messageOf, StateError } from '../errors.ts';
import {
  copyJson,
  copyJsonObject,
  describe,
  isJsonObject,
  MAX_JSON_DEPTH,
  NotJsonError,
  setOwn,
  type JsonLimits,
  type JsonObject,
  type JsonValue,
} from '../util/json.ts';

/** How an attribute becomes JSON and comes back. */
export interface StateConverter<Value> {
  readonly toJson: (value: Value) => JsonValue;
  /** Called before anything is changed; throws to refuse the saved value. */
  readonly fromJson: (json: JsonValue) => Value;
}

/** A list in a state whose items never change, such as messages: a store can append to it instead of saving it anew. */
export interface StateList {
  /** The names of the properties that lead to it, from the module that was asked. */
  readonly path: readonly string[];
  /** The same object as long as an item is the same. */
  readonly items: readonly object[];
  readonly toJson: (item: object) => JsonValue;
}

/** A state, with its lists apart. */
export interface StateParts {
  /** What `stateDict` gives, without the lists. */
  readonly rest: JsonObject;
  readonly lists: readonly StateList[];
}

export interface LoadStateOptions extends JsonLimits {
  /** Whether a missing key is an error; otherwise it keeps its value. Holds for nested modules too. @default true */
  readonly strict?: boolean;
}

/** Turns a state of one version into one of the next. */
export type StateMigration = (state: JsonObject) => JsonObject;

/** Less than what can be loaded: a session puts an envelope around the state. */
const MAX_SAVED_DEPTH = MAX_JSON_DEPTH - 8;
const VERSION_KEY = '__version__';
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype', VERSION_KEY]);

type AnyConverter = StateConverter<unknown>;
type AnyItemConverter = StateConverter<object>;
interface Assignment {
  readonly module: StateModule;
  readonly name: string;
  readonly path: string;
  readonly value: unknown;
}

/**
 * A thing with a state that can be saved and loaded, as one tree.
 *
 * A property that holds another `StateModule` belongs to the state by itself, for
 * as long as it is there; a private `#field` stays out. Other properties belong
 * to it once they are registered. Loading checks and converts everything first
 * and then applies it: all of it or nothing.
 */
export abstract class StateModule {
  /** The version of this class's state. Raise it when the state changes its shape, and add a migration. */
  static readonly stateVersion: number = 1;
  /** `stateMigrations[n]` turns a state of version n into one of version n + 1. */
  static readonly stateMigrations: Readonly<Record<number, StateMigration>> = {};
  /** Saved names of nested modules whose property has another name, by property name. */
  static readonly stateNames: Readonly<Record<string, string>> = {};
  /** Whether modules in it come and go: what a state lacks of them stays as it is, and one that leads back here is left out. */
  static readonly hasOptionalModules: boolean = false;
  /**
   * Whether several may hold the same one, such as a policy. In a tree it is then saved once, where it is found first, so that
   * there are no two places to disagree; and a state without it leaves it as it is.
   */
  static readonly isShared: boolean = false;

  readonly #registered = new Map<string, AnyConverter | undefined>();
  /** The registered properties that are lists, by how their items are converted. */
  readonly #lists = new Map<string, AnyItemConverter>();

  /**
   * Makes a property part of the state.
   * @throws TypeError if its value is not JSON and there is no converter.
   * @throws StateError if the property is a module, or its name can't be used.
   */
  registerState<Name extends keyof this & string>(name: Name, converter?: StateConverter<this[Name]>): void;
  registerState<Value>(name: string, converter?: StateConverter<Value>): void;
  registerState(name: string, converter?: AnyConverter): void {
    if (FORBIDDEN_NAMES.has(name)) throw new StateError(name, 'is not a name that a state can have.');
    const value = Reflect.get(this, name) as unknown;
    if (value instanceof StateModule) throw new StateError(name, 'is a module already, and saved as such.');
    if (converter === undefined) {
      try {
        copyJson(value, name);
      } catch (error) {
        const advice = 'Give registerState a converter { toJson, fromJson }.';
        throw new TypeError(`${(error as Error).message}. ${advice}`, { cause: error });
      }
    }
    this.#registered.set(name, converter);
  }

  /**
   * Makes a list part of the state whose items are objects that never change: an item that is different is another
   * object. In `stateDict` it is an array; `stateParts` gives it apart.
   */
  registerStateList<Item extends object>(name: string, converter: StateConverter<Item>): void;
  registerStateList(name: string, { toJson, fromJson }: AnyItemConverter): void {
    this.registerState(name, {
      toJson: (items: readonly object[]) => items.map(toJson),
      fromJson: (json) => {
        if (!Array.isArray(json)) throw new TypeError('it is no list');
        return (json as readonly JsonValue[]).map(fromJson);
      },
    });
    this.#lists.set(name, { toJson, fromJson });
  }

  /** The state of this module and of all that it holds, as plain JSON: modules first, then registered properties. */
  stateDict(): JsonObject {
    return this.#save(this.constructor.name, [], new Set());
  }

  /** The same state with its lists apart, for a store that saves only what is new of them. */
  stateParts(): StateParts {
    const lists: StateList[] = [];
    return { rest: this.#save(this.constructor.name, [], new Set(), { lists, path: [] }), lists };
  }

  /**
   * Loads what `stateDict` gave. Keys that are not known are ignored.
   * @throws StateError if anything does not fit; then nothing was changed.
   */
  loadStateDict(state: JsonObject, options: LoadStateOptions = {}): void {
    let checked: JsonObject;
    try {
      checked = copyJsonObject(state, 'the state', options);
    } catch (error) {
      const [path, problem] =
        error instanceof NotJsonError ? [error.path, error.problem] : ['it', 'is not JSON'];
      throw new StateError(path, `${problem}.`, { cause: error });
    }
    const assignments: Assignment[] = [];
    this.#plan(checked, options.strict ?? true, this.constructor.name, assignments, [], new Set());
    apply(assignments);
  }

  /** Called before a state is loaded; throws if that can't be done now. */
  protected assertStateCanLoad(): void {}

  #save(
    path: string,
    parents: readonly StateModule[],
    shared: Set<StateModule>,
    apart?: { readonly lists: StateList[]; readonly path: readonly string[] },
  ): JsonObject {
    if (parents.includes(this)) {
      throw new StateError(path, 'contains itself. Keep the way back to a parent in a private #field.');
    }
    const state: { [key: string]: JsonValue } = {};
    const version = this.#class.stateVersion;
    if (version !== 1) state[VERSION_KEY] = version;
    for (const [name, module] of this.#modules()) {
      if (this.#class.hasOptionalModules && parents.includes(module)) continue;
      if (shared.has(module)) continue;
      if (module.#class.isShared) shared.add(module);
      const inner = apart && { lists: apart.lists, path: [...apart.path, name] };
      setOwn(state, name, module.#save(`${path}.${name}`, [...parents, this], shared, inner));
    }
    for (const [name, converter] of this.#registered) {
      const value: unknown = Reflect.get(this, name);
      const item = this.#lists.get(name);
      if (apart !== undefined && item !== undefined) {
        apart.lists.push({
          path: [...apart.path, name],
          items: value as readonly object[],
          toJson: item.toJson,
        });
        continue;
      }
      setOwn(state, name, copyJson(converter ? converter.toJson(value) : value, `${path}.${name}`));
    }
    return copyJsonObject(state, path, { maxDepth: MAX_SAVED_DEPTH });
  }

  #plan(
    saved: JsonValue,
    strict: boolean,
    path: string,
    plan: Assignment[],
    parents: readonly StateModule[],
    shared: Set<StateModule>,
  ): void {
    if (parents.includes(this)) throw new StateError(path, 'contains itself.');
    if (!isJsonObject(saved)) throw new StateError(path, `must be an object, not ${describe(saved)}.`);
    this.assertStateCanLoad();
    const state = this.#migrate(saved, path);
    const { hasOptionalModules } = this.#class;
    for (const [name, module] of this.#modules()) {
      if (hasOptionalModules && parents.includes(module)) continue;
      if (shared.has(module)) continue;
      const { isShared, hasOptionalModules: isLooseItself } = module.#class;
      const isLoose = hasOptionalModules || isLooseItself || isShared;
      const value = this.#read(state, name, strict && !isLoose, path);
      if (value === undefined) continue;
      if (isShared) shared.add(module);
      module.#plan(value, strict, `${path}.${name}`, plan, [...parents, this], shared);
    }
    for (const [name, converter] of this.#registered) {
      const value = this.#read(state, name, strict, path);
      if (value === undefined) continue;
      const at = `${path}.${name}`;
      plan.push({
        module: this,
        name,
        path: at,
        value: converter ? convert(converter, value, at) : thaw(value),
      });
    }
  }

  #read(state: JsonObject, name: string, strict: boolean, path: string): JsonValue | undefined {
    if (Object.hasOwn(state, name)) return state[name];
    if (strict)
      throw new StateError(
        `${path}.${name}`,
        'is missing. Load with { strict: false } to keep what is there.',
      );
    return undefined;
  }

  #migrate(saved: JsonObject, path: string): JsonObject {
    const { stateVersion, stateMigrations } = this.#class;
    let version = Object.hasOwn(saved, VERSION_KEY) ? saved[VERSION_KEY] : 1;
    if (typeof version !== 'number' || !Number.isInteger(version) || version < 1) {
      throw new StateError(`${path}.${VERSION_KEY}`, 'must be a whole number of 1 or more.');
    }
    if (version > stateVersion) {
      throw new StateError(
        path,
        `has version ${version}; this program knows versions up to ${stateVersion}. Update it.`,
      );
    }
    let state = saved;
    for (; version < stateVersion; version++) {
      const migrate = stateMigrations[version];
      if (migrate === undefined)
        throw new StateError(path, `has version ${version}, and there is no migration from it.`);
      state = convert({ fromJson: (json) => copyJsonObject(migrate(json as JsonObject), path) }, state, path);
    }
    return state;
  }

  get #class(): typeof StateModule {
    return this.constructor as typeof StateModule;
  }

  /** The nested modules that are properties right now, by saved name. @throws StateError */
  *#modules(): Generator<[name: string, module: StateModule]> {
    for (const [property, value] of Object.entries(this)) {
      if (!(value instanceof StateModule)) continue;
      const { stateNames = {} } = this.#class;
      const name = (Object.hasOwn(stateNames, property) && stateNames[property]) || property;
      if (name !== property && Reflect.get(this, name) instanceof StateModule)
        throw new StateError(name, `is also the saved name of '${property}'. Rename the property.`);
      if (FORBIDDEN_NAMES.has(name)) throw new StateError(name, 'is not a name that a state can have.');
      if (this.#registered.has(name)) {
        throw new StateError(
          name,
          'was registered as a plain property and is now a module. Register only one of them.',
        );
      }
      yield [name, value];
    }
  }
}

function convert<T>(converter: Pick<StateConverter<T>, 'fromJson'>, json: JsonValue, path: string): T {
  try {
    return converter.fromJson(json);
  } catch (error) {
    throw new StateError(path, `was refused: ${messageOf(error)}`, { cause: error });
  }
}

/** What the module gets is its own to change; the state that was loaded stays as it was. */
function thaw(json: JsonValue): unknown {
  if (Array.isArray(json)) return json.map(thaw);
  if (!isJsonObject(json)) return json;
  const object: { [key: string]: unknown } = {};
  for (const [key, value] of Object.entries(json)) setOwn(object, key, thaw(value));
  return object;
}

function apply(assignments: readonly Assignment[]): void {
  const before: Assignment[] = [];
  for (const assignment of assignments) {
    const { module, name, path, value } = assignment;
    try {
      before.push({ ...assignment, value: Reflect.get(module, name) as unknown });
      if (!Reflect.set(module, name, value)) throw new TypeError('it is read-only');
    } catch (error) {
      before.reverse().forEach(restore);
      throw new StateError(path, `refused its value: ${messageOf(error)}`, { cause: error });
    }
  }
}

function restore({ module, name, value }: Assignment): void {
  try {
    Reflect.set(module, name, value);
  } catch {
    // A setter that refuses what it holds has not changed it either.
  }
}
