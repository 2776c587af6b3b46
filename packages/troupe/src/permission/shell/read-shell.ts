import {
  ARITHMETIC,
  ASSIGNMENT,
  CASE,
  DASHED,
  DELIMITER,
  ESAC,
  FOR,
  FUNCTION,
  IN,
  KEYWORD,
  NO_BRACES,
  NO_FILE,
  PLAIN_FILE,
  REDIRECTION,
  RESERVED,
  TIME,
  TIME_OPTIONS,
  UNREADABLE_KEYWORD,
  VARIABLE,
  WORD_END,
} from './shell-tokens.ts';
import { NO_WORD, WordDraft, type ShellCommand, type ShellScript, type ShellWord } from './shell-word.ts';

/** Above the system's limit for one program argument. */
const MAX_CHARS = 100_000;
const MAX_DEPTH = 30;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/;
class Unreadable extends Error {}

function fail(problem: string): never {
  throw new Unreadable(problem);
}

/**
 * Finds every simple command in a text for `sh` or `bash`: in pipelines, lists, groups, loops, functions,
 * here-documents and substitutions. Accepts only syntax that both shells read in the same way, and stops at
 * other syntax with a `problem`. So every command that a shell would run is in the list, or `problem` is set.
 */
export function readShell(text: string, depth = 0): ShellScript {
  const commands: ShellCommand[] = [];
  const functions: string[] = [];
  let at = 0;
  let hereDocCount = 0;
  let firstFed = Infinity;
  const hereDocs: { delimiter: string; isRaw: boolean; isIndented: boolean }[] = [];

  function take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return undefined;
    at += found[0].length;
    return found;
  }

  function isNext(pattern: RegExp): boolean {
    pattern.lastIndex = at;
    return pattern.test(text);
  }

  function expect(closer: string): void {
    if (text[at] !== closer) fail('it is not complete');
    at++;
  }

  /** Moves to the next token of the line. */
  function skipBlanks(): void {
    for (;;) {
      if (isBlank(text[at])) at++;
      else if (text.startsWith('\\\n', at)) {
        const isApart = at === 0 || text[at - 1] === '\n' || isBlank(text[at - 1]) || isBlank(text[at + 2]);
        if (!isApart) fail("it has a line continuation that can't be checked");
        at += 2;
      } else if (text[at] === '#') at = endOfLine(at);
      else return;
    }
  }

  function skipLines(): void {
    for (skipBlanks(); text[at] === '\n'; skipBlanks()) newLine();
  }

  function endOfLine(from: number): number {
    const end = text.indexOf('\n', from);
    return end < 0 ? text.length : end;
  }

  /** Moves to the next line after pending here-documents. */
  function newLine(): void {
    at++;
    for (const { delimiter, isRaw, isIndented } of hereDocs.splice(0)) {
      const start = at;
      let end = start;
      for (;;) {
        if (end >= text.length) fail('a here-document has no end');
        const line = text.slice(end, endOfLine(end));
        if ((isIndented ? line.replace(/^\t+/, '') : line) === delimiter) break;
        end = endOfLine(end) + 1;
      }
      if (!isRaw) expansions(end);
      at = Math.min(endOfLine(end) + 1, text.length);
    }
  }

  /** Parses substitutions in the body of a here-document. */
  function expansions(end: number): void {
    // Shells remove line continuations before everything else, even in quotes.
    if (text.slice(at, end).includes('\\\n')) fail("it has a line continuation that can't be checked");
    while (at < end) {
      if (text[at] === '$') dollar(new WordDraft(), true);
      else if (text[at] === '`') backtick(false);
      else at += text[at] === '\\' ? 2 : 1;
    }
    if (at > end) fail('a here-document ends inside an expansion');
  }

  /** Parses commands up to the end of the text, a bracket, or the end of a `case` branch. */
  function list(isInCase = false): void {
    let isPiped: 'no' | 'here' | 'perhaps' = 'no';
    for (;;) {
      skipBlanks();
      const char = text[at];
      if (char === undefined || char === ')' || (isInCase && (isNext(ESAC) || text.startsWith(';;', at))))
        return;
      if (char === '\n') {
        newLine();
        if (isPiped === 'here') isPiped = 'perhaps';
        continue;
      }
      const isBehindPipe = isPiped;
      isPiped = 'no';
      if (isNext(UNREADABLE_KEYWORD)) fail("it has a construct that can't be checked");
      else if (char === '(') nested(1);
      else if (text.startsWith('||', at)) at += 2;
      else if (char === '|') {
        at += text[at + 1] === '&' ? 2 : 1;
        isPiped = 'here';
        firstFed = Math.min(firstFed, commands.length);
      } else if (char === ';' || (char === '&' && text[at + 1] !== '>')) at++;
      else if (take(CASE)) cases();
      else if (isNext(FOR)) loop();
      else if (isNext(TIME)) timed(isBehindPipe);
      else if (!take(KEYWORD) && !definition()) command();
    }
  }

  /** The start of a function; its body is read like any other command. */
  function definition(): boolean {
    const [, name] = take(FUNCTION) ?? [];
    if (name !== undefined) functions.push(name);
    return name !== undefined;
  }

  /** `time` is a keyword, but after a pipe it is a program. */
  function timed(isBehindPipe: 'no' | 'here' | 'perhaps'): void {
    if (isBehindPipe === 'perhaps') fail('it has a word that shells read differently');
    if (isBehindPipe === 'here') return command();
    take(TIME);
    for (const option of TIME_OPTIONS) {
      skipBlanks();
      take(option);
    }
    if (isNext(REDIRECTION)) fail('it has a redirection that shells read differently');
  }

  /** Parses commands in brackets. */
  function nested(width: number): void {
    if (++depth > MAX_DEPTH) fail('it is nested too deeply');
    const isSubstitution = width > 1;
    // Inside a substitution, the body of an earlier here-document does not begin at the next line.
    if (isSubstitution && hereDocs.length > 0) fail('a here-document begins inside another construct');
    const [start, before, found] = [at, hereDocCount, commands.length];
    at += width;
    list();
    if (hereDocs.length > 0) fail('a here-document has no end');
    expect(')');
    // Bash rewrites a substitution before running it, and confuses here-documents in complex ones.
    const isPlain = commands.length === found + 1 && hereDocCount === before + 1;
    if (
      isSubstitution &&
      hereDocCount > before &&
      !(isPlain && /^.\([ \t]*[\w./-]+[ \t]+<</.test(text.slice(start, start + 100)))
    )
      fail('it has a here-document in a substitution');
    depth--;
  }

  function loop(): void {
    const [, name = ''] = take(FOR) ?? [];
    const values: ShellWord[] = [];
    skipLines();
    if (take(IN)) {
      for (skipBlanks(); !isEnd(); skipBlanks()) values.push(word());
    }
    const assignments = values.map((value) => ({ name, value }));
    commands.push({ assignments, words: [], reads: [], writes: [] });
  }

  function cases(): void {
    skipBlanks();
    const patterns = [word()];
    skipLines();
    if (!take(IN)) fail('it is not complete');
    for (skipLines(); !take(ESAC); skipLines()) {
      if (text[at] === '(') at++;
      for (skipBlanks(); text[at] !== ')'; skipBlanks()) {
        if (text[at] === '|') at++;
        else patterns.push(word());
      }
      expect(')');
      list(true);
      if (text.startsWith(';;', at)) at += text[at + 2] === '&' ? 3 : 2;
      else if (!isNext(ESAC)) fail('it is not complete');
    }
    commands.push({
      assignments: patterns.map((value) => ({ name: '', value })),
      words: [],
      reads: [],
      writes: [],
    });
  }

  function isEnd(): boolean {
    const char = text[at];
    if (char === undefined || char === '\n' || ';&|()'.includes(char)) return true;
    return (char === '<' || char === '>') && text[at + 1] !== '(';
  }

  function command(): void {
    const found: ShellCommand = { assignments: [], words: [], reads: [], writes: [] };
    commands.push(found); // added first, so that commands before a problem are kept
    let isCutInTwo = false;
    for (skipBlanks(); ; skipBlanks()) {
      const redirection = take(REDIRECTION)?.[0];
      if (redirection !== undefined) {
        isCutInTwo ||= redirection.startsWith('&');
        redirect(redirection, found);
        skipBlanks();
        // Inside a substitution bash moves redirections to the end and parses the result again.
        if (found.words.length === 0 && isNext(RESERVED)) fail('it has a word that shells read differently');
        continue;
      }
      if (isEnd()) break;
      // Some shells start a command here.
      if (isCutInTwo) fail('it has a redirection that shells read differently');
      const name = found.words.length === 0 ? take(ASSIGNMENT)?.[1] : undefined;
      if (name === undefined) found.words.push(word());
      else found.assignments.push({ name, value: isEnd() || isBlank(text[at]) ? NO_WORD : word() });
    }
    if (text[at] === '(') fail("it has a construct that can't be checked");
  }

  function redirect(operator: string, found: ShellCommand): void {
    const op = operator.replace(/^\d+/, '');
    if (op.startsWith('<')) firstFed = 0; // a redirection after a closing bracket feeds all commands in the brackets
    skipBlanks();
    if (op.endsWith('&') && DASHED.test(text.slice(at, at + 2)))
      fail('it has a redirection that shells read differently');
    if (op === '<<' || op === '<<-') {
      const [, quote, delimiter] = take(DELIMITER) ?? [];
      if (delimiter === undefined) fail("a here-document has a delimiter that can't be checked");
      hereDocCount++;
      hereDocs.push({ delimiter, isRaw: quote !== '', isIndented: op === '<<-' });
      return;
    }
    if (isEnd()) fail('it is not complete');
    const target = word();
    if (op === '<<<' || (op.endsWith('&') && target.isLiteral && NO_FILE.test(target.text))) return;
    // Bash expands the file name after >& twice; the second expansion may run commands.
    if (op.endsWith('&') && (op === '<&' || !target.isLiteral || !PLAIN_FILE.test(target.text)))
      fail("it has a redirection that can't be checked");
    (op === '<' ? found.reads : found.writes).push(target);
  }

  function word(): ShellWord {
    const draft = new WordDraft();
    const start = at;
    while (at < text.length && !WORD_END.test(text[at] ?? '')) {
      const char = text[at] ?? '';
      if (char === '<' || char === '>') {
        if (text[at + 1] !== '(') break;
        nested(2);
        draft.addUnknown(false);
      } else if (char === "'") {
        const end = text.indexOf("'", at + 1);
        if (end < 0) fail('a quote has no end');
        draft.add(text.slice(at + 1, end));
        at = end + 1;
      } else if (char === '"') doubleQuoted(draft);
      else if (char === '$') dollar(draft, false);
      else if (char === '`') {
        backtick(false);
        draft.addUnknown(true);
      } else if (char === '\\') {
        const next = text[at + 1];
        if (next === undefined || next === '\n') fail("it has a line continuation that can't be checked");
        draft.add(next);
        at += 2;
      } else if (char === '{' && !isNext(NO_BRACES)) {
        draft.addUnknown(true, char);
        at++;
      } else {
        if (char === '*' || char === '?' || char === '[') draft.addWildcard(char);
        else draft.add(char);
        at++;
      }
    }
    if (at === start) fail('it is not complete');
    // `{name}>file` sets the variable.
    if (text[at - 1] === '}' && (text[at] === '<' || text[at] === '>'))
      fail("it has a redirection that can't be checked");
    return draft.finish();
  }

  function doubleQuoted(draft: WordDraft): void {
    draft.add('');
    for (at++; text[at] !== '"';) {
      const char = text[at];
      if (char === undefined) fail('a quote has no end');
      if (char === '$') dollar(draft, true);
      else if (char === '`') {
        backtick(true);
        draft.addUnknown(false);
      } else if (char === '\\') {
        const next = text[at + 1] ?? '';
        if (next === '\n') fail("it has a line continuation that can't be checked");
        draft.add('$`"\\'.includes(next) ? next : `\\${next}`);
        at += 2;
      } else {
        draft.add(char);
        at++;
      }
    }
    at++;
  }

  function dollar(draft: WordDraft, isQuoted: boolean): void {
    const known = (take(VARIABLE) ?? take(ARITHMETIC))?.[0];
    if (known !== undefined) {
      draft.addUnknown(!isQuoted || known === '$@'); // `$@` becomes several words, even in quotes
      return;
    }
    const next = text[at + 1];
    if (next === '(' && text[at + 2] !== '(') {
      nested(2);
      draft.addUnknown(!isQuoted);
      return;
    }
    if (next === '(' || next === '{' || next === '[' || next === '\\')
      fail("it has an expansion that can't be checked");
    if (!isQuoted && (next === "'" || next === '"')) fail('it has quotes that shells read differently');
    draft.add('$');
    at++;
  }

  function backtick(isQuoted: boolean): void {
    const end = text.indexOf('`', at + 1);
    if (end < 0) fail('a quote has no end');
    const inner = text.slice(at + 1, end);
    if (inner.includes('\\') || (isQuoted && inner.includes('"')))
      fail('it has quotes that shells read differently');
    if (depth >= MAX_DEPTH) fail('it is nested too deeply');
    const script = readShell(inner, depth + 1);
    firstFed = Math.min(firstFed, commands.length + script.firstFed);
    commands.push(...script.commands);
    functions.push(...script.functions);
    if (script.problem !== undefined) fail(script.problem);
    at = end + 1;
  }

  try {
    if (text.length > MAX_CHARS) fail('it is too long');
    if (CONTROLS.test(text)) fail('it has control characters');
    list();
    if (at < text.length) fail('it is not complete');
    if (hereDocs.length > 0) fail('a here-document has no end');
    // The commands of a function stand before the pipe that leads to the function.
    if (functions.length > 0 && firstFed < Infinity) firstFed = 0;
    return { commands, functions, firstFed, problem: undefined };
  } catch (error) {
    if (error instanceof Unreadable) return { commands, functions, firstFed: 0, problem: error.message };
    throw error;
  }
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t';
}
