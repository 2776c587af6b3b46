import { Validator, type Schema } from '@cfworker/json-schema';

import { copyJson, isJsonObject } from '../../util/json.ts';
import { failuresOf, type JsonSchema, type SchemaFailure } from '../../util/schema.ts';

/** Keywords that are copied unchanged. */
const PLAIN = wordSet(
  '$id $anchor type enum const required minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength ' +
    'minItems maxItems minProperties maxProperties',
);
const ONE_SCHEMA = wordSet('items additionalProperties propertyNames');
const LISTS = wordSet('allOf anyOf prefixItems');
const MAPS = wordSet('properties $defs definitions dependentSchemas');
/** Limits of a schema. Preparing a larger schema takes memory by the length of all paths in it. */
const LIMITS = { maxDepth: 40, maxSize: 100_000 };
const MAX_NAME_CHARS = 100;
/** Maximum steps of a check, and maximum characters and entries that the steps may read. */
const MAX_STEPS = 10_000;
const MAX_LOOKS = 10 ** 8;
/** Longer lists in a schema are dropped. */
const MAX_WIDTH = 500;
/** Every missing name is a problem in the result, so the list is shorter. */
const MAX_REQUIRED = 50;

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '));
}

/**
 * Validates values by an untrusted schema in bounded time. Keywords with unbounded cost are dropped
 * (patterns, formats, unique items), and so are keywords that negate or count (`not`, `if`, `contains`), so
 * that a value which the whole schema accepts is never refused. Values that can't be checked pass: the server
 * validates them anyway.
 */
export class UntrustedSchemaCheck {
  readonly #validator: Validator | undefined;
  #steps = MAX_STEPS;

  constructor(schema: JsonSchema) {
    try {
      this.#validator = new Validator(
        this.#relax(copyJson(schema, 'it', LIMITS)) as Schema,
        '2020-12',
        false,
      );
    } catch {
      this.#validator = undefined; // too large, or not a schema
    }
  }

  /** Problems of a value; empty if none are found. */
  problemsOf(value: unknown): readonly SchemaFailure[] {
    try {
      this.#steps = Math.min(MAX_STEPS, Math.ceil(MAX_LOOKS / widthOf(value)));
      const { valid = true, errors = [] } = this.#validator?.validate(value) ?? {};
      return valid ? [] : failuresOf(errors);
    } catch {
      return []; // unknown or circular reference, or too many steps
    }
  }

  #relax(node: unknown): unknown {
    if (Array.isArray(node)) return node.map((one) => this.#relax(one));
    if (!isJsonObject(node)) return node;
    const { $ref, oneOf } = node;
    const entries = Object.entries(node).flatMap(([key, value]): [string, unknown][] => {
      if (isWide(value, key === 'required' ? MAX_REQUIRED : MAX_WIDTH)) return [];
      if (PLAIN.has(key)) return [[key, value]];
      if (ONE_SCHEMA.has(key) || LISTS.has(key)) return [[key, this.#relax(value)]];
      return MAPS.has(key) && isJsonObject(value) ? [[key, this.#relaxMap(value)]] : [];
    });
    const relaxed = Object.fromEntries(entries);
    const { patternProperties, properties, prefixItems } = node;
    // These keywords apply to the items not covered by a dropped list, which are unknown now.
    if (patternProperties !== undefined || isWide(properties)) delete relaxed['additionalProperties'];
    if (isWide(prefixItems)) delete relaxed['items'];
    if (oneOf !== undefined && !isWide(oneOf)) {
      const { allOf } = relaxed;
      relaxed['allOf'] = [...(Array.isArray(allOf) ? allOf : []), { anyOf: this.#relax(oneOf) }];
    }
    // The validator reads `$ref` once in every step, so the getter counts steps.
    return Object.defineProperty(relaxed, '$ref', { get: () => this.#step($ref), enumerable: true });
  }

  #relaxMap(map: object): unknown {
    return Object.fromEntries(
      Object.entries(map).map(([name, value]) => {
        if (name.length > MAX_NAME_CHARS) throw new RangeError('A name is too long.');
        return [name, this.#relax(value)];
      }),
    );
  }

  #step<T>(value: T): T {
    if (--this.#steps < 0) throw new RangeError('It takes too long.');
    return value;
  }
}

function isWide(value: unknown, most = MAX_WIDTH): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > most;
}

/** Length of the longest text or list: an upper limit of the work in one step. */
function widthOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return 1;
  const entries = Object.entries(value);
  return entries.reduce((width, [key, one]) => Math.max(width, key.length, widthOf(one)), entries.length + 1);
}
