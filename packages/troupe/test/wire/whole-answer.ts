// Recorded streams as the plain JSON that the same API sends without streaming.
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/util/json.ts';
import { toText } from './replay.ts';

/** Data of the events of a recording, in order. */
function eventsIn(recording: Uint8Array): readonly JsonObject[] {
  return toText(recording)
    .split('\n')
    .map((line) => line.replace(/^data:\s*/, ''))
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as JsonObject);
}

type Fields = { [key: string]: JsonValue };

const objectIn = (holder: JsonObject, key: string): JsonObject => {
  const value = holder[key];
  return isJsonObject(value) ? value : {};
};
const listIn = (holder: JsonObject, key: string): readonly JsonObject[] => {
  const value = holder[key];
  return Array.isArray(value) ? (value as JsonObject[]) : [];
};

/** Appends text to a field that may be missing. */
function append(target: Fields, key: string, text: JsonValue | undefined): void {
  if (typeof text === 'string') target[key] = `${typeof target[key] === 'string' ? target[key] : ''}${text}`;
}

/** Chat Completions: deltas are appended to one message. */
export function wholeChat(recording: Uint8Array): JsonObject {
  const message: Fields = { role: 'assistant' };
  const calls: Fields[] = [];
  const whole: Fields = {};
  let finish_reason: JsonValue = null;
  for (const chunk of eventsIn(recording)) {
    const { choices: _, ...fields } = chunk;
    Object.assign(whole, fields, { usage: fields['usage'] ?? whole['usage'] ?? null });
    const [choice = {}] = listIn(chunk, 'choices');
    if (isJsonObject(choice['usage'])) whole['usage'] = choice['usage'];
    finish_reason = choice['finish_reason'] ?? finish_reason;
    const delta = objectIn(choice, 'delta');
    for (const key of ['content', 'reasoning_content', 'reasoning', 'refusal'])
      append(message, key, delta[key]);
    if (isJsonObject(delta['audio'])) {
      const audio: Fields = { ...objectIn(message, 'audio') };
      for (const key of ['data', 'transcript']) append(audio, key, delta['audio'][key]);
      message['audio'] = audio;
    }
    for (const piece of listIn(delta, 'tool_calls')) {
      const index = typeof piece['index'] === 'number' ? piece['index'] : calls.length;
      const call = (calls[index] ??= {
        id: piece['id'] ?? '',
        type: 'function',
        function: { name: '', arguments: '' },
      });
      const called = call['function'] as Fields;
      append(called, 'name', objectIn(piece, 'function')['name']);
      append(called, 'arguments', objectIn(piece, 'function')['arguments']);
    }
  }
  if (calls.length > 0) message['tool_calls'] = calls;
  return { ...whole, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }] };
}

/** Responses: the finished items are the output. */
export function wholeResponse(recording: Uint8Array): JsonObject {
  const events = eventsIn(recording);
  const output: JsonObject[] = [];
  const summary: Fields[] = [];
  for (const event of events) {
    if (event['type'] === 'response.reasoning_summary_text.delta') {
      const part = (summary[event['summary_index'] as number] ??= { type: 'summary_text', text: '' });
      append(part, 'text', event['delta']);
    }
    if (event['type'] !== 'response.output_item.done') continue;
    const item = objectIn(event, 'item');
    output[event['output_index'] as number] = item['type'] === 'reasoning' ? { ...item, summary } : item;
  }
  const last = events.findLast(({ type }) => /^response\.(completed|incomplete|failed)$/.test(String(type)));
  return { ...objectIn(events[0] ?? {}, 'response'), ...objectIn(last ?? {}, 'response'), output };
}

/** Anthropic: blocks grow by their deltas. */
export function wholeMessage(recording: Uint8Array): JsonObject {
  let message: Fields = {};
  const content: Fields[] = [];
  const inputs = new Map<Fields, string>();
  for (const event of eventsIn(recording)) {
    const index = event['index'] as number;
    const delta = objectIn(event, 'delta');
    if (event['type'] === 'message_start') message = { ...objectIn(event, 'message') };
    if (event['type'] === 'content_block_start') content[index] = { ...objectIn(event, 'content_block') };
    const block = content[index];
    if (event['type'] === 'content_block_delta' && block !== undefined) {
      for (const key of ['text', 'thinking', 'signature', 'content']) append(block, key, delta[key]);
      if (isJsonObject(delta['citation']))
        block['citations'] = [...listIn(block, 'citations'), delta['citation']];
      if (typeof delta['partial_json'] === 'string')
        inputs.set(block, (inputs.get(block) ?? '') + delta['partial_json']);
    }
    if (event['type'] !== 'message_delta') continue;
    const usage = { ...objectIn(message, 'usage'), ...objectIn(event, 'usage') };
    message = { ...message, stop_reason: delta['stop_reason'] ?? null, usage };
  }
  for (const [block, json] of inputs) if (json !== '') block['input'] = JSON.parse(json) as JsonValue;
  const isWhole = listIn(message, 'content').length > 0; // some answers come whole in a stream too
  return isWhole ? message : { ...message, content: content.filter(Boolean) };
}

/** Gemini: the parts of all chunks; texts are joined. */
export function wholeContent(recording: Uint8Array): JsonObject {
  const parts: Fields[] = [];
  let whole: JsonObject = {};
  let candidate: JsonObject = {};
  for (const chunk of eventsIn(recording)) {
    whole = { ...whole, ...chunk };
    const [next = {}] = listIn(chunk, 'candidates');
    candidate = { ...candidate, ...next };
    for (const part of listIn(objectIn(next, 'content'), 'parts')) {
      const last = parts.at(-1);
      const joins = typeof part['text'] === 'string' && typeof last?.['text'] === 'string';
      if (joins && part['thought'] === last['thought'] && last['thoughtSignature'] === undefined) {
        append(last, 'text', part['text']);
        if (part['thoughtSignature'] !== undefined) last['thoughtSignature'] = part['thoughtSignature'];
      } else parts.push({ ...part });
    }
  }
  if (whole['candidates'] === undefined) return whole; // a blocked prompt
  return { ...whole, candidates: [{ ...candidate, content: { role: 'model', parts } }] };
}

/** Ollama: one line. */
export function wholeLine(recording: Uint8Array): JsonObject {
  const message: Fields = { role: 'assistant' };
  let whole: JsonObject = {};
  const calls: JsonObject[] = [];
  for (const line of eventsIn(recording)) {
    whole = { ...whole, ...line };
    const piece = objectIn(line, 'message');
    append(message, 'content', piece['content']);
    append(message, 'thinking', piece['thinking']);
    calls.push(...listIn(piece, 'tool_calls'));
  }
  return { ...whole, message: { ...message, ...(calls.length > 0 && { tool_calls: calls }) } };
}
