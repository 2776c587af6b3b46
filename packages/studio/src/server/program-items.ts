import type { ProgramItem, ProgramItemBody } from 'troupe/studio';

import { isRecord } from '../store/json-text.ts';

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number';
const isList: Check = (value) => Array.isArray(value);
const isObject: Check = (value) => isRecord(value);
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isSchema: Check = (value) => value === null || isRecord(value);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isRecord(value) && Object.entries(checks).every(([key, check]) => check(value[key]));
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

const isUserQuestion = fields({
  message: isText,
  choices: optional(isTexts),
  schema: optional(isObject),
  url: optional(isText),
});
const isCall = fields({ id: isText, name: isText });
/** Fields of events of one type that the Studio reads, besides those of all events. */
const EVENTS: Readonly<Record<string, Check>> = {
  reply_start: fields({ name: isText }),
  model_end: fields({ purpose: isText, modelName: isText, durationMs: isNumber, usage: optional(isObject) }),
  tool_start: fields({ call: isCall }),
  tool_result: fields({ call: isCall, result: isObject, durationMs: isNumber }),
  run_end: fields({ status: isText, durationMs: isNumber, msg: optional(isObject) }),
};
const isAnyEvent = fields({ type: isText, runId: isText, replyId: isText, agentPath: isTexts });
const isEvent: Check = (value) => {
  if (!isAnyEvent(value)) return false;
  const { type } = value as Fields;
  const check = Object.hasOwn(EVENTS, String(type)) ? EVENTS[String(type)] : undefined;
  return check?.(value) ?? true;
};

const CHECKS: Readonly<Record<ProgramItemBody['kind'], Check>> = {
  run: fields({ run: fields({ project: isText, name: isText, createdAt: isText }) }),
  run_end: isObject,
  agent: fields({ agent: fields({ id: isText, name: isText, className: isText, path: isTexts }) }),
  input: fields({
    input: fields({
      callId: isText,
      replyId: isText,
      agentId: isText,
      agentPath: isTexts,
      messages: listOf(isObject),
    }),
  }),
  event: fields({ event: isEvent, agentId: isText }),
  prompt: fields({
    prompt: fields({
      callId: isText,
      replyId: isText,
      agentId: isText,
      agentPath: isTexts,
      purpose: isText,
      modelName: isText,
      tools: isTexts,
      messages: isTexts,
      settings: isObject,
      parts: isObject,
    }),
  }),
  inside: fields({ inside: fields({ agentId: isText, data: isObject, leftOut: isList }) }),
  pending: fields({
    agentId: isText,
    pending: listOf(
      fields({ id: isText, call: isCall, agentPath: isTexts, question: optional(isUserQuestion) }),
    ),
    schemas: isObject,
  }),
  question: fields({
    question: fields({
      id: isText,
      agentId: isText,
      agentName: isText,
      agentPath: isTexts,
      about: optional(isText),
      schema: isSchema,
    }),
  }),
  question_end: fields({ id: isText, outcome: isText }),
};

/**
 * Whether a value from a program is an item of the contract, with all fields that the Studio reads. Items of a later version, or damaged
 * ones, must not fail the batch around them: the program would send it again and again.
 */
export function isProgramItem(value: unknown): value is ProgramItem {
  if (!isRecord(value)) return false;
  const { kind, runId } = value;
  if (typeof kind !== 'string' || !isRunId(runId)) return false;
  return Object.hasOwn(CHECKS, kind) && CHECKS[kind as ProgramItemBody['kind']](value);
}

const MAX_ID_CHARS = 500;

/** Whether a value can be the id of a run: a text that the database and addresses keep as it is. */
export function isRunId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_CHARS && value.isWellFormed();
}
