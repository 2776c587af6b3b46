/** What stands in the place of a secret. */
export const REDACTED = '[redacted]';

/** Not in the middle of a word: what looks like a key there is none. */
const START = String.raw`(?<![A-Za-z0-9])`;
/** A random part: long, or not so long but with a digit in it, as no hyphenated word has one. */
const RANDOM = String.raw`(?:(?=[\w-]*\d)[\w-]{8,}|[\w-]{20,})`;

/** What keys look like. */
const LOOKS = [
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

/** How the name of a property ends whose text is a secret, whatever that looks like. */
const NAME = String.raw`(?:pass(?:word|wd|phrase)|secret|token|authorization|cookie|(?:api|access|private|secret)[_-]?key)`;

/** Where a secret has such a name: in JSON, in JSON that stands in JSON, in a URL and in a header. */
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

/** A group in front is kept. None takes a quote or a number, so that JSON stays JSON. */
const PATTERNS: readonly RegExp[] = [
  ...LOOKS.map((source) => new RegExp(source, 'g')),
  ...NAMED.map((source) => new RegExp(source, 'gi')),
];

/** A text that has such a name, and a list of texts. */
function inJson(quote: string, character: string, gap: string): readonly string[] {
  const name = `${NAME}${quote}${gap}:${gap}`;
  return [
    `(${name}${quote})${character}+`,
    `(${name}\\[${gap}${quote})${character}*(?:${quote}${gap},${gap}${quote}${character}*)*`,
  ];
}

/** The text without what looks like a key, or is said to be one. Nothing is left of a text in which that can't be told. */
export function redactKeys(text: string): string {
  try {
    return PATTERNS.reduce(
      (rest, pattern) =>
        rest.replace(pattern, (_match, kept: unknown) => (typeof kept === 'string' ? kept : '') + REDACTED),
      text,
    );
  } catch (error) {
    if (error instanceof RangeError) return REDACTED; // one of many megabytes, longer than the stack of a pattern
    throw error;
  }
}

/** Whether a property of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return ENDS_IN_NAME.test(name);
}
