import type { ShellWord } from './shell-word.ts';

/** Options of a program. All others count as unknown. */
export interface OptionList {
  /** One-letter options without value. */
  readonly short?: string;
  /** One-letter options with a value, directly after the letter or as the next word. */
  readonly valued?: string;
  /** One-letter options whose value, if any, directly follows the letter. */
  readonly attached?: string;
  /** Long options by their full names, without value or with `=`. */
  readonly long?: string;
  /** Accepts any option that a wildcard may become. Only for programs whose options can do no harm. */
  readonly takesAnyOption?: boolean;
}

/** Words of a command, told apart. */
export interface CommandArguments {
  readonly operands: readonly ShellWord[];
  /** Letters and long names of the options, each with its value if it has one. */
  readonly options: readonly { readonly name: string; readonly value?: ShellWord }[];
  /** True if an option follows an operand: some programs read it as one more operand. */
  readonly isMixed: boolean;
}

/**
 * Reads the words after a program, or undefined if programs could read them differently: unknown words or
 * options, abbreviated options, a value that looks like an option, and anything with a dash after `--`.
 */
export function splitArguments(
  words: readonly ShellWord[],
  { short = '', valued = '', attached = '', long = '', takesAnyOption = false }: OptionList,
): CommandArguments | undefined {
  const operands: ShellWord[] = [];
  const options: CommandArguments['options'][number][] = [];
  const longNames = new Set(long.split(' '));
  let [isOver, isMixed] = [false, false];
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (word === undefined || word.hasUnknown || (word.mayBeFlag && !takesAnyOption)) return undefined;
    const { text, isLiteral } = word;
    if (!text.startsWith('-') || text === '-') {
      operands.push(word);
      continue;
    }
    if (isOver || !(isLiteral || takesAnyOption)) return undefined;
    if (text === '--') {
      isOver = true;
      continue;
    }
    isMixed ||= operands.length > 0;
    if (text.startsWith('--')) {
      const name = text.slice(2).replace(/=[^]*/, '');
      if (!longNames.has(name)) return undefined;
      options.push({ name });
      continue;
    }
    for (let i = 1; i < text.length; i++) {
      const name = text[i] ?? '';
      if (short.includes(name)) {
        options.push({ name });
        continue;
      }
      const value = text.slice(i + 1);
      if (attached.includes(name)) options.push({ name });
      else if (!valued.includes(name)) return undefined;
      else if (value !== '') options.push({ name, value: { ...word, text: value } });
      else {
        const next = words[++at];
        const isClear = next !== undefined && !next.hasUnknown && !next.mayBeFlag;
        if (!isClear || (next.text.startsWith('-') && next.text !== '-')) return undefined;
        options.push({ name, value: next });
      }
      break;
    }
  }
  return { operands, options, isMixed };
}
