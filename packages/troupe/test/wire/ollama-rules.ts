import type { JsonObject } from '../../src/util/json.ts';
import { Faults, isLike } from './check.ts';

/** Half a character, which JSON writes as an escape. */
const HALF_CHARACTER = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;
const BODY_KEYS = ['model', 'messages', 'tools', 'stream', 'think', 'format', 'options', 'keep_alive'];
const OPTION_KEYS = [
  'num_predict',
  'num_ctx',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
];

/** Faults of a request by the rules of Ollama and of the templates of its models. */
export function ollamaFaults(body: JsonObject): string[] {
  const faults = new Faults();
  faults.object(body, 'body', BODY_KEYS);
  faults.must(!HALF_CHARACTER.test(JSON.stringify(body)), 'the body holds half a character');
  faults.text(body['model'], 'model');
  const levels = /gpt-oss/.test(String(body['model'])) ? ['low', 'medium', 'high'] : [true, false];
  faults.must(
    [undefined, ...levels].includes(body['think'] as string),
    'think has a value that is not supported',
  );
  if (body['options'] !== undefined) faults.object(body['options'], 'options', OPTION_KEYS);
  checkMessages(faults, faults.items(body['messages'], 'messages'));
  if (body['tools'] !== undefined) checkTools(faults, faults.items(body['tools'], 'tools'));
  return faults.list;
}

function checkMessages(faults: Faults, messages: readonly unknown[]): void {
  faults.must(messages.length > 0, 'messages must not be empty');
  let open: unknown[] = [];
  messages.forEach((message, i) => {
    const at = `messages[${i}]`;
    const role = (message as JsonObject)['role'];
    if (role === 'tool') {
      if (!faults.object(message, at, ['role', 'content', 'tool_name', 'tool_call_id'])) return;
      faults.must(open.includes(message['tool_call_id']), `${at} answers no call that is open`);
      open = open.filter((id) => id !== message['tool_call_id']);
      faults.must(isLike(message['content'], 'string'), `${at}.content must be text`);
      return;
    }
    faults.must(open.length === 0, `${at} comes before the results of ${open.join(', ')}`);
    open = [];
    if (role === 'system' || role === 'user') {
      if (!faults.object(message, at, ['role', 'content', 'images'])) return;
      if (message['images'] === undefined) faults.text(message['content'], `${at}.content`);
      else {
        for (const image of faults.items(message['images'], `${at}.images`)) {
          faults.text(image, `${at}.images`, /^[A-Za-z0-9+/]+={0,2}$/);
        }
      }
    } else if (role === 'assistant') open = checkAssistant(faults, message, at);
    else faults.must(false, `${at}.role is '${String(role)}'`);
  });
  faults.must(open.length === 0, `no results for ${open.join(', ')}`);
}

/** The ids of its calls. */
function checkAssistant(faults: Faults, message: unknown, at: string): unknown[] {
  if (!faults.object(message, at, ['role', 'content', 'thinking', 'tool_calls'])) return [];
  if (message['tool_calls'] === undefined) {
    faults.text(message['content'], `${at}.content`);
    return [];
  }
  faults.must(isLike(message['content'], 'string'), `${at}.content must be text`);
  const calls = faults.items(message['tool_calls'], `${at}.tool_calls`);
  faults.must(calls.length > 0, `${at}.tool_calls must not be empty`);
  const ids = calls.map((call) => {
    if (!faults.object(call, at, ['id', 'function'])) return '';
    const called = call['function'];
    if (faults.object(called, at, ['name', 'arguments'])) {
      faults.text(called['name'], `${at}.name`, /^[\w-]+$/);
      faults.must(isLike(called['arguments'], 'object'), `${at}.arguments must be an object`);
    }
    return call['id'];
  });
  faults.unique(ids, `the ids of ${at}`);
  return ids;
}

function checkTools(faults: Faults, tools: readonly unknown[]): void {
  faults.must(tools.length > 0, 'tools must not be empty');
  const names = tools.map((tool, i) => {
    if (!faults.object(tool, `tools[${i}]`, ['type', 'function'])) return '';
    const called = tool['function'];
    if (!faults.object(called, `tools[${i}]`, ['name', 'description', 'parameters'])) return '';
    faults.text(called['name'], `tools[${i}].name`, /^[\w-]+$/);
    return called['name'];
  });
  faults.unique(names, 'the names of tools');
}
