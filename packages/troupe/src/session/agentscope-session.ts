import { messageOf, TroupeError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import { newId } from '../util/ids.ts';
import { describe, isJsonObject, parseJson, setOwn, type JsonObject, type JsonValue } from '../util/json.ts';

/** Contents of a session file of AgentScope for Python. */
export interface AgentScopeSession {
  /** State of each component by its name in the file, for `agent.loadStateDict(state, { strict: false })`. */
  readonly components: Readonly<Record<string, JsonObject>>;
  /** Parts that could not be read, one line each, with path and reason. */
  readonly notTaken: readonly string[];
}

type Fields = { [key: string]: JsonValue };

/**
 * Reads a session file written by AgentScope 1.x for Python: memories with marks and summary, active tool
 * groups, plans, names and system prompts.
 * @throws TroupeError for any other file
 */
export function readAgentScopeSession(text: string): AgentScopeSession {
  let json: JsonValue;
  try {
    json = parseJson(text, 'the session file');
  } catch (cause) {
    throw new TroupeError('invalid_input', `${messageOf(cause)}.`, { cause });
  }
  if (!isJsonObject(json)) {
    throw new TroupeError('invalid_input', `A session file must contain an object, not ${describe(json)}.`);
  }
  const reader = new Reader();
  const components: { [name: string]: JsonObject } = {};
  for (const [name, state] of Object.entries(json)) {
    if (isJsonObject(state)) setOwn(components, name, reader.module(state, name));
    else reader.refuse(name, `is ${describe(state)}, not the state of a module`);
  }
  return { components, notTaken: reader.notTaken };
}

class Reader {
  readonly notTaken: string[] = [];
  /** Conversion of each known key. */
  readonly #keys: Readonly<Record<string, (value: JsonValue, path: string) => Fields>> = {
    name: (name) => ({ name }),
    _sys_prompt: (sysPrompt) => ({ sysPrompt }),
    memory: (state, path) => ({ memory: this.#inner(state, path) }),
    toolkit: (state, path) => ({ toolkit: this.#inner(state, path) }),
    plan_notebook: (state, path) => ({ planNotebook: this.#inner(state, path) }),
    storage: (state, path) => ({ storage: this.#inner(state, path) }),
    active_groups: (activeGroups) => ({ activeGroups }),
    _compressed_summary: (compressedSummary) => ({ compressedSummary }),
    content: (entries, path) => ({ content: this.#list(entries, path, (entry) => this.#entry(entry)) }),
    current_plan: (plan) => ({ currentPlan: isJsonObject(plan) ? toPlan(plan) : null }),
    plans: (plans, path) => ({ plans: this.#list(plans, path, (plan) => toPlan(fieldsOf(plan))) }),
  };

  module(state: JsonObject, path: string): JsonObject {
    const fields: Fields = {};
    for (const [key, value] of Object.entries(state)) {
      const at = `${path}.${key}`;
      const read = Object.hasOwn(this.#keys, key) ? this.#keys[key] : undefined;
      // Long-term memories have no state and appear as empty objects.
      if (read !== undefined) Object.assign(fields, read(value, at));
      else if (!isJsonObject(value) || Object.keys(value).length > 0) this.refuse(at, 'is unknown');
    }
    return Object.hasOwn(fields, 'content') ? { compressedSummary: '', ...fields } : fields;
  }

  refuse(path: string, problem: string): void {
    this.notTaken.push(`${path} ${problem}`);
  }

  #inner(state: JsonValue, path: string): JsonObject {
    if (isJsonObject(state)) return this.module(state, path);
    if (state !== null) this.refuse(path, `is ${describe(state)}, not the state of a module`);
    return {};
  }

  /** Readable items of a list, or of the values of an object. */
  #list(value: JsonValue, path: string, read: (item: JsonValue) => JsonValue): JsonValue[] {
    if (value !== null && typeof value !== 'object') this.refuse(path, `is ${describe(value)}, not a list`);
    const items = isJsonObject(value)
      ? Object.values(value)
      : Array.isArray(value)
        ? (value as readonly JsonValue[])
        : [];
    return items.flatMap((item, i) => {
      try {
        return [read(item)];
      } catch (error) {
        this.refuse(`${path}[${i}]`, `can't be read: ${messageOf(error)}`);
        return [];
      }
    });
  }

  /** A message, or a pair of a message and its marks. */
  #entry(entry: JsonValue): JsonValue {
    const [msg, marks] = Array.isArray(entry) ? (entry as readonly JsonValue[]) : [entry, []];
    const json = toMsg(fieldsOf(msg)).toJSON();
    return Array.isArray(marks) && marks.length > 0 ? [json, marks as readonly JsonValue[]] : json;
  }
}

function toMsg(msg: JsonObject): Msg {
  const content = msg['content'];
  return Msg.from({
    ...msg,
    id: msg['id'] ?? newId(),
    metadata: msg['metadata'] ?? {},
    content: Array.isArray(content) ? (content as readonly JsonValue[]).map(toBlock) : content,
  });
}

function toBlock(block: JsonValue): JsonValue {
  const {
    source,
    raw_input: rawInput,
    signature,
    thought_signature: thoughtSignature,
    ...rest
  } = fieldsOf(block);
  const fields: Fields = { ...rest };
  if (isJsonObject(source)) {
    const { media_type: mediaType, ...others } = source;
    fields['source'] = mediaType === undefined ? others : { ...others, mediaType };
  }
  if (typeof rawInput === 'string') fields['rawInput'] = rawInput;
  if (typeof signature === 'string') fields['providerMeta'] = { anthropic: { signature } };
  if (typeof thoughtSignature === 'string') fields['providerMeta'] = { gemini: { thoughtSignature } };
  if (fields['type'] !== 'tool_result') return fields;
  const output = fields['output'] ?? '';
  return {
    ...fields,
    status: 'ok',
    output: Array.isArray(output) ? (output as readonly JsonValue[]).map(toBlock) : output,
  };
}

function toPlan(plan: JsonObject): JsonValue {
  const subtasks = Array.isArray(plan['subtasks']) ? (plan['subtasks'] as readonly JsonValue[]) : [];
  return { ...toWork(plan), subtasks: subtasks.map((one) => toWork(fieldsOf(one))) };
}

function toWork(work: JsonObject): JsonObject {
  const { id, name, description, expected_outcome, state, created_at, finished_at, outcome } = work;
  const fields = {
    id: id ?? newId(),
    name,
    description,
    expectedOutcome: expected_outcome,
    state,
    createdAt: created_at,
    finishedAt: finished_at,
    outcome,
  };
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as JsonObject;
}

function fieldsOf(json: JsonValue | undefined): JsonObject {
  if (isJsonObject(json)) return json;
  throw new TypeError(`it is ${describe(json)}`);
}
