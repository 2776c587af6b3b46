import { badPattern } from './file-system-error.ts';

/** Syntax tree of a regular expression. */
export type PatternNode =
  | { readonly op: 'char'; readonly test: (char: string) => boolean }
  | { readonly op: 'assert'; readonly what: string }
  | { readonly op: 'all' | 'any'; readonly of: readonly PatternNode[] }
  | { readonly op: 'repeat'; readonly of: PatternNode; readonly min: number; readonly max: number };

const MAX_DEPTH = 100;
const COUNT = /\{(\d+)(?:(,)(\d*))?\}/y;
const CLASS = /\[(?:\\[^]|[^\]\\])*\]/y;
const ESCAPE = /\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|p\{[^}]*\}|[^])/iuy;
/** Letter escapes known to JavaScript. Others are refused: JavaScript would match the letter itself. */
const KNOWN_LETTERS = /^[bdDfnpPrsStuvwWx]$/;
const GROUP = /\((?:\?(?::|<[a-z_]\w*>))?/iy;

/**
 * Parses a regular expression.
 * @throws FileSystemError if the pattern is invalid or needs backtracking
 */
export function readPattern(text: string, ignoreCase: boolean): PatternNode {
  let at = 0;
  let depth = 0;

  /** Matches an expression at the current position and moves past the match. */
  function take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at += found[0].length;
    return found;
  }

  function takeChar(char: string): boolean {
    const isThere = text.startsWith(char, at);
    if (isThere) at += char.length;
    return isThere;
  }

  function choices(): PatternNode {
    const first = sequence();
    if (text[at] !== '|') return first;
    const of = [first];
    while (takeChar('|')) of.push(sequence());
    return { op: 'any', of };
  }

  function sequence(): PatternNode {
    const of: PatternNode[] = [];
    while (at < text.length && text[at] !== '|' && text[at] !== ')') of.push(repeated(atom()));
    return { op: 'all', of };
  }

  function repeated(of: PatternNode): PatternNode {
    const range = readRange();
    if (range === undefined) return of;
    takeChar('?'); // lazy repetition: makes no difference for whether a line matches
    if (of.op === 'assert') throw badPattern('repeats an assertion, which has no length.');
    if (range.max < range.min) throw badPattern('has a repetition whose numbers are out of order.');
    if (readRange() !== undefined)
      throw badPattern('repeats a repetition. Put brackets around the inner one.');
    return { op: 'repeat', of, ...range };
  }

  function readRange(): { readonly min: number; readonly max: number } | undefined {
    if (takeChar('*')) return { min: 0, max: Infinity };
    if (takeChar('+')) return { min: 1, max: Infinity };
    if (takeChar('?')) return { min: 0, max: 1 };
    const count = take(COUNT);
    if (count === null) return undefined;
    const [, min, comma, max] = count;
    return { min: Number(min), max: max ? Number(max) : comma ? Infinity : Number(min) };
  }

  function atom(): PatternNode {
    if (text[at] === '(') return group();
    if (text[at] === '[') {
      const found = take(CLASS);
      if (found === null) throw badPattern("has a '[' without its ']'.");
      if (/\[:[a-z]+:\]$/.test(found[0]))
        throw badPattern(`has '${found[0]}', which is not supported. Use \\w, \\d, \\s or ranges.`);
      return char(found[0]);
    }
    if (text[at] === '\\') return escaped();
    if (takeChar('^')) return { op: 'assert', what: '^' };
    if (takeChar('$')) return { op: 'assert', what: '$' };
    if (takeChar('.')) return char('.');
    if (/[*+?]/.test(text[at] ?? '') || take(COUNT) !== null) throw badPattern('repeats nothing.');
    const literal = String.fromCodePoint(text.codePointAt(at) ?? 0);
    at += literal.length;
    return char(literal.replace(/[{}\]/]/, '\\$&'));
  }

  function group(): PatternNode {
    if (/^\(\?(?:<?[=!])/.test(text.slice(at, at + 4)))
      throw badPattern('has a lookaround such as (?=, which is not supported.');
    if (/^\(\?[a-z-]+[:)]/.test(text.slice(at, at + 12)))
      throw badPattern(
        'sets flags such as (?i), which is not supported. To ignore case, use the option for it.',
      );
    take(GROUP);
    if (text[at] === '?') throw badPattern('has a group that is not supported.');
    if (++depth > MAX_DEPTH) throw badPattern('is nested too deeply.');
    const inside = choices();
    if (!takeChar(')')) throw badPattern("has a '(' without its ')'.");
    depth--;
    return inside;
  }

  function escaped(): PatternNode {
    const [escape] = take(ESCAPE) ?? [];
    if (escape === undefined) throw badPattern('ends in a backslash.');
    if (escape === '\\b' || escape === '\\B') return { op: 'assert', what: escape };
    if (/^\\[1-9k]/.test(escape)) throw badPattern('has a back-reference, which is not supported.');
    return char(escape);
  }

  /** Matches one character by JavaScript's own engine. */
  function char(source: string): PatternNode {
    const pattern = oneChar(source, ignoreCase ? 'i' : '');
    return { op: 'char', test: (char) => pattern.test(char) };
  }

  const pattern = choices();
  if (at < text.length) throw badPattern("has a ')' without its '('.");
  return pattern;
}

/** Tries Unicode mode first; then legacy mode for escapes such as `\-` that Unicode mode rejects. */
function oneChar(source: string, flags: string): RegExp {
  for (const [escape, sign = ''] of source.matchAll(/\\([^])/g)) {
    if (/[<>]/.test(sign)) throw badPattern(`has '${escape}'. The edge of a word is \\b.`);
    if (/[a-z]/i.test(sign) && !KNOWN_LETTERS.test(sign))
      throw badPattern(`has '${escape}', which is not supported.`);
  }
  const hasBraces = /\\[pu]\{/i.test(source); // `\u{…}` and `\p{…}` have another meaning without Unicode mode
  for (const mode of hasBraces ? ['u'] : ['u', '']) {
    try {
      return new RegExp(`^(?:${source})$`, `${mode}${flags}`);
    } catch {
      // Try the next mode.
    }
  }
  throw badPattern(`has the invalid part '${source}'.`);
}
