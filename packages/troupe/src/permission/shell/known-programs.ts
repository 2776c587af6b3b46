import type { CommandArguments } from './command-arguments.ts';

const SED_ADDRESS = String.raw`(?:\d+|\$|\/[^/\\[]*\/)`;
/** Text between delimiters. Programs disagree about delimiters in brackets. */
const SED_TEXT = String.raw`(?:(?!\1)[^\\\n[]|\[(?!\^?\])\^?(?:\[:[a-z]+:\]|(?!\1)[^\][\\\n])+\]|\\.)*`;
const SED_COMMAND = new RegExp(
  String.raw`^\s*(?:${SED_ADDRESS}(?:,\+?${SED_ADDRESS})?)?\s*!?(?:[=dpqDGHghNnx]|s([/|#,])${SED_TEXT}\1${SED_TEXT}\1[gpiI\d]*)\s*$`,
);
/** Words and characters by which awk runs programs, opens files, or shows the environment. */
const AWK_OUTSIDE =
  /system|getline|close|fflush|func|extension|ARG|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|[|>@`]|\\\n|^~/;
const AWK_FUNCTIONS = new Set(
  'atan2 cos exp for gensub gsub if in index int length log match print printf rand return sin split sprintf sqrt srand strftime strtonum sub substr systime tolower toupper while'.split(
    ' ',
  ),
);
/** Names of files for connections, and operands that set variables of awk. */
const AWK_OPERAND = /^\/+inet|=/;
/** The environment may contain keys; modules may read it. A field named `env` is allowed. */
const JQ_OUTSIDE = /(?<![.\w"])env\b|\$\s*(?:ENV|__prog)|\b(?:import|include)\b/;

/** True if no step of the sed scripts writes files or runs programs. */
export function isHarmlessSed({ operands, options, isMixed }: CommandArguments): boolean {
  const given = options.flatMap(({ name, value }) => (name === 'e' ? [value?.text ?? ''] : []));
  const scripts = given.length > 0 ? given : operands.slice(0, 1).map(({ text }) => text);
  return (
    !isMixed &&
    scripts.length > 0 &&
    scripts.every((script) => script.split(/[;\n]/).every((step) => SED_COMMAND.test(step)))
  );
}

/** Files that sed reads: its operands without the script. */
export function filesOfSed({ operands, options }: CommandArguments): CommandArguments['operands'] {
  return options.some(({ name }) => name === 'e') ? operands : operands.slice(1);
}

export function isHarmlessAwk({ operands: [program, ...files], isMixed }: CommandArguments): boolean {
  if (program === undefined || isMixed || AWK_OUTSIDE.test(program.text)) return false;
  const called = program.text.matchAll(/(?<!\w)(\w+)\s*\(/g);
  return (
    Array.from(called).every(([, word = '']) => isAwkFunction(word)) &&
    !files.some(({ text }) => AWK_OPERAND.test(text))
  );
}

/** Whether awk calls nothing but its own functions by a word before a parenthesis. A number may stand right before the name: `1system(…)`. */
function isAwkFunction(word: string): boolean {
  const name = word.replace(/^\d+/, '');
  return name === '' || AWK_FUNCTIONS.has(name);
}

export function isHarmlessJq({ operands }: CommandArguments): boolean {
  return operands.length > 0 && !operands.some(({ text }) => JQ_OUTSIDE.test(text));
}
