import { isJsonObject, readJson } from '../util/json.ts';
import { oneLine } from '../util/text.ts';

/** Kind of memories: instructions for their extraction from conversations, and their form. */
export interface MemoryScheme {
  /** Name of the kind. Memories of different kinds do not mix in one store. */
  readonly kind: string;
  /** Instruction for the model that extracts memories. */
  readonly instruction: string;
  /** Whether tool calls and their results are material too, beside texts. @default false */
  readonly usesTools?: boolean | undefined;
  /** Converts content given to the tool to a memory; undefined for invalid content. @default the text */
  readonly read?: ((content: string) => string | undefined) | undefined;
  /** Result of the tool for content without a memory. */
  readonly nothing?: string | undefined;
}

/** Facts about people: names, preferences, plans, decisions. */
export const personalMemory: MemoryScheme = Object.freeze({
  kind: 'personal',
  instruction:
    'Extract lasting facts about the user and the people and things of the user: names, preferences, plans, decisions, constraints. Leave out small talk, questions, and what the assistant said unless the user agreed.',
});

/** Experience with tasks: steps that worked, mistakes and their solutions. */
export const taskMemory: MemoryScheme = Object.freeze({
  kind: 'task',
  usesTools: true,
  instruction:
    'Extract lessons for similar tasks later: the kind of task, the steps that worked, mistakes and how they were solved. One self-contained lesson each, without details that never come back.',
});

/** Experience with tools: results of tool calls become guidelines for each tool. */
export const toolMemory: MemoryScheme = Object.freeze({
  kind: 'tool',
  usesTools: true,
  instruction:
    'Extract guidelines for the use of each tool: arguments that work, limits, errors and how to avoid them. Begin each with the name of the tool and a colon.',
  read: toolResultText,
  nothing:
    'No valid tool call results: content must be JSON objects with tool_name, input, output and success.',
});

/** A tool call result given as JSON, as one line; undefined if it is none. */
function toolResultText(content: string): string | undefined {
  const value = readJson(content);
  if (!isJsonObject(value) || typeof value['tool_name'] !== 'string') return undefined;
  const { tool_name: name, input, output, success } = value;
  const outcome = success === false ? 'failed' : 'worked';
  return oneLine(
    `${name}: ${outcome} with ${JSON.stringify(input ?? {})}: ${JSON.stringify(output ?? '')}`,
  ).slice(0, 2000);
}
