// Tokens of the shell language.

/** End of a word. */
const EDGE = String.raw`(?=[ \t\n;&|()<>]|$)`;
/** Keywords after which a command may begin. Their order is not checked. */
export const KEYWORD = new RegExp(String.raw`(?:if|then|elif|else|fi|while|until|do|done|[!{}])${EDGE}`, 'y');
/** Words with a special meaning at the beginning of a command. */
export const RESERVED = new RegExp(
  String.raw`(?:if|then|elif|else|fi|while|until|do|done|time|function|select|coproc|case|esac|for|in|[!{}])${EDGE}`,
  'y',
);
export const TIME = new RegExp(`time${EDGE}`, 'y');
export const TIME_OPTIONS = ['-p', '--'].map((option) => new RegExp(option + EDGE, 'y'));
export const UNREADABLE_KEYWORD = new RegExp(String.raw`(?:function|select|coproc|esac|in)${EDGE}|\(\(`, 'y');
export const FUNCTION = /([A-Za-z_][\w.-]*)[ \t]*\([ \t]*\)/y;
export const FOR = /for[ \t]+([A-Za-z_]\w*)(?=[ \t\n;])/y;
export const CASE = /case(?=[ \t])/y;
export const ESAC = new RegExp(`esac${EDGE}`, 'y');
export const IN = /in(?=[ \t\n;])/y;
export const REDIRECTION = /&>>?|\d*(?:<<<|<<-?|<>|<&|>&|>>|>\||[<>](?!\())/y;
/** Some shells end the redirection after `>&-` and start another word. */
export const DASHED = /^-[^ \t\n;&|()<>]/;
export const DELIMITER = new RegExp(String.raw`(['"]?)([\w.-]+)\1${EDGE}`, 'y');
export const ASSIGNMENT = /([A-Za-z_]\w*)=/y;
export const VARIABLE = /\$(?:[A-Za-z_]\w*|\d|[@*#?$!-]|\{#?\w+(?:(?::?[-+?]|%%?|##?)[\w./* -]*)?\})/y;
/** Without names, because the value of a name could contain a command. */
export const ARITHMETIC = /\$\(\([\d\s+\-*/%<>=!&|^~?:,]*\)\)/y;
/** `{}` without a following brace expansion. */
export const NO_BRACES = /\{\}[^\s;&|()<>,{}'"\\$`]*(?=[\s;&|()<>]|$)/y;
export const WORD_END = /[ \t\n;&|()]/;
export const NO_FILE = /^(?:\d+-?|-)$/;
export const PLAIN_FILE = /^[\w./-]+$/;
