import type { ToolUseBlock } from '../message/blocks.ts';
import { copyJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import type { RuleSubject } from './tool-rule.ts';
import { commandName } from './shell/find-commands.ts';
import { exactText, isPlainlySet, takesInput } from './shell/match-command.ts';

const MAX_SUGGESTIONS = 5;
const MAX_CHARS = 200;
/** Programs that execute their standard input or files, or connect to another machine. */
const RUNS_INPUT =
  /^(?:[a-z]*sh|\.|ansible.*|at|awk|batch|bc|builtin|bun|clojure|command|cpp|crontab|csi|deno|doas|doctl|ed|elixir|emacs|env|erl|eval|ex|exec|expect|find|g?awk|gcc|gdb|ghci|g\+\+|groovy|iex|irb|jshell|julia|kubectl|less|lua.*|make|man|mawk|more|mysql|nano|nc|ncat|nice|node|nohup|npx|nsenter|nvim|ocaml|osascript|parallel|patch|perl.*|php.*|psql|pypy.*|python.*|r|rscript|rsync|ruby.*|scala|scp|screen|script|sed|sftp|socat|source|sqlite3?|sudo|su|tclsh|telnet|time|timeout|tmux|ts-node|tsx|unshare|vim?|watch|xargs)$/;

/**
 * Rules that would allow a tool call with exactly these arguments; for a shell command, each of its parts with exactly these
 * words. Empty if such rules would not be enough, or would allow more.
 */
export function suggestRules(
  { name, input }: ToolUseBlock,
  parts: readonly Pick<RuleSubject, 'argument' | 'command'>[],
): readonly JsonObject[] {
  const commandArguments = new Set(parts.map(({ argument }) => argument));
  const others = Object.entries(input).filter(([argument]) => !commandArguments.has(argument));
  if (!others.every(([, value]) => isShort(value))) return [];
  const rules = new Map<string, JsonObject>();
  for (const { argument, command } of parts) {
    const text = argument === undefined ? undefined : exactRule(command);
    if (argument !== undefined && text === undefined) return [];
    const conditions = [...others, ...(argument === undefined ? [] : [[argument, text] as const])];
    const when = conditions.length === 0 ? undefined : Object.fromEntries(conditions);
    const rule = copyJsonObject({ tool: name, behavior: 'allow', when, exact: true }, 'a rule');
    rules.set(JSON.stringify(rule), rule);
  }
  return rules.size > MAX_SUGGESTIONS ? [] : [...rules.values()];
}

/** True for a value that a rule can match exactly, and a person can read. */
function isShort(value: JsonValue): boolean {
  return typeof value === 'string' ? value.length <= MAX_CHARS : typeof value !== 'object' || value === null;
}

function exactRule(command: RuleSubject['command']): string | undefined {
  const [first] = command?.words ?? [];
  if (command === undefined || first === undefined || !isPlainlySet(command)) return undefined;
  if (takesInput(command)) return undefined;
  if (RUNS_INPUT.test(commandName(first))) return undefined;
  const text = exactText(command);
  return text === undefined || text.length > MAX_CHARS ? undefined : text;
}
