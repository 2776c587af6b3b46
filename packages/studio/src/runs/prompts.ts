import type { JsonObject, JsonValue } from 'troupe';

import type { PromptChange, PromptDetail, PromptDiff, PromptInfo, PromptPart } from '../protocol.ts';
import { isRecord, readStored } from '../store/json-text.ts';
import type { StoredPrompt, StudioStore } from '../store/studio-store.ts';
import { textOf } from './live-run.ts';

const CHARS_PER_TOKEN = 4;

/** A prompt with its parts. Tools come first, as providers count them: the cached tokens are the first ones. */
export function promptDetail(store: StudioStore, runId: string, prompt: StoredPrompt): PromptDetail {
  const { toolHashes, messageHashes, ...rest } = prompt;
  let uncached = prompt.usage?.cachedTokens ?? 0;
  const partOf = (hash: string, isTool: boolean): PromptPart => {
    const json = store.part(runId, hash);
    const value = json === undefined ? null : readStored<JsonValue>(json);
    const tokens = Math.ceil((json?.length ?? 0) / CHARS_PER_TOKEN);
    const isCached = uncached >= tokens && tokens > 0;
    uncached = isCached ? uncached - tokens : 0;
    const role = isRecord(value) ? value['role'] : undefined;
    const kind = isTool ? 'tool' : role === 'system' ? 'system' : 'message';
    return { kind, hash, value, text: partText(value), tokens, isCached };
  };
  const parts = [
    ...toolHashes.map((hash) => partOf(hash, true)),
    ...messageHashes.map((hash) => partOf(hash, false)),
  ];
  return { ...rest, parts };
}

/** Text of a part, for a diff: the text of a message, or formatted JSON. */
function partText(value: JsonValue): string {
  const content = isRecord(value) ? value['content'] : undefined;
  if (typeof content === 'string') return content;
  const text = textOf(content);
  return text !== '' && Array.isArray(content) && content.length === 1
    ? text
    : JSON.stringify(content ?? value, null, 2);
}

/** Parts that were added, removed or changed between two prompts. */
export function promptDiff(before: PromptDetail | undefined, after: PromptDetail): PromptDiff {
  return {
    before: before === undefined ? null : infoOf(before),
    after: infoOf(after),
    changes: changesOf(before?.parts ?? [], after.parts),
    settings: settingsDiff(before?.settings ?? {}, after.settings),
  };
}

function infoOf({ parts: _parts, settings: _settings, ...info }: PromptDetail): PromptInfo {
  return info;
}

/**
 * Aligns two lists of parts: equal parts at the start and at the end, and in between each part that only one list has. A removed part that
 * is followed by an added one of the same kind is a change.
 */
export function changesOf(before: readonly PromptPart[], after: readonly PromptPart[]): PromptChange[] {
  const changes: PromptChange[] = [];
  const known = new Map<string, number>();
  for (const [i, { hash }] of before.entries()) known.set(hash, i);
  let next = 0;
  const same = (part: PromptPart): void => {
    const last = changes.at(-1);
    if (last?.type === 'same')
      changes.splice(-1, 1, { type: 'same', count: last.count + 1, tokens: last.tokens + part.tokens });
    else changes.push({ type: 'same', count: 1, tokens: part.tokens });
  };
  const remove = (end: number): void => {
    for (; next < end; next++) {
      const part = before[next];
      if (part !== undefined) changes.push({ type: 'removed', part });
    }
  };
  for (const part of after) {
    const at = known.get(part.hash);
    if (at !== undefined && at >= next) {
      remove(at);
      next = at + 1;
      same(part);
      continue;
    }
    const candidate = before[next];
    const isChange =
      candidate !== undefined &&
      candidate.kind === part.kind &&
      !after.some(({ hash }) => hash === candidate.hash);
    if (isChange) {
      next++;
      changes.push({ type: 'changed', before: candidate, after: part });
    } else changes.push({ type: 'added', part });
  }
  remove(before.length);
  return changes;
}

function settingsDiff(before: JsonObject, after: JsonObject): PromptDiff['settings'] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const isDifferent = (name: string): boolean => JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  return Object.fromEntries(
    names.filter(isDifferent).map((name) => [name, [before[name] ?? null, after[name] ?? null] as const]),
  );
}
