import { messageOf, TroupeError } from '../../errors.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import { checkNumber } from '../../util/check-number.ts';
import { copyJsonObject, type JsonObject } from '../../util/json.ts';
import { toJsonSchema, type AnySchema, type JsonSchema, type Validation } from '../../util/schema.ts';
import { Places } from './places.ts';
import { readArguments, type ArgumentSchema } from './read-arguments.ts';
import { parametersOf, propertiesOf, withExtension, withoutProperties } from './shown-schema.ts';
import type { LiveSchema, Tool } from './tool.ts';

/** What every provider takes as the name of a tool, and as that of a property. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The group that every tool is in that is in no other. It is always active. */
export const BASIC_GROUP = 'basic';

/** A tool in a toolkit: checked, with the schema that models are shown, and the places to run in. */
export class RegisteredTool {
  readonly tool: Tool;
  readonly group: string;
  /** @default every call runs at once */
  readonly places: Places | undefined;
  readonly #own: ArgumentSchema | LiveSchema | undefined;
  readonly #preset: JsonObject | undefined;
  #extension: ArgumentSchema | undefined;
  #shown: { readonly of: JsonSchema | undefined; readonly schema: ToolSchema } | undefined;

  /** @param places those of another one, to share its limit @throws TroupeError if anything about the tool is wrong. */
  constructor(tool: Tool, places?: Places) {
    checkName('A tool', tool.name);
    if (typeof tool.execute !== 'function') refuse(tool.name, 'has no function `execute`');
    const { timeoutMs, maxConcurrent, maxOutputChars, retry, preset } = tool;
    if (timeoutMs !== undefined) checkNumber('timeoutMs', timeoutMs, { least: 1 });
    if (maxOutputChars !== undefined) checkNumber('maxOutputChars', maxOutputChars, { least: 1 });
    if (maxConcurrent !== undefined) checkNumber('maxConcurrent', maxConcurrent, { least: 1 });
    if (retry !== undefined) checkNumber('retry.maxAttempts', retry.maxAttempts, { least: 1, whole: true });
    if (retry?.baseDelayMs !== undefined) checkNumber('retry.baseDelayMs', retry.baseDelayMs, { least: 0 });
    this.tool = Object.freeze({ ...tool });
    this.group = tool.group ?? BASIC_GROUP;
    this.places = places ?? (maxConcurrent === undefined ? undefined : new Places(maxConcurrent));
    const { schema } = tool;
    this.#own = schema === undefined || isLive(schema) ? schema : argumentSchema(tool.name, schema);
    this.#preset = preset === undefined ? undefined : this.#checkedPreset(preset);
    this.shown(); // a schema that can't be shown fails here, and not in the middle of a conversation
  }

  /** The tool as models see it: the same object for as long as it looks the same. */
  shown(): ToolSchema {
    const of = this.#current()?.jsonSchema;
    if (this.#shown === undefined || this.#shown.of !== of) {
      this.#shown = { of, schema: this.#toSchema(of, this.#extension?.jsonSchema) };
    }
    return this.#shown.schema;
  }

  /** Adds the properties of a schema to the arguments, in the place of those that were added before. @throws TroupeError */
  extend(schema: AnySchema | undefined): void {
    const extension = schema === undefined ? undefined : argumentSchema(this.tool.name, schema);
    const of = this.#current()?.jsonSchema;
    this.#shown = { of, schema: this.#toSchema(of, extension?.jsonSchema) };
    this.#extension = extension;
  }

  readArguments(input: unknown): Promise<Validation<unknown>> {
    const { coerce = true } = this.tool;
    const rules = { own: this.#current(), extension: this.#extension, preset: this.#preset, coerce };
    return readArguments(rules, input);
  }

  #current(): ArgumentSchema | undefined {
    if (this.#own === undefined || 'schema' in this.#own) return this.#own;
    const jsonSchema = this.#own.current();
    return { schema: jsonSchema, jsonSchema };
  }

  #toSchema(own: JsonSchema | undefined, extension: JsonSchema | undefined): ToolSchema {
    const { name, description } = this.tool;
    let parameters = parametersOf(name, own);
    if (extension !== undefined) parameters = withExtension(name, parameters, extension); // clashes with presets too
    if (this.#preset !== undefined) parameters = withoutProperties(parameters, Object.keys(this.#preset));
    const schema = { name, ...(description !== undefined && { description }), parameters };
    return copyJsonObject(schema, `the tool '${name}'`) as ToolSchema & JsonObject;
  }

  #checkedPreset(preset: JsonObject): JsonObject {
    const { name } = this.tool;
    const known = propertiesOf(parametersOf(name, this.#current()?.jsonSchema));
    for (const key of Object.keys(preset)) {
      if (!Object.hasOwn(known, key)) refuse(name, `has no argument '${key}' that could be preset`);
    }
    try {
      return copyJsonObject(preset, 'preset');
    } catch (error) {
      return refuse(name, `can't be registered: ${messageOf(error)}`);
    }
  }
}

/** @throws TroupeError unless every provider takes the name. */
export function checkName(what: string, name: string): void {
  if (typeof name === 'string' && NAME.test(name)) return;
  const rule = 'must have a name of 1 to 64 letters, digits, _ and -';
  throw new TroupeError('invalid_config', `${what} ${rule}, not '${String(name).slice(0, 100)}'.`);
}

/** The schema, and the copy of it that nobody can change: what is compiled from that stays true. */
function argumentSchema(toolName: string, schema: AnySchema): ArgumentSchema {
  try {
    const told = toJsonSchema(schema);
    const jsonSchema = copyJsonObject(told, 'the schema');
    parametersOf(toolName, jsonSchema);
    return { schema: told === schema ? jsonSchema : schema, jsonSchema };
  } catch (error) {
    if (TroupeError.isInstance(error)) throw error;
    return refuse(toolName, `has a schema that can't be used: ${messageOf(error).replace(/\.$/, '')}`, error);
  }
}

function isLive(schema: AnySchema | LiveSchema): schema is LiveSchema {
  return typeof (schema as Partial<LiveSchema>).current === 'function' && !('~standard' in schema);
}

function refuse(toolName: string, problem: string, cause?: unknown): never {
  throw new TroupeError('invalid_config', `The tool '${toolName}' ${problem}.`, { cause });
}
