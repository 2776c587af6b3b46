import { readShell } from './read-shell.ts';
import { literalWord, UNKNOWN_WORD, type ShellCommand, type ShellWord } from './shell-word.ts';
import { evaluates, isKnownSetting } from './evaluation.ts';
import { plainName } from './known-commands.ts';

/** A command that a text runs, or may run. Files that redirections write are one by themselves, without words. */
export interface FoundCommand extends ShellCommand {
  /** Whether all it does is to run another one, which was found too. */
  readonly isWrapper: boolean;
}

export interface FoundCommands {
  readonly commands: readonly FoundCommand[];
  /** Why there may be others. */
  readonly problem: string | undefined;
}

/** How to find the command that another one runs. */
interface Wrapper {
  /** Options of one letter without a value, and with one. */
  readonly flags?: string;
  readonly valued?: string;
  /** How many words come before the command. */
  readonly operands?: number;
  /** Variables may be set before the command. */
  readonly takesVariables?: boolean;
  /** A dash by itself is an option. */
  readonly takesDash?: boolean;
  /** Adds words that nobody has seen. */
  readonly addsWords?: boolean;
}

const MAX_DEPTH = 10;
const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ['builtin', {}],
  ['busybox', {}],
  ['chronic', {}],
  ['command', { flags: 'p' }],
  ['doas', { flags: 'n', valued: 'u', takesVariables: true }],
  ['env', { flags: 'i0', valued: 'u', takesVariables: true, takesDash: true }],
  ['exec', { flags: 'c', valued: 'a' }],
  ['ionice', { flags: 't', valued: 'cn' }],
  ['nice', { valued: 'n' }],
  ['nohup', {}],
  ['setsid', { flags: 'cfw' }],
  ['stdbuf', { valued: 'ioe' }],
  ['sudo', { flags: 'AbEHknS', valued: 'ghpu', takesVariables: true }],
  ['time', { flags: 'pv' }],
  ['timeout', { flags: 'v', valued: 'ks', operands: 1 }],
  ['unbuffer', {}],
  ['xargs', { flags: '0rtxo', valued: 'adEILnPs', addsWords: true }],
]);
const SHELLS = /^(?:ba|da|a|rba)?sh$/;
const OTHER_SHELLS = /^(?:c|fi|k|mk|pw|tc|z)sh$/;
/** They set the variables that they are given. */
const DECLARING = new Set(['declare', 'export', 'local', 'readonly', 'typeset']);
/** They change what other words mean, or run something at another time. */
const REDEFINING = new Set('alias bind compgen complete compopt enable fc hash shopt trap'.split(' '));
/** Files whose content is what the command itself is given. */
const GIVEN = /^\/+(?:dev|proc)\//;
const FIND_RUNS = new Set(['-exec', '-execdir', '-ok', '-okdir']);
const ASSIGNMENT = /^([A-Za-z_]\w*)=([^]*)$/;
/** What `env` takes for one. */
const ANY_ASSIGNMENT = /^([^=]*)=([^]*)$/;

class Unfound extends Error {}

function fail(problem: string): never {
  throw new Unfound(problem);
}

/**
 * All commands of a text for a shell: those that are written there, and those that they are told to run, by `sudo`, `env`, `xargs`,
 * `sh -c`, `eval`, `find -exec` and the like. Where that can't be known there is a problem.
 */
