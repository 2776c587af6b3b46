import { messageOf } from '../errors.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import type { UserAnswer, UserQuestion } from '../message/user-question.ts';
import { describe, isJsonObject, setOwn, type JsonObject, type JsonValue } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import { oneLine } from '../util/text.ts';
import { refused } from './refused.ts';

/** Maximum characters of an answer, as JSON. */
const MAX_ANSWER_CHARS = 100_000;
/** Maximum characters of a field with a format, whose check takes longer for long texts. */
const MAX_FORMATTED_CHARS = 2_048;

/**
 * Checks the answers among decisions against their questions, and fills in the defaults of forms.
 * @throws TroupeError if an answer does not fit; the question stays open
 */
export async function checkAnswers(
  decisions: readonly PendingDecision[],
  pending: readonly PendingCall[],
): Promise<readonly PendingDecision[]> {
  const questions = new Map(pending.map(({ id, question }) => [id, question]));
  return Promise.all(
    decisions.map(async (decision) => {
      const question = decision.verdict === 'answer' ? questions.get(decision.id) : undefined;
      if (decision.verdict !== 'answer' || question === undefined) return decision; // refused later if it is wrong
      try {
        return { ...decision, answer: await checkedAnswer(question, decision.answer) };
      } catch (error) {
        throw refused(decision.id, `has an answer that does not fit: ${messageOf(error)}`);
      }
    }),
  );
}

/** An answer that fits its question, with defaults. @throws TypeError */
export async function checkedAnswer(
  { choices, multiple = false, schema, url }: UserQuestion,
  answer: unknown,
): Promise<UserAnswer | undefined> {
  if ((JSON.stringify(answer)?.length ?? 0) > MAX_ANSWER_CHARS)
    throw new TypeError(`it is longer than ${MAX_ANSWER_CHARS} characters`);
  if (url !== undefined) {
    if (answer !== undefined) throw new TypeError('it is given on the page, not here');
    return undefined;
  }
  if (schema !== undefined) return checkedForm(schema, answer);
  if (choices !== undefined)
    return multiple ? checkedChoices(choices, answer) : checkedChoice(choices, answer);
  if (typeof answer !== 'string' || answer.trim() === '')
    throw new TypeError(
      `it must be a text, not ${typeof answer === 'string' ? 'an empty one' : describe(answer)}`,
    );
  return answer;
}

/** Readable text of an answer for the model, with JSON after a form or choices. */
export function answerText({ schema, choices, url }: UserQuestion, answer: UserAnswer | undefined): string {
  if (url !== undefined) return 'The user has been to the page, and says that it is done.';
  if (schema !== undefined && isJsonObject(answer)) {
    const lines = Object.entries(answer).map(([name, value]) => `- ${name}: ${shown(value)}`);
    return ['The user answered:', ...lines, JSON.stringify(answer)].join('\n');
  }
  const text = typeof answer === 'string' ? answer : (chosenIn(answer) ?? '');
  const json = choices === undefined ? '' : `\n${JSON.stringify({ answer })}`;
  return `The user answered: ${text || 'none of the choices'}${json}`;
}

/** A question as text for a person: the message, and numbered choices, fields or the address. Has no control characters. */
export function questionText({ message, choices = [], multiple, schema, url }: UserQuestion): string {
  const notes = [
    ...choices.map((choice, i) => `${i + 1}. ${choice}`),
    ...(multiple === true ? ['(several may be chosen)'] : []),
    ...(schema === undefined ? [] : [`(fields: ${fieldNames(schema).join(', ')})`]),
    ...(url === undefined ? [] : [url]),
  ];
  const lines = message
    .trim()
    .replace(/\n{3,}/g, '\n\n')
    .split('\n');
  return [...lines, ...notes].map(oneLine).join('\n');
}

function chosenIn(answer: UserAnswer | undefined): string | undefined {
  return Array.isArray(answer) ? answer.join(', ') : undefined;
}

function fieldNames({ properties }: JsonObject): readonly string[] {
  return isJsonObject(properties) ? Object.keys(properties) : [];
}

function shown(value: JsonValue): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.join(', ') : JSON.stringify(value);
}

function checkedChoice(choices: readonly string[], answer: unknown): string {
  if (typeof answer === 'string' && choices.includes(answer)) return answer;
  throw new TypeError(`it must be one of the choices: ${listed(choices)}`);
}

function checkedChoices(choices: readonly string[], answer: unknown): readonly string[] {
  const chosen: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  if (!chosen.every((one) => typeof one === 'string' && choices.includes(one)))
    throw new TypeError(`it must be a list out of the choices: ${listed(choices)}`);
  return choices.filter((choice) => chosen.includes(choice)); // in the order of the question, each once
}

function listed(choices: readonly string[]): string {
  return oneLine(JSON.stringify(choices)).slice(0, 1_000);
}

async function checkedForm(schema: JsonObject, answer: unknown): Promise<JsonObject> {
  if (!isJsonObject(answer)) throw new TypeError(`it must be an object, not ${describe(answer)}`);
  const filled: { [name: string]: JsonValue } = {};
  for (const [name, field] of Object.entries(fieldsOf(schema))) {
    const value = Object.hasOwn(answer, name) ? answer[name] : undefined;
    const given = value ?? field['default'];
    if (given !== undefined) setOwn(filled, name, given);
  }
  const unknown = Object.keys(answer).filter((name) => !Object.hasOwn(fieldsOf(schema), name));
  if (unknown.length > 0)
    throw new TypeError(`there is no field ${unknown.map(oneLine).join(', ').slice(0, 200)}`);
  const checked = await validateWith(strictSchema(schema), filled);
  if (checked.ok) return filled;
  const problems = checked.problems.map(({ path, message }) =>
    path === '' ? message : `${path}: ${message}`,
  );
  throw new TypeError(problems.map((problem) => oneLine(problem).replace(/\.$/, '')).join('; '));
}

function fieldsOf({ properties }: JsonObject): { readonly [name: string]: JsonObject } {
  const fields: { [name: string]: JsonObject } = {};
  for (const [name, field] of Object.entries(isJsonObject(properties) ? properties : {}))
    setOwn(fields, name, isJsonObject(field) ? field : {});
  return fields;
}

/** The schema with a limit for texts that have a format. */
function strictSchema(schema: JsonObject): JsonObject {
  const properties: { [name: string]: JsonObject } = {};
  for (const [name, field] of Object.entries(fieldsOf(schema))) {
    const { maxLength = MAX_FORMATTED_CHARS } = field;
    const limit = field['format'] !== undefined && {
      maxLength: Math.min(Number(maxLength), MAX_FORMATTED_CHARS),
    };
    setOwn(properties, name, { ...field, ...limit });
  }
  return { ...schema, properties };
}
