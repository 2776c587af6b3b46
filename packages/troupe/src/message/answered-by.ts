import { InvalidMsgError } from '../errors.ts';
import { describe, type JsonObject } from '../util/json.ts';
import { toJsonObject } from './blocks.ts';

/** The model behind an answer of a `FallbackModel`. */
export type AnsweredBy = {
  /** Name of the model. */
  readonly model: string;
  /** Name of the provider, if known. */
  readonly vendor?: string;
  /** Host of the server with its port, if there is one. */
  readonly host?: string;
};

/** A frozen copy. @throws InvalidMsgError */
export function toAnsweredBy(value: unknown): AnsweredBy {
  const fields = toJsonObject(value, 'answeredBy');
  for (const key of ['model', 'vendor', 'host']) {
    const text = fields[key];
    if (typeof text === 'string' || (text === undefined && key !== 'model')) continue;
    throw new InvalidMsgError(`answeredBy.${key} must be a string, not ${describe(text)}.`);
  }
  return fields as JsonObject & AnsweredBy;
}
