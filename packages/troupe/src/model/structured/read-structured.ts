import { Exchange } from '../../message/exchange.ts';
import type { ToolUseBlock } from '../../message/blocks.ts';
import type { FinishReason } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import type { JsonObject } from '../../util/json.ts';
import type { AnySchema, SchemaOutput, SchemaProblem, Validation } from '../../util/schema.ts';
import { parseToolInput } from '../../util/tool-input.ts';
import type { AnswerSchema } from './answer-schema.ts';
import type { StructuredStrategy } from './structured-strategy.ts';

/** An answer, and why it ended. */
export interface ModelAnswer {
  readonly msg: Msg;
  readonly finishReason: FinishReason | undefined;
}

/**
 * What came of an answer. If it is wrong, `corrected` is the answer and what is wrong with it, for the model to go on
 * from; there is none where asking again would be of no use.
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
  return { ok: false, problems, corrected: corrected(msg, complaint(problems, AGAIN)) };
}

/** Reads an answer that gives the object to a tool. Of several calls the first one that fits counts. */
async function readCall<S extends AnySchema>(
  answer: ModelAnswer,
  answerSchema: AnswerSchema<S>,
  toolName: string,
): Promise<Reading<SchemaOutput<S>>> {
  const { msg } = answer;
  const again = `Call ${toolName} again, once, with the whole answer.`;
  const complaints = new Map<string, string>();
  let first: readonly SchemaProblem[] | undefined;
  for (const call of msg.getContentBlocks('tool_use')) {
    if (call.name !== toolName) continue;
    const checked = await checkUnlessCut(answer, inputOf(call), answerSchema);
    if (checked.ok) return checked;
    first ??= checked.problems;
    complaints.set(call.id, complaint(checked.problems, again));
  }
  const missing = answer.finishReason === 'length' ? CUT_OFF : `The tool ${toolName} was not called.`;
  const problems = first ?? [{ path: '', message: missing }];
  return { ok: false, problems, corrected: corrected(msg, complaint(problems, again), complaints) };
}

/** An answer that was cut off may look whole, so it is never taken. */
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

/** The object that a text is: the whole text, or what is in its only code fence. */
function objectIn(text: string): JsonObject | undefined {
  for (const json of [text, fencedIn(text)]) {
    try {
      return parseToolInput(json);
    } catch {
      // The next one may be it.
    }
  }
  return undefined;
}

function fencedIn(text: string): string {
  const lines = text.split('\n');
  const [start, end, ...others] = [...lines.keys()].filter((i) => lines[i]?.trimStart().startsWith('```'));
  return start === undefined || others.length > 0 ? '' : lines.slice(start + 1, end ?? start).join('\n');
}

function complaint(problems: readonly SchemaProblem[], again: string): string {
  const lines = problems.map(({ path, message }) => `- ${path === '' ? '' : `${path}: `}${message}`);
  return ["Your answer can't be used:", ...lines, again].join('\n');
}

/**
 * The answer with what is wrong with it, as a history that every provider takes: each call has its result, and there
 * is no message that says nothing.
 */
function corrected(msg: Msg, wrong: string, byCall: ReadonlyMap<string, string> = new Map()): readonly Msg[] {
  const exchange = new Exchange(msg);
  for (const { id, name } of exchange.calls) {
    const output = byCall.get(id);
    exchange.answer({
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
