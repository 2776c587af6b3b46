import type { JsonObject } from '../../src/util/json.ts';
import { Faults, isLike, jsonObjectIn } from './check.ts';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CALL_ID = /^.{1,40}$/;
const BODY_KEYS = [
  'model',
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'stream',
  'stream_options',
  'max_completion_tokens',
  'max_tokens',
  'temperature',
  'top_p',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'response_format',
  'reasoning_effort',
  'modalities',
  'audio',
  'n',
  'user',
  'metadata',
  'store',
  'service_tier',
  'logprobs',
  'top_logprobs',
];

/** What OpenAI's Chat Completions API rejects in a request. */
export function openAiChatFaults(body: JsonObject): string[] {
  const faults = new Faults();
  faults.object(body, 'body', BODY_KEYS);
  faults.text(body['model'], 'model');
  faults.must(body['stream_options'] === undefined || body['stream'] === true, 'stream_options needs stream');
  checkMessages(faults, faults.items(body['messages'], 'messages'));
  checkTools(faults, body);
  return faults.list;
}

function checkMessages(faults: Faults, messages: readonly unknown[]): void {
  faults.must(messages.length > 0, 'messages must not be empty');
  let open: string[] = [];
  messages.forEach((message, i) => {
    const at = `messages[${i}]`;
    const role = (message as JsonObject)['role'];
    if (role === 'tool') {
      if (!faults.object(message, at, ['role', 'tool_call_id', 'content'])) return;
      const id = message['tool_call_id'];
      faults.must(open.includes(id as string), `${at} answers no call that is open`);
      open = open.filter((other) => other !== id);
      faults.must(isLike(message['content'], 'string'), `${at}.content must be text`);
      return;
    }
    faults.must(open.length === 0, `${at} comes before the results of ${open.join(', ')}`);
    open = [];
    if (role === 'system' || role === 'developer') {
      if (faults.object(message, at, ['role', 'content', 'name']))
        faults.text(message['content'], `${at}.content`);
    } else if (role === 'user') {
      if (faults.object(message, at, ['role', 'content', 'name'])) checkUser(faults, message, at);
    } else if (role === 'assistant') open = checkAssistant(faults, message, at);
    else faults.must(false, `${at}.role is '${String(role)}'`);
  });
  faults.must(open.length === 0, `no results for ${open.join(', ')}`);
}

function checkUser(faults: Faults, message: JsonObject, at: string): void {
  if (message['name'] !== undefined) faults.text(message['name'], `${at}.name`, NAME);
  if (typeof message['content'] === 'string') return void faults.text(message['content'], `${at}.content`);
  const parts = faults.items(message['content'], `${at}.content`);
  faults.must(parts.length > 0, `${at}.content must not be empty`);
  parts.forEach((part, j) => checkPart(faults, part, `${at}.content[${j}]`));
}

function checkPart(faults: Faults, part: unknown, at: string): void {
  const type = (part as JsonObject)['type'];
  if (type === 'text') {
    if (faults.object(part, at, ['type', 'text'])) faults.text(part['text'], `${at}.text`);
  } else if (type === 'image_url') {
    if (!faults.object(part, at, ['type', 'image_url'])) return;
    const image = part['image_url'];
    if (faults.object(image, at, ['url', 'detail']))
      faults.text(image['url'], `${at}.url`, /^(https?:|data:image\/)/);
  } else if (type === 'input_audio') {
    if (!faults.object(part, at, ['type', 'input_audio'])) return;
    const audio = part['input_audio'];
    if (!faults.object(audio, at, ['data', 'format'])) return;
    faults.text(audio['data'], `${at}.data`, /^[\w+/=]+$/);
    faults.text(audio['format'], `${at}.format`, /^(wav|mp3)$/);
  } else if (type === 'file') {
    if (!faults.object(part, at, ['type', 'file'])) return;
    faults.object(part['file'], at, ['filename', 'file_data', 'file_id']);
  } else faults.must(false, `${at}.type is '${String(type)}'`);
}

/** The ids of its calls. */
function checkAssistant(faults: Faults, message: unknown, at: string): string[] {
  if (!faults.object(message, at, ['role', 'content', 'name', 'tool_calls', 'refusal', 'audio'])) return [];
  if (message['name'] !== undefined) faults.text(message['name'], `${at}.name`, NAME);
  const { content, tool_calls: calls } = message;
  if (content !== null || calls === undefined) faults.text(content, `${at}.content`);
  if (calls === undefined) return [];
  const list = faults.items(calls, `${at}.tool_calls`);
  faults.must(list.length > 0, `${at}.tool_calls must not be empty`);
  const ids = list.map((call, j) => {
    const path = `${at}.tool_calls[${j}]`;
    if (!faults.object(call, path, ['id', 'type', 'function'])) return '';
    faults.text(call['id'], `${path}.id`, CALL_ID);
    faults.must(call['type'] === 'function', `${path}.type must be 'function'`);
    const called = call['function'];
    if (faults.object(called, path, ['name', 'arguments'])) {
      faults.text(called['name'], `${path}.name`, NAME);
      faults.must(jsonObjectIn(called['arguments']), `${path}.arguments must be the JSON of an object`);
    }
    return String(call['id']);
  });
  faults.unique(ids, `the ids of ${at}.tool_calls`);
  return ids;
}

function checkTools(faults: Faults, body: JsonObject): void {
  const { tools, tool_choice: choice } = body;
  if (tools === undefined) return void faults.must(choice === undefined, 'tool_choice needs tools');
  const list = faults.items(tools, 'tools');
  faults.must(list.length > 0, 'tools must not be empty');
  const names = list.map((tool, i) => {
    if (!faults.object(tool, `tools[${i}]`, ['type', 'function'])) return '';
    faults.must(tool['type'] === 'function', `tools[${i}].type must be 'function'`);
    const called = tool['function'];
    if (!faults.object(called, `tools[${i}]`, ['name', 'description', 'parameters', 'strict'])) return '';
    faults.text(called['name'], `tools[${i}].name`, NAME);
    faults.must(isLike(called['parameters'], 'object'), `tools[${i}].parameters must be an object`);
    return String(called['name']);
  });
  faults.unique(names, 'the names of tools');
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') return;
  if (!faults.object(choice, 'tool_choice', ['type', 'function'])) return;
  const name = (choice['function'] as JsonObject)['name'];
  faults.must(names.includes(name as string), `tool_choice names ${String(name)}`);
}
