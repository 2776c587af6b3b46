import type { ToolSchema } from '../../model/chat-model-base.ts';
import type { JsonObject } from '../../util/json.ts';
import type { Facts } from './facts.ts';
import { fillInput, OPERATOR_NAMES } from './fill-input.ts';
import { paramsOf, type ParamKind } from './tool-params.ts';
import { keywordsOf, stem, wordsOf } from './words.ts';

/** Tool call that a message asks for, possibly with missing arguments. */
export interface PlannedToolCall {
  readonly name: string;
  readonly input: JsonObject;
  /** Required parameters missing in the message. */
  readonly missing: readonly string[];
  /** Why this tool was chosen, in words. */
  readonly why: string;
}

/** Kind of request, with the words of a matching tool's name or description. */
interface Rule {
  readonly why: string;
  readonly isRequested: (facts: Facts) => boolean;
  readonly verbs?: readonly string[];
  readonly nouns: readonly string[];
  readonly suits?: (tool: ToolSchema, facts: Facts) => boolean;
}

const RULES: readonly Rule[] = [
  {
    why: 'The message has arithmetic in it.',
    isRequested: (facts) => facts.arithmetic !== undefined,
    nouns: words(
      'calculate calculator calc arithmetic math maths expression compute evaluate sum add subtract multiply divide',
    ),
    suits: canCompute,
  },
  {
    why: 'The message asks for the time or the date.',
    isRequested: (facts) => has(facts, 'time date today clock weekday'),
    nouns: words('time date clock today'),
  },
  {
    why: 'The message asks which files there are.',
    isRequested: (facts) =>
      has(facts, 'files folder directory ls dir') && has(facts, 'list show what which ls dir see'),
    verbs: words('list ls dir browse'),
    nouns: words('file folder directory dir entry'),
  },
  {
    why: 'The message names a file.',
    isRequested: (facts) =>
      facts.fileNames.length > 0 && !has(facts, 'write delete remove save create rename move copy'),
    verbs: words('read open cat view show load content'),
    nouns: words('file document text'),
  },
];

/** Minimum score of a tool, by words shared with the message. */
const THRESHOLD = 2;

/**
 * Plans the tool calls for a message: one for every rule with a match in both message and tools; otherwise
 * the tool with the most shared words.
 */
export function planToolCalls(tools: readonly ToolSchema[], facts: Facts): readonly PlannedToolCall[] {
  const calls = RULES.flatMap((rule) => {
    const tool = rule.isRequested(facts) ? best(tools, (one) => scoreByRule(one, rule, facts)) : undefined;
    return tool === undefined ? [] : [planOneToolCall(tool, facts, rule.why)];
  });
  const byName = new Map(calls.toReversed().map((call) => [call.name, call])); // the first rule wins
  if (byName.size > 0) return [...byName.values()].toReversed();
  const tool = best(tools, (one) => scoreByWords(one, facts));
  return tool === undefined
    ? []
    : [planOneToolCall(tool, facts, 'The message has words of its description.')];
}

/** Plans a tool call, independent of the message's subject. */
export function planOneToolCall(tool: ToolSchema, facts: Facts, why: string, rest?: string): PlannedToolCall {
  return { name: tool.name, ...fillInput(tool, facts, rest), why };
}

function best(tools: readonly ToolSchema[], score: (tool: ToolSchema) => number): ToolSchema | undefined {
  let winner: ToolSchema | undefined;
  let highest = THRESHOLD - 1;
  for (const tool of tools) {
    const points = score(tool);
    if (points > highest) [winner, highest] = [tool, points];
  }
  return winner;
}

function scoreByRule(tool: ToolSchema, { verbs = [], nouns, suits }: Rule, facts: Facts): number {
  if (suits !== undefined && !suits(tool, facts)) return 0;
  const verbPoints = points(tool, verbs);
  const nounPoints = points(tool, nouns);
  return nounPoints === 0 || (verbs.length > 0 && verbPoints === 0) ? 0 : verbPoints + nounPoints;
}

function scoreByWords(tool: ToolSchema, facts: Facts): number {
  return points(tool, [...keywordsOf(facts.text)]);
}

/** Two points for each word in the tool's name, one for each in its description. */
function points(tool: ToolSchema, stems: readonly string[]): number {
  const name = new Set(wordsOf(tool.name).map(stem));
  const description = keywordsOf(tool.description ?? '');
  return stems.reduce((sum, word) => sum + (name.has(word) ? 2 : 0) + (description.has(word) ? 1 : 0), 0);
}

/** Whether a tool's parameters accept an expression, as text or as operands. */
function canCompute(tool: ToolSchema, { arithmetic }: Facts): boolean {
  const required = paramsOf(tool.parameters).filter((param) => param.isRequired);
  const numbers = required.filter((param) => isNumeric(param.kind));
  const hasList = required.some((param) => param.kind === 'array' && isNumeric(param.itemKind));
  const hasText = required.some((param) => param.kind === 'string');
  if (numbers.length === 0 && !hasList) return hasText;

  const { operands = [], operators = [] } = arithmetic ?? {};
  const names = OPERATOR_NAMES[operators[0] ?? ''] ?? [];
  const isOneOperation = operators.every((operator) => operator === operators[0]);
  const fits = operands.length > 0 && (hasList || operands.length === numbers.length);
  return fits && isOneOperation && (hasText || wordsOf(tool.name).some((word) => names.includes(word)));
}

function isNumeric(kind: ParamKind): boolean {
  return kind === 'number' || kind === 'integer';
}

function has(facts: Facts, wanted: string): boolean {
  return wanted.split(' ').some((word) => facts.words.has(word));
}

function words(list: string): readonly string[] {
  return list.split(' ').map(stem);
}
