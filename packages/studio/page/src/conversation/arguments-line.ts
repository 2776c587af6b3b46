import type { JsonObject, JsonValue } from 'troupe';

const MAX_VALUE = 60;

/** Arguments of a tool call as one short line: `city: Berlin · days: 3`. */
export function argumentsInLine(input: JsonObject): string {
  return Object.entries(input)
    .map(([key, value]) => `${key}: ${shortened(value)}`)
    .join(' · ');
}

function shortened(value: JsonValue | undefined): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > MAX_VALUE ? `${line.slice(0, MAX_VALUE)}…` : line;
}
