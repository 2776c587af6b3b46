/** Maximum number of backslashes for each original one (JSON nested three times). */
const MAX_DOUBLED = 8;

/** Short JSON escapes: the letter after the backslash. */
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
 * Regex source that matches a secret in every written form: each character plain, JSON-escaped (also nested),
 * or URL-encoded. Folder `util/redaction`: start here.
 */
export function secretForms(secret: string): string {
  const parts = secret.match(/\\+|[^]/gu) ?? [];
  return parts.map((part) => (part.startsWith('\\') ? backslashes(part.length) : character(part))).join('');
}

/** Consecutive backslashes form one group, to avoid exponential backtracking. */
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
    // Last, because it can be a prefix of another form.
    character.replace(/[$()*+./?[\]^{|}-]/g, String.raw`\$&`),
  ];
  return `(?:${forms.join('|')})`;
}

function escaped(form: string): string {
  return String.raw`\\{1,${MAX_DOUBLED}}${form}`;
}

/** Hex number with fixed width, matching both cases. */
function hex(value: number, digits: number): string {
  const text = value.toString(16).padStart(digits, '0');
  return text.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
