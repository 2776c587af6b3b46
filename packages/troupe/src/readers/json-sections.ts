import type { Section } from '../document/chunk.ts';
import { isJsonObject, parseJson, type JsonValue } from '../util/json.ts';

const SECTION_CHARS = 800;
const MAX_DEPTH = 8;

/**
 * Sections of JSON: values are kept together as long as they fit, and larger ones are split. `heading` is the path
 * to the values, such as `users > 3`.
 */
export function jsonSections(value: JsonValue, path: readonly string[] = []): readonly Section[] {
  const text = JSON.stringify(value);
  const entries = path.length < MAX_DEPTH ? entriesOf(value) : undefined;
  if (entries === undefined || text.length <= SECTION_CHARS) return [section(text, path)];
  const sections: Section[] = [];
  const isList = Array.isArray(value);
  let group: [string, JsonValue][] = [];
  let size = 0;
  const flush = (): void => {
    const [first, last] = [group[0], group.at(-1)];
    if (first === undefined || last === undefined) return;
    const content = isList ? group.map(([, item]) => item) : Object.fromEntries(group);
    const place = isList ? [first === last ? first[0] : `${first[0]}-${last[0]}`] : [];
    sections.push(section(JSON.stringify(content), [...path, ...place]));
    group = [];
    size = 0;
  };
  for (const [key, item] of entries) {
    const length = JSON.stringify(item).length + key.length;
    if (length > SECTION_CHARS) {
      flush();
      sections.push(...jsonSections(item, [...path, key]));
      continue;
    }
    if (size + length > SECTION_CHARS) flush();
    group.push([key, item]);
    size += length;
  }
  flush();
  return sections;
}

function entriesOf(value: JsonValue): readonly [string, JsonValue][] | undefined {
  if (Array.isArray(value)) return value.map((item: JsonValue, index) => [`${index + 1}`, item]);
  return isJsonObject(value) ? Object.entries(value) : undefined;
}

function section(text: string, path: readonly string[]): Section {
  return {
    content: { type: 'text', text },
    ...(path.length > 0 && { metadata: { heading: path.join(' > ') } }),
  };
}

/** A line of JSON lines; one that is not JSON, or too deep, is a text. */
export function jsonOfLine(line: string): JsonValue {
  try {
    return parseJson(line);
  } catch {
    return line;
  }
}
