import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

import { TroupeError } from '../errors.ts';
import { readArguments } from '../toolkit/tool/read-arguments.ts';
import { propertiesOf } from '../toolkit/tool/shown-schema.ts';
import { copyJsonObject, isJsonObject, type JsonObject } from '../util/json.ts';
import { toJsonSchema, type AnySchema, type Validation } from '../util/schema.ts';

/** Validated arguments of a delegation (or their problems), and the id of the earlier task. */
export interface CheckedInput {
  readonly input: Validation<unknown>;
  /** Id of the earlier task to continue. */
  readonly continueId: string | undefined;
}

type CheckingSchema = StandardSchemaV1<unknown, CheckedInput> & StandardJSONSchemaV1<unknown, CheckedInput>;

const CONTINUE_ID: JsonObject = {
  type: 'string',
  description: 'To go on with an earlier task: the continue_id of its answer. Otherwise leave it out.',
};

const NO_ID: Validation<never> = {
  ok: false,
  problems: [{ path: 'continue_id', message: 'It must be an id from the beginning of an earlier answer.' }],
};

/** Accepts null as "no id": some models send null for an argument without a value. */
function isIdOrNone(id: unknown): boolean {
  return id === undefined || id === null || typeof id === 'string';
}

/**
 * Makes the argument schema of a sub-agent tool. The model sees the sub-agent's schema (plus `continue_id` if
 * continuable); validation never fails: problems are part of the value, so that the tool reports them in its
 * result.
 * @throws TroupeError if a continuable sub-agent has a `continue_id` argument in its own schema.
 */
export function checkedInput(schema: AnySchema, isContinuable: boolean): CheckingSchema {
  const ownSchema = copyJsonObject(toJsonSchema(schema), 'the schema');
  if (isContinuable && Object.hasOwn(propertiesOf(ownSchema), 'continue_id'))
    throw new TroupeError(
      'invalid_config',
      "A sub-agent that is continuable has no 'continue_id' of its own.",
    );
  const shown = copyJsonObject(
    isContinuable
      ? { ...ownSchema, properties: { ...propertiesOf(ownSchema), continue_id: CONTINUE_ID } }
      : ownSchema,
    'the schema',
  );
  const own = { schema: ownSchema === schema ? ownSchema : schema, jsonSchema: ownSchema };
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
