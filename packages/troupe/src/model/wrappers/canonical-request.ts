import type { Msg } from '../../message/msg.ts';
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { ModelRequest } from '../chat-model-base.ts';

/**
 * What of a request its answer depends on, the same for requests that mean the same: without the ids and
 * times of messages, with the ids of tool calls counted up (they are made up anew in every run), and with all
 * keys in order. The formatter is not part of it, as it is no data.
 */
export function canonicalRequest(request: ModelRequest): JsonObject {
  const { tools = [], toolChoice, structured, generation, agentName } = request;
  const withCountedIds = countCallIds();
  const rest = withSortedKeys(
    copyJson(
      { tools: tools.length > 0 ? tools : undefined, toolChoice, structured, generation, agentName },
      'the request',
    ),
  );
  return { messages: request.messages.map((msg) => withCountedIds(formOf(msg))), ...(rest as JsonObject) };
}

/** The same value with the keys of all its objects in order. */
export function withSortedKeys(value: JsonValue): JsonValue {
  if (isList(value)) return value.map(withSortedKeys);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, withSortedKeys(item)]));
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** A message never changes, so its form is made only once. */
const forms = new WeakMap<Msg, JsonObject>();

function formOf(msg: Msg): JsonObject {
  let form = forms.get(msg);
  if (form === undefined) {
    const { role, name, content } = msg;
    form = withSortedKeys(copyJson({ role, name, content }, 'the message')) as JsonObject;
    forms.set(msg, form);
  }
  return form;
}

/** Gives each call, and its result, the number of its first appearance. */
function countCallIds(): (form: JsonObject) => JsonObject {
  const counted = new Map<JsonValue, string>();
  const rename = (block: JsonValue): JsonValue => {
    if (!isJsonObject(block) || (block['type'] !== 'tool_use' && block['type'] !== 'tool_result'))
      return block;
    const { id = '' } = block;
    const number = counted.get(id) ?? `call_${counted.size + 1}`;
    counted.set(id, number);
    return { ...block, id: number };
  };
  return (form) => {
    const { content } = form;
    return isList(content) ? { ...form, content: content.map(rename) } : form;
  };
}
