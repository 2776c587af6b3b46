import type { TextBlock } from '../../../message/blocks.ts';
import type { Citation } from '../../../message/citation.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import type { JsonObject } from '../../../util/json.ts';

/** A text part of a message: its length, and its annotations as they came. */
export type AnnotatedPart = {
  readonly length: number;
  readonly annotations: readonly JsonObject[];
};

/** A citation from an annotation. @param offset begin of the annotated part in the text of the block */
export function toCitation(annotation: JsonObject, offset = 0): Citation {
  const inner = annotation['url_citation'] ?? annotation[stringOf(annotation['type'])]; // Chat Completions nests the fields
  const fields = { ...annotation, ...objectOf(inner) };
  const start = numberOf(fields['start_index']);
  const end = numberOf(fields['end_index']);
  const hasRange = start !== undefined && end !== undefined && end > start;
  const texts = {
    url: stringOf(fields['url']),
    title: stringOf(fields['title']),
    quote: stringOf(fields['content']),
    fileId: stringOf(fields['file_id']),
    filename: stringOf(fields['filename']),
  };
  return {
    ...(hasRange && { start: offset + start, end: offset + end }),
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
  };
}

/** The parts of a finished message. */
export function annotatedParts(content: unknown): readonly AnnotatedPart[] {
  return objectsOf(content).map((part) => ({
    length: stringOf(part['text']).length,
    annotations: objectsOf(part['annotations']),
  }));
}

/** The text parts of a message with their annotations; undefined if there are none, or if the text is another one by now. */
export function wireAnnotated(
  { text, providerMeta }: TextBlock,
  metaKey: string,
): readonly JsonObject[] | undefined {
  const parts = objectsOf(objectOf(providerMeta?.[metaKey])['parts']);
  let end = 0;
  const written = parts.map((part) => {
    const start = end;
    end += numberOf(part['length']) ?? NaN;
    const annotations = objectsOf(part['annotations']).filter(({ type }) => stringOf(type) !== '');
    return { type: 'output_text', text: text.slice(start, end), annotations };
  });
  const isWhole = end === text.length && written.every((part) => /\S/.test(part.text));
  return isWhole && written.length > 0 ? written : undefined;
}
