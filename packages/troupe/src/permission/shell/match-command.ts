import type { Match } from '../permission-rule.ts';
import { commandName, type FoundCommand } from './find-commands.ts';
import { HARMLESS_VARIABLE } from './judge-command.ts';
import { isReadOnly, plainName } from './known-commands.ts';
import { readShell } from './read-shell.ts';
import { HOLE, type ShellWord } from './shell-word.ts';

/** A command on one line, without its quotes. */
export function commandText({ words, writes }: FoundCommand): string {
  const texts = [...words.map(({ text }) => text), ...writes.map(({ text }) => `> ${text}`)];
  return texts.join(' ').replaceAll(HOLE, '…');
}

/** A command with its quotes, such as can be read again; undefined if only a shell knows what its words are. */
export function exactText({ words }: FoundCommand): string | undefined {
  if (!words.every(({ isLiteral }) => isLiteral)) return undefined;
  return words
    .map(({ text }) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

/** The words of a command that is written as for a shell; undefined if it is not just one with words that are known. */
export function exactWords(text: string): readonly string[] | undefined {
  const { commands, problem } = readShell(text);
  const [command, ...others] = commands;
  if (command === undefined || problem !== undefined || others.length > 0) return undefined;
  const { words, assignments, reads, writes } = command;
  const isMore = [assignments, reads, writes].some(({ length }) => length > 0);
  const isKnown = words.length > 0 && words.every(({ isLiteral }) => isLiteral);
  return isKnown && !isMore ? words.map((word) => word.text) : undefined;
}

/** Whether nothing is set before a command that could make it do something else. A rule that allows it doesn't know of that. */
export function isPlainlySet({ assignments }: FoundCommand): boolean {
  return assignments.every(({ name }) => HARMLESS_VARIABLE.test(name));
}

/** Whether a command has exactly these words. For a rule that doesn't allow, the program may be at another place. */
export function matchExact(wanted: readonly string[], command: FoundCommand, isAllowing: boolean): Match {
  const [first, ...rest] = command.words;
  if (first === undefined) return 'no';
  const [name = '', ...others] = wanted;
  const isSameProgram = first.text === name || (!isAllowing && isProgram(first, name));
  if (command.words.every(({ isLiteral }) => isLiteral)) {
    const isSame = rest.length === others.length && rest.every(({ text }, i) => text === others[i]);
    return isSameProgram && isSame ? 'yes' : 'no';
  }
  return !isAllowing && (isSameProgram || !first.isLiteral) ? 'maybe' : 'no';
}

/**
 * Whether a command begins with these words. A rule that allows has to find just them, and the system's own program. Others also find
 * the program at another place, past options as in `git -C x push`, and perhaps among the words of a command that
 * nobody knows, which may run what it is given.
 */
export function matchPrefix(wanted: readonly string[], command: FoundCommand, isAllowing: boolean): Match {
  const { words, isWrapper } = command;
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
  if (!rest.some(({ text }) => text.includes(name)) || isWrapper || isReadOnly(words)) return 'no';
  const pieces = new Set(rest.flatMap(({ text }) => text.split(/[^\w.+-]+/)));
  return wanted.every((text) => pieces.has(text)) ? 'maybe' : 'no';
}

/** Whether the words come in this order, with nothing but options and their values in between. */
function follow(wanted: readonly string[], words: readonly ShellWord[]): Match {
  let places = new Set([0]);
  let isAfterFlag = false;
  for (const { text, isLiteral } of words) {
    if (places.has(wanted.length)) return 'yes';
    if (places.size === 0) return 'no';
    if (!isLiteral) return 'maybe';
    const isFlag = text.startsWith('-');
    const next = new Set<number>();
    for (const place of places) {
      if (wanted[place] === text) next.add(place + 1);
      if (isFlag || isAfterFlag) next.add(place);
    }
    [places, isAfterFlag] = [next, isFlag];
  }
  return places.has(wanted.length) ? 'yes' : 'no';
}

/** Whether it is the program that is meant, wherever it is; in a rule it may stand with its place. */
function isProgram(word: ShellWord, name: string): boolean {
  return commandName(word) === commandName({ text: name });
}
