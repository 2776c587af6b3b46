import { copyJsonObject, type JsonObject } from '../util/json.ts';
import { assertAtMost, toChoices, toFormSchema } from './form-schema.ts';

/**
 * Question to a person. Plain JSON. The answer is text; with `choices`, one of them, or a list of them if `multiple`; with `schema`,
 * an object; with `url`, nothing: the person answers on that page. At most one of the three is given.
 */
export interface UserQuestion {
  readonly message: string;
  readonly choices?: readonly string[];
  /** Whether several choices may be taken. @default false */
  readonly multiple?: boolean;
  /** JSON Schema of a flat object: fields are strings, numbers, booleans, or lists of given strings. */
  readonly schema?: JsonObject;
  readonly url?: string;
}

/** Answer to a question: text or a choice, several choices, or the fields of a form. */
export type UserAnswer = string | readonly string[] | JsonObject;

/** Maximum sizes of a question. */
export interface QuestionLimits {
  /** Maximum characters of the message. */
  readonly maxChars: number;
  /** Maximum choices, of the question or of one field. */
  readonly maxChoices: number;
  /** Maximum characters of a choice, and of a name, title, description or default in a schema. */
  readonly maxChoiceChars: number;
  /** Maximum fields of a schema. */
  readonly maxFields: number;
}

/** Sizes of a question that a person can still read. */
export const QUESTION_LIMITS: QuestionLimits = {
  maxChars: 4_000,
  maxChoices: 20,
  maxChoiceChars: 500,
  maxFields: 20,
};

const NO_LIMITS: QuestionLimits = {
  maxChars: Infinity,
  maxChoices: Infinity,
  maxChoiceChars: Infinity,
  maxFields: Infinity,
};

/**
 * A frozen copy of a question. Keywords of the schema that a form has no use for are left out, such as `pattern`: a pattern of
 * a stranger may take forever to check.
 * @throws TypeError if it is no question, or is larger than the limits
 */
export function toUserQuestion(value: unknown, limits: QuestionLimits = NO_LIMITS): UserQuestion {
  const { message, choices, multiple = false, schema, url } = copyJsonObject(value, 'question');
  if (typeof message !== 'string' || message.trim() === '')
    throw new TypeError('message must be a text with the question');
  assertAtMost(message.length, limits.maxChars, 'the question', 'characters');
  if ([choices, schema, url].filter((one) => one !== undefined).length > 1)
    throw new TypeError('choices, schema and url exclude each other: give one of them');
  if (typeof multiple !== 'boolean') throw new TypeError('multiple must be true or false');
  const question = {
    message,
    ...(choices !== undefined && { choices: toChoices(choices, 'choices', limits) }),
    ...(choices !== undefined && multiple && { multiple }),
    ...(schema !== undefined && { schema: toFormSchema(schema, limits) }),
    ...(url !== undefined && { url: toUrl(url) }),
  };
  return copyJsonObject(question, 'question') as JsonObject & typeof question;
}

/** True if saved or foreign data is a question as `toUserQuestion` gives it. */
export function isUserQuestion(value: unknown): boolean {
  try {
    toUserQuestion(value);
    return true;
  } catch {
    return false;
  }
}

function toUrl(value: unknown): string {
  const isWeb = typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value);
  if (!isWeb) throw new TypeError('url must be an address with http or https');
  return value;
}
