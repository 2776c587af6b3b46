import type { JsonObject, JsonValue } from 'troupe';

import type { PromptChange, PromptDetail, PromptDiff, PromptInfo, PromptPart } from '../protocol.ts';
import { isRecord, readStored } from '../store/json-text.ts';
import type { StoredPrompt, StudioStore } from '../store/studio-store.ts';

/** Characters of a token, for estimates. */
export const CHARS_PER_TOKEN = 4;
/** Removed parts in a row that are looked at for one added part. */
const MAX_CANDIDATES = 20;
/** Texts up to this length count as alike. */
const MAX_SHORT = 60;
/** Share of the words that two longer texts have in common if they are alike. */
const MIN_COMMON = 0.3;
/** Characters of a text that are compared. */
const MAX_COMPARED = 20_000;

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

/** Text of a part, for a diff: the blocks of a message one after the other, or formatted JSON. */
export function partText(value: JsonValue): string {
  const content = isRecord(value) ? value['content'] : undefined;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return JSON.stringify(content ?? value, null, 2);
  return content.map(blockText).join('\n');
}

/** Text of a block: its text, or a line that names it and its formatted JSON. */
function blockText(block: JsonValue): string {
  const { type, name, text, thinking } = isRecord(block) ? block : {};
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'thinking' && typeof thinking === 'string') return `thinking: ${thinking}`;
  const title = [type, name].filter((word) => typeof word === 'string').join(' ');
  return `${title} ${JSON.stringify(block, null, 2)}`;
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
 * Aligns two lists of parts: equal parts at the start and at the end, and in between each part that only one list has. An added part is a
 * change of the next removed one of the same kind that is like it.
 */
export function changesOf(before: readonly PromptPart[], after: readonly PromptPart[]): PromptChange[] {
  const changes: PromptChange[] = [];
  const known = new Map<string, number>();
  for (const [i, { hash }] of before.entries()) known.set(hash, i);
  const kept = new Set(after.map(({ hash }) => hash));
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
  const changedPart = (part: PromptPart): number | undefined => {
    for (let at = next; at < Math.min(before.length, next + MAX_CANDIDATES); at++) {
      const candidate = before[at];
      if (candidate === undefined || kept.has(candidate.hash)) return undefined;
      if (candidate.kind === part.kind && isLike(candidate.text, part.text)) return at;
    }
    return undefined;
  };
  for (const part of after) {
    const at = known.get(part.hash);
    if (at !== undefined && at >= next) {
      remove(at);
      next = at + 1;
      same(part);
      continue;
    }
    const changedAt = changedPart(part);
    const candidate = changedAt === undefined ? undefined : before[changedAt];
    if (changedAt === undefined || candidate === undefined) changes.push({ type: 'added', part });
    else {
      remove(changedAt);
      next = changedAt + 1;
      if (candidate.text === part.text) same(part); // a message made anew for each prompt, such as a hint
      else changes.push({ type: 'changed', before: candidate, after: part });
    }
  }
  remove(before.length);
  return changes;
}

/** Whether two texts are versions of one: both short, or with many words in common. */
function isLike(a: string, b: string): boolean {
  if (a.length <= MAX_SHORT && b.length <= MAX_SHORT) return true;
  const words = wordsOf(a);
  const others = wordsOf(b);
  const common = [...words].filter((word) => others.has(word)).length;
  return common >= Math.max(words.size, others.size) * MIN_COMMON;
}

/** The words of a text; of Chinese, its characters. */
function wordsOf(text: string): Set<string> {
  return new Set(text.slice(0, MAX_COMPARED).match(/\p{Script=Han}|[\p{L}\p{N}]+/gu));
}

function settingsDiff(before: JsonObject, after: JsonObject): PromptDiff['settings'] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const isDifferent = (name: string): boolean => JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  return Object.fromEntries(
    names.filter(isDifferent).map((name) => [name, [before[name] ?? null, after[name] ?? null] as const]),
  );
}
