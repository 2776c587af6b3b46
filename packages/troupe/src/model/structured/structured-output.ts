import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import type { Msg } from '../../message/msg.ts';
import { addUsage, type Usage } from '../../message/usage.ts';
import { abortableItems } from '../../util/abort.ts';
import type { AnySchema, SchemaOutput, SchemaProblem } from '../../util/schema.ts';
import { AnswerSchema } from './answer-schema.ts';
import type { ChatModelBase, ModelCallOptions, ModelRequest } from '../chat-model-base.ts';
import { checkNumber } from '../../util/check-number.ts';
import { StructuredOutputError } from './structured-output-error.ts';
import { readStructured, type ModelAnswer } from './read-structured.ts';
import {
  requestBy,
  strategiesAfter,
  strategiesFor,
  type Strategies,
  type StructuredStrategy,
} from './structured-strategy.ts';
import { yieldToEventLoop } from '#platform';

/**
 * Number of deltas between turns of the event loop, so that a model that never waits can still be aborted.
 */
const DELTAS_AT_ONCE = 64;

export interface StructuredOptions extends ModelCallOptions {
  /** @default the best strategy of the model, then the next best if the provider rejects it */
  readonly strategy?: StructuredStrategy | undefined;
  /** Maximum corrections: an invalid answer goes back to the model with its problems. @default 2 */
  readonly maxRetries?: number | undefined;
  /** Name of the tool that takes the answer. @default 'generate_response' */
  readonly toolName?: string | undefined;
  /** Called after every answer. */
  readonly onAttempt?: ((attempt: StructuredAttempt) => void) | undefined;
}

/** One answer of the model, valid or not. */
export interface StructuredAttempt {
  /** Counted from 1. */
  readonly number: number;
  readonly strategy: StructuredStrategy;
  readonly msg: Msg;
  /** Empty for a valid answer. */
  readonly problems: readonly SchemaProblem[];
}

export interface StructuredAnswer<Value> {
  readonly value: Value;
  /** Model message with the value. */
  readonly msg: Msg;
  readonly strategy: StructuredStrategy;
  /** The strategies used, in order. All but the last were rejected by the provider. */
  readonly tried: readonly StructuredStrategy[];
  /** Number of answers. */
  readonly attempts: number;
  /** Total usage of all answers. */
  readonly usage: Usage | undefined;
}

/** First answer with its strategy and request. */
interface FirstAnswer {
  readonly strategy: StructuredStrategy;
  readonly tried: readonly StructuredStrategy[];
  readonly request: ModelRequest;
  readonly answer: ModelAnswer;
}

/**
 * Requests structured output: natively if the model supports it, else by a forced tool call, else by a
 * prompt. The returned value is validated. An invalid answer goes back to the model with its problems.
 *
 * The tools of the request are not sent. Nothing is remembered: the next call starts with the best strategy
 * again. Folder `model/structured`: start here.
 *
 * @throws StructuredOutputError if no answer is valid, or the model refuses; ModelError; the signal's reason
 *
 * @example
 * ```ts
 * import { callStructured, Msg } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 * import { z } from 'zod';
 *
 * const model = new ScriptedModel([{ toolCalls: [{ name: 'generate_response', input: { degrees: 21 } }] }]);
 * const request = { messages: [Msg.user('How warm is it?')] };
 * const { value } = await callStructured(model, request, z.object({ degrees: z.number() }));
 * console.log(value.degrees); // 21
 * ```
 */
export async function callStructured<S extends AnySchema>(
  model: ChatModelBase,
  request: ModelRequest,
  schema: S,
  options: StructuredOptions = {},
): Promise<StructuredAnswer<SchemaOutput<S>>> {
  const { strategy: wanted, maxRetries = 2, toolName = 'generate_response', signal, onAttempt } = options;
  checkNumber('maxRetries', maxRetries, { least: 0, whole: true });
  checkToolName(toolName);
  const answerSchema = new AnswerSchema(schema);
  warnOfTools(request);
  const strategies = strategiesFor(model, request, wanted);
  const requestOf = (strategy: StructuredStrategy): ModelRequest =>
    requestBy(strategy, request, answerSchema.jsonSchema, toolName);
  const first = await firstAnswer(model, strategies, requestOf, signal);

  const { strategy, tried } = first;
  let { answer } = first;
  let { messages } = first.request;
  let usage: Usage | undefined;
  for (let attempts = 1; ; attempts++) {
    const { msg, finishReason } = answer;
    usage = addUsage(usage, msg.usage);
    const reading = await readStructured(answer, strategy, answerSchema, toolName);
    signal?.throwIfAborted();
    onAttempt?.({ number: attempts, strategy, msg, problems: reading.ok ? [] : reading.problems });
    if (reading.ok) return { value: reading.value, msg, strategy, tried, attempts, usage };
    const { problems, corrected } = reading;
    if (corrected === undefined || attempts > maxRetries) {
      throw new StructuredOutputError({ strategy, tried, attempts, problems, finishReason, usage, msg });
    }
    messages = [...messages, ...corrected];
    answer = await ask(model, { ...first.request, messages }, signal);
  }
}

/** Asks by one strategy after the other, until the provider accepts one. */
async function firstAnswer(
  model: ChatModelBase,
  all: Strategies,
  requestOf: (strategy: StructuredStrategy) => ModelRequest,
  signal: AbortSignal | undefined,
): Promise<FirstAnswer> {
  const tried: StructuredStrategy[] = [];
  for (let strategies = all; ;) {
    const [strategy] = strategies;
    tried.push(strategy);
    const request = requestOf(strategy);
    try {
      return { strategy, tried, request, answer: await ask(model, request, signal) };
    } catch (error) {
      const left = strategiesAfter(error, strategies);
      if (left === undefined) throw error;
      strategies = left;
      getLogger().log('warn', `${model.modelName} rejects a request for structured output.`, {
        rejected: strategy,
        next: strategies[0],
      });
    }
  }
}

/**
 * Like `model.call`, but rejects at once on abort, and tool call ids are unique in the whole conversation.
 */
async function ask(
  model: ChatModelBase,
  request: ModelRequest,
  signal: AbortSignal | undefined,
): Promise<ModelAnswer> {
  signal?.throwIfAborted();
  const calls = request.messages.flatMap((msg) => msg.getContentBlocks('tool_use'));
  const ids = new Set(calls.map((call) => call.id));
  const draft = new MsgDraft(request.agentName ?? 'assistant', { isToolCallIdTaken: (id) => ids.has(id) });
  const deltas = model.stream(request, { signal });
  let count = 0;
  for await (const delta of signal === undefined ? deltas : abortableItems(deltas, signal)) {
    draft.add(delta);
    if (++count % DELTAS_AT_ONCE === 0) await yieldToEventLoop();
  }
  const msg = draft.finish();
  return { msg, finishReason: msg.finishReason };
}

function warnOfTools({ tools = [] }: ModelRequest): void {
  if (tools.length === 0) return;
  getLogger().log('warn', 'The tools of a request are not sent with a request for structured output.', {
    tools: tools.map((tool) => tool.name),
  });
}

function checkToolName(name: string): void {
  if (/^[\w-]{1,64}$/.test(name)) return;
  throw new TroupeError(
    'invalid_config',
    'toolName must be 1 to 64 letters, digits, underscores and dashes: providers accept nothing else.',
  );
}
