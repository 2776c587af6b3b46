// The pieces of a shell's language.

/** What ends a word. */
const EDGE = String.raw`(?=[ \t\n;&|()<>]|$)`;
/** After these a command may begin; whether they are in order is the shell's business. */
export const KEYWORD = new RegExp(String.raw`(?:if|then|elif|else|fi|while|until|do|done|[!{}])${EDGE}`, 'y');
/** All that mean something only at the beginning of a command. */
export const RESERVED = new RegExp(
  String.raw`(?:if|then|elif|else|fi|while|until|do|done|time|function|select|coproc|case|esac|for|in|[!{}])${EDGE}`,
  'y',
);
export const TIME = new RegExp(`time${EDGE}`, 'y');
export const TIME_OPTIONS = ['-p', '--'].map((option) => new RegExp(option + EDGE, 'y'));
export const UNREADABLE_KEYWORD = new RegExp(String.raw`(?:function|select|coproc|esac|in)${EDGE}|\(\(`, 'y');
export const FUNCTION = /[A-Za-z_][\w.-]*[ \t]*\([ \t]*\)/y;
export const FOR = /for[ \t]+([A-Za-z_]\w*)(?=[ \t\n;])/y;
export const CASE = /case(?=[ \t])/y;
export const ESAC = new RegExp(`esac${EDGE}`, 'y');
export const IN = /in(?=[ \t\n;])/y;
export const REDIRECTION = /&>>?|\d*(?:<<<|<<-?|<>|<&|>&|>>|>\||[<>](?!\())/y;
/** To some `>&-` ends there, and another word begins. */
export const DASHED = /^-[^ \t\n;&|()<>]/;
export const DELIMITER = new RegExp(String.raw`(['"]?)([\w.-]+)\1${EDGE}`, 'y');
export const ASSIGNMENT = /([A-Za-z_]\w*)=/y;
export const VARIABLE = /\$(?:[A-Za-z_]\w*|\d|[@*#?$!-]|\{#?\w+(?:(?::?[-+?]|%%?|##?)[\w./* -]*)?\})/y;
/** Without names: the value of a name could hold a command. */
export const ARITHMETIC = /\$\(\([\d\s+\-*/%<>=!&|^~?:,]*\)\)/y;
/** `{}`, with nothing behind it that could make it a choice. */
export const NO_BRACES = /\{\}[^\s;&|()<>,{}'"\\$`]*(?=[\s;&|()<>]|$)/y;
export const WORD_END = /[ \t\n;&|()]/;
export const NO_FILE = /^(?:\d+-?|-)$/;
export const PLAIN_FILE = /^[\w./-]+$/;
