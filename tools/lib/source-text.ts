// A rough reader of TypeScript source: enough to look for words in code without being fooled by comments, strings
// and regular expressions. Not a parser.

/** Words after which a slash starts a regular expression and not a division. */
const BEFORE_REGEX =
  /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|await|yield|throw|new|delete))\s*$/;

/**
 * The same text twice, with the same offsets and line breaks: without comments, and also without the content
 * of literals.
 */
export interface SourceText {
  readonly withoutComments: string;
  readonly bare: string;
}

/** Blanks out comments, and the content of literals. */
export function readSource(source: string): SourceText {
  const withoutComments = source.split('');
  const bare = [...withoutComments];
  const blank = (chars: string[], from: number, to: number): void => {
    for (let i = from; i < to; i++) if (chars[i] !== '\n') chars[i] = ' ';
  };
  /** For each enclosing template literal: number of open braces in its current `${…}`. */
  const templates: number[] = [];
  let at = 0;

  const skipTemplateText = (): void => {
    const start = at;
    while (at < source.length && source[at] !== '`' && !source.startsWith('${', at))
      at += source[at] === '\\' ? 2 : 1;
    blank(bare, start, at);
    if (source[at] === '`') at += 1;
    else {
      templates.push(0);
      at += 2;
    }
  };

  while (at < source.length) {
    const char = source[at];
    const start = at;
    if (source.startsWith('//', at) || source.startsWith('/*', at)) {
      const isLine = source[at + 1] === '/';
      const end = source.indexOf(isLine ? '\n' : '*/', at + 2);
      at = end < 0 ? source.length : isLine ? end : end + 2;
      blank(withoutComments, start, at);
      blank(bare, start, at);
    } else if (char === "'" || char === '"') {
      at += 1;
      while (at < source.length && source[at] !== char && source[at] !== '\n')
        at += source[at] === '\\' ? 2 : 1;
      blank(bare, start + 1, at);
      at += 1;
    } else if (char === '`') {
      at += 1;
      skipTemplateText();
    } else if (char === '/' && BEFORE_REGEX.test(bare.slice(Math.max(0, at - 80), at).join(''))) {
      let isInClass = false;
      at += 1;
      while (at < source.length && source[at] !== '\n' && (isInClass || source[at] !== '/')) {
        if (source[at] === '[') isInClass = true;
        if (source[at] === ']') isInClass = false;
        at += source[at] === '\\' ? 2 : 1;
      }
      blank(bare, start + 1, at);
      at += 1;
    } else {
      at += 1;
      const depth = templates.at(-1);
      if (depth === undefined) continue;
      if (char === '{') templates[templates.length - 1] = depth + 1;
      else if (char === '}' && depth > 0) templates[templates.length - 1] = depth - 1;
      else if (char === '}') {
        templates.pop();
        skipTemplateText();
      }
    }
  }
  return { withoutComments: withoutComments.join(''), bare: bare.join('') };
}

/** Line number, from 1, of an offset. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let i = text.indexOf('\n'); i >= 0 && i < offset; i = text.indexOf('\n', i + 1)) line += 1;
  return line;
}
