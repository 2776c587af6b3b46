import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { isList } from './canonical-request.ts';

const MAX_VALUE = 80;
/** Number of equal characters shown before the first difference of two texts. */
const MAX_SAME = 24;

/** Differences of two values, one line each, e.g. `messages[0].content: expected "a", actual "b"`. */
export function jsonDiff(
  expected: JsonValue | undefined,
  actual: JsonValue | undefined,
  path = '',
): string[] {
  if (isList(expected) && isList(actual)) {
    const length = Math.max(expected.length, actual.length);
    return Array.from({ length }, (_, i) => jsonDiff(expected[i], actual[i], `${path}[${i}]`)).flat();
  }
  if (isJsonObject(expected) && isJsonObject(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return [...keys].flatMap((key) =>
      jsonDiff(own(expected, key), own(actual, key), path === '' ? key : `${path}.${key}`),
    );
  }
  if (expected === actual) return [];
  const [before, after] = shown(expected, actual);
  return [`${path || 'the value'}: expected ${before}, actual ${after}`];
}

/** Own property only, not an inherited one. */
function own(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function shown(a: JsonValue | undefined, b: JsonValue | undefined): [string, string] {
  if (typeof a !== 'string' || typeof b !== 'string') return [short(a), short(b)];
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  const start = Math.max(0, same - MAX_SAME);
  return [short(a, start), short(b, start)];
}

function short(value: JsonValue | undefined, start = 0): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? value.slice(start, start + MAX_VALUE + 1) : JSON.stringify(value);
  const cut = text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
  return typeof value === 'string' ? JSON.stringify((start > 0 ? '…' : '') + cut) : cut;
}
