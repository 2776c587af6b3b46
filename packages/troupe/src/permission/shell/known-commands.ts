import { splitArguments, type CommandArguments, type OptionList } from './command-arguments.ts';
import { FILE_READER_OPTIONS } from './known-options.ts';
import { filesOfSed, isHarmlessAwk, isHarmlessJq, isHarmlessSed } from './known-programs.ts';
import { UNKNOWN, type ShellWord } from './shell-word.ts';

/** Options and operands known to be harmless. All others count as unknown. */
interface Harmless extends OptionList {
  /** Options in other forms. */
  readonly flags?: (text: string) => boolean;
  /** @default unlimited */
  readonly maxOperands?: number;
  /** Additional condition for the arguments. Wildcards are then unknown words. */
  readonly holds?: (given: CommandArguments) => boolean;
}

/** `pure`: opens no files, so that unknown words do no harm. */
type Knowledge = 'pure' | Harmless;

const PURE = ': break cd continue echo exit false return shift sleep true';
/** Programs that show their version without reading settings of the folder that name another program. */
const VERSIONED = new Set(
  'docker gcc git java make node npm perl pip pip3 python python3 ruby tsc uv'.split(' '),
);

const SED: Harmless = {
  short: 'nErsuz',
  valued: 'e',
  long: 'null-data quiet regexp-extended separate silent unbuffered',
  holds: isHarmlessSed,
};
const SED_IN_PLACE = /^(?:-[nErsuz]*i|--in-place)$/;
const LOG_FLAGS: Harmless = {
  short: 'abciprstwzE0123456789',
  valued: 'nSGL',
  attached: 'BCMU',
  long: 'abbrev-commit after all all-match author before branches cached cc check color committer count date date-order decorate diff-algorithm diff-filter exit-code find-copies find-renames first-parent follow format full-index grep graph histogram ignore-all-space ignore-blank-lines ignore-case invert-grep left-right max-count merge-base merges minimal name-only name-status no-color no-decorate no-ext-diff no-merges no-patch no-pager no-renames no-textconv numstat oneline patch patch-with-stat patience pretty quiet raw reflog relative remotes reverse shortstat simplify-by-decoration since skip source staged stat summary tags text topo-order unified until word-diff',
};
/** Otherwise an operand would create something with this name. */
const isList =
  (...flags: string[]) =>
  ({ operands, options }: CommandArguments): boolean =>
    operands.length === 0 || options.some(({ name }) => flags.includes(name));

