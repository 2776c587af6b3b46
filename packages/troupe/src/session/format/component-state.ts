import { SessionError } from './session-error.ts';
import { StateModule } from '../../state/state-module.ts';
import { isJsonObject, setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';

/** Components of a session by name. */
export type SessionComponents = Readonly<Record<string, StateModule>>;

const NAME = /^[A-Za-z][\w-]{0,127}$/;

/** Several modules as one, so that all are loaded or none. */
export class ComponentState extends StateModule {
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
        throw new SessionError(`The component '${name}' is not a StateModule.`, undefined, 'invalid_input');
      }
      Reflect.set(this, name, module);
    }
  }
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
