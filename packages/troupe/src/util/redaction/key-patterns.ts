/** Replacement text for a secret. */
export const REDACTED = '[redacted]';

/** Not in the middle of a word. */
const START = String.raw`(?<![A-Za-z0-9])`;
/** Random part of a key: long, or shorter with a digit (hyphenated words have none). */
const RANDOM = String.raw`(?:(?=[\w-]*\d)[\w-]{8,}|[\w-]{20,})`;

/** Typical formats of keys. */
const FORMATS = [
  String.raw`${START}(?:sk|rk|pk)-${RANDOM}`,
  String.raw`${START}(?:sk|rk|pk)_(?:live|test)_\w{8,}`,
  String.raw`${START}(?:gsk|hf|npm|glpat|xai|pplx|dop_v1|github_pat|gh[pousr])[_-][\w-]{16,}`,
  String.raw`${START}AIza[\w-]{30,}`,
  String.raw`${START}xox[a-z](?:-[\w-]+|\.[\w.-]+)`,
  String.raw`${START}(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])`,
  String.raw`${START}eyJ[\w-]{6,400}\.[\w-]{6,8000}\.[\w-]*`,
  String.raw`${START}([Bb]earer\s+)(?:(?=[\w.~+/-]*\d)[\w.~+/-]{8,}|[\w.~+/-]{20,})=*`,
  String.raw`((?:[Kk]ey|KEY|[Tt]oken|TOKEN|[Ss]ecret|SECRET|[Pp]assword|PASSWORD)(?:\s+is)?[\s"'\\:=]{1,8})(?<!"\s{0,4}:\s{0,4})[0-9A-Fa-f]{16,}`,
  String.raw`(:\/\/[^\s/:@"\\]+:)[^\s/:@"\\]+(?=@)`,
  String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-"\\]|\\[nr])*(?:-----END [A-Z ]*PRIVATE KEY-----)?`,
];

/** Endings of property names whose values are secret in any format. */
const NAME = String.raw`(?:pass(?:word|wd|phrase)|secret|token|authorization|cookie|(?:api|access|private|secret)[_-]?key)`;

/** Named secrets: in JSON, in JSON inside JSON, in a URL and in a header. */
const NAMED = [
  ...inJson('"', String.raw`(?:[^"\\]|\\[^]?)`, String.raw`\s{0,40}`),
  ...inJson(
    String.raw`\\"`,
    String.raw`(?:[^"\\]|\\{4}|\\{3}"|\\{2}[^"\\])`,
    String.raw`(?:\s|\\[nrt]){0,40}`,
  ),
  String.raw`([?&#][\w.-]{0,40}?${NAME}=)[^\s&#"'\\]+`,
  String.raw`(authorization:\s{0,8}(?:basic|bearer|digest|token|apikey)\s{1,8})[^\s"'\\]+`,
];

const ENDS_IN_NAME = new RegExp(`${NAME}$`, 'i');

/** The first group is kept. No pattern matches quotes or numbers, so that JSON stays valid. */
const PATTERNS: readonly RegExp[] = [
  ...FORMATS.map((source) => new RegExp(source, 'g')),
  ...NAMED.map((source) => new RegExp(source, 'gi')),
];

/** Matches a named string, and a named list of strings. */
function inJson(quote: string, character: string, gap: string): readonly string[] {
  const name = `${NAME}${quote}${gap}:${gap}`;
  return [
    `(${name}${quote})${character}+`,
    `(${name}\\[${gap}${quote})${character}*(?:${quote}${gap},${gap}${quote}${character}*)*`,
  ];
}

/**
 * Replaces everything that looks like a key or has the name of one. Text too large to search is replaced as a
 * whole.
 */
export function redactKeys(text: string): string {
  try {
    return PATTERNS.reduce(
      (rest, pattern) =>
        rest.replace(pattern, (_match, kept: unknown) => (typeof kept === 'string' ? kept : '') + REDACTED),
      text,
    );
  } catch (error) {
    // Many megabytes, more than the stack of the regex engine.
    if (error instanceof RangeError) return REDACTED;
    throw error;
  }
}

/** Tells whether a property with this name holds a secret. */
export function isSecretName(name: string): boolean {
  return ENDS_IN_NAME.test(name);
}
