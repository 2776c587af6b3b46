import type { ToolSchema } from '../../model/chat-model-base.ts';
import { setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { Facts } from './facts.ts';
import { restOfSentence } from './rest-of-sentence.ts';
import { paramsOf, type Param } from './tool-params.ts';
import { wordsOf } from './words.ts';

/** Arguments of a tool call, and the required names missing in the message. */
export interface Filled {
  readonly input: JsonObject;
  readonly missing: readonly string[];
}

/** Names of each operator in tool schemas and tool names. */
export const OPERATOR_NAMES: Readonly<Record<string, readonly string[]>> = {
  '+': ['+', 'add', 'addition', 'plus', 'sum'],
  '-': ['-', 'subtract', 'subtraction', 'minus', 'difference'],
  '*': ['*', 'multiply', 'multiplication', 'times', 'product', 'x'],
  '/': ['/', 'divide', 'division', 'quotient'],
  '%': ['%', 'mod', 'modulo', 'remainder'],
  '^': ['^', '**', 'power', 'pow', 'exponent'],
};

/** Names of string parameters for special facts. */
const FACTS_BY_NAME: readonly (readonly [
  names: readonly string[],
  find: (facts: Facts) => string | undefined,
])[] = [
  [['expression', 'expr', 'formula', 'equation', 'calculation'], (facts) => facts.arithmetic?.expression],
  [['operator', 'operation', 'op'], (facts) => facts.arithmetic?.operators[0]],
  [['dir', 'directory', 'folder'], (facts) => facts.folder],
  [['file', 'filename'], (facts) => facts.fileNames[0]],
  [['path'], (facts) => facts.fileNames[0] ?? facts.folder],
  [['timezone', 'tz', 'zone'], (facts) => facts.timeZone],
  [['url', 'uri', 'link'], (facts) => facts.urls[0]],
];

/**
 * Fills a tool's parameters from a message. Numbers and quoted parts are used once each, in order; a required
 * string without a match gets the rest of the sentence, once. Optional parameters stay empty unless the
 * message clearly has them.
 * @param rest rest of the sentence for this tool
 */
export function fillInput(tool: ToolSchema, facts: Facts, rest = restOfSentence(facts.text, tool)): Filled {
  const source = new Source(facts, rest);
  const input: { [name: string]: JsonValue } = {};
  const missing: string[] = [];
  const params = paramsOf(tool.parameters);
  for (const param of [
    ...params.filter((one) => one.isRequired),
    ...params.filter((one) => !one.isRequired),
  ]) {
    const value = source.valueFor(param) ?? (param.isRequired ? param.fallback : undefined);
    if (value !== undefined) setOwn(input, param.name, value);
    else if (param.isRequired) missing.push(param.name);
  }
  return { input, missing };
}

/** Facts of a message, each given out once. */
class Source {
  readonly #facts: Facts;
  readonly #numbers: number[];
  readonly #quoted: string[];
  #rest: string | undefined;

  constructor(facts: Facts, rest: string | undefined) {
    this.#facts = facts;
    this.#numbers = [...facts.numbers];
    this.#quoted = [...facts.quoted];
    this.#rest = rest;
  }

  valueFor(param: Param): JsonValue | undefined {
    if (param.choices !== undefined) return this.#choice(param, param.choices);
    const isAskedFor = param.isRequired || this.#mentions(param);
    switch (param.kind) {
      case 'string':
        return (
          this.#byName(param) ?? this.#quoted.shift() ?? (param.isRequired ? this.#takeRest() : undefined)
        );
      case 'number':
      case 'integer':
        return isAskedFor ? this.#number(param.kind) : undefined;
      case 'boolean':
        return isAskedFor ? this.#mentions(param) : undefined;
      case 'array':
        return param.isRequired ? this.#list(param) : undefined;
      case 'other':
        return undefined;
    }
  }

  #choice(param: Param, choices: readonly JsonValue[]): JsonValue | undefined {
    const operator = this.#facts.arithmetic?.operators[0];
    const names = (operator !== undefined && OPERATOR_NAMES[operator]) || [];
    const isNamed = (choice: JsonValue): boolean => {
      const words = typeof choice === 'string' ? wordsOf(choice) : [];
      return words.length > 0 && words.every((word) => this.#facts.words.has(word));
    };
    return (
      choices.find((choice) => typeof choice === 'string' && names.includes(choice.toLowerCase())) ??
      choices.find(isNamed) ??
      (param.isRequired && choices.length === 1 ? choices[0] : undefined)
    );
  }

  #byName(param: Param): string | undefined {
    const words = wordsOf(param.name);
    const entry = FACTS_BY_NAME.find(([names]) => names.some((name) => words.includes(name)));
    return entry?.[1](this.#facts);
  }

  #number(kind: 'number' | 'integer'): number | undefined {
    const at = this.#numbers.findIndex((number) => kind === 'number' || Number.isInteger(number));
    return at === -1 ? undefined : this.#numbers.splice(at, 1)[0];
  }

  #list(param: Param): readonly JsonValue[] | undefined {
    const isNumeric = param.itemKind === 'number' || param.itemKind === 'integer';
    const items = isNumeric ? this.#numbers.splice(0) : this.#quoted.splice(0);
    if (items.length > 0) return items;
    return isNumeric ? undefined : this.#takeRest()?.split(/,\s*|\sand\s/);
  }

  #takeRest(): string | undefined {
    const rest = this.#rest;
    this.#rest = undefined;
    return rest;
  }

  #mentions(param: Param): boolean {
    return wordsOf(param.name).some((word) => this.#facts.words.has(word));
  }
}
