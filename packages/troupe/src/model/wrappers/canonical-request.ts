import type { Msg } from '../../message/msg.ts';
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { ModelRequest } from '../chat-model-base.ts';

/**
 * Part of a request that determines its response, equal for equivalent requests: without ids and times of
 * messages, with numbered tool call ids (they are random in every run), and with sorted keys. The formatter
 * is left out, because it is not data.
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

/** Copy with the keys of all objects sorted. */
export function withSortedKeys(value: JsonValue): JsonValue {
  if (isList(value)) return value.map(withSortedKeys);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, withSortedKeys(item)]));
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Cached forms of messages, which never change. */
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

/** Numbers each tool call and its result by first appearance. */
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
