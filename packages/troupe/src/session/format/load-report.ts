import { getLogger } from '../../config/run-config.ts';
import type { StateParts } from '../../state/state-module.ts';
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
  const saved = Object.keys(head.components);
  const problem =
    `Session ${keyName(key)} has none of the components ${namesText(names)}, ` +
    `but ${namesText(saved) || 'no others either'}.` +
    (saved.length === 0
      ? ' Save it again.'
      : ` If one was renamed, give it its saved name: addComponent('${saved[0]}', …).`);
  if (mustMatch) throw new SessionError(problem, undefined, 'session_not_found');
  getLogger().log('warn', problem);
}

/** Warns about saved state that the loaded components don't have; the next save drops it. */
export function warnOfUnused(key: CheckedKey, head: Head, parts: StateParts): void {
  const { rest, lists } = parts;
  const known = new Set(lists.map(({ path }) => pathText(path)));
  const loaded = Object.entries(head.components).filter(([name]) => Object.hasOwn(rest, name));
  const unused = missingIn(rest, Object.fromEntries(loaded), [], new Set(parts.modules.map(pathText)));
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
 * Paths of saved modules and properties that are missing now. The value of a property is left to its converter. States of another
 * version are skipped, because a migration may have changed them.
 */
function missingIn(
  now: JsonObject,
  saved: JsonObject,
  path: readonly string[],
  modules: ReadonlySet<string>,
): string[] {
  if (now['__version__'] !== saved['__version__']) return [];
  return Object.entries(saved).flatMap(([name, savedValue]) => {
    const inner = [...path, name];
    if (!Object.hasOwn(now, name)) return [inner.join('.')];
    const value = now[name];
    const isModule = modules.has(pathText(inner)) && isJsonObject(value) && isJsonObject(savedValue);
    return isModule ? missingIn(value, savedValue, inner, modules) : [];
  });
}

function namesText(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(', ');
}
