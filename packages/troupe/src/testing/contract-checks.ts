import { parseJson } from '../util/json.ts';
import { yieldToEventLoop } from '#platform';

/**
 * Checks for contract suites. They need no test runner, and every failure is an Error that describes the
 * problem.
 */

/** Maximum turns of the event loop for work that waits for nothing. */
const MAX_TURNS = 1_000;
/** Turns of the event loop for work that should stay pending. */
const A_FEW_TURNS = 10;
const MAX_SHOWN = 400;

export function check(isTrue: boolean, problem: string): asserts isTrue {
  if (!isTrue) throw new Error(problem);
}

export function checkSame(found: unknown, expected: unknown, what: string): void {
  check(isSame(found, expected), `${what}: expected ${shown(expected)}, but found ${shown(found)}.`);
}

/** Checks that a value is plain JSON and survives saving and sending. */
export function checkJson(value: unknown, what: string): void {
  let copy: unknown;
  try {
    copy = parseJson(JSON.stringify(value) ?? '');
  } catch (error) {
    throw new Error(`${what} is not JSON: ${String(error)}`, { cause: error });
  }
  check(isSame(copy, value), `${what} does not survive JSON: ${shown(value)}.`);
}

/** Whether two JSON values are equal, in any order of keys. */
export function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b) || !isPlain(a) || !isPlain(b)) return false;
  const entries = Object.entries(a);
  const others = new Map(Object.entries(b));
  return (
    entries.length === others.size &&
    entries.every(([key, value]) => others.has(key) && isSame(value, others.get(key)))
  );
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/** Waits for work that should end soon. @throws Error otherwise. */
export async function soon<T>(work: Promise<T>, what: string): Promise<T> {
  let isSettled = false;
  const settled = (): void => {
    isSettled = true;
  };
  work.then(settled, settled);
  await becomes(() => isSettled, `${what} did not come within ${MAX_TURNS} turns of the event loop.`);
  return work;
}

/** Waits for a condition that should become true soon. @throws Error if it stays false. */
export async function becomes(isTrue: () => boolean, problem: string): Promise<void> {
  for (let turn = 0; turn < MAX_TURNS && !isTrue(); turn++) await yieldToEventLoop();
  check(isTrue(), problem);
}

/** Returns the error of the work. @throws Error if the work succeeds. */
export async function thrownBy(work: Promise<unknown>, what: string): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error(`${what} should have failed, but did not.`);
}

/** Whether work stays pending for a few turns of the event loop. */
export async function isPending(work: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  for (let turn = 0; turn < A_FEW_TURNS && !isOver; turn++) await yieldToEventLoop();
  return !isOver;
}

/** Checks that aborted work ends soon, with the identical reason. */
export async function rejects(work: Promise<unknown>, reason: Error, what: string): Promise<void> {
  const thrown = await soon(thrownBy(work, what), `The end of ${what} after the abort`);
  check(thrown === reason, `${what} should reject with the reason, not with ${String(thrown)}.`);
}

/** All texts in a value, including hidden properties, causes and stacks. */
export function textsIn(value: unknown, seen = new Set<unknown>()): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  return Reflect.ownKeys(value).flatMap((key) => [
    String(key),
    ...textsIn(Object.getOwnPropertyDescriptor(value, key)?.value, seen),
  ]);
}

/** Freezes a value deeply. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
