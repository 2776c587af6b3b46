import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

import { TroupeError } from '../errors.ts';
import { readArguments } from '../toolkit/tool/read-arguments.ts';
import { propertiesOf } from '../toolkit/tool/shown-schema.ts';
import { copyJsonObject, isJsonObject, type JsonObject } from '../util/json.ts';
import { toJsonSchema, type AnySchema, type Validation } from '../util/schema.ts';

/** The arguments of a delegation, or what is wrong with them. */
export interface CheckedInput {
  readonly input: Validation<unknown>;
  /** The id of an earlier task to go on with. */
  readonly continueId: string | undefined;
}

type CheckingSchema = StandardSchemaV1<unknown, CheckedInput> & StandardJSONSchemaV1<unknown, CheckedInput>;

const CONTINUE_ID: JsonObject = {
  type: 'string',
  description: 'To go on with an earlier task: the continue_id of its answer. Otherwise leave it out.',
};

const NO_ID: Validation<never> = {
  ok: false,
  problems: [{ path: 'continue_id', message: 'It must be the text that an answer began with.' }],
};

/** Models that have nothing to give sometimes give null. */
function isIdOrNone(id: unknown): boolean {
  return id === undefined || id === null || typeof id === 'string';
}

/**
 * A schema that shows a model what to give, and takes whatever comes: what is wrong with it is for the tool to say.
 * @throws TroupeError if the sub-agent has an argument of its own by the name of one that is added.
 */
export function checkedInput(schema: AnySchema, isContinuable: boolean): CheckingSchema {
  const told = copyJsonObject(toJsonSchema(schema), 'the schema');
  if (isContinuable && Object.hasOwn(propertiesOf(told), 'continue_id'))
    throw new TroupeError(
      'invalid_config',
      "A sub-agent that is continuable has no 'continue_id' of its own.",
    );
  const shown = copyJsonObject(
    isContinuable ? { ...told, properties: { ...propertiesOf(told), continue_id: CONTINUE_ID } } : told,
    'the schema',
  );
  const own = { schema: told === schema ? told : schema, jsonSchema: told };
  const validate = async (value: unknown): Promise<{ readonly value: CheckedInput }> => {
    const { continue_id: id, ...others } = isJsonObject(value) ? value : {};
    const given = isContinuable ? others : value;
    if (isContinuable && !isIdOrNone(id)) return { value: { input: NO_ID, continueId: undefined } };
    const input = await readArguments({ own, extension: undefined, preset: undefined, coerce: true }, given);
    return {
      value: { input, continueId: isContinuable && typeof id === 'string' && id !== '' ? id : undefined },
    };
  };
  const jsonSchema = { input: () => shown, output: () => shown };
  return { '~standard': { version: 1, vendor: 'troupe', validate, jsonSchema } };
}