export function findCommands(text: string, depth = 0): FoundCommands {
  const script = readShell(text);
  const commands: FoundCommand[] = [];
  let problem = script.problem;

  function add({ writes, ...rest }: ShellCommand, level = depth): void {
    const command = { ...rest, writes: [] };
    const place = commands.push({ ...command, isWrapper: false }) - 1;
    if (writes.length > 0) commands.push({ words: [], assignments: [], reads: [], writes, isWrapper: false });
    try {
      if (level > MAX_DEPTH) fail('it is nested too deeply');
      const isWrapper = unwrap(command, level) && isSystems(command.words[0]);
      commands[place] = { ...command, isWrapper };
    } catch (error) {
      if (!(error instanceof Unfound)) throw error;
      problem ??= error.message;
    }
  }

  /** Adds what a command runs. @returns whether it does nothing else */
  function unwrap({ words, assignments }: ShellCommand, level: number): boolean {
    const [first, ...rest] = words;
    if (first === undefined) return false;
    if (!first.isLiteral) fail('which command it runs is not known');
    const name = commandName(first);
    if (/^\w+(?:\[.*)?\+?=/s.test(first.text)) fail('it has a construct that is not judged');
    if (evaluates(name, rest)) fail(`${name} evaluates what it is given`);
    if (!isKnownSetting(name, rest)) fail(`${name} is told what to run, or how`);
    if (REDEFINING.has(name) && rest.length > 0) fail(`${name} changes what it means`);
    if (name === 'eval') return addText(rest.map(literalText).join(' '), level);
    if (OTHER_SHELLS.test(name)) fail(`commands for ${name} are not judged`);
    if (SHELLS.test(name)) return addShell(rest, level);
    if (DECLARING.has(name)) return addVariables(rest);
    if (name === 'find') return addFind(rest, level);
    if (name === 'source' || name === '.') return assertFile(rest[0]);
    const wrapper = WRAPPERS.get(name);
    if (wrapper === undefined) return false;
    if (name === 'command' && /^-[vV]+$/.test(rest[0]?.text ?? '')) return true;
    const inner = innerOf(wrapper, rest);
    if (inner.words.length === 0) return false;
    const all = [...assignments, ...inner.assignments];
    add({ words: inner.words, assignments: all, reads: [], writes: [] }, level + 1);
    return true;
  }

  function addVariables(words: readonly ShellWord[]): boolean {
    const { assignments, rest } = takeAssignments(words.filter(({ text }) => !text.startsWith('-')));
    commands.push({ assignments, words: [], reads: [], writes: [], isWrapper: false });
    return rest.some(({ hasHole }) => hasHole) ? fail('which variable it sets is not known') : false;
  }

  function addText(inner: string, level: number): boolean {
    const found = findCommands(inner, level + 1);
    commands.push(...found.commands);
    problem ??= found.problem;
    return true;
  }

  function addShell([flags, code]: readonly ShellWord[], level: number): boolean {
    if (flags === undefined || !flags.isLiteral || flags.text === '-' || flags.text === '-s')
      fail('a shell gets its commands from elsewhere');
    if (!flags.text.startsWith('-')) return assertFile(flags);
    if (!/^-[eux]*c[eux]*$/.test(flags.text)) fail('a shell is started in a way that is not judged');
    return addText(literalText(code ?? UNKNOWN_WORD), level);
  }

  /** A file that is run is as any other program. */
  function assertFile(file: ShellWord | undefined): false {
    if (file === undefined || !file.isLiteral || GIVEN.test(file.text))
      fail('a shell gets its commands from elsewhere');
    return false;
  }

  function addFind(words: readonly ShellWord[], level: number): boolean {
    let inner: ShellWord[] | undefined;
    for (const word of words) {
      if (inner === undefined) {
        if (FIND_RUNS.has(word.text)) inner = [];
      } else if (word.text === ';' || (word.text === '+' && inner.at(-1)?.text === '{}')) {
        add({ words: inner.map(withoutBraces), assignments: [], reads: [], writes: [] }, level + 1);
        inner = undefined;
      } else inner.push(word);
    }
    return inner === undefined ? false : fail('find runs something that is not judged');
  }

  for (const command of script.commands) add(command);
  return { commands, problem };
}

function innerOf(
  {
    flags = '',
    valued = '',
    operands = 0,
    takesVariables = false,
    takesDash = false,
    addsWords = false,
  }: Wrapper,
  given: readonly ShellWord[],
): Pick<ShellCommand, 'words' | 'assignments'> {
  const words = [...given];
  while (words[0]?.isLiteral && words[0].text.startsWith('-')) {
    if (words[0].text === '-' && !takesDash) break;
    const text = words.shift()?.text ?? '';
    if (text === '--') break;
    const letters = text.slice(1).split('');
    const at = letters.findIndex((letter) => !flags.includes(letter));
    const letter = letters[at];
    if (letter === undefined) continue;
    if (!valued.includes(letter)) fail('a command is run in a way that is not judged');
    const value = letters.slice(at + 1).join('') || literalText(words.shift() ?? UNKNOWN_WORD);
    if (letter === 'I' && value !== '{}') fail('a command is run in a way that is not judged');
  }
  const { assignments, rest } = takesVariables
    ? takeAssignments(words, ANY_ASSIGNMENT)
    : { assignments: [], rest: [...words] };
  for (let i = 0; i < operands; i++) literalText(rest.shift() ?? UNKNOWN_WORD);
  if (addsWords && rest.length > 0) rest.push(UNKNOWN_WORD);
  return { words: rest.map((word) => (addsWords ? withoutBraces(word) : word)), assignments };
}

/** The variables that words set, up to the first word that sets none. */
function takeAssignments(
  words: readonly ShellWord[],
  pattern = ASSIGNMENT,
): {
  readonly assignments: ShellCommand['assignments'];
  readonly rest: ShellWord[];
} {
  const rest = [...words];
  const assignments: ShellCommand['assignments'] = [];
  for (; ; rest.shift()) {
    const [, name, value] = pattern.exec(rest[0]?.text ?? '') ?? [];
    if (name === undefined || value === undefined) return { assignments, rest };
    assignments.push({ name, value: { ...literalWord(value), hasHole: rest[0]?.hasHole ?? true } });
  }
}

/** The name of a program, wherever it is; some file systems take it in capitals as well. */
export function commandName({ text }: Pick<ShellWord, 'text'>): string {
  return text.replace(/^.*\//s, '').toLowerCase();
}

/** Whether it is the system's own program of that name. */
function isSystems(word: ShellWord | undefined): boolean {
  return word !== undefined && plainName(word) === commandName(word);
}

function literalText({ text, isLiteral }: ShellWord): string {
  return isLiteral ? text : fail('which command it runs is not known');
}

/** `find` and `xargs` put a file there. */
function withoutBraces(word: ShellWord): ShellWord {
  return word.text.includes('{}') ? { ...word, hasHole: true, isLiteral: false, mayBeFlag: true } : word;
}
