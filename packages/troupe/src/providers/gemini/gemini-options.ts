import { TroupeError } from '../../errors.ts';
import type { GenerationOptions, ToolChoice, ToolSchema } from '../../model/chat-model-base.ts';
import type { WireRequest } from '../../model/http/http-chat-model.ts';
import { toolsForChoice, isForced } from '../../model/tool-choice.ts';
import { isJsonObject, setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';
import type { GeminiDialect } from './gemini-dialect.ts';

/**
 * Fields of the body without contents, system instruction and tools.
 * @param schema schema of the structured output, with inlined references
 */
export function toGeminiOptions(
  { generation, toolChoice, tools = [] }: WireRequest,
  dialect: GeminiDialect,
  schema: JsonSchema | undefined,
  hasGoogleTools = false,
): { [key: string]: JsonValue | undefined } {
  const { generationConfig, tools: _googleTools, ...extra } = generation.extra ?? {};
  checkOneAnswer(generationConfig);
  const config: { [key: string]: JsonValue | undefined } = {
    maxOutputTokens: generation.maxTokens,
    temperature: generation.temperature,
    topP: generation.topP,
    topK: generation.topK,
    stopSequences: generation.stop,
    seed: generation.seed,
    presencePenalty: dialect.takesPenalties ? generation.presencePenalty : undefined,
    frequencyPenalty: dialect.takesPenalties ? generation.frequencyPenalty : undefined,
    responseMimeType: schema && 'application/json',
    responseJsonSchema: schema,
    thinkingConfig: toThinking(generation, dialect),
    ...(isJsonObject(generationConfig) && generationConfig),
  };
  return {
    generationConfig: onlyGiven(config),
    serviceTier: generation.serviceTier,
    toolConfig: onlyGiven({
      ...(tools.length > 0 && toolChoice !== undefined && toToolConfig(toolChoice)),
      // Gemini requires the flag for a request with tools of Google and of the program
      ...(tools.length > 0 &&
        hasGoogleTools &&
        dialect.needsSignature && { includeServerSideToolInvocations: true }),
    }),
    ...extra,
  };
}

/** @throws TroupeError if several answers are requested, which would be mixed */
function checkOneAnswer(config: JsonValue | undefined): void {
  const count = isJsonObject(config) ? (config['candidateCount'] ?? 1) : 1;
  if (count === 1) return;
  throw new TroupeError(
    'invalid_config',
    'generationConfig.candidateCount must be 1: a model call has one answer. Call the model several times.',
  );
}

/** Keeps the fields with a value; undefined if none has. */
function onlyGiven(fields: { readonly [key: string]: JsonValue | undefined }): JsonObject | undefined {
  const given: { [key: string]: JsonValue } = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) setOwn(given, key, value);
  return Object.keys(given).length > 0 ? given : undefined;
}

function toToolConfig(choice: ToolChoice): JsonObject {
  const names =
    typeof choice === 'object' && isForced(choice) ? ('name' in choice ? [choice.name] : choice.allowed) : [];
  const mode = choice === 'none' ? 'NONE' : isForced(choice) ? 'ANY' : 'AUTO';
  return { functionCallingConfig: { mode, ...(names.length > 0 && { allowedFunctionNames: names }) } };
}

const BUDGETS = { none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576, xhigh: 24_576 };

/** Thinking settings. The model's thinking is shown. */
function toThinking(
  { reasoningEffort: effort, thinkingTokens: tokens }: GenerationOptions,
  { thinking }: GeminiDialect,
): JsonObject | undefined {
  if (thinking === undefined) return undefined;
  if (tokens !== undefined) return { thinkingBudget: tokens, includeThoughts: tokens !== 0 };
  if (effort === undefined) return undefined;
  const includeThoughts = effort !== 'none';
  if (thinking.by === 'budget') {
    return { thinkingBudget: Math.max(thinking.least, BUDGETS[effort]), includeThoughts };
  }
  const isLeast = effort === 'none' || effort === 'minimal';
  return { thinkingLevel: isLeast ? thinking.least : effort === 'xhigh' ? 'high' : effort, includeThoughts };
}

/** @param parameters parameters of the tool, with references inlined */
export function toFunction({ name, description }: ToolSchema, parameters: JsonSchema): JsonObject {
  return {
    name,
    ...(description !== undefined && { description }),
    ...(!isEmpty(parameters) && { parametersJsonSchema: parameters }),
  };
}

/** Whether a schema has no parameters. */
function isEmpty(schema: JsonSchema): boolean {
  const { type, properties = {}, additionalProperties = false, ...rest } = schema;
  const { required: _required, title: _title, description: _description, ...others } = rest;
  const hasNone = isJsonObject(properties) && Object.keys(properties).length === 0;
  return type === 'object' && hasNone && additionalProperties === false && Object.keys(others).length === 0;
}

/** Tools to offer. Gemini can be forced to use certain tools, but not limited to some. */
export function geminiTools(request: WireRequest): readonly ToolSchema[] {
  return isForced(request.toolChoice) ? (request.tools ?? []) : toolsForChoice(request);
}
