import { UNKNOWN, type ShellWord } from './shell-word.ts';

/** Options and operands known to be harmless. All others count as unknown. */
interface Harmless {
  /** One-letter options. */
  readonly short?: string;
  /** One-letter options with a value, also directly after the letter. */
  readonly valued?: string;
  /** Long options, without value or with `=`. */
  readonly long?: string;
  /** Options in other forms. */
  readonly flags?: (text: string) => boolean;
  /** @default unlimited */
  readonly maxOperands?: number;
  /** Additional condition for the words after the command. */
  readonly holds?: (words: readonly string[]) => boolean;
}

/**
 * `any`: no option or operand writes or runs anything. `pure`: also opens no files, so that unknown words do
 * no harm.
 */
type Knowledge = 'any' | 'pure' | Harmless;

const ANY =
  'arch b2sum basename cat cksum cmp comm cut df diff dirname du egrep expand expr factor fgrep fold grep groups head hexdump id join ls md5sum nl nproc numfmt od paste pwd readlink realpath rev seq sha1sum sha256sum sha512sum stat strings sum tac tail tr tsort tty type unexpand uname uptime wc which whoami';
const PURE = ': break cd continue echo exit false return shift sleep true';
const VERSIONED = new Set(
  'cargo docker gcc git go java make node npm perl pip pip3 pnpm python python3 ruby rustc tsc uv yarn'.split(
    ' ',
  ),
);

const LOG_FLAGS: Harmless = {
  short: 'abciprstwzE0123456789',
  valued: 'nSGUMCBL',
  long: 'abbrev-commit after all all-match author before branches cached cc check color committer count date date-order decorate diff-algorithm diff-filter exit-code find-copies find-renames first-parent follow format full-index grep graph histogram ignore-all-space ignore-blank-lines ignore-case invert-grep left-right max-count merge-base merges minimal name-only name-status no-color no-decorate no-ext-diff no-merges no-patch no-pager no-renames no-textconv numstat oneline patch patch-with-stat patience pretty quiet raw reflog relative remotes reverse shortstat simplify-by-decoration since skip source staged stat submodule summary tags text topo-order unified until word-diff',
};
/** Otherwise an operand would create something with this name. */
const isList =
  (...flags: string[]) =>
  (words: readonly string[]): boolean =>
    words.every((word) => word.startsWith('-')) || words.some((word) => flags.includes(word));

