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

/** Converts a property to JSON and back. */
export interface StateConverter<Value> {
  readonly toJson: (value: Value) => JsonValue;
  /** Called before any change; throws to reject the saved value. */
  readonly fromJson: (json: JsonValue, source: StateSource) => Value;
  /** True if the value allows something, so that a session protects it against edits. @default always false */
  readonly grants?: (value: Value) => boolean;
}

/** Where a saved value comes from. */
export interface StateSource {
  /** False if somebody may have edited the state: approvals and wider permissions in it must not count. */
  readonly acceptsGrants: boolean;
}

/**
 * List of immutable items in a state, such as messages. Stores can append new items instead of saving the
 * whole list.
 */
export interface StateList {
  /** Property names from the root module to the list. */
  readonly path: readonly string[];
  /** Items; an unchanged item is the same object. */
  readonly items: readonly object[];
  readonly toJson: (item: object) => JsonValue;
}

/** State with its lists separated. */
export interface StateParts {
  /** Result of `stateDict` without the lists. */
  readonly rest: JsonObject;
  readonly lists: readonly StateList[];
  /** Property names from the root module to each module in it. */
  readonly modules: readonly (readonly string[])[];
  /** True if the state has approvals or permissions, which must not be edited. */
  readonly hasGrants: boolean;
}

export interface LoadStateOptions extends JsonLimits {
  /**
   * Throws for missing keys, also in nested modules; otherwise missing keys keep their value.
   * @default true
   */
  readonly strict?: boolean;
  /**
   * Accepts approvals, modes and rules in the state: the program knows that nobody edited it. Otherwise tool
   * calls that were approved are asked about again, and permissions become no wider.
   * @default false; a session accepts them in a state with a valid MAC
   */
  readonly acceptGrants?: boolean;
}

/** Converts a state of one version to the next version. */
export type StateMigration = (state: JsonObject) => JsonObject;

/** Below the limit for loading, because a session adds an envelope around the state. */
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

/** Converters of whole lists by the converters of their items, which the modules of a class share. */
const listConverters = new WeakMap<AnyItemConverter, AnyConverter>();

function listConverterOf(items: AnyItemConverter): AnyConverter {
  let converter = listConverters.get(items);
  if (converter === undefined) {
    converter = {
      toJson: (list) => (list as readonly object[]).map((item) => items.toJson(item)),
      fromJson: (json, source) => {
        if (!Array.isArray(json)) throw new TypeError('it is not a list');
        return (json as readonly JsonValue[]).map((item) => items.fromJson(item, source));
      },
    };
    listConverters.set(items, converter);
  }
  return converter;
}

/**
 * Base class of objects with a state that is saved and loaded as one tree.
 *
 * Properties that hold another `StateModule` are part of the state automatically; private `#fields` are not.
 * Other properties must be registered. Loading checks and converts everything first, then applies all or
 * nothing. Folder `state`: start here.
 *
 * @example
 * ```ts
 * import { StateModule } from 'troupe';
 *
 * class Counter extends StateModule {
 *   count = 0;
 *
 *   constructor() {
 *     super();
 *     this.registerState('count');
 *   }
 * }
 * const counter = new Counter();
 * counter.loadStateDict({ count: 3 });
 * console.log(counter.stateDict()); // { count: 3 }
 * ```
 */
export abstract class StateModule {
  /** Version of this class's state. Increase it when the state's structure changes, and add a migration. */
  static readonly stateVersion: number = 1;
  /** `stateMigrations[n]` converts a state from version n to n + 1. */
  static readonly stateMigrations: Readonly<Record<number, StateMigration>> = {};
  /**
   * Name of a component of this class in a session, if the program gives none. Subclasses have a name of their own: without one it is
   * the name of the class with a small first letter, which minifiers change.
   */
  static readonly componentName: string | undefined;
  /** Saved names of nested modules whose property has another name, by property name. */
  static readonly stateNames: Readonly<Record<string, string>> = {};
  /**
   * Whether the nested modules may differ between save and load, as the tools of a toolkit or the agents of a pipeline do. A nested
   * module that a saved state does not have keeps its state when that is loaded; so does this module in its parent. A nested module
   * that is also a parent of this one, such as an agent among its own tools, is not saved again.
   */
  static readonly hasOptionalModules: boolean = false;
  /**
   * Allows several owners of one module, such as a permission policy. The tree saves it once, at the first
   * occurrence, so that copies can't disagree; a saved state without the module leaves it unchanged.
   */
  static readonly isShared: boolean = false;

