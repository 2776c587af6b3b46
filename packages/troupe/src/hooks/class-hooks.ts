import { byPriority, HookTable, type NamedHook } from './hook-table.ts';

/** A class, whatever its constructor takes. */
export type AnyClass = abstract new (...args: never[]) => object;

/**
 * Hooks of classes. Each class has a table of its own; an instance is reached by
 * the hooks of its class and of all classes above it, the nearest first, and by
 * no others.
 */
const tables = new WeakMap<AnyClass, HookTable>();
let resolved = new WeakMap<AnyClass, Map<string, readonly NamedHook[]>>();
let areAny = false;
const NONE: readonly NamedHook[] = Object.freeze([]);

/** Changes the hooks of one class. */
export function changeClassHooks<T>(cls: AnyClass, change: (table: HookTable) => T): T {
  let table = tables.get(cls);
  if (table === undefined) tables.set(cls, (table = new HookTable()));
  const result = change(table);
  areAny = true;
  resolved = new WeakMap();
  return result;
}

/** The hooks of one type that reach the instances of a class. */
export function classHooks(cls: AnyClass, type: string): readonly NamedHook[] {
  if (!areAny) return NONE;
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
