import { getLogger } from '../../config/run-config.ts';
import type { StateList } from '../../state/state-module.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import type { SessionComponents } from './component-state.ts';
import { SessionError } from './session-error.ts';
import type { Head } from './session-format.ts';
import { keyName, type CheckedKey } from './session-key.ts';
import { pathText } from './sync-state.ts';

/**
 * Reports a session without any of the components.
 * @throws SessionError if `mustMatch`
 */
export function reportNoMatch(
  key: CheckedKey,
  components: SessionComponents,
  head: Head,
  mustMatch: boolean,
): void {
  const names = Object.keys(components);
  if (names.length === 0) return;
  const problem =
    `Session ${keyName(key)} has none of the components ${namesText(names)}, ` +
    `but ${namesText(Object.keys(head.components))}. Was one renamed?`;
  if (mustMatch) throw new SessionError(problem, undefined, 'session_not_found');
  getLogger().log('warn', problem);
}

/** Warns about saved state that the loaded components don't have; the next save drops it. */
export function warnOfUnused(
  key: CheckedKey,
  head: Head,
  rest: JsonObject,
  lists: readonly StateList[],
): void {
  const known = new Set(lists.map(({ path }) => pathText(path)));
  const unused = Object.entries(rest).flatMap(([name, now]) => missingIn(now, head.components[name], name));
  for (const { path } of head.lists) {
    if (!Object.hasOwn(rest, path[0] ?? '') || known.has(pathText(path))) continue;
    if (!unused.some((one) => path.join('.').startsWith(`${one}.`))) unused.push(path.join('.'));
  }
  if (unused.length === 0) return;
  const what = unused.join(', ');
  getLogger().log(
    'warn',
    `Session ${keyName(key)} has saved state that was not loaded: ${what}. The next save drops it.`,
  );
}

/**
 * Paths of saved values that are missing now. States of another version are skipped, because a migration may
 * have changed them.
 */
function missingIn(now: unknown, saved: unknown, path: string): string[] {
  if (!isJsonObject(now) || !isJsonObject(saved) || now['__version__'] !== saved['__version__']) return [];
  return Object.keys(saved).flatMap((name) =>
    Object.hasOwn(now, name) ? missingIn(now[name], saved[name], `${path}.${name}`) : [`${path}.${name}`],
  );
}

function namesText(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(', ');
}
