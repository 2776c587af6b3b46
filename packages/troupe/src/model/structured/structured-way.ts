import { Msg } from '../../message/msg.ts';
import type { JsonSchema } from '../../util/schema.ts';
import type { ChatModelBase, ModelRequest, ToolSchema } from '../chat-model-base.ts';
import { canForceTools, mergeGeneration } from '../generation.ts';
import { ModelError } from '../model-error.ts';

/** Who sees to the shape of an answer: the provider, the call of a tool, or a prompt. */
export type StructuredStrategy = 'native' | 'tool' | 'prompt';

/** A strategy as it is carried out: with `tool` the call is forced, with `tool_auto` it is asked for. */
export type StructuredWay = StructuredStrategy | 'tool_auto';

/** Ways to ask, the best one first; those that follow are for when the provider rejects it. */
export type Ways = readonly [StructuredWay, ...StructuredWay[]];

export function waysFor(
  { capabilities, generation }: Pick<ChatModelBase, 'capabilities' | 'generation'>,
  request: ModelRequest,
  strategy: StructuredStrategy | undefined,
): Ways {
  const byTool: Ways = canForceTools(capabilities, mergeGeneration(generation, request.generation))
    ? ['tool', 'tool_auto']
    : ['tool_auto'];
  if (strategy !== undefined) return strategy === 'tool' ? byTool : [strategy];
  const ways: Ways = capabilities.tools ? [...byTool, 'prompt'] : ['prompt'];
  // A conversation about tools goes on best with a tool: many providers reject a schema beside calls.
  const isAboutTools = capabilities.tools && request.tools !== undefined && request.tools.length > 0;
  return capabilities.structured === 'native' && !isAboutTools ? ['native', ...ways] : ways;
}

/** The ways that are left after the first one failed; undefined if it did not fail by being rejected, or none is left. */
export function waysAfter(error: unknown, [rejected, ...others]: Ways): Ways | undefined {
  if (!ModelError.isInstance(error) || error.kind !== 'bad_request') return undefined;
  const isOfNoUse = rejected === 'tool' && !isAboutToolChoice(error);
  const [next, ...left] = isOfNoUse ? others.filter((way) => way !== 'tool_auto') : others;
  return next === undefined ? undefined : [next, ...left];
}

/** The request that asks in this way. What the caller's request says about tools and shapes is not in it. */
export function requestBy(
  way: StructuredWay,
  { tools: _tools, toolChoice: _choice, structured: _structured, ...request }: ModelRequest,
  schema: JsonSchema,
  toolName: string,
): ModelRequest {
  const tools = [answerTool(toolName, schema)];
  switch (way) {
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

export function strategyOf(way: StructuredWay): StructuredStrategy {
  return way === 'tool_auto' ? 'tool' : way;
}

function isAboutToolChoice({ message, body = '' }: ModelError): boolean {
  return /tool[_ ]?choice|function_?calling_?config/i.test(`${message} ${body}`);
}

function answerTool(name: string, parameters: JsonSchema): ToolSchema {
  return { name, description: 'Gives the answer. Call it once, with the whole answer.', parameters };
}

/** The wish comes last, so that the prompt begins as it always does: providers cache that. */
function asking(request: ModelRequest, wish: string): ModelRequest {
  return { ...request, messages: [...request.messages, Msg.user(wish)] };
}
