import { Msg } from '../../message/msg.ts';
import type { JsonSchema } from '../../util/schema.ts';
import type { ChatModelBase, ModelRequest, ToolSchema } from '../chat-model-base.ts';
import { canForceTools, mergeGeneration } from '../generation.ts';
import { ModelError } from '../model-error.ts';

/**
 * Strategy for structured output: by the provider's own schema support (`native`), by a forced tool call
 * (`tool`), by an optional tool call (`tool_auto`), or by a text in the prompt (`prompt`).
 */
export type StructuredStrategy = 'native' | 'tool' | 'tool_auto' | 'prompt';

/** Strategies in the order of use. The next strategy is used when the provider rejects the previous one. */
export type Strategies = readonly [StructuredStrategy, ...StructuredStrategy[]];

export function strategiesFor(
  { capabilities, generation }: Pick<ChatModelBase, 'capabilities' | 'generation'>,
  request: ModelRequest,
  strategy: StructuredStrategy | undefined,
): Strategies {
  const byTool: Strategies = canForceTools(capabilities, mergeGeneration(generation, request.generation))
    ? ['tool', 'tool_auto']
    : ['tool_auto'];
  if (strategy !== undefined) return strategy === 'tool' ? byTool : [strategy];
  const strategies: Strategies = capabilities.tools ? [...byTool, 'prompt'] : ['prompt'];
  // A conversation with tool calls continues best with a tool: many providers reject a schema beside tool
  // calls.
  const isAboutTools = capabilities.tools && request.tools !== undefined && request.tools.length > 0;
  return capabilities.structured === 'native' && !isAboutTools ? ['native', ...strategies] : strategies;
}

/**
 * Remaining strategies after the provider rejected the first one. Undefined for other failures, or if none is
 * left.
 */
export function strategiesAfter(error: unknown, [rejected, ...others]: Strategies): Strategies | undefined {
  if (!ModelError.isInstance(error) || error.kind !== 'bad_request') return undefined;
  const isOfNoUse = rejected === 'tool' && !isAboutToolChoice(error);
  const [next, ...left] = isOfNoUse ? others.filter((strategy) => strategy !== 'tool_auto') : others;
  return next === undefined ? undefined : [next, ...left];
}

/** Request for a strategy, without the caller's tools, tool choice and schema. */
export function requestBy(
  strategy: StructuredStrategy,
  { tools: _tools, toolChoice: _choice, structured: _structured, ...request }: ModelRequest,
  schema: JsonSchema,
  toolName: string,
): ModelRequest {
  const tools = [answerTool(toolName, schema)];
  switch (strategy) {
    case 'native':
      return { ...request, structured: { schema } };
    case 'tool':
      return { ...request, tools, toolChoice: { name: toolName } };
    case 'tool_auto':
      return {
        ...asking(request, `Give your answer by one call of the tool ${toolName}.`),
        tools,
        toolChoice: 'auto',
      };
    case 'prompt':
      return asking(
        request,
        'Answer with one JSON object and nothing else: no words around it, no code fence. ' +
          `It has to fit this JSON Schema:\n${JSON.stringify(schema)}`,
      );
  }
}

function isAboutToolChoice({ message, body = '' }: ModelError): boolean {
  return /tool[_ ]?choice|function_?calling_?config/i.test(`${message} ${body}`);
}

function answerTool(name: string, parameters: JsonSchema): ToolSchema {
  return { name, description: 'Gives the answer. Call it once, with the whole answer.', parameters };
}

/** The instruction comes last, so that the start of the prompt stays equal for the provider's cache. */
function asking(request: ModelRequest, instruction: string): ModelRequest {
  return { ...request, messages: [...request.messages, Msg.user(instruction)] };
}
