import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';
import { spacedJson } from './envelope.ts';
import { atRef, mergedSchemas, resolvedSchema, typesOf } from './json-schema.ts';

/** JSON in the layout of `spacedJson`, less what could not be read back: half characters, endless digits. */
const JSON_RULES = String.raw`value ::= object | array | string | number | boolean | null
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
array ::= "[" (value (", " value)*)? "]"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex))
hex ::= [0-9a-fA-F]
number ::= integer fraction
integer ::= "-"? natural
natural ::= "0" | positive
positive ::= [1-9] [0-9]{0,14}
fraction ::= ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?
boolean ::= "true" | "false"
null ::= "null"
date ::= [0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])
clock ::= ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]
time ::= clock ":" [0-5] [0-9] ("." [0-9]{1,3})? ("Z" | [-+] clock)
uuid ::= hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12}`;

/** String formats that the grammar enforces. */
const FORMATS: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ['date', 'date'],
  ['time', 'time'],
  ['date-time', 'date "T" time'],
  ['uuid', 'uuid'],
]);

/** Maximum counted repetitions; longer counts make a grammar slow and stay open. */
const MAX_COUNTED = 256;
/** Maximum width of a number range to list value by value. */
const MAX_LISTED = 256;
/** Limits for untrusted schemas. Deeper or larger parts stay open. */
const MAX_DEPTH = 64;
const MAX_PARTS = 10_000;

/** Where in a schema we are. */
interface SchemaPosition {
  readonly root: JsonSchema;
  readonly depth: number;
  /** The rules of references. */
  readonly refs: Map<string, string>;
  /** The references that led here with no character in between: a rule must not begin with itself. */
  readonly open: readonly string[];
}

/**
 * Builds a grammar in llama.cpp's notation that admits only JSON of given schemas. Constraints beyond
 * grammars (patterns, multiples, unique items, wide ranges, …) stay open: callers that need certainty
 * validate. An object has only the properties named in its schema, required properties first.
 */
export class Gbnf {
  readonly #rules: string[] = [];
  /** Rule names by rule body. */
  readonly #names = new Map<string, string>();
  #ruleCount = 0;
  #parts = 0;

