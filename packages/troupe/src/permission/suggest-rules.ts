import type { ToolUseBlock } from '../message/blocks.ts';
import { copyJsonObject, type JsonObject } from '../util/json.ts';
import type { RuleSubject } from './tool-rule.ts';
import { exactText, isPlainlySet } from './shell/match-command.ts';

const MAX_SUGGESTIONS = 5;
const MAX_CHARS = 200;
/** Commands whose first word is a subcommand. */
const SUBCOMMANDED =
  /^(?:bun|bundle|cargo|deno|docker|dotnet|gh|git|go|gradle|helm|kubectl|make|mvn|npm|pip|pip3|pnpm|poetry|terraform|uv|yarn)$/;
const WORD = /^[a-z][\w:-]*$/;

/**
 * Rules that would allow a tool call: for a command its name and subcommand, or the whole command; for other
 * tools the tool name. Empty if such rules would not be enough.
 */
export function suggestRules(
  { name }: ToolUseBlock,
  parts: readonly Pick<RuleSubject, 'argument' | 'command'>[],
): readonly JsonObject[] {
  const rules = new Map<string, JsonObject>();
  for (const { argument, command } of parts) {
    const when = argument === undefined ? undefined : commandRule(argument, command);
    if (argument !== undefined && when === undefined) return [];
    const rule = copyJsonObject({ tool: name, behavior: 'allow', when }, 'a rule');
    rules.set(JSON.stringify(rule), rule);
  }
  return rules.size > MAX_SUGGESTIONS ? [] : [...rules.values()];
}

function commandRule(argument: string, command: RuleSubject['command']): JsonObject | undefined {
  const [first, second, third] = command?.words ?? [];
  if (command === undefined || first === undefined || !first.isLiteral || !isPlainlySet(command))
    return undefined;
  if (SUBCOMMANDED.test(first.text) && second?.isLiteral && WORD.test(second.text)) {
    const isRun = second.text === 'run' && third?.isLiteral && WORD.test(third.text);
    return {
      [argument]: { prefix: [first, second, ...(isRun ? [third] : [])].map(({ text }) => text).join(' ') },
    };
  }
  const text = exactText(command);
  return text === undefined || text.length > MAX_CHARS ? undefined : { [argument]: text };
}
