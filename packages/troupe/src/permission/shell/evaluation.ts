import type { ShellWord } from './shell-word.ts';

/** What may be set by `git -c`, as it neither runs anything nor leads anywhere. */
const GIT_SETTING =
  /^(?:advice|color|column|format|i18n|log|status|user)\.[\w.]+=|^core\.(?:abbrev|autocrlf|eol|quotepath|safecrlf)=|^(?:commit|tag)\.gpgsign=false$|^diff\.(?:algorithm|context|mnemonicprefix|noprefix|renames)=|^init\.defaultbranch=|^pull\.(?:ff|rebase)=/i;
const SET_OPTION = /^(?:[-+][efuxCo]+|errexit|noclobber|noglob|nounset|pipefail|xtrace)$/;
const COMPARING_NUMBERS = /^-(?:eq|ne|lt|le|gt|ge)$/;
/** Of a literal text, what a shell that evaluates it would run. */
const HIDING = /[$`[(]/;

/**
 * Whether a command of the shell itself may take its words, or the values of variables, for something to compute. A shell that computes runs what is in
 * the brackets of an array, so commands can hide there.
 */
export function evaluates(name: string, words: readonly ShellWord[]): boolean {
  const isOpen = words.some(({ text, hasHole }) => hasHole || HIDING.test(text));
  const texts = words.map(({ text }) => text);
  switch (name) {
    case 'let':
      return words.length > 0;
    case '[[':
      return texts.some((text) => COMPARING_NUMBERS.test(text) || text === '-v' || text === '-R');
    case '[':
    case 'test':
      return (
        (isOpen && texts.includes('-v')) || words.some((word, i) => word.hasHole && words[i + 1]?.hasHole)
      );
    case 'printf':
      return isOpen && (texts[0] === '-v' || words[0]?.mayBeFlag === true);
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
      return isOpen || texts.some((text) => /^-\w*C/.test(text)); // which it calls
    case 'getopts':
    case 'read':
    case 'unset':
    case 'wait':
      return isOpen;
    default:
      return false;
  }
}

/** Whether what `set` and `git -c` are told to do otherwise is known to run nothing. */
export function isKnownSetting(name: string, words: readonly ShellWord[]): boolean {
  if (name === 'set') {
    const end = words.findIndex(({ text }) => text === '--');
    return words
      .slice(0, end < 0 ? words.length : end)
      .every(({ text, isLiteral }) => isLiteral && SET_OPTION.test(text));
  }
  return name !== 'git' || isKnownGit(words);
}

/** Options before the subcommand, and those of `clone`, can make git run anything. */
function isKnownGit(words: readonly ShellWord[]): boolean {
  let at = 0;
  for (; words[at]?.text.startsWith('-'); at++) {
    const { text = '' } = words[at] ?? {};
    if (text === '-c') at++;
    if (text === '-c' ? !isSetting(words[at]) : /^-c|^--(?:config-env|exec-path=)/.test(text)) return false;
    if (/^(?:-C|--(?:attr-source|git-dir|namespace|work-tree))$/.test(text)) at++;
  }
  if (words[at]?.hasHole) return false;
  if (words[at]?.text !== 'clone') return true;
  return words.every(
    ({ text }, i) => !/^(?:-c|--c)/.test(text) || i < at || (text === '-c' && isSetting(words[i + 1])),
  );
}

function isSetting(word: ShellWord | undefined): boolean {
  return word !== undefined && !word.hasHole && GIT_SETTING.test(word.text);
}
