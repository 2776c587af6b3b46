import { oneLine } from '../../util/text.ts';
import type { SchemaProblem } from '../../util/schema.ts';
import { errorOutput } from './failure-text.ts';
import { META_TOOL_NAME } from '../tool/meta-tool.ts';
import type { RegisteredTool } from '../tool/registered-tool.ts';
import type { ToolOutput } from '../tool/tool-output.ts';
import type { Suspension } from '../tool/tool-suspension.ts';

const MAX_NAMES = 20;
const MAX_RAW_CHARS = 300;
const MAX_PROBLEM_CHARS = 300;
const MAX_PROBLEMS = 20;

/** Output for a tool call of an unknown tool. @param known names of the offered tools */
export function toolNotFound(name: string, known: readonly string[]): ToolOutput {
  const similar = known.filter((one) => isSimilar(one, name));
  const named = similar.length > 0 ? similar : known;
  const rest = named.length - MAX_NAMES;
  const list = named.slice(0, MAX_NAMES).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
  const advice =
    known.length === 0
      ? 'There are no tools now.'
      : similar.length > 0
        ? `Did you mean ${list}?`
        : `There are: ${list}.`;
  return unavailable(`FunctionNotFoundError: There is no tool '${short(name, 64)}'. ${advice}`);
}

/** Output for a tool call of a tool in an inactive group. */
export function inactive({ tool, group }: RegisteredTool, hasMetaTool: boolean): ToolOutput {
  const problem = `FunctionInactiveError: The tool '${tool.name}' is in the tool group '${group}', which is not active.`;
  return unavailable(hasMetaTool ? `${problem} Activate it by calling '${META_TOOL_NAME}' first.` : problem);
}

/** Output for arguments that are not a JSON object. */
export function unreadable(rawInput: string): ToolOutput {
  const problem = 'The arguments are not a JSON object. Call the tool again with valid JSON.';
  return errorOutput(`Arguments Validation Error: ${problem} You sent: ${short(rawInput, MAX_RAW_CHARS)}`);
}

/** Output for arguments that don't fit the schema. */
export function invalid(problems: readonly SchemaProblem[]): ToolOutput {
  const lines = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => {
    const place = path === '' ? 'the arguments' : short(path, 200);
    return `- ${place}: ${short(message, MAX_PROBLEM_CHARS)}`;
  });
  if (problems.length > MAX_PROBLEMS) lines.push(`- and ${problems.length - MAX_PROBLEMS} more`);
  return errorOutput(
    `Arguments Validation Error: Correct these and call the tool again.\n${lines.join('\n')}`,
  );
}

/** Output for a tool call that the permission policy denies. */
export function denied(reason: string | undefined): ToolOutput {
  const because = reason === undefined || reason === '' ? '.' : `: ${short(reason, MAX_PROBLEM_CHARS)}`;
  return {
    output: `PermissionDenied: The call was not allowed, and did not run${because}`,
    status: 'denied',
  };
}

/** Output for a suspended tool call where no agent keeps the suspension. */
export function awaiting(suspension: Suspension): ToolOutput {
  if (suspension.kind === 'question') return unavailable('[Awaiting the answer to a question]');
  const { reason } = suspension.kind === 'nested' ? {} : suspension;
  return unavailable(reason ?? '[Awaiting external execution]');
}

function unavailable(output: string): ToolOutput {
  return { output, status: 'unavailable' };
}

function isSimilar(known: string, asked: string): boolean {
  const [a, b] = [bare(known), bare(asked)];
  return a !== '' && b !== '' && (a.includes(b) || b.includes(a));
}

function bare(name: string): string {
  return name
    .slice(0, 128)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

function short(text: string, length: number): string {
  const line = oneLine(text.slice(0, length));
  return text.length > length ? `${line}… (${text.length} characters)` : line;
}
