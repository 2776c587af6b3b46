import { TroupeError } from '../../../errors.ts';
import { isJsonObject, setOwn, type JsonObject, type JsonValue } from '../../../util/json.ts';
import type { JsonSchema } from '../../../util/schema.ts';
import { oneLine } from '../../../util/text.ts';

export interface InlinedSchema {
  readonly schema: JsonSchema;
  /** Descriptions of parts that were lost. */
  readonly warnings: readonly string[];
}

/** Keywords whose value is a schema or a list of schemas. */
const NESTED: ReadonlySet<string> = new Set(
  (
    'items prefixItems additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties ' +
    'propertyNames anyOf oneOf allOf not if then else'
  ).split(' '),
);
/** Keywords whose value maps names to schemas. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas']);
/** Keywords without meaning for validation. */
const DROPPED: ReadonlySet<string> = new Set(
  '$schema $id $anchor $comment $vocabulary $defs definitions'.split(' '),
);

const MAX_DEPTH = 100;
/** A schema of references to references doubles at every step. In characters, about. */
const MAX_SIZE = 1_000_000;

/**
 * Inlines the references of a schema: Gemini supports neither references into the middle of a schema nor
 * `const`. A recursive schema becomes any object; an external reference is never fetched and becomes any
 * value.
 * @param what owner of the schema, for warnings and the error
 * @throws TroupeError if the result is too large or too deep.
 */
export function inlineRefs(schema: JsonSchema, what: string): InlinedSchema {
  const inliner = new Inliner(schema, what);
  const inlined = inliner.inline(schema);
  return { schema: isJsonObject(inlined) ? inlined : {}, warnings: [...inliner.warnings] };
}

class Inliner {
  readonly warnings = new Set<string>();
  readonly #root: JsonSchema;
  readonly #what: string;
  /** Schemas around the current schema, references included. */
  readonly #ancestors: JsonObject[] = [];
  #size = 0;

  constructor(root: JsonSchema, what: string) {
    this.#root = root;
    this.#what = what;
  }

  inline(schema: JsonValue): JsonValue {
    this.#grow(2);
    if (!isJsonObject(schema)) return schema; // `true` or `false`
    if (this.#ancestors.length >= MAX_DEPTH) throw this.#tooMuch(`nested deeper than ${MAX_DEPTH} levels`);
    this.#ancestors.push(schema);
    const { $ref, ...rest } = schema;
    const inlined = typeof $ref === 'string' ? this.#follow($ref, rest) : this.#copy(schema);
    this.#ancestors.pop();
    return inlined;
  }

  #follow(ref: string, beside: JsonObject): JsonValue {
    const name = oneLine(tokensOf(ref).at(-1) ?? ref).slice(0, 100);
    const target = this.#find(ref);
    if (target === undefined) {
      this.warnings.add(`${this.#what} refers to '${oneLine(ref).slice(0, 100)}', which it does not contain`);
      return this.#copy(beside);
    }
    if (isJsonObject(target) && this.#ancestors.includes(target)) {
      this.warnings.add(`${this.#what} contains '${name}' recursively`);
      return { type: 'object', description: `(circular: ${name})` };
    }
    const found = this.inline(target);
    return isJsonObject(found) ? { ...found, ...this.#copy(beside) } : found;
  }

  /** Finds the schema at a reference such as `#/$defs/Place`. */
  #find(ref: string): JsonValue | undefined {
    if (ref !== '#' && !ref.startsWith('#/')) return undefined;
    let found: JsonValue | undefined = this.#root;
    for (const token of tokensOf(ref)) {
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, token)) return undefined;
      found = (found as JsonObject)[token];
    }
    return isJsonObject(found) || typeof found === 'boolean' ? found : undefined;
  }

  #copy(schema: JsonObject): JsonObject {
    const copied: { [key: string]: JsonValue } = {};
    for (const [key, value] of Object.entries(schema)) {
      if (DROPPED.has(key)) continue;
      this.#grow(key.length);
      if (NAMED.has(key) && isJsonObject(value)) setOwn(copied, key, this.#named(value));
      else if (NESTED.has(key)) setOwn(copied, key, this.#nested(value));
      else {
        this.#grow(JSON.stringify(value).length);
        if (key === 'const') setOwn(copied, 'enum', [value]);
        else setOwn(copied, key, value);
      }
    }
    return copied;
  }

  #nested(value: JsonValue): JsonValue {
    return Array.isArray(value)
      ? (value as readonly JsonValue[]).map((schema) => this.inline(schema))
      : this.inline(value);
  }

  #named(schemas: JsonObject): JsonObject {
    const copied: { [key: string]: JsonValue } = {};
    for (const [name, schema] of Object.entries(schemas)) {
      this.#grow(name.length);
      setOwn(copied, name, this.inline(schema));
    }
    return copied;
  }

  #grow(by: number): void {
    this.#size += by;
    if (this.#size > MAX_SIZE) throw this.#tooMuch(`larger than ${MAX_SIZE} characters`);
  }

  #tooMuch(problem: string): TroupeError {
    return new TroupeError(
      'invalid_input',
      `With inlined references, ${this.#what} is ${problem}. Use a smaller schema.`,
    );
  }
}

/** The keys on the way of a JSON pointer. */
function tokensOf(ref: string): readonly string[] {
  const tokens = ref.split('/').slice(1);
  return tokens.map((token) => decoded(token).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
