import { isPathOfLaterRun } from './runs-later.ts';
import { isInside, isWholeTree, riskOf } from './risky-paths.ts';
import { commandName, type FoundCommand } from './find-commands.ts';
import { editedBy, isPure, isReadOnly } from './known-commands.ts';
import { literalWord, UNKNOWN, type ShellWord } from './shell-word.ts';

/** Effect of a command. `edit`: changes files, all of them inside the working directories. */
export interface CommandJudgement {
  readonly kind: 'read' | 'edit' | 'other';
  /** Reason why an approval is required, whatever rules allow. */
  readonly danger: string | undefined;
}

export interface CommandLocation {
  readonly workingDirectories: readonly string[];
  /** Target of the only `cd` in the text; `UNKNOWN` with several or unclear ones; undefined without `cd`. */
  readonly folder: string | undefined;
}

/** Where the commands of a text run. */
export function locationOf(
  commands: readonly FoundCommand[],
  workingDirectories: readonly string[],
): CommandLocation {
  const changes = commands.filter(({ words }) => /^(?:cd|pushd|popd)$/.test(words[0]?.text ?? ''));
  if (changes.length === 0) return { workingDirectories, folder: undefined };
  const [, target, ...others] = changes[0]?.words ?? [];
  const isClear =
    changes.length === 1 && target?.isLiteral && others.length === 0 && !/^[-~+]|^$/.test(target.text);
  return { workingDirectories, folder: isClear ? target.text : UNKNOWN };
}

const DANGEROUS =
  /^(?:sudo|doas|su|dd|shred|mkfs(?:\..*)?|fdisk|parted|wipefs|mkswap|shutdown|reboot|halt|poweroff|init|telinit|chroot|mount|umount|passwd|chpasswd|visudo|useradd|usermod|userdel|crontab|at|batch|iptables|nft|insmod|rmmod|modprobe|sysctl|systemctl|launchctl)$/;
/** Commands whose targets are removed, moved or get other permissions. */
const REMOVING = /^(?:rm|rmdir|unlink|mv|chmod|chown|chgrp|find)$/;
/** Variables that decide which programs run, or how. */
const RISKY_VARIABLE =
  /^(?:PATH|IFS|ENV|BASH_ENV|BASH_FUNC.*|SHELL|SHELLOPTS|BASHOPTS|PS[0-4]|PROMPT_COMMAND|CDPATH|HOME|GLOBIGNORE|LD_.*|DYLD_.*|GIT_.*|GCONV_PATH|NODE_.*|PYTHON.*|PERL.*|RUBY.*|JAVA_.*|.*PAGER|.*_proxy|.*_PROXY|BASH_.*|CLASSPATH|CC|CXX|LD|.*FLAGS|.*_RSH|.*_ASKPASS|.*_WRAPPER|TAR_OPTIONS|ZDOTDIR|.*EDITOR|VISUAL|BROWSER|LESS.*|MANOPT|.*_CONFIG_PATH|.*_COMMAND|(?:p?npm|yarn)_.*|path|cdpath|fpath|manpath|module_path)$/;
/** Variables that change no effect of a program: a rule that allows a command also allows the command with one of these. */
export const PLAIN_VARIABLE = /^(?:LANG|LC_.*|TZ|CI|DEBUG|FORCE_COLOR|NO_COLOR|TERM|COLUMNS|LINES|VERBOSE|)$/;
/** Variables of the text itself. Programs that only read ignore these variables; `make` and others may not. */
const OWN_VARIABLE = /^[a-z][a-z0-9_]*$/;
const NO_FILE = /^\/dev\/(?:null|stdout|stderr|fd\/\d+)$/;

/** Judges one command by its name, its options and its files. */
export function judgeCommand(command: FoundCommand, location: CommandLocation): CommandJudgement {
  const danger = dangerOf(command, location);
  const { assignments, words, reads, writes, isWrapper } = command;
  const files = writes.filter(({ text }) => !NO_FILE.test(text));
  const edited = editedBy(words);
  const { workingDirectories, folder } = location;
  // Another folder may be a repository whose settings name programs to run.
  const isElsewhere = folder !== undefined && nameOf(words) === 'git';
  const isReader = isReadOnly(words) && !isElsewhere && (folder !== UNKNOWN || isPure(words));
  const isRead = (isWrapper && !DANGEROUS.test(nameOf(words))) || isReader;
  const isKnown =
    (isRead || edited !== undefined) &&
    assignments.every(({ name }) => PLAIN_VARIABLE.test(name) || OWN_VARIABLE.test(name)) &&
    reads.every(({ hasUnknown }) => !hasUnknown);
  if (!isKnown) return { kind: 'other', danger };
  const targets = [...(isRead ? [] : (edited ?? [])), ...files];
  if (isRead && files.length === 0) return { kind: 'read', danger };
  const base = folder === undefined ? workingDirectories[0] : undefined;
  const isFine = targets.length > 0 && targets.every((word) => isEditable(word, workingDirectories, base));
  return { kind: isFine ? 'edit' : 'other', danger };
}

function isEditable(word: ShellWord, folders: readonly string[], base: string | undefined): boolean {
  const isInFolder = !word.hasUnknown && !word.mayBeFlag && isInside(word.text, folders, base);
  return isInFolder && !isPathOfLaterRun(word.text, folders);
}

function dangerOf(
  { words, assignments, reads, writes }: FoundCommand,
  { workingDirectories, folder }: CommandLocation,
): string | undefined {
  for (const { name } of assignments)
    if (RISKY_VARIABLE.test(name)) return `it sets ${name}, which controls what runs`;
  const [, ...rest] = words;
  const name = nameOf(words);
  if (DANGEROUS.test(name)) return `${name} can do harm that can't be undone`;
  for (const { text } of [...words, ...reads, ...writes, ...assignments.map(({ value }) => value)]) {
    const risk = riskOf(text, folder);
    if (risk !== undefined) return `it touches ${risk}`;
  }
  if (!REMOVING.test(name) || (name === 'find' && !rest.some(({ text }) => text === '-delete')))
    return undefined;
  for (const { text, hasUnknown } of targetsOf(name, rest)) {
    if (hasUnknown || text.startsWith(UNKNOWN)) return `${name} gets unknown names`;
    if (isWholeTree(text, workingDirectories)) return `${name} would affect a whole folder tree`;
    if (folder !== undefined && !text.startsWith('/')) return `${name} gets names in an unknown folder`;
  }
  return undefined;
}

function nameOf([first]: readonly ShellWord[]): string {
  return first === undefined ? '' : commandName(first);
}

/** Files that a command may remove, move or give other permissions. */
function targetsOf(name: string, words: readonly ShellWord[]): readonly ShellWord[] {
  if (name === 'find') {
    const start = words.findIndex(({ text }) => !/^-(?:[HLP]+|O\d*|D.*)$/.test(text));
    const paths = words.slice(start);
    const tests = paths.findIndex(({ text }) => /^[-(!]/.test(text));
    const given = paths.slice(0, tests < 0 ? paths.length : tests);
    return given.length > 0 ? given : [literalWord('.')];
  }
  const operands = words.filter(({ text }) => !text.startsWith('-'));
  const hasTarget = words.some(({ text }) => /^-\w*t|^--t/.test(text));
  return name === 'mv' && !hasTarget ? operands.slice(0, -1) : operands;
}
