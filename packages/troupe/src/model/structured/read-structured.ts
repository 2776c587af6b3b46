import { Exchange } from '../../message/exchange.ts';
import type { ToolUseBlock } from '../../message/blocks.ts';
import type { FinishReason } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import type { JsonObject } from '../../util/json.ts';
import type { AnySchema, SchemaOutput, SchemaProblem, Validation } from '../../util/schema.ts';
import { parseToolInput } from '../../util/tool-input.ts';
import type { AnswerSchema } from './answer-schema.ts';
import type { StructuredStrategy } from './structured-strategy.ts';

/** Model message with its finish reason. */
export interface ModelAnswer {
  readonly msg: Msg;
  readonly finishReason: FinishReason | undefined;
}

/**
 * Result of reading an answer. `corrected` continues the conversation after an invalid answer: the answer and
 * its problems. Missing if another attempt is useless.
 */
export type Reading<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[]; readonly corrected?: readonly Msg[] };

const AGAIN = 'Answer again with the whole JSON object and nothing else.';
const CUT_OFF = 'The answer was cut off at the limit of its length. Make it shorter.';

const REFUSALS: Partial<Record<FinishReason, string>> = {
  refusal: 'The model refused to answer.',
  content_filter: 'The answer was stopped by a content filter.',
};

export async function readStructured<S extends AnySchema>(
  answer: ModelAnswer,
  strategy: StructuredStrategy,
  answerSchema: AnswerSchema<S>,
  toolName: string,
): Promise<Reading<SchemaOutput<S>>> {
  const refusal = REFUSALS[answer.finishReason ?? 'other'];
  if (refusal !== undefined) return { ok: false, problems: [{ path: '', message: refusal }] };
  return strategy === 'tool' || strategy === 'tool_auto'
    ? readCall(answer, answerSchema, toolName)
    : readText(answer, answerSchema);
}

/** Reads an answer whose text is the object. */
async function readText<S extends AnySchema>(
  answer: ModelAnswer,
  answerSchema: AnswerSchema<S>,
): Promise<Reading<SchemaOutput<S>>> {
  const { msg } = answer;
  const checked = await checkUnlessCut(answer, objectIn(msg.getTextContent('') ?? ''), answerSchema);
  if (checked.ok) return checked;
  const { problems } = checked;
  return { ok: false, problems, corrected: corrected(msg, correction(problems, AGAIN)) };
}

/** Reads an answer with tool calls. The first valid tool call counts. */
async function readCall<S extends AnySchema>(
  answer: ModelAnswer,
  answerSchema: AnswerSchema<S>,
  toolName: string,
): Promise<Reading<SchemaOutput<S>>> {
  const { msg } = answer;
  const again = `Call ${toolName} again, once, with the whole answer.`;
  const corrections = new Map<string, string>();
  let first: readonly SchemaProblem[] | undefined;
  for (const call of msg.getContentBlocks('tool_use')) {
    if (call.name !== toolName) continue;
    const checked = await checkUnlessCut(answer, inputOf(call), answerSchema);
    if (checked.ok) return checked;
    first ??= checked.problems;
    corrections.set(call.id, correction(checked.problems, again));
  }
  const missing = answer.finishReason === 'length' ? CUT_OFF : `The tool ${toolName} was not called.`;
  const problems = first ?? [{ path: '', message: missing }];
  return { ok: false, problems, corrected: corrected(msg, correction(problems, again), corrections) };
}

/** Rejects truncated answers, even if they look complete. */
async function checkUnlessCut<S extends AnySchema>(
  { finishReason }: ModelAnswer,
  object: JsonObject | undefined,
  answerSchema: AnswerSchema<S>,
): Promise<Validation<SchemaOutput<S>>> {
  if (finishReason !== 'length' && object !== undefined) return answerSchema.check(object);
  const message = finishReason === 'length' ? CUT_OFF : 'This is not a JSON object.';
  return { ok: false, problems: [{ path: '', message }] };
}

function inputOf({ input, rawInput }: ToolUseBlock): JsonObject | undefined {
  return rawInput === undefined ? input : undefined;
}

/** Object in a text: the whole text, or the content of its only code fence. */
function objectIn(text: string): JsonObject | undefined {
  for (const json of [text, fencedIn(text)]) {
    try {
      return parseToolInput(json);
    } catch {
      // Try the next candidate.
    }
  }
  return undefined;
}

function fencedIn(text: string): string {
  const lines = text.split('\n');
  const [start, end, ...others] = [...lines.keys()].filter((i) => lines[i]?.trimStart().startsWith('```'));
  return start === undefined || others.length > 0 ? '' : lines.slice(start + 1, end ?? start).join('\n');
}

function correction(problems: readonly SchemaProblem[], again: string): string {
  const lines = problems.map(({ path, message }) => `- ${path === '' ? '' : `${path}: `}${message}`);
  return ["Your answer can't be used:", ...lines, again].join('\n');
}

/** The answer with its problems as a valid history: each tool call has a result, and no message is empty. */
function corrected(msg: Msg, wrong: string, byCall: ReadonlyMap<string, string> = new Map()): readonly Msg[] {
  const exchange = new Exchange(msg);
  for (const { id, name } of exchange.calls) {
    const output = byCall.get(id);
    exchange.addResult({
      type: 'tool_result',
      id,
      name,
      output: output ?? 'There is no such tool.',
      status: output === undefined ? 'unavailable' : 'error',
    });
  }
  const isEmpty = exchange.calls.length === 0 && msg.text.trim() === '';
  return [...(isEmpty ? [] : exchange.toMsgs()), ...(byCall.size > 0 ? [] : [Msg.user(wrong)])];
}
