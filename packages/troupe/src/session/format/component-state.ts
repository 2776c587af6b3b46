import { SessionError } from './session-error.ts';
import { StateModule } from '../../state/state-module.ts';
import { isJsonObject, setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';

/** Components of a session by name. */
export type SessionComponents = Readonly<Record<string, StateModule>>;

const NAME = /^[A-Za-z][\w-]{0,127}$/;
const ALIAS_KEY = '__saved_in__';

/**
 * Several modules as one, so that all are loaded or none. A module that is also part of another one, such as the memory of an agent,
 * is there once, in the other; `aliases` says where.
 */
export class ComponentState extends StateModule {
  readonly #aliases = new Map<string, readonly string[]>();

  constructor(components: SessionComponents) {
    super();
    for (const [name, module] of Object.entries(components)) {
      if (!NAME.test(name) || name in this) {
        const shown = JSON.stringify(name.slice(0, 64));
        throw new SessionError(
          `${shown} can't be the name of a component. Use letters, digits, - and _, but not the name of a method.`,
          undefined,
          'invalid_input',
        );
      }
      if (!(module instanceof StateModule)) {
        const { stateDict } = Object(module) as { stateDict?: unknown };
        const advice =
          typeof stateDict === 'function'
            ? 'It is made by another copy of troupe: `npm ls troupe` shows all copies; install one version.'
            : 'Give an agent, a memory, or an object of a class that extends StateModule.';
        throw new SessionError(
          `The component '${name}' is not a StateModule. ${advice}`,
          undefined,
          'invalid_input',
        );
      }
      const path = pathInOthers(name, components);
      if (path === undefined) Reflect.set(this, name, module);
      else this.#aliases.set(name, path);
    }
  }

  /** Saved form of the components that are part of another one. */
  get aliases(): JsonObject {
    return Object.fromEntries(Array.from(this.#aliases, ([name, path]) => [name, { [ALIAS_KEY]: path }]));
  }
}

/** Path to a component inside another component; the name alone for the same module under an earlier name. */
function pathInOthers(name: string, components: SessionComponents): readonly string[] | undefined {
  const module = components[name];
  let isBehind = true;
  for (const [other, candidate] of Object.entries(components)) {
    if (other === name) isBehind = false;
    else if (candidate === module && isBehind) return [other];
    else if (module instanceof StateModule && candidate instanceof StateModule) {
      const path = candidate.statePathOf(module);
      if (path !== undefined) return [other, ...path];
    }
  }
  return undefined;
}

/** Path at which a component is saved as part of another one; undefined for the state of a component itself. */
export function aliasPath(saved: JsonValue | undefined): readonly string[] | undefined {
  const path = isJsonObject(saved) ? saved[ALIAS_KEY] : undefined;
  return Array.isArray(path) && path.every((name) => typeof name === 'string') ? path : undefined;
}

/** The part of a state at a path; an empty object if there is none. */
export function valueAt(state: JsonObject, path: readonly string[]): JsonValue {
  let value: JsonValue = state;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return {};
    value = value[name] ?? {};
  }
  return value;
}

/** Copy of a state with a list inserted at a path. */
export function withList(
  state: JsonObject,
  [name = '', ...rest]: readonly string[],
  list: JsonValue,
): JsonObject {
  const copy: { [key: string]: JsonValue } = { ...state };
  const inner = Object.hasOwn(state, name) ? state[name] : undefined;
  setOwn(copy, name, rest.length === 0 ? list : withList(isJsonObject(inner) ? inner : {}, rest, list));
  return copy;
}

/** Versions of the modules on the path to a list, as text. If one differs, list items may differ too. */
export function versionsAlong(state: JsonObject, path: readonly string[]): string {
  const versions: JsonValue[] = [];
  let module: JsonValue | undefined = state;
  for (const name of path) {
    if (!isJsonObject(module)) break;
    versions.push(module['__version__'] ?? 1);
    module = Object.hasOwn(module, name) ? module[name] : undefined;
  }
  return JSON.stringify(versions);
}
