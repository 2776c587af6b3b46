import type { ImageBlock } from '../../../message/blocks.ts';
import type { Citation } from '../../../message/citation.ts';
import { objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import type { JsonObject, JsonValue } from '../../../util/json.ts';
import type { ThinkingField } from '../vendors.ts';
import { toCitation } from './responses-annotations.ts';

/** A piece of content: text, thinking with its place in the answer, sources, or a part of an unknown type. */
export interface ContentPiece {
  readonly text: string;
  readonly thinkingField?: ThinkingField;
  readonly citations?: readonly Citation[];
  readonly unknown?: JsonObject;
}

const OPENED = /^<thought>/;
const CLOSED = /<\/thought>/;

/** Reads content, which is text, or a list of parts, as at Mistral as soon as it has thinking or sources, and at Databricks. */
export function* piecesIn(delta: JsonObject, isThinking: boolean): Generator<ContentPiece, void, void> {
  const { content } = delta;
  if (typeof content !== 'string') for (const part of objectsOf(content)) yield* pieceOf(part);
  else if (isThought(delta)) yield* thoughtIn(content);
  else yield { text: isThinking ? content.replace(/^<\/thought>/, '') : content };
}

/** Whether Google's compatible API says that content is thinking. */
function isThought({ extra_content: extra }: JsonObject): boolean {
  return extra !== undefined && objectOf(objectOf(extra)['google'])['thought'] === true;
}

/** Thinking between tags, of which the last may come with the answer behind it. */
function* thoughtIn(content: string): Generator<ContentPiece, void, void> {
  const [thinking = '', ...rest] = content.replace(OPENED, '').split(CLOSED);
  yield { text: thinking, thinkingField: 'extra_content' };
  yield { text: rest.join('</thought>') };
}

function* pieceOf(part: JsonObject): Generator<ContentPiece, void, void> {
  switch (stringOf(part['type'])) {
    case 'text':
    case 'output_text':
      return yield { text: stringOf(part['text']) };
    case 'image_url':
      return; // an image of its own
    case 'thinking':
      return yield* thinkingIn(part['thinking']);
    case 'reasoning':
      return yield { text: textOf(part['summary']), thinkingField: 'content' };
    case 'reference':
      return yield { text: stringOf(part['text']), citations: idsOf(part['reference_ids']), unknown: part };
    case 'tool_reference':
      return yield { text: '', citations: [toCitation(part)], unknown: part };
    default:
      yield { text: '', unknown: part };
  }
}

/** Thinking of Mistral is a list of parts too, some of which name sources. */
function* thinkingIn(thinking: unknown): Generator<ContentPiece, void, void> {
  const text = typeof thinking === 'string' ? thinking : textOf(thinking);
  yield { text, thinkingField: 'content' };
  for (const part of objectsOf(thinking)) if (part['type'] !== 'text') yield { text: '', unknown: part };
}

function textOf(parts: unknown): string {
  return objectsOf(parts)
    .map((part) => stringOf(part['text']))
    .join('');
}

/** Sources of which only the ids are known: those of documents in the tool results. */
function idsOf(ids: JsonValue | undefined): readonly Citation[] {
  const list: readonly unknown[] = Array.isArray(ids) ? ids : [];
  return list.map((id) => ({ title: typeof id === 'string' ? id : `document ${String(id)}` }));
}

/** Images that the model has made: in a list of their own at OpenRouter, or among the parts of the content. */
export function imagesIn({ images, content }: JsonObject): readonly ImageBlock[] {
  return [...objectsOf(images), ...objectsOf(content)].flatMap((part) => {
    const url = stringOf(objectOf(part['image_url'])['url']);
    if (url === '') return [];
    const [, mediaType, data] = /^data:(image\/[\w.+-]+);base64,(.+)$/s.exec(url) ?? [];
    const source =
      mediaType === undefined || data === undefined
        ? ({ type: 'url', url } as const)
        : ({ type: 'base64', mediaType, data } as const);
    return /^(?:https?|data):/i.test(url) ? [{ type: 'image', source }] : [];
  });
}
