import { createAsyncScope } from '#platform';

/** A tool call and the control of its agent call. */
interface ScopedToolCall {
  readonly id: string;
  readonly madeBy: object | undefined;
}

/** Data that follows the code of a run through its awaits: one record, extended on the way in. */
interface RunScope {
  /** Control of the innermost agent call, typed by `current-turn.ts`. */
  readonly control: object | undefined;
  /** The innermost tool call; may belong to an agent call further out. */
  readonly toolCall: ScopedToolCall | undefined;
  /** Data of folders above this one. */
  readonly slots: ReadonlyMap<object, unknown>;
}

const scopes = createAsyncScope<RunScope>();
const OUTSIDE: RunScope = { control: undefined, toolCall: undefined, slots: new Map() };

/** The scope of the calling code; empty outside of any run. */
export function currentScope(): RunScope {
  return scopes.getStore() ?? OUTSIDE;
}

/** Runs code in the current scope with some parts replaced, through all awaits. */
export function runInScope<T>(change: Partial<RunScope>, body: () => T): T {
  return scopes.run({ ...currentScope(), ...change }, body);
}

/** Runs code outside of any run, so that agent calls in it are runs of their own. */
export function runOutsideOfRuns<T>(body: () => T): T {
  return scopes.run(OUTSIDE, body);
}

/** A typed value in the scope of a run, for folders that `agent/` must not import. */
export class ScopeSlot<T> {
  get(): T | undefined {
    return currentScope().slots.get(this) as T | undefined;
  }

  /** Runs code so that `get` returns `value`, through all awaits. */
  run<R>(value: T, body: () => R): R {
    return runInScope({ slots: new Map(currentScope().slots).set(this, value) }, body);
  }
}
