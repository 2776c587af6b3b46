import { messageOf, TroupeError } from '../../errors.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import { checkNumber } from '../../util/check-number.ts';
import { copyJsonObject, type JsonObject } from '../../util/json.ts';
import {
  SchemaError,
  surelyConverts,
  toJsonSchema,
  type AnySchema,
  type JsonSchema,
  type Validation,
} from '../../util/schema.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { readArguments, type ArgumentSchema } from './read-arguments.ts';
import { parametersOf, propertiesOf, withExtension, withoutProperties } from './shown-schema.ts';
import type { LiveSchema, Tool } from './tool.ts';

/** Names of tools and properties that every provider accepts. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Default group of a tool. Always active. */
export const BASIC_GROUP = 'basic';

/** Advice for a tool that is undefined. */
export const UNDEFINED_TOOL =
  'the module that exports it has not run yet, which a circular import can cause, or exports no such name.';

/** Validated tool in a toolkit, with the schema for the model and its concurrency limit. */
export class RegisteredTool {
  readonly tool: Tool;
  readonly group: string;
  /** Without a limit every tool call starts at once. */
  readonly concurrency: ConcurrencyLimit | undefined;
  #ownSchema: ArgumentSchema | undefined;
  readonly #preset: JsonObject | undefined;
  #extension: ArgumentSchema | undefined;
  #shown: { readonly of: JsonSchema | undefined; readonly schema: ToolSchema } | undefined;

  /**
   * @param concurrency limit of another registration of the tool, to share it
   * @throws TroupeError if the tool is wrong.
   */
  constructor(tool: Tool, concurrency?: ConcurrencyLimit) {
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
    this.concurrency =
      concurrency ?? (maxConcurrent === undefined ? undefined : new ConcurrencyLimit(maxConcurrent));
    const { schema } = tool;
    this.#preset = preset === undefined ? undefined : this.#checkedPreset(preset);
    const isSure = schema === undefined || (!isLiveSchema(schema) && surelyConverts(schema));
    if (!isSure) this.shown(); // fails at registration if the schema can't be shown, and not during a conversation
  }

  /** An independent registration with the same extension. Both share the concurrency limit. */
  copy(): RegisteredTool {
    const copy = new RegisteredTool(this.tool, this.concurrency);
    copy.#extension = this.#extension;
    copy.#shown = this.#shown;
    return copy;
  }

  /** Schema for the model. The same object until it changes. */
  shown(): ToolSchema {
    const of = this.#current()?.jsonSchema;
    if (this.#shown === undefined || this.#shown.of !== of) {
      this.#shown = { of, schema: this.#toSchema(of, this.#extension?.jsonSchema) };
    }
    return this.#shown.schema;
  }

  /** Adds the properties of a schema to the arguments, replacing an earlier extension. @throws TroupeError */
  extend(schema: AnySchema | undefined): void {
    const extension = schema === undefined ? undefined : argumentSchema(this.tool.name, schema);
    const of = this.#current()?.jsonSchema;
    this.#shown = { of, schema: this.#toSchema(of, extension?.jsonSchema) };
    this.#extension = extension;
  }

  readArguments(input: unknown): Validation<unknown> | Promise<Validation<unknown>> {
    const { coerce = true } = this.tool;
    const rules = { own: this.#current(), extension: this.#extension, preset: this.#preset, coerce };
    return readArguments(rules, input);
  }

  #current(): ArgumentSchema | undefined {
    const { name, schema } = this.tool;
    if (schema === undefined) return undefined;
    if (!isLiveSchema(schema)) return (this.#ownSchema ??= argumentSchema(name, schema));
    const jsonSchema = schema.current();
    return { schema: jsonSchema, jsonSchema };
  }

  #toSchema(own: JsonSchema | undefined, extension: JsonSchema | undefined): ToolSchema {
    const { name, description } = this.tool;
    let parameters = parametersOf(name, own);
    const isOwnOnly = extension === undefined && this.#preset === undefined;
    if (isOwnOnly && this.#ownSchema !== undefined && typeof description === 'string')
      return Object.freeze({ name, description, parameters: Object.freeze(parameters) }); // its parts are frozen copies
    // an extension also conflicts with presets
    if (extension !== undefined) parameters = withExtension(name, parameters, extension);
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

/** Settings of a tool that `areSurelyRegistered` knows. */
const PLAIN_KEYS: ReadonlySet<string> = new Set(['name', 'description', 'schema', 'execute']);
const MAX_PLAIN_TOOLS = 16;

/** Whether registering the tools in a new toolkit can't fail, and gives the same later: without settings, frozen, and few. */
export function areSurelyRegistered(tools: readonly Tool[]): boolean {
  return (
    tools.length <= MAX_PLAIN_TOOLS &&
    tools.every(
      (tool, i) => isSurelyRegistered(tool) && tools.findIndex(({ name }) => name === tool.name) === i,
    )
  );
}

function isSurelyRegistered(tool: Tool): boolean {
  for (const key in tool) if (!PLAIN_KEYS.has(key)) return false;
  const { name, description, schema, execute } = tool;
  if (typeof name !== 'string' || !NAME.test(name) || typeof execute !== 'function') return false;
  if (!Object.isFrozen(tool) || (description !== undefined && typeof description !== 'string')) return false;
  return schema === undefined || (!isLiveSchema(schema) && surelyConverts(schema));
}

/** @throws TroupeError unless every provider accepts the name. */
export function checkName(what: string, name: string): void {
  if (typeof name === 'string' && NAME.test(name)) return;
  const rule = 'must have a name of 1 to 64 letters, digits, _ and -';
  throw new TroupeError('invalid_config', `${what} ${rule}, not '${String(name).slice(0, 100)}'.`);
}

/** Converts a schema to JSON Schema, and copies it so that later changes of the original have no effect. */
function argumentSchema(toolName: string, schema: AnySchema): ArgumentSchema {
  try {
    const converted = toJsonSchema(schema);
    if (converted !== schema) return { schema, jsonSchema: converted }; // a copy already
    const jsonSchema = copyJsonObject(converted, 'the schema');
    return { schema: jsonSchema, jsonSchema };
  } catch (error) {
    if (TroupeError.isInstance(error) && !(error instanceof SchemaError)) throw error;
    return refuse(toolName, `has a schema that can't be used: ${messageOf(error).replace(/\.$/, '')}`, error);
  }
}

/** True for a schema with changing content. */
export function isLiveSchema(schema: AnySchema | LiveSchema): schema is LiveSchema {
  return typeof (schema as Partial<LiveSchema>).current === 'function' && !('~standard' in schema);
}

function refuse(toolName: string, problem: string, cause?: unknown): never {
  throw new TroupeError('invalid_config', `The tool '${toolName}' ${problem}.`, { cause });
}
