import type { ProviderMeta } from '../../../message/blocks.ts';
import type { Citation } from '../../../message/citation.ts';
import type { ModelDelta } from '../../../message/model-delta.ts';
import { objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import type { JsonObject } from '../../../util/json.ts';
import { toCitation, type AnnotatedPart } from '../tools/responses-annotations.ts';
import { isClientCall } from '../tools/responses-client-calls.ts';
import { isProviderItem } from '../tools/responses-provider-items.ts';

/** Output item that is still receiving events. */
export interface OutputItem {
  /** Index of the tool call, for tool call items. */
  readonly index: number;
  readonly type: string;
  /** Kind of the item: a call of the program's tools, of the vendor's own tools, or none. */
  readonly kind: 'function' | 'client' | 'provider' | 'other';
  /** Begin of a message in the text of its block, which may hold several messages. */
  readonly base: number;
  /** Lengths of the text parts so far. */
  readonly partLengths: number[];
  /** Number of annotations that were reported. */
  annotations: number;
  /** JSON of the arguments so far, of a tool call. */
  input: string;
  /** Deltas not yet passed on. */
  readonly deltas: ModelDelta[];
  /** Whether content was reported, so that the item's end does not repeat the content. */
  hasContent: boolean;
  /** Current part of a reasoning summary. */
  part: string | undefined;
  isDone: boolean;
  /** Whether the call of a tool that the vendor runs was reported as complete. */
  isCallEnded: boolean;
  /** Data to send back with a call of the program's. */
  meta: ProviderMeta | undefined;
  /** Function call that was not reported yet. */
  held: JsonObject | undefined;
}

/** Type of items whose call has another id at its end than at its beginning: the last one counts. */
export const LATE_ID = 'tool_search_call';

/** The program and the namespace of a function call, which the vendor wants back with it. */
export function callOrigin({ caller, namespace }: JsonObject): JsonObject {
  const by = objectOf(caller);
  return {
    ...(by['type'] === 'program' && { caller: by }),
    ...(stringOf(namespace) !== '' && { namespace: stringOf(namespace) }),
  };
}

/** The id of an item, if it has one. */
export function keptId(data: JsonObject): { readonly id?: string } {
  const id = stringOf(data['id']);
  return id === '' ? {} : { id };
}

export function itemKind(data: JsonObject): OutputItem['kind'] {
  if (data['type'] === 'function_call') return 'function';
  if (isClientCall(data)) return 'client';
  return isProviderItem(data) ? 'provider' : 'other';
}

export function citationsOf(parts: readonly AnnotatedPart[], base: number): readonly Citation[] {
  let offset = base;
  return parts.flatMap(({ length, annotations }) => {
    const start = offset;
    offset += length;
    return annotations.map((annotation) => toCitation(annotation, start));
  });
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

export function textIn(parts: unknown, separator: string): string {
  return objectsOf(parts)
    .map((part) => stringOf(part['text'] ?? part['refusal']))
    .join(separator);
}

/**
 * The end of a reasoning item: keeps encrypted thinking for the vendor, and marks thinking in plain text, which goes back as
 * plain text. Thinking that is neither goes back by its id, to a vendor that stores it.
 */
export function endOfThinking(
  item: OutputItem,
  data: JsonObject,
  { metaKey, keepsIds }: { readonly metaKey: string; readonly keepsIds: boolean },
): ModelDelta | undefined {
  const encryptedContent = stringOf(data['encrypted_content']);
  const summary = textIn(data['summary'], '\n\n');
  const raw = textIn(data['content'], '\n\n');
  const isRaw = summary === '' && (raw !== '' || item.part?.startsWith('text') === true);
  const thinking = item.hasContent ? '' : summary || raw;
  const id = stringOf(data['id']);
  const isStored = keepsIds && id !== '' && encryptedContent === '' && !isRaw;
  if (encryptedContent === '' && !isRaw && !isStored)
    return thinking === '' ? undefined : { type: 'thinking', thinking };
  const meta = {
    ...(encryptedContent !== '' && { encryptedContent }),
    ...(isRaw && { isRaw }),
    ...(isStored && { isStored }),
  };
  const whole = { type: 'thinking', thinking, providerMeta: { [metaKey]: { id, ...meta } } } as const;
  return item.hasContent ? whole : { type: 'block', block: whole };
}
