import type { UserAnswer, UserQuestion } from '../message/user-question.ts';
import { isJsonObject, readJson, type JsonObject, type JsonValue } from '../util/json.ts';
import { checkedAnswer } from './answers.ts';

/**
 * The answer that a person wrote as text: words, the number or the text of a choice (several with commas between them), or for a form
 * a JSON object; for a form with one field its value.
 * @throws TypeError if it does not fit the question
 */
export async function answerFromText(question: UserQuestion, text: string): Promise<UserAnswer | undefined> {
  const { choices, multiple = false, schema, url } = question;
  if (url !== undefined) return undefined;
  if (schema !== undefined) return checkedAnswer(question, formFrom(schema, text));
  if (choices === undefined) return checkedAnswer(question, text);
  const chosen = choiceFrom(choices, text);
  if (!multiple || choices.includes(chosen)) return checkedAnswer(question, multiple ? [chosen] : chosen);
  return checkedAnswer(
    question,
    text
      .split(',')
      .filter((part) => part.trim() !== '')
      .map((part) => choiceFrom(choices, part)),
  );
}

/** The choice by its text, by its number from 1 on, or by its text in other letters; the text itself if there is none. */
function choiceFrom(choices: readonly string[], text: string): string {
  const said = text.trim();
  const byText = choices.find((choice) => choice === said);
  const byNumber = /^\d{1,4}$/.test(said) ? choices[Number(said) - 1] : undefined;
  const alike = choices.filter((choice) => choice.toLowerCase() === said.toLowerCase());
  return byText ?? byNumber ?? (alike.length === 1 ? alike[0] : undefined) ?? said;
}

function formFrom(schema: JsonObject, text: string): unknown {
  const json = readJson(text);
  if (isJsonObject(json)) return json;
  const { properties } = schema;
  const [field, ...others] = isJsonObject(properties) ? Object.entries(properties) : [];
  if (field === undefined || others.length > 0)
    throw new TypeError('it must be a JSON object with the fields of the form');
  const [name, { type }] = field as [string, { type?: JsonValue }];
  return { [name]: type === 'string' || json === undefined ? text : json };
}
