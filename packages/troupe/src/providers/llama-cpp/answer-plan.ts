import type { GenerationOptions, ModelRequest, ToolSchema } from '../../model/chat-model-base.ts';
import { toolsForChoice, isForced } from '../../model/tool-choice.ts';
import type { JsonSchema } from '../../util/schema.ts';
import { ARGUMENTS, NEXT_CALL, SAY, TOOL } from './envelope.ts';
import { choice, Gbnf, literal } from './gbnf.ts';

/** Required form of an answer, and the instructions about the form. */
export interface AnswerPlan {
  /** Grammar that enforces the form; undefined for free text. */
  readonly grammar?: string;
  /** Instructions for the model; empty for free text. */
  readonly instructions: string;
  /** Whether the answer is an envelope, `{"say": …}` or `{"tool": …}`. */
  readonly isEnveloped: boolean;
  /** Whether the spoken part is JSON of the caller's schema. */
  readonly isStructured: boolean;
}

/** Maximum tool calls of one answer. Small models tend to repeat tool calls without end. */
const MAX_CALLS = 8;

/**
 * Plans the answer to a request. The instructions are equal for every choice among the same tools, so that
 * the computed prompt is reused; the grammar makes the choice.
 */
export function planAnswer(request: ModelRequest, generation: GenerationOptions = {}): AnswerPlan {
  const { tools = [], toolChoice, structured } = request;
  const maxCalls = generation.parallelToolCalls ? MAX_CALLS : 1;
  const isStructured = structured !== undefined;
  if (tools.length === 0 || toolChoice === 'none') {
    if (!isStructured) return { instructions: '', isEnveloped: false, isStructured };
    const grammar = new Gbnf();
    return {
      grammar: grammar.text(grammar.schema(structured.schema)),
      instructions: `Answer with JSON of this schema and nothing else: ${schemaText(structured.schema)}`,
      isEnveloped: false,
      isStructured,
    };
  }
  return {
    grammar: envelopeGrammar(request, maxCalls),
    instructions: toolInstructions(request, maxCalls),
    isEnveloped: true,
    isStructured,
  };
}

function envelopeGrammar(request: ModelRequest, maxCalls: number): string {
  const grammar = new Gbnf();
  const inputs = callableTools(request).map(({ name, parameters }) => {
    const input = grammar.schema({ ...parameters, type: 'object' });
    return `${literal(JSON.stringify(name) + ARGUMENTS)} ${input}`;
  });
  const call = grammar.rule(`${literal(TOOL)} ${choice(inputs)} "}"`);
  const calls = maxCalls === 1 ? call : `${call} (${literal(NEXT_CALL)} ${call}){0,${maxCalls - 1}}`;
  if (isForced(request.toolChoice)) return grammar.text(calls);
  const { structured } = request;
  const answer = structured === undefined ? '"\\"" char+ "\\""' : grammar.schema(structured.schema);
  return grammar.text(`${calls} | ${literal(SAY)} ${answer} "}"`);
}

/** Tools that the model may call now. */
function callableTools(request: ModelRequest): readonly ToolSchema[] {
  const { toolChoice } = request;
  const isNamed = typeof toolChoice === 'object' && 'name' in toolChoice;
  return toolsForChoice(request).filter((tool) => !isNamed || tool.name === toolChoice.name);
}

function toolInstructions({ tools = [], structured }: ModelRequest, maxCalls: number): string {
  const list = tools.map(
    ({ name, description, parameters }) =>
      `- ${name}${description ? `: ${description}` : ''}\n  Arguments: ${schemaText(parameters)}`,
  );
  const answer =
    structured === undefined ? '"your text"' : `JSON of this schema: ${schemaText(structured.schema)}`;
  return [
    'You can use these tools:',
    ...list,
    `To use one, answer with ${TOOL}"its name"${ARGUMENTS}{…}} and nothing else. You will be told its result.`,
    ...(maxCalls > 1 ? ['To use several at once, write one such line for each.'] : []),
    `To speak to the user, answer with ${SAY}…} and nothing else, where … is ${answer}.`,
  ].join('\n');
}

function schemaText({ $schema: _, ...schema }: JsonSchema): string {
  return JSON.stringify(schema);
}