  /** The whole grammar, which admits `root`. */
  text(root: string): string {
    return [`root ::= ${root}`, ...this.#rules, JSON_RULES].join('\n');
  }

  /** Expression for the JSON of a schema. */
  schema(schema: JsonSchema): string {
    return this.#any(schema, { root: schema, depth: 0, refs: new Map(), open: [] });
  }

  /** Name of the rule with a body, added if missing. */
  rule(body: string): string {
    let name = this.#names.get(body);
    if (name === undefined) {
      name = this.#newName();
      this.#names.set(body, name);
      this.#rules.push(`${name} ::= ${body}`);
    }
    return name;
  }

  #any(schema: JsonValue | undefined, outer: SchemaPosition): string {
    if (!isJsonObject(schema) || outer.depth > MAX_DEPTH || this.#parts++ > MAX_PARTS) return 'value';
    const position = { ...outer, depth: outer.depth + 1 };
    if (typeof schema['$ref'] === 'string') return this.#ref(schema['$ref'], position);
    if (schema['const'] !== undefined) return literal(spacedJson(schema['const']));
    if (isList(schema['enum'])) return choice(schema['enum'].map((value) => literal(spacedJson(value))));
    const { allOf, ...own } = schema;
    if (isList(allOf)) {
      const parts = allOf.map((part) => resolvedSchema(part, position.root));
      return this.#any(parts.reduce(mergedSchemas, own), position);
    }
    for (const key of ['anyOf', 'oneOf']) {
      const { [key]: variants, ...shared } = schema;
      if (!isList(variants)) continue;
      const whole = variants.map((one) => (isJsonObject(one) ? mergedSchemas(shared, one) : shared));
      return choice(whole.map((one) => this.#any(one, position)));
    }
    return choice(typesOf(schema).map((type) => this.#typed(type, schema, position)));
  }

  #typed(type: JsonValue, schema: JsonObject, position: SchemaPosition): string {
    switch (type) {
      case 'object':
        return this.#object(schema, { ...position, open: [] });
      case 'array':
        return this.#array(schema, { ...position, open: [] });
      case 'string':
        return stringOf(schema);
      case 'number':
      case 'integer':
        return numberOf(schema, type === 'integer');
      case 'boolean':
      case 'null':
        return type;
      default:
        return 'value';
    }
  }

  #object(schema: JsonObject, position: SchemaPosition): string {
    const properties = isJsonObject(schema['properties']) ? Object.entries(schema['properties']) : undefined;
    const required = new Set(isList(schema['required']) ? schema['required'] : []);
    if (properties === undefined && required.size === 0) {
      return this.#dictionary(schema['additionalProperties'], position);
    }
    const all = new Map(properties);
    for (const name of required) if (typeof name === 'string' && !all.has(name)) all.set(name, true);
    const members = Array.from(all, ([name, value]) => ({
      rule: this.rule(`${literal(`${JSON.stringify(name)}: `)} ${this.#any(value, position)}`),
      isRequired: required.has(name),
    }));
    const needed = members.filter((member) => member.isRequired).map((member) => member.rule);
    const optional = members.filter((member) => !member.isRequired).map((member) => member.rule);
    return `"{" ${listOf(needed, optional)} "}"`;
  }

  /** An object whose properties have any names. */
  #dictionary(values: JsonValue | undefined, position: SchemaPosition): string {
    if (values === false) return '"{}"';
    const member = this.rule(`string ": " ${this.#any(values, position)}`);
    return `"{" (${member} (", " ${member})*)? "}"`;
  }

  #array(schema: JsonObject, position: SchemaPosition): string {
    const { items, prefixItems } = schema;
    const item = this.rule(this.#any(items, position));
    if (isList(prefixItems) && prefixItems.length > 0) {
      const first = prefixItems.map((one) => this.#any(one, position)).join(' ", " ');
      return isJsonObject(items) ? `"[" ${first} (", " ${item})* "]"` : `"[" ${first} "]"`;
    }
    const { min, max } = countsOf(schema['minItems'], schema['maxItems']);
    if (max === 0) return '"[]"';
    const list = `${item}${repeated(`(", " ${item})`, Math.max(min - 1, 0), max - 1)}`;
    return min > 0 ? `"[" ${list} "]"` : `"[" (${list})? "]"`;
  }

  #ref(ref: string, position: SchemaPosition): string {
    if (position.open.includes(ref)) return 'value';
    const known = position.refs.get(ref);
    if (known !== undefined) return known;
    const name = this.#newName();
    position.refs.set(ref, name); // before the body is known, because the body may refer to the name
    const body = this.#any(atRef(ref, position.root), { ...position, open: [...position.open, ref] });
    this.#rules.push(`${name} ::= ${body}`);
    return name;
  }

  #newName(): string {
    return `r${this.#ruleCount++}`;
  }
}

/** Expression for exactly this text. */
export function literal(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

/** Expression for any of the alternatives. */
export function choice(expressions: readonly string[]): string {
  const different = [...new Set(expressions)];
  if (different.length === 0) return 'value';
  return different.length === 1 ? (different[0] ?? '') : `(${different.join(' | ')})`;
}

/** Expression for a comma-separated list: all needed items, then any of the optional items. */
function listOf(needed: readonly string[], optional: readonly string[]): string {
  const rest = (members: readonly string[]): string => members.map((one) => ` (", " ${one})?`).join('');
  if (needed.length > 0) return needed.join(' ", " ') + rest(optional);
  const byFirst = optional.map((first, i) => first + rest(optional.slice(i + 1)));
  return byFirst.length === 0 ? '' : `(${byFirst.join(' | ')})?`;
}

function stringOf(schema: JsonObject): string {
  const format = FORMATS.get(schema['format']);
  if (format !== undefined) return `"\\"" ${format} "\\""`;
  const { min, max } = countsOf(schema['minLength'], schema['maxLength']);
  if (min === 0 && max === Infinity) return 'string';
  return `"\\""${repeated('char', min, max)} "\\""`;
}

function numberOf(schema: JsonObject, isWhole: boolean): string {
  const low = limitOf(schema['minimum'], schema['exclusiveMinimum'], Math.ceil, 1);
  const high = limitOf(schema['maximum'], schema['exclusiveMaximum'], Math.floor, -1);
  if (isWhole && low <= high && high - low < MAX_LISTED) {
    return choice(Array.from({ length: high - low + 1 }, (_, i) => literal(String(low + i))));
  }
  if (!isWhole) return low >= 0 ? 'natural fraction' : 'number';
  return low >= 1 ? 'positive' : low >= 0 ? 'natural' : 'integer';
}

/** Nearest whole number within a limit; infinite without a limit. */
function limitOf(
  within: JsonValue | undefined,
  beyond: JsonValue | undefined,
  round: (value: number) => number,
  step: 1 | -1,
): number {
  const limits = [-step * Infinity];
  if (typeof within === 'number') limits.push(round(within));
  if (typeof beyond === 'number') {
    limits.push(Number.isInteger(beyond) ? beyond + step : round(beyond));
  }
  return step === 1 ? Math.max(...limits) : Math.min(...limits);
}

/** Minimum and maximum of repetitions; too large counts stay open. */
function countsOf(least: JsonValue | undefined, most: JsonValue | undefined): { min: number; max: number } {
  const isCount = (value: JsonValue | undefined): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNTED;
  const min = isCount(least) ? least : 0;
  return { min, max: isCount(most) && most >= min ? most : Infinity };
}

function repeated(expression: string, min: number, max: number): string {
  if (max === 0) return '';
  if (max === Infinity) return ` ${expression}${min === 0 ? '*' : `{${min},}`}`;
  return ` ${expression}{${min},${max}}`;
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
