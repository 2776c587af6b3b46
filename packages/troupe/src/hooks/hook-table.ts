import { TroupeError } from '../errors.ts';

/** Any hook function, before its type defines its parameters. */
export type AnyHook = (...args: never[]) => unknown;

export interface HookOptions {
  /** Lower priorities run first, equal priorities in the order of registration. @default 100 */
  readonly priority?: number;
}

export interface NamedHook {
  readonly name: string;
  readonly hook: AnyHook;
  readonly priority: number;
  readonly options?: HookOptions | undefined;
}

const NONE: readonly NamedHook[] = Object.freeze([]);

/**
 * Named hooks by hook type. Lists returned by `of` never change: a registration or removal while hooks run
 * takes effect the next time.
 */
export class HookTable {
  /** Registration order; a replacement keeps the position of the hook it replaces. */
  readonly #registered = new Map<string, Map<string, NamedHook>>();
  /** Execution order. */
  readonly #lists = new Map<string, readonly NamedHook[]>();

  of(type: string): readonly NamedHook[] {
    return this.#lists.get(type) ?? NONE;
  }

  /**
   * Adds a hook, or replaces the hook with the same name in its position. Returns the entry for
   * `removeExactly`.
   */
  register(type: string, name: string, hook: AnyHook, options?: HookOptions): NamedHook {
    const { priority = 100 } = options ?? {};
    if (typeof name !== 'string')
      throw new TroupeError('invalid_hook', `A ${type} hook needs a name, then a function.`);
    if (typeof hook !== 'function')
      throw new TroupeError('invalid_hook', `The ${type} hook '${name}' must be a function.`);
    if (typeof priority !== 'number' || Number.isNaN(priority)) {
      throw new TroupeError('invalid_hook', `The priority of the ${type} hook '${name}' must be a number.`);
    }
    const entry: NamedHook = { name, hook, priority, ...(options && { options }) };
    const hooks = this.#registered.get(type) ?? new Map<string, NamedHook>();
    this.#change(type, hooks.set(name, entry));
    return entry;
  }

  /** @throws TroupeError if there is no hook with this name */
  remove(type: string, name: string): void {
    const hooks = this.#registered.get(type);
    if (!hooks?.delete(name)) {
      const names = [...(hooks?.keys() ?? [])].map((other) => `'${other}'`).join(', ') || 'none';
      throw new TroupeError('hook_not_found', `There is no ${type} hook '${name}'. Registered: ${names}.`);
    }
    this.#change(type, hooks);
  }

  /** Removes one registration, if it has not been replaced or removed meanwhile. */
  removeExactly(type: string, entry: NamedHook): void {
    if (this.#registered.get(type)?.get(entry.name) === entry) this.remove(type, entry.name);
  }

  clear(type?: string): void {
    for (const each of type === undefined ? [...this.#registered.keys()] : [type])
      this.#change(each, new Map());
  }

  #change(type: string, hooks: Map<string, NamedHook>): void {
    this.#registered.set(type, hooks);
    this.#lists.set(type, byPriority([...hooks.values()]));
  }
}

/** Stable sort, lower priorities first. */
export function byPriority(hooks: readonly NamedHook[]): readonly NamedHook[] {
  return hooks.toSorted((a, b) => a.priority - b.priority);
}
