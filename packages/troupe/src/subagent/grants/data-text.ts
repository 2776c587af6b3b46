import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { oneLine } from '../../util/text.ts';

/** JSON as text for a model: each key with its value, lists and objects as bullet points below their key. */
export function dataText(data: JsonObject): string {
  return Object.entries(data)
    .map(([key, value]) =>
      isPlain(value) ? `${oneLine(key)}: ${plainText(value)}` : `${oneLine(key)}:\n${bulletPoints(value)}`,
    )
    .join('\n');
}

/** One bullet point for each entry of an object or item of a list; nested ones are indented. */
export function bulletPoints(value: JsonValue): string {
  const points = isJsonObject(value)
    ? Object.entries(value).map(([key, item]) => point(item, `${oneLine(key)}:`))
    : itemsOf(value).map((item) => point(item, ''));
  return points.join('\n');
}

function point(value: JsonValue, label: string): string {
  const text = isPlain(value) ? plainText(value) : bulletPoints(value);
  const isLong = text.includes('\n') || (!isPlain(value) && text !== '');
  const separator = isLong ? '\n  ' : ' ';
  return `-${label === '' ? '' : ` ${label}`}${separator}${text.replaceAll('\n', '\n  ')}`;
}

type Plain = string | number | boolean | null;

/** Whether a value fits behind its key: a text, a number, or a list of those. */
function isPlain(value: JsonValue): value is Plain | readonly Plain[] {
  return Array.isArray(value) ? value.every((item) => isScalar(item as JsonValue)) : isScalar(value);
}

function isScalar(value: JsonValue): value is Plain {
  return typeof value !== 'object' || value === null;
}

function plainText(value: Plain | readonly Plain[]): string {
  return typeof value === 'object' && value !== null ? value.map(String).join(', ') : String(value);
}

function itemsOf(value: JsonValue): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
}