  #registered: Map<string, AnyConverter | undefined> | undefined; // made by the first property, as many modules have none
  /** Registered lists, with the converters of their items. */
  #lists: Map<string, AnyItemConverter> | undefined;

  /**
   * Makes a property part of the state.
   * @throws TypeError if its value is not JSON and there is no converter
   * @throws StateError if the property is a module, or its name is forbidden
   */
  registerState<Name extends keyof this & string>(name: Name, converter?: StateConverter<this[Name]>): void;
  registerState<Value>(name: string, converter?: StateConverter<Value>): void;
  registerState(name: string, converter?: AnyConverter): void {
    if (FORBIDDEN_NAMES.has(name)) throw new StateError(name, 'is not allowed as the name of a state.');
    const value = Reflect.get(this, name) as unknown;
    if (value instanceof StateModule)
      throw new StateError(name, 'is a module and already part of the state.');
    if (converter === undefined) {
      try {
        copyJson(value, name);
      } catch (error) {
        const advice = 'Give registerState a converter { toJson, fromJson }.';
        throw new TypeError(`${(error as Error).message}. ${advice}`, { cause: error });
      }
    }
    (this.#registered ??= new Map()).set(name, converter);
  }

  /**
   * Makes a list of immutable items part of the state. A changed item must be a new object. `stateDict`
   * contains the list as an array; `stateParts` separates it.
   */
  registerStateList<Item extends object>(name: string, converter: StateConverter<Item>): void;
  registerStateList(name: string, converter: AnyItemConverter): void {
    this.registerState(name, listConverterOf(converter));
    (this.#lists ??= new Map()).set(name, converter);
  }

  /** State of this module and its nested modules as plain JSON: modules first, then registered properties. */
  stateDict(): JsonObject {
    return this.#save(this.constructor.name, [], new Set());
  }

  /** Same state with its lists separated, for stores that save only new items. */
  stateParts(): StateParts {
    const lists: StateList[] = [];
    const modules: (readonly string[])[] = [];
    const found = { hasGrants: false };
    const rest = this.#save(this.constructor.name, [], new Set(), { lists, modules, found, path: [] });
    return { rest, lists, modules, ...found };
  }

  /**
   * Names from this module to a module inside it, as in the saved state. Undefined if the module is not part of this one's state.
   */
  statePathOf(module: StateModule): readonly string[] | undefined {
    for (const [name, inner] of this.#modules()) {
      if (inner === module) return [name];
      const rest = inner.statePathOf(module);
      if (rest !== undefined) return [name, ...rest];
    }
    return undefined;
  }

  /**
   * Loads a result of `stateDict`. Ignores unknown keys.
   * @throws StateError if anything is invalid; then nothing was changed
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
    const how = { strict: options.strict ?? true, acceptsGrants: options.acceptGrants ?? false };
    this.#plan(checked, how, this.constructor.name, assignments, [], new Set());
    apply(assignments);
  }

  /** Whether a property is registered. */
  protected isRegistered(name: string): boolean {
    return this.#registered?.has(name) ?? false;
  }

  /** Called before the state is read or loaded: makes modules, and registers properties, that are made when first used. */
  protected makeModules(): void {}

  /** Called before a state is loaded; throws if loading is not possible now. */
  protected assertStateCanLoad(): void {}

  #save(
    path: string,
    parents: readonly StateModule[],
    shared: Set<StateModule>,
    separate?: {
      readonly lists: StateList[];
      readonly modules: (readonly string[])[];
      readonly found: { hasGrants: boolean };
      readonly path: readonly string[];
    },
  ): JsonObject {
    if (parents.includes(this)) {
      throw new StateError(path, 'contains itself. Keep the reference to its parent in a private #field.');
    }
    const state: { [key: string]: JsonValue } = {};
    const version = this.#class.stateVersion;
    if (version !== 1) state[VERSION_KEY] = version;
    for (const [name, module] of this.#modules()) {
      if (this.#class.hasOptionalModules && parents.includes(module)) continue;
      if (shared.has(module)) continue;
      if (module.#class.isShared) shared.add(module);
      const inner = separate && { ...separate, path: [...separate.path, name] };
      if (inner !== undefined) inner.modules.push(inner.path);
      setOwn(state, name, module.#save(`${path}.${name}`, [...parents, this], shared, inner));
    }
    for (const [name, converter] of this.#registered ?? []) {
      const value: unknown = Reflect.get(this, name);
      const item = this.#lists?.get(name);
      if (separate !== undefined && converter?.grants?.(value)) separate.found.hasGrants = true;
      if (separate !== undefined && item !== undefined) {
        separate.lists.push({
          path: [...separate.path, name],
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
    how: StateSource & { readonly strict: boolean },
    path: string,
    plan: Assignment[],
    parents: readonly StateModule[],
    shared: Set<StateModule>,
  ): void {
    if (parents.includes(this)) throw new StateError(path, 'contains itself.');
    if (!isJsonObject(saved)) throw new StateError(path, `must be an object, not ${describe(saved)}.`);
    this.assertStateCanLoad();
    const state = this.#migrate(saved, path);
    const { strict } = how;
    const { hasOptionalModules } = this.#class;
    for (const [name, module] of this.#modules()) {
      if (hasOptionalModules && parents.includes(module)) continue;
      if (shared.has(module)) continue;
      const { isShared, hasOptionalModules: isOptionalItself } = module.#class;
      const isOptional = hasOptionalModules || isOptionalItself || isShared;
      const value = this.#read(state, name, strict && !isOptional, path);
      if (value === undefined) continue;
      if (isShared) shared.add(module);
      module.#plan(value, how, `${path}.${name}`, plan, [...parents, this], shared);
    }
    for (const [name, converter] of this.#registered ?? []) {
      const value = this.#read(state, name, strict, path);
      if (value === undefined) continue;
      const at = `${path}.${name}`;
      plan.push({
        module: this,
        name,
        path: at,
        value: converter ? convert(converter, value, at, how) : thaw(value),
      });
    }
  }

  #read(state: JsonObject, name: string, strict: boolean, path: string): JsonValue | undefined {
    if (Object.hasOwn(state, name)) return state[name];
    if (strict)
      throw new StateError(
        `${path}.${name}`,
        'is missing. Load with { strict: false } to keep its current value.',
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
        throw new StateError(path, `has version ${version}, and there is no migration from this version.`);
      const migration = { fromJson: (json: JsonValue) => copyJsonObject(migrate(json as JsonObject), path) };
      state = convert(migration, state, path, { acceptsGrants: false });
    }
    return state;
  }

  /** The class of the module, even if the module has a property `constructor`. */
  get #class(): typeof StateModule {
    const { constructor } = Object.getPrototypeOf(this) as StateModule;
    return constructor as typeof StateModule;
  }

  /** Nested modules with their saved names. */
  *#modules(): Generator<[name: string, module: StateModule]> {
    this.makeModules();
    for (const [property, value] of Object.entries(this)) {
      if (!(value instanceof StateModule)) continue;
      if (FORBIDDEN_NAMES.has(property))
        throw new StateError(property, 'is not allowed as the name of a state.');
      const { stateNames } = this.#class;
      const name = (Object.hasOwn(stateNames, property) && stateNames[property]) || property;
      if (name !== property && Reflect.get(this, name) instanceof StateModule)
        throw new StateError(name, `is also the saved name of '${property}'. Rename the property.`);
      if (FORBIDDEN_NAMES.has(name)) throw new StateError(name, 'is not allowed as the name of a state.');
      if (this.#registered?.has(name)) {
        throw new StateError(
          name,
          'was registered as a plain property and is now a module. Register only one of them.',
        );
      }
      yield [name, value];
    }
  }
}

function convert<T>(
  converter: Pick<StateConverter<T>, 'fromJson'>,
  json: JsonValue,
  path: string,
  source: StateSource,
): T {
  try {
    return converter.fromJson(json, { acceptsGrants: source.acceptsGrants });
  } catch (error) {
    throw new StateError(path, `was refused: ${messageOf(error)}`, { cause: error });
  }
}

/** Mutable copy for the module; the loaded state stays frozen. */
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
    // A setter that refuses its own current value has not applied a new value either.
  }
}
