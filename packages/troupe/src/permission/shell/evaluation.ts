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
      return mayHide && (texts[0] === '-v' || words[0]?.mayBeFlag === true);
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

/** Options before the subcommand, and options of `clone`, can make git run any program. */
function isKnownGit(words: readonly ShellWord[]): boolean {
  let at = 0;
  for (; words[at]?.text.startsWith('-'); at++) {
    const { text = '' } = words[at] ?? {};
    if (text === '-c') at++;
    if (text === '-c' ? !isSetting(words[at]) : /^-c|^--(?:config-env|exec-path=)/.test(text)) return false;
    if (/^(?:-C|--(?:attr-source|git-dir|namespace|work-tree))$/.test(text)) at++;
  }
  if (words[at]?.hasUnknown) return false;
  if (words[at]?.text !== 'clone') return true;
  return words.every(
    ({ text }, i) => !/^(?:-c|--c)/.test(text) || i < at || (text === '-c' && isSetting(words[i + 1])),
  );
}

function isSetting(word: ShellWord | undefined): boolean {
  return word !== undefined && !word.hasUnknown && GIT_SETTING.test(word.text);
}
