import { useEffect, useRef } from 'react';

import { settings } from './settings.ts';

/** Commands by key, such as `j`, `?`, `g n` (one after the other) or `ctrl+k`. A command that returns false leaves the key to others. */
export type KeyMap = Readonly<Record<string, ((event: KeyboardEvent) => void | false) | undefined>>;

const CHORD_MS = 1200;
const maps: { readonly current: KeyMap }[] = [];
let first: { readonly key: string; readonly at: number } | undefined;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    target.matches('input:not([type=range], [type=checkbox], [type=radio]), textarea, select')
  );
}

/** Whether Enter has a meaning of its own there. */
function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('button, a, summary, [role=option]') !== null;
}

function find(key: string): ((event: KeyboardEvent) => void | false) | undefined {
  for (const map of maps.toReversed()) {
    const command = map.current[key];
    if (command !== undefined) return command;
  }
  return undefined;
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || (event.repeat && event.key === 'Enter')) return;
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (hasModifier) {
    const command = event.altKey ? undefined : find(`ctrl+${event.key.toLowerCase()}`);
    if (command !== undefined && command(event) !== false) event.preventDefault();
    return;
  }
  if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
  if (event.key === 'Enter' && isControl(event.target)) return;
  if (event.key.length === 1 && !settings.get().hasLetterKeys) return;
  const isChord = first !== undefined && event.timeStamp - first.at < CHORD_MS;
  const command = (isChord ? find(`${first?.key} ${event.key}`) : undefined) ?? find(event.key);
  first = event.key === 'g' && !isChord ? { key: 'g', at: event.timeStamp } : undefined;
  if (command !== undefined && command(event) !== false) event.preventDefault();
}

/** Adds commands while the component is mounted. The last component comes first. */
export function useKeys(keys: KeyMap): void {
  const ref = useRef(keys);
  ref.current = keys;
  useEffect(() => {
    if (maps.length === 0) window.addEventListener('keydown', onKeyDown);
    maps.push(ref);
    return () => {
      maps.splice(maps.indexOf(ref), 1);
      if (maps.length === 0) window.removeEventListener('keydown', onKeyDown);
    };
  }, []);
}
