import { isHarmlessFormat } from './known-commands.ts';
import type { ShellWord } from './shell-word.ts';

/** Settings allowed with `git -c`: they run nothing and redirect nothing. */
const GIT_SETTING =
  /^(?:advice|color|column|format|i18n|log|status|user)\.[\w.]+=|^core\.(?:abbrev|autocrlf|eol|quotepath|safecrlf)=|^(?:commit|tag)\.gpgsign=false$|^diff\.(?:algorithm|context|mnemonicprefix|noprefix|renames)=|^init\.defaultbranch=|^pull\.(?:ff|rebase)=/i;
const SET_OPTION = /^(?:[-+][efuxCo]+|errexit|noclobber|noglob|nounset|pipefail|xtrace)$/;
const COMPARING_NUMBERS = /^-(?:eq|ne|lt|le|gt|ge)$/;
/** Characters in a literal text that a shell would evaluate. */
const HIDING = /[$`[(]/;

/**
 * True if a shell builtin may evaluate its words or the values of variables as arithmetic. Bash runs commands
 * in array subscripts, so evaluated text can hide commands.
 */
export function evaluates(name: string, words: readonly ShellWord[]): boolean {
  const mayHide = words.some(({ text, hasUnknown }) => hasUnknown || HIDING.test(text));
  const texts = words.map(({ text }) => text);
  switch (name) {
    case 'let':
      return words.length > 0;
    case '[[':
      return texts.some((text) => COMPARING_NUMBERS.test(text) || text === '-v' || text === '-R');
    case '[':
    case 'test':
      return (
        (mayHide && texts.includes('-v')) ||
        words.some((word, i) => word.hasUnknown && words[i + 1]?.hasUnknown)
      );
    case 'printf':
      return (mayHide && (texts[0] === '-v' || words[0]?.mayBeFlag === true)) || assignsByFormat(words);
    case 'declare':
    case 'export':
    case 'local':
    case 'readonly':
    case 'typeset':
      return texts.some(
        (text) => /^[-+]\w*i/.test(text) || /[$`]/.test(text) || (name !== 'export' && /^-\w*n/.test(text)),
      );
    case 'mapfile':
    case 'readarray':
      return mayHide || texts.some((text) => /^-\w*C/.test(text)); // runs its callback
    case 'getopts':
    case 'read':
    case 'unset':
    case 'wait':
      return mayHide;
    default:
      return false;
  }
}

/** True if `printf` may assign variables by its format, or by an option with the name attached. */
function assignsByFormat(words: readonly ShellWord[]): boolean {
  const [first = ''] = words.map(({ text }) => text);
  const at = first === '-v' ? 2 : first === '--' ? 1 : 0;
  return words.length > at + 1 && !isHarmlessFormat(words[at]);
}

/** True if the settings of `set` and `git -c` are known to run nothing. */
export function isKnownSetting(name: string, words: readonly ShellWord[]): boolean {
  if (name === 'set') {
    const end = words.findIndex(({ text }) => text === '--');
    return words
      .slice(0, end < 0 ? words.length : end)
      .every(({ text, isLiteral }) => isLiteral && SET_OPTION.test(text));
  }
  return name !== 'git' || isKnownGit(words);
}

/** Options before the subcommand, and some options and operands of subcommands, make git run any program. */
function isKnownGit(words: readonly ShellWord[]): boolean {
  let at = 0;
  for (; words[at]?.text.startsWith('-'); at++) {
    const { text = '' } = words[at] ?? {};
    if (text === '-c') at++;
    if (text === '-c' ? !isSetting(words[at]) : /^-c|^--(?:config-env|exec-path=)/.test(text)) return false;
    if (/^(?:-C|--(?:attr-source|git-dir|namespace|work-tree))$/.test(text)) at++;
  }
  const [subcommand, ...rest] = words.slice(at);
  if (subcommand?.hasUnknown || rest.some(({ text }) => namesProgram(text))) return false;
  const texts = rest.map(({ text }) => text);
  switch (subcommand?.text) {
    case 'clone':
      return rest.every(
        ({ text }, i) =>
          !/^-\w*u|^--t/.test(text) &&
          (!/^(?:-c|--c)/.test(text) || (text === '-c' && isSetting(rest[i + 1]))),
      );
    case 'difftool':
    case 'rebase':
      return !texts.some((text) => /^-\w*x/.test(text));
    case 'grep':
      return !texts.some((text) => /^-\w*O/.test(text));
    case 'bisect':
      return texts[0] !== 'run';
    case 'submodule':
      return !texts.includes('foreach');
    case 'filter-branch':
      return false;
    case 'init':
      return !texts.some((text) => text.startsWith('--t'));
    default:
      return true;
  }
}

const GIT_PROGRAM_OPTIONS = ['upload-pack', 'receive-pack', 'exec', 'extcmd', 'open-files-in-pager'];

/** True for an option with the name of a program, also abbreviated, and for an address with a command. */
function namesProgram(text: string): boolean {
  if (/^(?:ext|fd)::/.test(text)) return true;
  const name = /^--([a-z-]+)/.exec(text)?.[1];
  return name !== undefined && GIT_PROGRAM_OPTIONS.some((option) => option.startsWith(name));
}

function isSetting(word: ShellWord | undefined): boolean {
  return word !== undefined && !word.hasUnknown && GIT_SETTING.test(word.text);
}
