import { TroupeError } from '../errors.ts';
import type { Exchange } from '../message/exchange.ts';
import type { Msg } from '../message/msg.ts';
import { AnswerSchema } from '../model/structured/answer-schema.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { tool, type Tool, type ToolCallResult } from '../toolkit/tool/tool.ts';
import {
  copyJson,
  isJsonObject,
  NotJsonError,
  setOwn,
  type JsonObject,
  type JsonValue,
} from '../util/json.ts';
import type { AnySchema, SchemaOutput, SchemaProblem } from '../util/schema.ts';

export const FORM_NAME = 'generate_response';

/** What the metadata of an answer may hold besides the answer. */
const RESERVED: ReadonlySet<string> = new Set(['_end_reason', '_is_interrupted', '_is_raw', '_pending']);

/**
 * A form that the model fills in to give an answer in a wanted shape: the tool `generate_response`. A wrong answer
 * comes back to the model with what is wrong about it. A shape that is no object is that of the property `value`.
 */
export class AnswerForm {
  readonly tool: Tool;

  /** @throws SchemaError if the schema has no JSON Schema. */
  constructor(schema: AnySchema) {
    const shape = new AnswerSchema(schema);
    this.tool = tool({
      name: FORM_NAME,
      description: 'Gives the final answer. Call it once you have everything that the answer needs.',
      schema: shape.jsonSchema,
      readOnly: true,
      execute: async (input) => {
        const checked = await shape.check(input);
        if (!checked.ok) return refused(checked.problems);
        return new ToolResponse('The answer was taken down.', {
          metadata: { answer: toMetadata(checked.value, input) },
        });
      },
    });
  }

  /** What was filled in by the last call of an exchange that was accepted. It is in the result, as that may be replayed. */
  read(exchange: Exchange): JsonObject | undefined {
    for (const call of exchange.calls.toReversed()) {
      const result: ToolCallResult | undefined = exchange.answerTo(call.id);
      const answer = result?.metadata?.['answer'];
      if (call.name === FORM_NAME && result?.status === 'ok' && isJsonObject(answer)) return answer;
    }
    return undefined;
  }
}

/**
 * The answer in the shape that was asked for, typed.
 * @throws TroupeError if the message holds no such answer, e.g. because the agent was interrupted.
 */
export async function structuredOf<S extends AnySchema>(answer: Msg, schema: S): Promise<SchemaOutput<S>> {
  const { metadata } = answer;
  if (metadata['_end_reason'] !== 'structured') {
    throw new TroupeError('invalid_reply', 'The message is no answer in a shape that was asked for.');
  }
  const own = withoutReserved(metadata);
  const shape = new AnswerSchema(schema);
  if (metadata['_is_raw'] !== true) return shape.unwrap(own) as SchemaOutput<S>; // the schema has had its say
  const checked = await shape.check(own);
  if (checked.ok) return checked.value;
  throw new TroupeError(
    'invalid_reply',
    `The answer is not in the shape that was asked for: ${listed(checked.problems)}`,
  );
}

/** What the schema made of the answer; where that is no JSON any more, such as a Date, what the model sent. */
function toMetadata(value: unknown, input: JsonObject): JsonObject {
  try {
    const json = copyJson(value, 'the answer');
    return isJsonObject(json) ? withoutReserved(json) : { value: json };
  } catch (error) {
    if (error instanceof NotJsonError) return { ...withoutReserved(input), _is_raw: true };
    throw error;
  }
}

/** What a message says about itself is not for the model to say. */
function withoutReserved(json: JsonObject): JsonObject {
  const own: { [key: string]: JsonValue } = {};
  for (const [key, value] of Object.entries(json)) if (!RESERVED.has(key)) setOwn(own, key, value);
  return own;
}

function refused(problems: readonly SchemaProblem[]): ToolResponse {
  const text = `Arguments Validation Error: the answer is not in the shape that is asked for.\n${listed(problems)}`;
  return new ToolResponse(text, { status: 'error' });
}

function listed(problems: readonly SchemaProblem[]): string {
  return problems.map(({ path, message }) => `- ${path || 'the arguments'}: ${message}`).join('\n');
}
