import { getLogger } from '../../config/run-config.ts';
import type { GenerationOptions, StructuredFormat, ToolChoice } from '../../model/chat-model-base.ts';
import type { WireRequest } from '../../model/http/http-chat-model.ts';
import { ModelError } from '../../model/model-error.ts';
import { isForced } from '../../model/tool-choice.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import type { ClaudeModel } from './claude-models.ts';
import { toStrictSchema } from './strict-schema.ts';
import type { ThinkingPlan } from './thinking-plan.ts';

type Fields = { [key: string]: JsonValue | undefined };

/** The fields of the body besides the prompt and the tools. */
export function toOptions(
  request: WireRequest,
  model: ClaudeModel,
  plan: ThinkingPlan,
  hasTools: boolean,
): Fields {
  const { generation } = request;
  const stop = generation.stop?.filter((sequence) => /\S/.test(sequence)) ?? [];
  return {
    stream: request.settings.isStreamed,
    max_tokens: maxTokens(generation, model, plan),
    ...sampling(generation, model, plan),
    stop_sequences: stop.length > 0 ? stop : undefined,
    thinking: plan.field,
    output_config: outputConfig(request.structured, plan),
    tool_choice: hasTools ? toToolChoice(request, model, plan) : undefined,
    service_tier: generation.serviceTier,
    ...generation.extra,
  };
}

/**
 * Adds the thinking budget to `max_tokens`, which counts thinking too: a caller means the length of the
 * answer alone.
 */
function maxTokens(generation: GenerationOptions, model: ClaudeModel, { budget }: ThinkingPlan): number {
  const asked = generation.maxTokens ?? model.maxTokens;
  return asked > budget ? asked : Math.min(asked + budget, model.maxOutput);
}

/** Leaves out the sampling options while the model thinks: Claude rejects the combination. */
function sampling(generation: GenerationOptions, model: ClaudeModel, { isOn }: ThinkingPlan): Fields {
  if (isOn || model.sampling === 'none') return {};
  const { temperature, topP, topK } = generation;
  const mustDropTopP = temperature !== undefined && model.sampling === 'one';
  return {
    temperature: temperature === undefined ? undefined : Math.min(temperature, 1),
    top_p: mustDropTopP ? undefined : topP,
    top_k: topK,
  };
}

/** @throws ModelError if the schema is not supported; another structured strategy is needed then. */
function outputConfig(
  structured: StructuredFormat | undefined,
  { effort }: ThinkingPlan,
): JsonObject | undefined {
  const schema = structured && toStrictSchema(structured.schema);
  if (structured !== undefined && schema === undefined) {
    throw new ModelError('The schema is not supported: it allows any keys, or refers to itself.', {
      kind: 'bad_request',
    });
  }
  if (effort === undefined && schema === undefined) return undefined;
  return {
    ...(effort !== undefined && { effort }),
    ...(schema && { format: { type: 'json_schema', schema } }),
  };
}

function toToolChoice(
  { toolChoice, generation }: WireRequest,
  model: ClaudeModel,
  plan: ThinkingPlan,
): JsonObject | undefined {
  if (toolChoice === 'none') return { type: 'none' };
  const one = generation.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (isForced(toolChoice) && canForce(model, plan)) return { ...forced(toolChoice), ...one };
  if (isForced(toolChoice)) {
    const when = model.forcedTools === 'never' ? '' : ' with thinking';
    getLogger().log(
      'warn',
      `This Claude model does not support forced tool calls${when}. The tool choice is 'auto'.`,
    );
  }
  return toolChoice === undefined && generation.parallelToolCalls !== false
    ? undefined
    : { type: 'auto', ...one };
}

function canForce({ forcedTools }: ClaudeModel, { isOn }: ThinkingPlan): boolean {
  return forcedTools === 'always' || (forcedTools === 'without_thinking' && !isOn);
}

function forced(choice: ToolChoice | undefined): JsonObject {
  return typeof choice === 'object' && 'name' in choice
    ? { type: 'tool', name: choice.name }
    : { type: 'any' };
}