/** Knowledge by command, with optional subcommand. */
const HARMLESS: ReadonlyMap<string, Knowledge> = new Map<string, Knowledge>([
  ...FILE_READER_OPTIONS,
  ...PURE.split(' ').map((name) => [name, 'pure'] as const),
  ['[', { flags: isTestFlag, holds: hidesNothing }],
  ['test', { flags: isTestFlag, holds: hidesNothing }],
  ['awk', { valued: 'F', holds: isHarmlessAwk }],
  [
    'date',
    { short: 'uR', valued: 'd', attached: 'I', long: 'date iso-8601 rfc-3339 utc', holds: isDateShown },
  ],
  ['file', { short: 'bhiLkr', long: 'brief dereference mime mime-encoding mime-type' }],
  ['find', { flags: (text) => FIND_WORDS.has(text) || /^-\d+$/.test(text) }],
  [
    'jq',
    {
      short: 'aCcehjMnrRsS',
      long: 'ascii-output color-output compact-output exit-status join-output monochrome-output null-input raw-input raw-output slurp sort-keys tab',
      holds: isHarmlessJq,
    },
  ],
  ['hostname', { short: 'fis', maxOperands: 0 }],
  [
    'rg',
    {
      short: 'acFHhiILlNnopqSsUuvwx.0',
      valued: 'ABCegMmTt',
      long: 'after-context before-context context count count-matches files files-with-matches files-without-match fixed-strings glob hidden iglob ignore-case json line-number max-count max-depth multiline no-heading no-ignore no-line-number only-matching pcre2 quiet regexp smart-case sort stats type type-not word-regexp',
    },
  ],
  ['sed', SED],
  [
    'sort',
    {
      short: 'bCcdfghiMmnRrsuVz',
      valued: 'kt',
      long: 'check dictionary-order field-separator general-numeric-sort human-numeric-sort ignore-case ignore-leading-blanks ignore-nonprinting key month-sort numeric-sort random-sort reverse stable unique version-sort zero-terminated',
    },
  ],
  [
    'strings',
    { short: 'afw', valued: 'ent', long: 'all bytes encoding print-file-name radix', holds: hasNoOptionFile },
  ],
  ['tree', { short: 'adfghilpsuACDJX', valued: 'LPI', long: 'dirsfirst du gitignore noreport prune' }],
  ['uniq', { short: 'cDdiuz', valued: 'fsw', long: 'all-repeated count repeated unique', maxOperands: 1 }],
  ['git blame', { short: 'beflnpstwCM', valued: 'L', long: 'porcelain show-email show-name show-number' }],
  [
    'git branch',
    {
      short: 'alrv',
      long: 'all contains format ignore-case list merged no-contains no-merged points-at remotes show-current sort verbose',
      holds: isList('list'),
    },
  ],
  ['git cat-file', { short: 'epst' }],
  ['git config --get', { short: '', long: 'get', maxOperands: 1 }],
  ['git config --list', { short: '', long: 'list show-origin', maxOperands: 0 }],
  ['git describe', { long: 'abbrev all always dirty exact-match long tags' }],
  ['git diff', LOG_FLAGS],
  [
    'git grep',
    { short: 'ceEFhHiIlLnpqvwW', valued: 'ABC', long: 'cached count heading line-number untracked' },
  ],
  ['git log', LOG_FLAGS],
  [
    'git ls-files',
    { short: 'cdmostuz', valued: 'x', long: 'cached deleted exclude-standard modified others stage' },
  ],
  ['git ls-tree', { short: 'drtlz', long: 'full-name name-only' }],
  ['git merge-base', { short: 'a', long: 'all is-ancestor' }],
  ['git remote', { short: 'v', maxOperands: 0 }],
  ['git remote get-url', { long: 'all push' }],
  ['git rev-list', LOG_FLAGS],
  ['git rev-parse', { long: 'abbrev-ref git-dir is-inside-work-tree short show-toplevel verify' }],
  ['git shortlog', { short: 'cens', long: 'email numbered summary' }],
  ['git show', LOG_FLAGS],
  ['git stash list', { maxOperands: 0 }],
  [
    'git status',
    { short: 'bsvz', attached: 'u', long: 'branch ignored long porcelain short untracked-files verbose' },
  ],
  [
    'git tag',
    {
      short: 'l',
      valued: 'n',
      long: 'contains format list merged points-at sort',
      holds: isList('list', 'l'),
    },
  ],
  ['git worktree list', { long: 'porcelain', maxOperands: 0 }],
]);

/** Commands that only change files, with the options that keep this true. Operands are the files. */
const EDITS: ReadonlyMap<string, Harmless> = new Map<string, Harmless>([
  ['cp', { short: 'afinpRruv', long: 'force no-clobber recursive update verbose' }],
  ['mkdir', { short: 'pv', long: 'parents verbose' }],
  ['mv', { short: 'finuv', long: 'force no-clobber update verbose' }],
  ['rm', { short: 'dfIiRrv', long: 'dir force recursive verbose' }],
  ['rmdir', { short: 'pv', long: 'parents verbose' }],
  ['tee', { short: 'a', long: 'append' }],
  ['touch', { short: 'acm', long: 'no-create' }],
]);

const FIND_WORDS = new Set(
  '-H -L -P -a -amin -and -anewer -atime -cmin -cnewer -ctime -daystart -depth -empty -executable -false -follow -gid -group -iname -inum -ipath -iregex -iwholename -links -ls -maxdepth -mindepth -mmin -mount -mtime -name -newer -not -o -or -path -perm -print -print0 -printf -prune -quit -readable -regex -regextype -samefile -size -true -type -uid -user -wholename -writable -xdev -xtype'.split(
    ' ',
  ),
);

/** Folders of system programs. */
const SYSTEM_FOLDER = /^(?:\/usr)?\/bin\//;

/** Name of a system program; other programs keep their path. */
export function plainName({ text }: ShellWord): string {
  return text.replace(SYSTEM_FOLDER, '');
}

