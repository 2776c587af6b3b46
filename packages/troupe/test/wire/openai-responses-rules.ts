import type { JsonObject } from '../../src/util/json.ts';
import { Faults, isLike, jsonObjectIn } from './check.ts';
import { checkItem } from './openai-responses-items.ts';
import { checkCharacters, checkOptions } from './openai-chat-rules.ts';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const BODY_KEYS = [
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'stream',
  'store',
  'max_output_tokens',
  'temperature',
  'top_p',
  'text',
  'reasoning',
  'include',
  'metadata',
  'previous_response_id',
  'truncation',
  'service_tier',
];

/** Faults of a request by the rules of OpenAI's Responses API. */
export function openAiResponsesFaults(body: JsonObject): string[] {
  const faults = new Faults();
  faults.object(body, 'body', BODY_KEYS);
  faults.text(body['model'], 'model');
  checkInput(faults, faults.items(body['input'], 'input'), body);
  checkTools(faults, body);
  const { reasoning } = body;
  if (reasoning !== undefined && !faults.object(reasoning, 'reasoning', ['effort', 'summary']))
    return faults.list;
  checkOptions(faults, body, reasoning?.['effort']);
  checkCharacters(faults, body, 'body');
  return faults.list;
}

function checkInput(faults: Faults, items: readonly unknown[], body: JsonObject): void {
  faults.must(items.length > 0, 'input must not be empty');
  const open = new Map<unknown, string>();
  const seen = new Set<unknown>();
  const callers = new Map<unknown, unknown>();
  faults.unique(
    (items as readonly JsonObject[]).flatMap(({ id }) => (typeof id === 'string' ? [id] : [])),
    'the ids of items',
  );
  let dangling = '';
  checkPairs(faults, items as readonly JsonObject[], body);
  items.forEach((item, i) => {
    const at = `input[${i}]`;
    const { type = 'message', role } = item as JsonObject;
    const isAnswer = type === 'function_call_output';
    faults.must(!dangling || role === 'assistant' || (type !== 'message' && !isAnswer), dangling);
    dangling = type === 'reasoning' ? `${at} is a reasoning item without what followed it` : '';
    if (type === 'message' && role !== 'assistant') {
      faults.must(open.size === 0, `${at} comes before the outputs of ${[...open.keys()].join(', ')}`);
    }
    if (type === 'message') checkMessage(faults, item, at);
    else if (type === 'reasoning') {
      if (!faults.object(item, at, ['type', 'id', 'summary', 'content', 'encrypted_content'])) return;
      const isKnown = body['store'] === true && item['id'] !== undefined;
      if (item['content'] === undefined && !(isKnown && item['encrypted_content'] === undefined))
        faults.text(item['encrypted_content'], `${at}.encrypted_content`);
      faults.items(item['summary'], `${at}.summary`);
    } else if (type === 'function_call') {
      const keys = ['type', 'id', 'call_id', 'name', 'arguments', 'status', 'caller', 'namespace'];
      if (!faults.object(item, at, keys)) return;
      callers.set(item['call_id'], checkCaller(faults, item, at, items as readonly JsonObject[]));
      faults.text(item['call_id'], `${at}.call_id`, /^.{1,64}$/);
      faults.text(item['name'], `${at}.name`, NAME);
      faults.must(jsonObjectIn(item['arguments']), `${at}.arguments must be the JSON of an object`);
      faults.must(!seen.has(item['call_id']), `${at}.call_id is used again`);
      seen.add(item['call_id']);
      open.set(item['call_id'], 'function_call');
    } else if (isAnswer) {
      if (!faults.object(item, at, ['type', 'call_id', 'output', 'caller'])) return;
      const caller = checkCaller(faults, item, at, items as readonly JsonObject[]);
      faults.must(callers.get(item['call_id']) === caller, `${at}.caller is not that of the call`);
      faults.must(open.get(item['call_id']) === 'function_call', `${at} answers no call that is open`);
      open.delete(item['call_id']);
      if (typeof item['output'] !== 'string')
        checkParts(faults, item['output'], `${at}.output`, 'input_text');
    } else faults.must(checkItem(faults, item as JsonObject, at, open), `${at}.type is '${String(type)}'`);
  });
  faults.must(dangling === '', dangling);
  faults.must(open.size === 0, `no outputs for ${[...open.keys()].join(', ')}`);
}

/** The program that has made a call must be among the items before. */
function checkCaller(
  faults: Faults,
  { caller }: JsonObject,
  at: string,
  items: readonly JsonObject[],
): unknown {
  if (caller === undefined || !faults.object(caller, `${at}.caller`, ['type', 'caller_id'])) return undefined;
  const { caller_id: id } = caller;
  const isKnown = items.some((item) => item['type'] === 'program' && item['call_id'] === id);
  faults.must(isKnown, `${at}.caller: no program with call_id ${String(id)}`);
  return id;
}

