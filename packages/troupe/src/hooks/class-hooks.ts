import { byPriority, HookTable, type NamedHook } from './hook-table.ts';

/** Any class, with any constructor. */
export type AnyClass = abstract new (...args: never[]) => object;

/** Hooks registered at each class itself. Instances also get those of all base classes: the hooks of the nearest class run first. */
const tables = new WeakMap<AnyClass, HookTable>();
/** Hooks that instances of a class get, by class and type: collected on first use, and forgotten after each change. */
let resolved = new WeakMap<AnyClass, Map<string, readonly NamedHook[]>>();
let hasClassHooks = false;
const NONE: readonly NamedHook[] = Object.freeze([]);

/** Changes the hooks of one class. */
export function changeClassHooks<T>(cls: AnyClass, change: (table: HookTable) => T): T {
  let table = tables.get(cls);
  if (table === undefined) tables.set(cls, (table = new HookTable()));
  const result = change(table);
  hasClassHooks = true;
  resolved = new WeakMap();
  return result;
}

/** Hooks of one type for instances of a class, in the order of execution. */
export function classHooks(cls: AnyClass, type: string): readonly NamedHook[] {
  if (!hasClassHooks) return NONE;
  let byType = resolved.get(cls);
  if (byType === undefined) resolved.set(cls, (byType = new Map()));
  let hooks = byType.get(type);
  if (hooks === undefined) byType.set(type, (hooks = collect(cls, type)));
  return hooks;
}

function collect(cls: AnyClass, type: string): readonly NamedHook[] {
  const found: NamedHook[] = [];
  for (let c: unknown = cls; typeof c === 'function'; c = Object.getPrototypeOf(c)) {
    found.push(...(tables.get(c as AnyClass)?.of(type) ?? []));
  }
  return byPriority(found);
}