/** Assigns a variable of the shell. */
const PRINTF_ASSIGNS = /%[-+ #0'\d.*hlLjztq]*n/;

/** True for the name of a program or builtin with a known meaning. */
export function isKnownName(name: string): boolean {
  return HARMLESS.has(name) || EDITS.has(name) || VERSIONED.has(name) || name === 'printf';
}

/** True if the command opens no files, whatever its words are. */
export function isPure([first]: readonly ShellWord[]): boolean {
  return first === undefined || (first.isLiteral && HARMLESS.get(plainName(first)) === 'pure');
}

/** True if a command only reads, whatever its unknown words are. */
export function isReadOnly([first, ...rest]: readonly ShellWord[]): boolean {
  if (first === undefined) return true;
  if (!first.isLiteral) return false;
  const name = plainName(first);
  if (name === 'printf') return isHarmlessFormat(rest[0]);
  if (name === 'git' && rest[0]?.text === '--no-pager') rest.shift();
  if (rest.length === 1 && rest[0]?.text === '--version' && VERSIONED.has(name)) return true;
  const known = rest.slice(0, 2).map(({ text, isLiteral }) => (isLiteral ? text : UNKNOWN));
  for (const count of name === 'git' ? [2, 1] : [0]) {
    const knowledge = HARMLESS.get([name, ...known.slice(0, count)].join(' '));
    if (knowledge !== undefined)
      return knowledge === 'pure' || readHarmless(knowledge, rest.slice(count)) !== undefined;
  }
  return false;
}

/** Files changed by a command; undefined if it may change anything else. */
export function editedBy(words: readonly ShellWord[]): readonly ShellWord[] | undefined {
  const [first, ...rest] = words;
  if (first === undefined || !first.isLiteral) return undefined;
  const name = plainName(first);
  if (name === 'sed') {
    const given = readHarmless(
      SED,
      rest.filter(({ text }) => !SED_IN_PLACE.test(text)),
    );
    return given && filesOfSed(given);
  }
  const edit = EDITS.get(name);
  return edit && readHarmless(edit, rest)?.operands;
}

/** True if `printf` assigns no variable. */
export function isHarmlessFormat(format: ShellWord | undefined): boolean {
  return format?.isLiteral === true && !format.text.startsWith('-') && !PRINTF_ASSIGNS.test(format.text);
}

/** Arguments of a command; undefined if some are not known to be harmless. */
function readHarmless(harmless: Harmless, words: readonly ShellWord[]): CommandArguments | undefined {
  const { maxOperands = Infinity, flags, holds } = harmless;
  const needsLiterals = holds !== undefined || maxOperands < Infinity;
  if (needsLiterals && !words.every(({ isLiteral }) => isLiteral)) return undefined;
  const given = flags === undefined ? splitArguments(words, harmless) : readFlags(words, flags);
  if (given === undefined || given.operands.length > maxOperands) return undefined;
  return (holds?.(given) ?? true) ? given : undefined;
}

/** Words of a command with its own kind of options. */
function readFlags(
  words: readonly ShellWord[],
  isFlag: (text: string) => boolean,
): CommandArguments | undefined {
  if (words.some(({ hasUnknown, mayBeFlag }) => hasUnknown || mayBeFlag)) return undefined;
  const isFine = words.every(({ text }) => !text.startsWith('-') || text === '-' || isFlag(text));
  return isFine ? { operands: words, options: [], isMixed: true } : undefined;
}

function isTestFlag(text: string): boolean {
  return /^-(?:[abcdefghknoprstuwxzGLNOS]|eq|ne|lt|le|gt|ge|nt|ot|ef)$/.test(text);
}

/** Bash evaluates array subscripts. */
function hidesNothing({ operands }: CommandArguments): boolean {
  return !operands.some(({ text }) => /[$`]|\[./.test(text));
}

/** Any other operand would set the clock. */
function isDateShown({ operands }: CommandArguments): boolean {
  return operands.every(({ text }) => text.startsWith('+'));
}

/** `@file` stands for options in a file. */
function hasNoOptionFile({ operands }: CommandArguments): boolean {
  return !operands.some(({ text }) => text.startsWith('@'));
}
