import { readShell } from './read-shell.ts';
import { literalWord, UNKNOWN_WORD, type ShellCommand, type ShellWord } from './shell-word.ts';
import { evaluates, isKnownSetting } from './evaluation.ts';
import { isKnownName, plainName } from './known-commands.ts';

/**
 * A command that a text runs or may run. Files written by redirections are a separate command without words.
 */
export interface FoundCommand extends ShellCommand {
  /** True if the command only runs another command, which is in the list too. */
  readonly isWrapper: boolean;
  /** True if other parts of the text may decide what the command reads. @default false */
  readonly hasInput?: boolean;
  /** The whole text, if parts of it may reach the program by its input, by files that the text writes, or by variables. */
  readonly around?: string;
}

export interface CommandSearch {
  readonly commands: readonly FoundCommand[];
  /** Reason why the list may be incomplete. */
  readonly problem: string | undefined;
}

/** Syntax of a command that runs another command. */
interface Wrapper {
  /** One-letter options without and with value. */
  readonly flags?: string;
  readonly valued?: string;
  /** Number of words before the inner command. */
  readonly operands?: number;
  /** Accepts assignments before the inner command. */
  readonly takesVariables?: boolean;
  /** Accepts a single dash as option. */
  readonly takesDash?: boolean;
  /** Adds unknown words to the inner command. */
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
/** Builtins that set the variables in their arguments. */
const DECLARING = new Set(['declare', 'export', 'local', 'readonly', 'typeset']);
/** Builtins that set the variables whose names are their arguments. */
const NAMING = new Set(['getopts', 'mapfile', 'printf', 'read', 'readarray', 'unset', 'wait']);
/** Programs that run other programs, with a syntax of their own. */
const RUNNERS = new Set(
  'cgexec chrt dumb-init eatmydata entr fakeroot faketime firejail flock gdb ltrace numactl nsenter parallel perf proot rlwrap runuser script setpriv start-stop-daemon strace systemd-run taskset tini torsocks unshare valgrind watch xvfb-run'.split(
    ' ',
  ),
);
/** Builtins that change the meaning of other words, or run commands later. */
const REDEFINING = new Set('alias bind compgen complete compopt enable fc hash shopt trap'.split(' '));
/** Files whose content is the input of the command itself. */
const INPUT_FILE = /^\/+(?:dev|proc)\//;
const SHELL_OPTIONS = /^(?:-[eux]*c?[eux]*|\+[eux]+)$/;
const IDENTIFIER = /^[A-Za-z_]\w*$/;
const FIND_RUNS = new Set(['-exec', '-execdir', '-ok', '-okdir']);
const ASSIGNMENT = /^([A-Za-z_]\w*)=([^]*)$/;
/** Assignment as accepted by `env`. */
const ANY_ASSIGNMENT = /^([^=]*)=([^]*)$/;

/** Name of a variable that is only known at run time. */
const UNKNOWN_NAME = /[\u0000*?[{]/;

class UnknownCommand extends Error {}

function fail(problem: string): never {
  throw new UnknownCommand(problem);
}

/**
 * Finds all commands in a shell text: written ones, and ones run by `sudo`, `env`, `xargs`, `sh -c`, `eval`,
 * `find -exec` and others. Sets `problem` if a command may be missing. Folder `permission/shell`: start here.
 */
export function findCommands(text: string, depth = 0): CommandSearch {
  const script = readShell(text);
  const commands: FoundCommand[] = [];
  let problem = script.problem;

  function add({ writes, ...rest }: ShellCommand, level = depth): void {
    const command = { ...rest, writes: [] };
    const index = commands.push({ ...command, isWrapper: false }) - 1;
    if (writes.length > 0) commands.push({ words: [], assignments: [], reads: [], writes, isWrapper: false });
    try {
      if (level > MAX_DEPTH) fail('it is nested too deeply');
      const isWrapper = unwrap(command, level) && isSystemProgram(command.words[0]);
      commands[index] = { ...command, isWrapper };
    } catch (error) {
      if (!(error instanceof UnknownCommand)) throw error;
      problem ??= error.message;
    }
  }

  /** Adds the commands that a command runs. @returns true if the command does nothing else */
  function unwrap({ words, assignments }: ShellCommand, level: number): boolean {
    const [first, ...rest] = words;
    if (first === undefined) return false;
    if (!first.isLiteral) fail('it runs an unknown command');
    const name = commandName(first);
    if (/^\w+(?:\[.*)?\+?=/s.test(first.text)) fail("it has a construct that can't be checked");
    if (evaluates(name, rest)) fail(`${name} evaluates its arguments`);
    if (!isKnownSetting(name, rest)) fail(`${name} has settings that can run other programs`);
    if (REDEFINING.has(name) && rest.length > 0) fail(`${name} changes the meaning of commands`);
    if (RUNNERS.has(name) && rest.length > 0) fail(`${name} runs a command that can't be checked`);
    if (NAMING.has(name)) addNames(name, rest);
    if (name === 'eval') return addText(evaluated(rest), level);
    if (OTHER_SHELLS.test(name)) fail(`commands for ${name} can't be checked`);
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
    return rest.some(({ hasUnknown }) => hasUnknown) ? fail('it sets an unknown variable') : false;
  }

  function addNames(name: string, words: readonly ShellWord[]): void {
    const named = name === 'printf' ? (words[0]?.text === '-v' ? words.slice(1, 2) : []) : words;
    const assignments = named
      .map(({ text }) => (text.startsWith('-') ? text.replace(/^-[a-z]*/, '') : text))
      .filter((text) => IDENTIFIER.test(text))
      .map((text) => ({ name: text, value: literalWord('') }));
    if (assignments.length > 0)
      commands.push({ assignments, words: [], reads: [], writes: [], isWrapper: false });
  }

  function addText(inner: string, level: number): boolean {
    const found = findCommands(inner, level + 1);
    commands.push(...found.commands);
    problem ??= found.problem;
    return true;
  }

  /** Options may stand before and after `-c`; the first other word is the text. */
  function addShell(words: readonly ShellWord[], level: number): boolean {
    let hasText = false;
    let at = 0;
    for (; words[at]?.isLiteral && /^[-+]/.test(words[at]?.text ?? ''); at++) {
      const { text = '' } = words[at] ?? {};
      if (text === '--' || text === '-') {
        at++;
        break;
      }
      if (!SHELL_OPTIONS.test(text)) fail("a shell is started with options that can't be checked");
      hasText ||= text.includes('c');
    }
    const first = words[at];
    if (hasText) return addText(literalText(first ?? UNKNOWN_WORD), level);
    return at > 0 ? fail('a shell reads its commands from another source') : assertFile(first);
  }

  /** A script file counts as any other program. */
  function assertFile(file: ShellWord | undefined): false {
    if (file === undefined || !file.isLiteral || INPUT_FILE.test(file.text))
      fail('a shell reads its commands from another source');
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
    return inner === undefined ? false : fail("find runs a command that can't be checked");
  }

  for (const [i, command] of script.commands.entries()) {
    const start = commands.length;
    add(command);
    if (i < script.firstFed) continue;
    commands.push(...commands.splice(start).map((one) => ({ ...one, hasInput: true })));
  }
  if (script.functions.some((name) => isKnownName(name) || WRAPPERS.has(name)))
    problem ??= 'it changes the meaning of commands';
  const isMixed =
    script.firstFed < Infinity ||
    commands.some(({ assignments, writes }) => assignments.length > 0 || writes.length > 0);
  return { commands: isMixed ? commands.map((one) => ({ ...one, around: text })) : commands, problem };
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
    if (!valued.includes(letter)) fail("a command is run with options that can't be checked");
    const value = letters.slice(at + 1).join('') || literalText(words.shift() ?? UNKNOWN_WORD);
    if (letter === 'I' && value !== '{}') fail("a command is run with options that can't be checked");
  }
  const { assignments, rest } = takesVariables
    ? takeAssignments(words, ANY_ASSIGNMENT)
    : { assignments: [], rest: [...words] };
  for (let i = 0; i < operands; i++) literalText(rest.shift() ?? UNKNOWN_WORD);
  if (addsWords && rest.length > 0) rest.push(UNKNOWN_WORD);
  return { words: rest.map((word) => (addsWords ? withoutBraces(word) : word)), assignments };
}

/** Leading assignments, and the remaining words. */
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
    // An unquoted value may become several words, of which the second may be a command.
    if (rest[0]?.mayBeFlag || UNKNOWN_NAME.test(name)) fail('it sets an unknown variable');
    assignments.push({ name, value: { ...literalWord(value), hasUnknown: rest[0]?.hasUnknown ?? true } });
  }
}

/** Name of a program without its folder, in lower case because some file systems ignore case. */
export function commandName({ text }: Pick<ShellWord, 'text'>): string {
  return text.replace(/^.*\//s, '').toLowerCase();
}

/** True for a program in a system folder. */
function isSystemProgram(word: ShellWord | undefined): boolean {
  return word !== undefined && plainName(word) === commandName(word);
}

/** Text that `eval` runs. */
function evaluated(words: readonly ShellWord[]): string {
  const isEnded = words[0]?.text === '--';
  return words
    .slice(isEnded ? 1 : 0)
    .map(literalText)
    .join(' ');
}

function literalText({ text, isLiteral }: ShellWord): string {
  return isLiteral ? text : fail('it runs an unknown command');
}

/** Marks `{}` as unknown: `find` and `xargs` insert a file name there. */
function withoutBraces(word: ShellWord): ShellWord {
  return word.text.includes('{}') ? { ...word, hasUnknown: true, isLiteral: false, mayBeFlag: true } : word;
}
