import { Validator, type Schema } from '@cfworker/json-schema';

import { copyJson, isJsonObject } from '../../util/json.ts';
import { failuresOf, type JsonSchema, type SchemaFailure } from '../../util/schema.ts';

/** What a check keeps of a schema as it is. */
const PLAIN = wordSet(
  '$id $anchor type enum const required minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength ' +
    'minItems maxItems minProperties maxProperties',
);
const ONE_SCHEMA = wordSet('items additionalProperties propertyNames');
const LISTS = wordSet('allOf anyOf prefixItems');
const MAPS = wordSet('properties $defs definitions dependentSchemas');
/** A schema beyond that is not used: to prepare it takes memory by the length of all ways into it. */
const LIMITS = { maxDepth: 40, maxSize: 100_000 };
const MAX_NAME_CHARS = 100;
/** How many steps a check may take, and how many characters and entries they may look at. */
const MAX_STEPS = 10_000;
const MAX_LOOKS = 10 ** 8;
/** Longer lists in a schema are left out. */
const MAX_WIDTH = 500;
/** Each name of them that is missing is a problem of its own. */
const MAX_REQUIRED = 50;

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '));
}

/**
 * Checks values by a schema that a stranger wrote, in a time that the stranger can't make long. What such a schema could do that with is
 * left out (patterns, formats, unique items), and what means the opposite or an exact number of what it holds (`not`, `if`, `contains`). So
 * it never refuses what the whole schema takes. What can't be checked passes: it is for the server to judge.
 */
export class CautiousCheck {
  readonly #validator: Validator | undefined;
  #steps = MAX_STEPS;

  constructor(schema: JsonSchema) {
    try {
      this.#validator = new Validator(
        this.#loosened(copyJson(schema, 'it', LIMITS)) as Schema,
        '2020-12',
        false,
      );
    } catch {
      this.#validator = undefined; // too large, or no schema at all
    }
  }

  /** What is wrong with a value; nothing if it is fine. */
  problemsOf(value: unknown): readonly SchemaFailure[] {
    try {
      this.#steps = Math.min(MAX_STEPS, Math.ceil(MAX_LOOKS / widthOf(value)));
      const { valid = true, errors = [] } = this.#validator?.validate(value) ?? {};
      return valid ? [] : failuresOf(errors);
    } catch {
      return []; // it refers to what is not there, goes round in circles, or would take for ever
    }
  }

  #loosened(node: unknown): unknown {
    if (Array.isArray(node)) return node.map((one) => this.#loosened(one));
    if (!isJsonObject(node)) return node;
    const { $ref, oneOf } = node;
    const entries = Object.entries(node).flatMap(([key, value]): [string, unknown][] => {
      if (isWide(value, key === 'required' ? MAX_REQUIRED : MAX_WIDTH)) return [];
      if (PLAIN.has(key)) return [[key, value]];
      if (ONE_SCHEMA.has(key) || LISTS.has(key)) return [[key, this.#loosened(value)]];
      return MAPS.has(key) && isJsonObject(value) ? [[key, this.#loosenedMap(value)]] : [];
    });
    const loose = Object.fromEntries(entries);
    const { patternProperties, properties, prefixItems } = node;
    // What is left for these is not known any more.
    if (patternProperties !== undefined || isWide(properties)) delete loose['additionalProperties'];
    if (isWide(prefixItems)) delete loose['items'];
    if (oneOf !== undefined && !isWide(oneOf)) {
      const { allOf } = loose;
      loose['allOf'] = [...(Array.isArray(allOf) ? allOf : []), { anyOf: this.#loosened(oneOf) }];
    }
    // It is looked at in every step, and only once.
    return Object.defineProperty(loose, '$ref', { get: () => this.#step($ref), enumerable: true });
  }

  #loosenedMap(map: object): unknown {
    return Object.fromEntries(
      Object.entries(map).map(([name, value]) => {
        if (name.length > MAX_NAME_CHARS) throw new RangeError('A name is too long.');
        return [name, this.#loosened(value)];
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

/** The length of its longest text or list: the most that one step looks at. */
function widthOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return 1;
  const entries = Object.entries(value);
  return entries.reduce((width, [key, one]) => Math.max(width, key.length, widthOf(one)), entries.length + 1);
}
