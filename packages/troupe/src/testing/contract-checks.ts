import { parseJson } from '../util/json.ts';
import { yieldToEventLoop } from '#platform';

/** What a contract suite checks with: no test runner is needed, and every failure is an Error that says what is wrong. */

/** As many turns of the event loop as something may take that has nothing to wait for. */
const MAX_TURNS = 1_000;
/** Turns that something gets that should not come. */
const A_FEW_TURNS = 10;
const MAX_SHOWN = 400;

export function check(isTrue: boolean, problem: string): asserts isTrue {
  if (!isTrue) throw new Error(problem);
}

export function checkSame(found: unknown, expected: unknown, what: string): void {
  check(isSame(found, expected), `${what}: expected ${shown(expected)}, but found ${shown(found)}.`);
}

/** Checks that a value is plain JSON, so that it survives being saved or sent. */
export function checkJson(value: unknown, what: string): void {
  let copy: unknown;
  try {
    copy = parseJson(JSON.stringify(value) ?? '');
  } catch (error) {
    throw new Error(`${what} is no JSON: ${String(error)}`, { cause: error });
  }
  check(isSame(copy, value), `${what} does not survive JSON: ${shown(value)}.`);
}

/** Whether two values of plain JSON are the same, whatever the order of their keys. */
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

/** Waits for something that has nothing to wait for. @throws Error if it waits all the same. */
export async function soon<T>(work: Promise<T>, what: string): Promise<T> {
  let isSettled = false;
  const settled = (): void => {
    isSettled = true;
  };
  work.then(settled, settled);
  await becomes(() => isSettled, `${what} did not come within ${MAX_TURNS} turns of the event loop.`);
  return work;
}

/** Waits until something is true that has nothing to wait for. @throws Error if it stays false. */
export async function becomes(isTrue: () => boolean, problem: string): Promise<void> {
  for (let turn = 0; turn < MAX_TURNS && !isTrue(); turn++) await yieldToEventLoop();
  check(isTrue(), problem);
}

/** What the work throws. @throws Error if it throws nothing. */
export async function thrownBy(work: Promise<unknown>, what: string): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error(`${what} should have failed, but did not.`);
}

/** Whether something does not come, given a few turns to do so. */
export async function isPending(work: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  for (let turn = 0; turn < A_FEW_TURNS && !isOver; turn++) await yieldToEventLoop();
  return !isOver;
}

/** Checks that work which was aborted ends soon, with the very reason. */
export async function rejects(work: Promise<unknown>, reason: Error, what: string): Promise<void> {
  const thrown = await soon(thrownBy(work, what), `The end of ${what} after the abort`);
  check(thrown === reason, `${what} should reject with the reason, not with ${String(thrown)}.`);
}

/** Every text that can be found in a value: hidden properties, causes and stacks too. */
export function textsIn(value: unknown, seen = new Set<unknown>()): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  return Reflect.ownKeys(value).flatMap((key) => [
    String(key),
    ...textsIn(Object.getOwnPropertyDescriptor(value, key)?.value, seen),
  ]);
}

/** Freezes a value with everything in it. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
