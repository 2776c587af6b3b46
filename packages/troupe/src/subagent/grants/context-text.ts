import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { oneLine } from '../../util/text.ts';
import { bulletPoints, dataText } from './data-text.ts';
import type { RecentEvent } from './recent-events.ts';

/**
 * Context that a sub-agent gets with its task: JSON, always with these keys in this order. A host may add
 * further keys.
 */
export type DelegationContext = {
  readonly task_summary: string;
  /** At most 4, oldest first. */
  readonly recent_events: readonly RecentEvent[];
  readonly long_term_refs: readonly JsonObject[];
  readonly workspace_pointers: readonly string[];
  readonly safety_flags: JsonObject;
} & JsonObject;

/** The delegation context as text for the model of a sub-agent, without ids, times and empty parts. */
export function contextText(context: DelegationContext, supervisor: string): string {
  const {
    task_summary: _, // the task is a message by itself
    recent_events: events,
    long_term_refs: refs,
    workspace_pointers: pointers,
    safety_flags: flags,
    ...others
  } = context;
  const sections = [
    `You work on a task of ${oneLine(supervisor)}, which follows. It sees only your answer.`,
    section('What happened before:', events.map(eventLine)),
    section('Long-term memory and knowledge:', refs.map(refLine)),
    section('Files and folders that you may use:', pointers.map(oneLine)),
    section('Limits:', limitLines(flags)),
    dataText(Object.fromEntries(Object.entries(others).filter(([, value]) => !isEmpty(value)))),
  ];
  return sections.filter((text) => text !== '').join('\n\n');
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}\n${lines.map((line) => `- ${line}`).join('\n')}`;
}

function eventLine({ name, preview }: JsonObject): string {
  const text = oneLine(textOf(preview));
  // the preview of a tool result begins with the name of the tool
  return name === 'system' || textOf(name) === '' ? text : `${oneLine(textOf(name))}: ${text}`;
}

/** References that were saved by earlier versions have a `provider` only. */
function refLine({ id, provider, description, ...others }: JsonObject): string {
  const name = textOf(id) || textOf(provider);
  if (name === '') return oneLine(dataText(others).replaceAll('\n', ', '));
  return oneLine(textOf(description) === '' ? name : `${name}: ${textOf(description)}`);
}

/** Limits that a model can keep to. */
const LIMITS: Readonly<Record<string, (value: JsonValue) => string | undefined>> = {
  max_tokens: (value) => `at most ${textOf(value)} tokens`,
  max_cost: (value) => `at most a cost of ${textOf(value)}`,
  max_wall_ms: (value) => `at most ${Number(value) / 1000} seconds`,
  max_iterations: (value) => `at most ${textOf(value)} model calls`,
  max_calls: () => undefined,
  max_depth: () => undefined,
  forbidden_tools: (value) => `not to be used: ${Array.isArray(value) ? value.map(String).join(', ') : ''}`,
};

function limitLines(flags: JsonObject): readonly string[] {
  return Object.entries(flags).flatMap(([key, value]) => {
    const known = Object.hasOwn(LIMITS, key) ? LIMITS[key] : undefined;
    if (known === undefined) return [bulletPoints({ [key]: value }).slice(2)];
    const line = known(value);
    return line === undefined ? [] : [oneLine(line)];
  });
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function isEmpty(value: JsonValue): boolean {
  return (isJsonObject(value) || Array.isArray(value)) && Object.keys(value).length === 0;
}
