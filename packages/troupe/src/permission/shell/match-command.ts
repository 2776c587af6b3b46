import type { Match } from '../permission-rule.ts';
import type { FoundCommand } from './find-commands.ts';
import { isReadOnly, plainName } from './known-commands.ts';
import { HOLE, type ShellWord } from './read-shell.ts';

/** A command on one line, without its quotes. */
export function textOf({ words, writes }: FoundCommand): string {
  const texts = [...words.map(({ text }) => text), ...writes.map(({ text }) => `> ${text}`)];
  return texts.join(' ').replaceAll(HOLE, '…');
}

/** Whether a command is exactly this one. */
export function matchExact(wanted: string, command: FoundCommand, isAllowing: boolean): Match {
  const { words } = command;
  if (words.length === 0) return 'no';
  if (words.every(({ isLiteral }) => isLiteral)) return textOf(command) === wanted ? 'yes' : 'no';
  const [first = ''] = wanted.split(' ');
  return !isAllowing && baseName(words[0]) === first ? 'maybe' : 'no';
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
  if (baseName(first) === name) return follow(others, rest);
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

function baseName(word: ShellWord | undefined): string {
  return (word?.text ?? '').replace(/^.*\//s, '');
}
