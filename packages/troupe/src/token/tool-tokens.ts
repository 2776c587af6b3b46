import type { ToolSchema } from '../model/chat-model-base.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';

export type CountText = (text: string) => number;

/** Fixed tokens of a schema for OpenAI's models, as measured by OpenAI. */
const ALL_TOOLS = 12;
const PROPERTIES = 3;
const PROPERTY = 3;
const CHOICES = -3;
const CHOICE = 3;

/** Keys counted by other rules, or not shown to the model. */
const OTHERWISE_COUNTED: ReadonlySet<string> = new Set([
  '$schema',
  'additionalProperties',
  'description',
  'enum',
  'items',
  'properties',
  'required',
  'title',
  'type',
]);

/**
 * Tokens of the tools in a prompt.
 * @param perTool fixed tokens of a tool
 */
export function toolTokens(tools: readonly ToolSchema[], perTool: number, ofText: CountText): number {
  if (tools.length === 0) return 0;

  function ofSchema(schema: JsonObject): number {
    let tokens = ofProperties(schema['properties']) + ofChoices(schema['enum']);
    if (isJsonObject(schema['items'])) tokens += ofText(wordsOf(schema['items'])) + ofSchema(schema['items']);
    for (const [key, value] of Object.entries(schema)) {
      if (!OTHERWISE_COUNTED.has(key)) tokens += ofText(`${key}:${JSON.stringify(value)}`);
    }
    return tokens;
  }

  function ofProperties(properties: JsonValue | undefined): number {
    if (!isJsonObject(properties) || Object.keys(properties).length === 0) return 0;
    return Object.entries(properties).reduce((tokens, [name, value]) => {
      const schema = isJsonObject(value) ? value : {};
      return tokens + PROPERTY + ofText(`${name}:${wordsOf(schema)}`) + ofSchema(schema);
    }, PROPERTIES);
  }

  function ofChoices(choices: JsonValue | undefined): number {
    if (!Array.isArray(choices)) return 0;
    return choices.reduce<number>((tokens, choice) => tokens + CHOICE + ofText(String(choice)), CHOICES);
  }

  return tools.reduce((tokens, { name, description = '', parameters }) => {
    return tokens + perTool + ofText(`${name}:${withoutDot(description)}`) + ofSchema(parameters);
  }, ALL_TOOLS);
}

function wordsOf({ type, description }: JsonObject): string {
  const types = [type].flat().filter((name) => typeof name === 'string');
  return `${types.join('|')}:${typeof description === 'string' ? withoutDot(description) : ''}`;
}

function withoutDot(text: string): string {
  return text.endsWith('.') ? text.slice(0, -1) : text;
}
