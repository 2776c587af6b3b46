import { commandName, type FoundCommand } from './find-commands.ts';
import { PLAIN_VARIABLE } from './judge-command.ts';
import { isReadOnly, plainName } from './known-commands.ts';
import { readShell } from './read-shell.ts';
import { UNKNOWN, type ShellWord } from './shell-word.ts';

/**
 * Result of matching a rule. `maybe`: undecidable, which is enough for rules that ask or deny, but not for
 * rules that allow.
 */
export type Match = 'yes' | 'maybe' | 'no';

/** Command in a single line, without quotes. */
export function commandText({ words, writes }: FoundCommand): string {
  const texts = [...words.map(({ text }) => text), ...writes.map(({ text }) => `> ${text}`)];
  return texts.join(' ').replaceAll(UNKNOWN, '…');
}

/** Command with quotes, parseable again; undefined if some words are unknown. */
export function exactText({ words }: FoundCommand): string | undefined {
  if (!words.every(({ isLiteral }) => isLiteral)) return undefined;
  return words
    .map(({ text }) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

/** Words of a single command; undefined for several commands, unknown words, assignments or redirections. */
export function exactWords(text: string): readonly string[] | undefined {
  const { commands, problem } = readShell(text);
  const [command, ...others] = commands;
  if (command === undefined || problem !== undefined || others.length > 0) return undefined;
  const { words, assignments, reads, writes } = command;
  const isMore = [assignments, reads, writes].some(({ length }) => length > 0);
  const isKnown = words.length > 0 && words.every(({ isLiteral }) => isLiteral);
  return isKnown && !isMore ? words.map((word) => word.text) : undefined;
}

/**
 * True if no variable set before the command can change its effect, which a rule that allows could not
 * foresee.
 */
export function isPlainlySet({ assignments }: FoundCommand): boolean {
  return assignments.every(({ name }) => PLAIN_VARIABLE.test(name));
}

/** True if the text has the input of a program, which may be more of the program than its words. */
export function takesInput({ words, hasInput = false }: FoundCommand): boolean {
  return hasInput && !isReadOnly(words);
}

/**
 * Matches all words of a command. A rule that allows does not match a command that gets input. Rules that ask or deny also match
 * the program in another folder.
 */
export function matchExact(wanted: readonly string[], command: FoundCommand, isAllowing: boolean): Match {
  const [first, ...rest] = command.words;
  if (first === undefined || (isAllowing && takesInput(command))) return 'no';
  const [name = '', ...others] = wanted;
  const isSameProgram = first.text === name || (!isAllowing && isProgram(first, name));
  if (command.words.every(({ isLiteral }) => isLiteral)) {
    const isSame = rest.length === others.length && rest.every(({ text }, i) => text === others[i]);
    return isSameProgram && isSame ? 'yes' : 'no';
  }
  return !isAllowing && (isSameProgram || !first.isLiteral) ? 'maybe' : 'no';
}

/**
 * Matches the first words of a command. A rule that allows matches only these words and a system program.
 * Other rules also match the program in another folder, skip options as in `git -C x push`, and return
 * `maybe` if an unknown command has the words among its arguments, or may get them from the text around it.
 */
export function matchPrefix(wanted: readonly string[], command: FoundCommand, isAllowing: boolean): Match {
  const { words, isWrapper, around = '' } = command;
  const [first, ...rest] = words;
  const [name = '', ...others] = wanted;
  if (first === undefined) return 'no';
  if (isAllowing) {
    const isSame = wanted.every((text, i) => words[i]?.isLiteral && words[i].text === text);
    const isPlain = first.isLiteral && plainName(first) === name;
    return isSame || (isPlain && others.every((text, i) => rest[i]?.isLiteral && rest[i].text === text))
      ? 'yes'
      : 'no';
  }
  if (!first.isLiteral) return 'maybe';
  if (isProgram(first, name)) return follow(others, rest);
  const texts = [...rest.map(({ text }) => text), around];
  if (!texts.some((text) => text.includes(name)) || isWrapper || isReadOnly(words)) return 'no';
  const pieces = new Set(texts.flatMap((text) => text.split(/[^\w.+-]+/)));
  return wanted.every((text) => pieces.has(text)) ? 'maybe' : 'no';
}

/** Matches words in this order, with only options and their values between them. */
function follow(wanted: readonly string[], words: readonly ShellWord[]): Match {
  let positions = new Set([0]);
  let isAfterFlag = false;
  for (const { text, isLiteral } of words) {
    if (positions.has(wanted.length)) return 'yes';
    if (positions.size === 0) return 'no';
    if (!isLiteral) return 'maybe';
    const isFlag = text.startsWith('-');
    const next = new Set<number>();
    for (const position of positions) {
      if (wanted[position] === text) next.add(position + 1);
      if (isFlag || isAfterFlag) next.add(position);
    }
    [positions, isAfterFlag] = [next, isFlag];
  }
  return positions.has(wanted.length) ? 'yes' : 'no';
}

/** Compares program names without folders. */
function isProgram(word: ShellWord, name: string): boolean {
  return commandName(word) === commandName({ text: name });
}