/** Knowledge by command, with optional subcommand. */
const HARMLESS: ReadonlyMap<string, Knowledge> = new Map<string, Knowledge>([
  ...ANY.split(' ').map((name) => [name, 'any'] as const),
  ...PURE.split(' ').map((name) => [name, 'pure'] as const),
  ['[', { flags: isTestFlag, holds: hidesNothing }],
  ['test', { flags: isTestFlag, holds: hidesNothing }],
  ['awk', { short: '', valued: 'F', holds: isHarmlessAwk }],
  ['date', { short: 'uR', valued: 'dI', long: 'date iso-8601 rfc-3339 utc', holds: isDateShown }],
  ['file', { short: 'bhiLkr', long: 'brief dereference mime mime-encoding mime-type' }],
  ['find', { flags: (text) => FIND_WORDS.has(text) || /^-\d+$/.test(text) }],
  ['jq', { flags: () => true, holds: showsNoEnvironment }],
  ['hostname', { short: 'fis', maxOperands: 0 }],
  [
    'rg',
    {
      short: 'acFHhiILlNnopqSsUuvwx.0',
      valued: 'ABCegMmTt',
      long: 'after-context before-context context count count-matches files files-with-matches files-without-match fixed-strings glob hidden iglob ignore-case json line-number max-count max-depth multiline no-heading no-ignore no-line-number only-matching pcre2 quiet regexp smart-case sort stats type type-not word-regexp',
    },
  ],
  ['sed', { short: 'nErsuz', valued: 'e', holds: isHarmlessSed }],
  [
    'sort',
    {
      short: 'bCcdfghiMmnRrsuVz',
      valued: 'kt',
      long: 'check dictionary-order field-separator general-numeric-sort human-numeric-sort ignore-case ignore-leading-blanks ignore-nonprinting key month-sort numeric-sort random-sort reverse stable unique version-sort zero-terminated',
    },
  ],
  ['tree', { short: 'adfghilpsuACDJX', valued: 'LPI', long: 'dirsfirst du gitignore noreport prune' }],
  ['uniq', { short: 'cDdiuz', valued: 'fsw', long: 'all-repeated count repeated unique', maxOperands: 1 }],
  ['git blame', { short: 'beflnpstwCM', valued: 'L', long: 'porcelain show-email show-name show-number' }],
  [
    'git branch',
    {
      short: 'alrv',
      long: 'all contains format ignore-case list merged no-contains no-merged points-at remotes show-current sort verbose',
      holds: isList('--list'),
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
  ['git status', { short: 'bsuvz', long: 'branch ignored long porcelain short untracked-files verbose' }],
  [
    'git tag',
    {
      short: 'l',
      valued: 'n',
      long: 'contains format list merged points-at sort',
      holds: isList('--list', '-l'),
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

const SED_IN_PLACE: Harmless = { short: 'nErsuzi', valued: 'e', long: 'in-place', holds: isHarmlessSed };
const SED_ADDRESS = String.raw`(?:\d+|\$|\/[^/\\]*\/)`;
/** Text between delimiters. Shells disagree about delimiters in brackets. */
const SED_TEXT = String.raw`(?:(?!\1)[^\\\n[]|\[(?!\^?\])(?:(?!\1)[^\]\\\n])+\]|\\.)*`;
const SED_COMMAND = new RegExp(
  String.raw`^\s*(?:${SED_ADDRESS}(?:,\+?${SED_ADDRESS})?)?\s*!?(?:[=dpqDGHghNnx]|s([/|#,])${SED_TEXT}\1${SED_TEXT}\1[gpiI\d]*)\s*$`,
);
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

/** True if a command only reads, whatever its unknown words are. */
export function isReadOnly([first, ...rest]: readonly ShellWord[]): boolean {
  if (first === undefined) return true;
  if (!first.isLiteral) return false;
  const name = plainName(first);
  if (name === 'printf') return rest[0]?.isLiteral === true && !rest[0].text.startsWith('-');
  if (name === 'git' && rest[0]?.text === '--no-pager') rest.shift();
  if (rest.length === 1 && rest[0]?.text === '--version') return VERSIONED.has(name);
  const known = rest.slice(0, 2).map(({ text, isLiteral }) => (isLiteral ? text : UNKNOWN));
  for (const count of name === 'git' ? [2, 1] : [0]) {
    const knowledge = HARMLESS.get([name, ...known.slice(0, count)].join(' '));
    if (knowledge === undefined) continue;
    if (knowledge === 'pure') return true;
    if (knowledge === 'any') return !rest.some(({ hasUnknown }) => hasUnknown);
    return isHarmless(knowledge, rest.slice(count));
  }
  return false;
}

/** Files changed by a command; undefined if it may change anything else. */
export function editedBy(words: readonly ShellWord[]): readonly ShellWord[] | undefined {
  const [first, ...rest] = words;
  if (first === undefined || !first.isLiteral) return undefined;
  const isSed = plainName(first) === 'sed';
  const edit = isSed ? SED_IN_PLACE : EDITS.get(plainName(first));
  if (edit === undefined || !isHarmless(edit, rest)) return undefined;
  const operands = rest.filter(({ text }) => !text.startsWith('-'));
  return isSed && !rest.some(({ text }) => /^-[nErsuzi]*e/.test(text)) ? operands.slice(1) : operands;
}

function isHarmless(harmless: Harmless, words: readonly ShellWord[]): boolean {
  const { maxOperands = Infinity, flags = (text) => isKnownFlag(text, harmless), holds } = harmless;
  if (words.some(({ hasUnknown, mayBeFlag }) => hasUnknown || mayBeFlag)) return false;
  const texts = words.map(({ text }) => text);
  const options = texts.filter((text) => text.startsWith('-') && text !== '-' && text !== '--');
  if (!options.every(flags) || texts.length - options.length > maxOperands) return false;
  return holds?.(texts) ?? true;
}

/** Treats every word with a dash as option, also after `--` or as value. */
function isKnownFlag(text: string, { short = '', valued = '', long = '' }: Harmless): boolean {
  if (text.startsWith('--')) return long.split(' ').includes(text.slice(2).replace(/=[^]*/, ''));
  for (const letter of text.slice(1)) {
    if (valued.includes(letter)) return true;
    if (!short.includes(letter)) return false;
  }
  return true;
}

function isTestFlag(text: string): boolean {
  return /^-(?:[abcdefghknoprstuwxzGLNOS]|eq|ne|lt|le|gt|ge|nt|ot|ef)$/.test(text);
}

/** Bash evaluates array subscripts. */
function hidesNothing(words: readonly string[]): boolean {
  return !words.some((word) => /[$`]|\[./.test(word));
}

function isDateShown(words: readonly string[]): boolean {
  return words.every((word, i) => /^[-+]/.test(word) || words[i - 1] === '-d');
}

/** Allows only options for field separators. */
function isHarmlessAwk(words: readonly string[]): boolean {
  let at = 0;
  while (words[at]?.startsWith('-F')) at += words[at] === '-F' ? 2 : 1;
  if (words[at] === '--') at++;
  const program = words[at];
  return program !== undefined && !/system|getline|close|fflush|ARG[CV]|[|>@`]/.test(program);
}

/** The environment may contain keys. A field named `env` is allowed. */
function showsNoEnvironment(words: readonly string[]): boolean {
  return !words.some((word) => /(?<![.\w"])env\b|\$ENV/.test(word));
}

function isHarmlessSed(words: readonly string[]): boolean {
  const given = words.filter(
    (word, i) => /^-[nErsuzi]*e$/.test(words[i - 1] ?? '') || /^-[nErsuzi]*e./.test(word),
  );
  const scripts = given.map((word) => word.replace(/^-[nErsuzi]*e/, ''));
  const first = words.find((word) => !word.startsWith('-'));
  if (scripts.length === 0 && first !== undefined) scripts.push(first);
  return (
    scripts.length > 0 &&
    scripts.every((script) => script.split(/[;\n]/).every((step) => SED_COMMAND.test(step)))
  );
}
