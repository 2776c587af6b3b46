import type { Exchange } from '../message/exchange.ts';
import type { Msg } from '../message/msg.ts';
import { AnswerSchema } from '../model/structured/answer-schema.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { tool, type Tool, type ToolCallResult } from '../toolkit/tool/tool.ts';
import { canonicalJson } from '../util/canonical-json.ts';
import { copyJson, isJsonObject, NotJsonError, type JsonObject } from '../util/json.ts';
import type { AnySchema, SchemaProblem } from '../util/schema.ts';

export const STRUCTURED_OUTPUT_TOOL = 'generate_response';

/** The structured output of a reply, for its message. */
export interface ReplyOutput {
  /** The output as JSON; the model's own arguments where the schema made something else of them, such as a `Date`. */
  readonly metadata: JsonObject;
  /** The output as the schema made it. */
  readonly structured: unknown;
}

/**
 * Structured output by a tool: the model calls `generate_response` with arguments that fit the schema. Arguments that don't fit come
 * back to the model with the problems. A schema that is not one of an object becomes the schema of the property `value`.
 */
export class StructuredOutputTool {
  readonly tool: Tool;
  readonly #schema: AnswerSchema<AnySchema>;

  /** @throws SchemaError if the schema has no JSON Schema. */
  constructor(schema: AnySchema) {
    this.#schema = new AnswerSchema(schema);
    this.tool = tool({
      name: STRUCTURED_OUTPUT_TOOL,
      description: 'Gives the final answer. Call it once you have everything that the answer needs.',
      schema: this.#schema.jsonSchema,
      readOnly: true,
      execute: async (input) => {
        const checked = await this.#schema.check(input);
        if (!checked.ok) return refused(checked.problems);
        return new ToolResponse('The answer was taken down.', { metadata: toSaved(checked.value, input) });
      },
    });
  }

  /** The output of the last accepted tool call of an exchange. It is read from the tool result, which may be a replayed one. */
  async read(exchange: Exchange): Promise<ReplyOutput | undefined> {
    for (const call of exchange.calls.toReversed()) {
      const result: ToolCallResult | undefined = exchange.resultOf(call.id);
      const output =
        call.name === STRUCTURED_OUTPUT_TOOL && result?.status === 'ok'
          ? savedIn(result.metadata)
          : undefined;
      if (output !== undefined) return this.#outputOf(output);
    }
    return undefined;
  }

  /** The `structured` of an answer that was loaded: from its tool result, or from its metadata if that is no longer in the history. */
  async restore({ metadata }: Msg, history: readonly Msg[]): Promise<unknown> {
    const json = canonicalJson(metadata);
    const results: readonly ToolCallResult[] = history.flatMap((msg) => msg.getContentBlocks('tool_result'));
    const saved = results
      .flatMap((result) => (result.name === STRUCTURED_OUTPUT_TOOL ? (savedIn(result.metadata) ?? []) : []))
      .findLast(({ answer }) => canonicalJson(answer) === json);
    if (saved !== undefined) return (await this.#outputOf(saved)).structured ?? this.#schema.unwrap(metadata);
    // the metadata are the arguments if the output is no JSON, and the output otherwise
    const checked = await this.#schema.check(metadata);
    const areArguments = checked.ok && toSaved(checked.value, metadata).form === 'arguments';
    return areArguments ? checked.value : this.#schema.unwrap(metadata);
  }

  async #outputOf({ answer: metadata, form }: StoredOutput): Promise<ReplyOutput> {
    if (form === undefined) return { metadata, structured: this.#schema.unwrap(metadata) };
    if (form === 'object') return { metadata, structured: metadata };
    if (form === 'value') return { metadata, structured: metadata['value'] };
    const checked = await this.#schema.check(metadata);
    return { metadata, structured: checked.ok ? checked.value : undefined };
  }
}

/**
 * Structured output as a tool result keeps it: as the schema made it, which is an object or the `value` of one; or, if that is no JSON,
 * the model's arguments, to be checked again.
 */
type SavedOutput = { readonly answer: JsonObject; readonly form: 'object' | 'value' | 'arguments' };

function toSaved(value: unknown, input: JsonObject): SavedOutput {
  try {
    const json = copyJson(value, 'the answer');
    if (!isJsonObject(json)) return { answer: { value: json }, form: 'value' };
    return { answer: withoutMark(json), form: 'object' };
  } catch (error) {
    if (error instanceof NotJsonError) return { answer: withoutMark(input), form: 'arguments' };
    throw error;
  }
}

/** `SavedOutput`, or the form of version 0.1, which has no `form`. */
type StoredOutput = Partial<SavedOutput> & Pick<SavedOutput, 'answer'>;

function savedIn({ answer, form }: JsonObject = {}): StoredOutput | undefined {
  if (!isJsonObject(answer)) return undefined;
  if (form === 'object' || form === 'value' || form === 'arguments') return { answer, form };
  const { _is_raw: isRaw, ...rest } = answer; // the form saved by version 0.1
  return isRaw === true ? { answer: rest, form: 'arguments' } : { answer };
}

/** Drops the mark of interrupted replies, which a model must not set. */
function withoutMark({ _is_interrupted: _, ...own }: JsonObject): JsonObject {
  return own;
}

function refused(problems: readonly SchemaProblem[]): ToolResponse {
  const listed = problems.map(({ path, message }) => `- ${path || 'the arguments'}: ${message}`).join('\n');
  const text = `Arguments Validation Error: the answer is not in the shape that is asked for.\n${listed}`;
  return new ToolResponse(text, { status: 'error' });
}
