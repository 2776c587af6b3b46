/** How often each backslash is doubled at most: in JSON that stands in JSON, which stands in JSON. */
const MAX_DOUBLED = 8;

/** What stands behind the backslash in JSON, for characters that have a short form. */
const SHORT_FORMS: Readonly<Record<string, string>> = {
  '"': '"',
  '/': '/',
  '\b': 'b',
  '\f': 'f',
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
};

/**
 * The source of a pattern for a text in all forms in which it may be written down: each of its characters as it is,
 * escaped as in JSON (and in JSON in JSON), or encoded as in a URL.
 */
export function secretForms(secret: string): string {
  const parts = secret.match(/\\+|[^]/gu) ?? [];
  return parts.map((part) => (part.startsWith('\\') ? backslashes(part.length) : character(part))).join('');
}

/** Backslashes in a row are one part: several of an open length would be tried in too many ways. */
function backslashes(count: number): string {
  return `(?:\\\\{${count},${count * MAX_DOUBLED}}|(?:%5[cC]){${count}})`;
}

function character(character: string): string {
  const units = character.split('').map((unit) => `u${hex(unit.charCodeAt(0), 4)}`);
  const bytes = Array.from(new TextEncoder().encode(character), (byte) => `%${hex(byte, 2)}`);
  const short = SHORT_FORMS[character];
  const forms = [
    bytes.join(''),
    units.map(escaped).join(''),
    ...(short === undefined ? [] : [escaped(short)]),
    ...(character === ' ' ? [String.raw`\+`] : []),
    character.replace(/[$()*+./?[\]^{|}-]/g, String.raw`\$&`), // last, as it may be the beginning of another
  ];
  return `(?:${forms.join('|')})`;
}

function escaped(form: string): string {
  return String.raw`\\{1,${MAX_DOUBLED}}${form}`;
}

/** A number in so many digits, of either case. */
function hex(value: number, digits: number): string {
  const text = value.toString(16).padStart(digits, '0');
  return text.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
