import { decodeEntities } from '../util/html/html-entities.ts';

/** A tag of XML, or the text between two. */
export type XmlPart =
  | { readonly kind: 'open'; readonly name: string; readonly tag: string }
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string };

/** Tags and texts of machine-made XML, in linear time. Entities of a document type are never expanded. */
export function* xmlParts(xml: string): Generator<XmlPart> {
  let at = 0;
  while (at < xml.length) {
    const start = xml.indexOf('<', at);
    if (start > at || start < 0) {
      yield { kind: 'text', text: decodeEntities(xml.slice(at, start < 0 ? xml.length : start)) };
      if (start < 0) return;
    }
    const end = xml.indexOf('>', start);
    if (end < 0) return;
    at = end + 1;
    const tag = xml.slice(start + 1, end);
    if (/^[!?]/.test(tag)) continue;
    const name = /^\/?([\w:.-]*)/.exec(tag)?.[1] ?? '';
    if (tag.startsWith('/')) {
      yield { kind: 'close', name };
      continue;
    }
    yield { kind: 'open', name, tag };
    if (tag.endsWith('/')) yield { kind: 'close', name };
  }
}

/** Value of an attribute. */
export function attributeOf(tag: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? undefined : decodeEntities(value);
}
