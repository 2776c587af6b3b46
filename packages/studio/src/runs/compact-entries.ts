import { joinedEvent } from 'troupe/studio';

import type { RunEntry } from '../protocol.ts';

/**
 * Joins the deltas of each block into one entry, at the place of the last one, so that a first load has one entry for each block. The
 * result folds into the same messages.
 */
export function compactEntries(entries: readonly RunEntry[]): RunEntry[] {
  const kept: (RunEntry | undefined)[] = [];
  /** Place of the last delta of each block. */
  const places = new Map<string, number>();
  for (const entry of entries) {
    const key = blockKey(entry);
    const place = key === undefined ? undefined : places.get(key);
    const before = place === undefined ? undefined : kept[place];
    if (key === undefined || place === undefined || before?.kind !== 'event' || entry.kind !== 'event') {
      if (key !== undefined) places.set(key, kept.length);
      kept.push(entry);
      continue;
    }
    const event = joinedEvent(before.event, entry.event);
    if (event !== undefined) kept[place] = undefined;
    places.set(key, kept.length);
    kept.push(event === undefined ? entry : { ...entry, event });
  }
  return kept.filter((entry) => entry !== undefined);
}

function blockKey(entry: RunEntry): string | undefined {
  if (entry.kind !== 'event') return undefined;
  const { event } = entry;
  switch (event.type) {
    case 'text_delta':
    case 'thinking_delta':
    case 'tool_input_delta':
      return `${event.type} ${event.msgId} ${event.index}`;
    default:
      return undefined;
  }
}