const PLAIN_MODELS = /^(?:ft:)?(?:gpt-[34]|chatgpt|gpt-5-chat)|non-reasoning/;

/** Models that don't reason reject reasoning items. A stored item and its reasoning item come by their ids together. */
function checkPairs(faults: Faults, items: readonly JsonObject[], { model, store }: JsonObject): void {
  const isReasoning = (item: JsonObject | undefined): boolean => item?.['type'] === 'reasoning';
  if (PLAIN_MODELS.test(String(model)))
    faults.must(!items.some(isReasoning), `reasoning items are not supported with ${String(model)}`);
  if (store !== true) return;
  items.forEach((item, i) => {
    const [before, after] = [items[i - 1], items[i + 1]];
    const isOptional = isReasoning(item) || isOneOf(item['type'] ?? 'message', 'message', 'function_call');
    if (item['id'] === undefined || !isOptional) return; // items of other types always have an id
    if (isReasoning(item)) faults.must(after?.['id'] !== undefined, `input[${i}] without its following item`);
    else
      faults.must(
        isReasoning(before) && before?.['id'] !== undefined,
        `input[${i}] without its reasoning item`,
      );
  });
}

function checkMessage(faults: Faults, message: unknown, at: string): void {
  if (!faults.object(message, at, ['type', 'role', 'content', 'id', 'status', 'phase'])) return;
  const { role, phase } = message;
  if (phase !== undefined) {
    faults.must(role === 'assistant', `${at}.phase is for assistants`);
    faults.must(isOneOf(phase, 'commentary', 'final_answer'), `${at}.phase is '${String(phase)}'`);
  }
  faults.must(isOneOf(role, 'user', 'system', 'developer', 'assistant'), `${at}.role is '${String(role)}'`);
  checkParts(
    faults,
    message['content'],
    `${at}.content`,
    role === 'assistant' ? 'output_text' : 'input_text',
  );
}

function checkParts(faults: Faults, parts: unknown, at: string, textType: string): void {
  const list = faults.items(parts, at);
  faults.must(list.length > 0, `${at} must not be empty`);
  for (const part of list) {
    const { type } = part as JsonObject;
    if (type === textType) {
      if (faults.object(part, at, ['type', 'text', 'annotations'])) faults.text(part['text'], `${at}.text`);
    } else if (type === 'input_image' && textType === 'input_text') {
      if (!faults.object(part, at, ['type', 'image_url', 'detail', 'file_id'])) continue;
      faults.text(part['image_url'], `${at}.image_url`, /^(https?:|data:image\/)/);
    } else if (type === 'input_file' && textType === 'input_text') {
      faults.object(part, at, ['type', 'filename', 'file_data', 'file_url', 'file_id']);
    } else faults.must(false, `${at} has a part of type '${String(type)}'`);
  }
}

const PROVIDER_TOOL =
  /^(web_search|x_search|file_search|code_interpreter|image_generation|mcp|shell|local_shell|apply_patch|custom|computer|computer_use_preview|tool_search|programmatic_tool_calling)$/;

function checkTools(faults: Faults, { tools, tool_choice: choice }: JsonObject): void {
  if (tools === undefined) return void faults.must(choice === undefined, 'tool_choice needs tools');
  const list = faults.items(tools, 'tools');
  faults.must(list.length > 0, 'tools must not be empty');
  const names = list.map((tool, i) => {
    if (PROVIDER_TOOL.test(String((tool as JsonObject)['type']))) return `${i}`;
    const keys = ['type', 'name', 'description', 'parameters', 'strict', 'defer_loading', 'allowed_callers'];
    if (!faults.object(tool, `tools[${i}]`, keys)) return '';
    faults.text(tool['name'], `tools[${i}].name`, NAME);
    faults.must(isLike(tool['parameters'], 'object'), `tools[${i}].parameters must be an object`);
    faults.must(tool['strict'] === false, `tools[${i}] is strict, but its schema may not be`);
    return tool['name'];
  });
  faults.unique(names, 'the names of tools');
  if (choice === undefined || isOneOf(choice, 'auto', 'none', 'required')) return;
  if (!faults.object(choice, 'tool_choice', ['type', 'name', 'mode', 'tools'])) return;
  const allowed =
    choice['type'] === 'allowed_tools' ? faults.items(choice['tools'], 'tool_choice.tools') : [choice];
  for (const tool of allowed) {
    const { name } = tool as JsonObject;
    faults.must(names.includes(name), `tool_choice names ${String(name)}`);
  }
}

function isOneOf(value: unknown, ...values: string[]): boolean {
  return values.some((one) => one === value);
}
