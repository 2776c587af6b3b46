import type { JsonObject } from '../../src/util/json.ts';
import { Faults, isLike, jsonObjectIn } from './check.ts';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
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

/** Differences between the rules of the vendors. */
export interface ChatStrictness {
  readonly bodyKeys: readonly string[];
  readonly assistantKeys: readonly string[];
  readonly takesNames: boolean;
  readonly callId: RegExp;
  /** Tool choices besides 'auto' and 'none'. */
  readonly choices: readonly ('required' | 'named')[];
  /** Where an image may be. A server of one's own must not be sent to look for it. */
  readonly imageUrl: RegExp;
  readonly audioData: RegExp;
  /** Without which calls are rejected. */
  readonly thinkingField?: string;
  /** Order of the roles. @default any */
  readonly roleOrder?: 'assistant_after_tool' | 'alternating';
  /** Types of the parts of an assistant's content besides text. */
  readonly assistantParts?: readonly string[];
  /** Keys of a tool call besides those of OpenAI. */
  readonly callKeys?: readonly string[];
}

const ANYWHERE = /^(https?:|data:image\/)/;

const OPENAI: ChatStrictness = {
  bodyKeys: BODY_KEYS,
  assistantKeys: ['role', 'content', 'name', 'tool_calls', 'refusal', 'audio'],
  takesNames: true,
  callId: /^.{1,40}$/,
  choices: ['required', 'named'],
  imageUrl: ANYWHERE,
  audioData: /^[\w+/=]+$/,
};

const OTHER: ChatStrictness = {
  ...OPENAI,
  bodyKeys: BODY_KEYS.filter((key) => key !== 'max_completion_tokens'),
  assistantKeys: ['role', 'content', 'tool_calls'],
  takesNames: false,
  callId: /^[!-~]{1,64}$/,
};

/** By the vendor. */
export const STRICTNESS = {
  openai: OPENAI,
  azure: OPENAI,
  dashscope: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'top_k', 'enable_thinking', 'thinking_budget'],
    choices: ['named'],
    audioData: /^(data:;base64,[\w+/=]+|https?:.*)$/,
  },
  deepseek: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'thinking'],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning_content'],
    thinkingField: 'reasoning_content',
  },
  moonshot: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'thinking'],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning_content'],
    choices: [],
    imageUrl: /^data:image\//,
    thinkingField: 'reasoning_content',
  },
  zhipu: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'thinking'],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning_content'],
    choices: [],
  },
  xai: {
    ...OTHER,
    bodyKeys: BODY_KEYS,
    assistantKeys: [...OTHER.assistantKeys, 'reasoning_content'],
  },
  openrouter: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'top_k', 'reasoning'],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning', 'reasoning_details', 'annotations'],
  },
  mistral: {
    ...OTHER,
    bodyKeys: [
      ...OTHER.bodyKeys.filter((key) => !['seed', 'stream_options', 'service_tier', 'store'].includes(key)),
      'random_seed',
    ],
    callId: /^[a-zA-Z0-9]{9}$/,
    roleOrder: 'assistant_after_tool',
    assistantParts: ['thinking'],
  },
  groq: {
    ...OTHER,
    bodyKeys: [...BODY_KEYS, 'reasoning_format'],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning'],
  },
  together: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'top_k', 'reasoning'],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning'],
  },
  fireworks: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'top_k'],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning_content'],
  },
  cerebras: {
    ...OTHER,
    bodyKeys: BODY_KEYS.filter((key) => !['presence_penalty', 'frequency_penalty'].includes(key)),
    assistantKeys: [...OTHER.assistantKeys, 'reasoning'],
  },
  perplexity: {
    ...OTHER,
    bodyKeys: OTHER.bodyKeys.filter(
      (key) => !['tools', 'tool_choice', 'parallel_tool_calls', 'seed', 'stream_options'].includes(key),
    ),
    roleOrder: 'alternating',
  },
  minimax: {
    ...OTHER,
    bodyKeys: [
      ...BODY_KEYS.filter(
        (key) => !['max_tokens', 'reasoning_effort', 'seed', 'parallel_tool_calls'].includes(key),
      ),
      'thinking',
      'reasoning_split',
    ],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning_content', 'reasoning_details'],
    choices: [],
  },
  hunyuan: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'enable_thinking'],
    choices: ['named'],
    roleOrder: 'alternating',
  },
  volcengine: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'thinking'],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning_content'],
  },
  vllm: {
    ...OTHER,
    bodyKeys: [...OTHER.bodyKeys, 'top_k'],
    assistantKeys: [...OTHER.assistantKeys, 'reasoning', 'reasoning_content'],
    imageUrl: /^data:image\//,
  },
  compatible: {
    ...OTHER,
    assistantKeys: [...OTHER.assistantKeys, 'reasoning', 'reasoning_content', 'thinking_blocks'],
    imageUrl: /^data:image\//,
    assistantParts: ['thinking', 'reasoning'],
    callKeys: ['extra_content', 'provider_specific_fields'],
  },
} as const satisfies Record<string, ChatStrictness>;

/** Faults of a request by the rules of a Chat Completions API. */
export function openAiChatFaults(body: JsonObject, strict: ChatStrictness = OPENAI): string[] {
  const faults = new Faults();
  faults.object(body, 'body', strict.bodyKeys);
  faults.text(body['model'], 'model');
  faults.must(body['stream_options'] === undefined || body['stream'] === true, 'stream_options needs stream');
  checkMessages(faults, faults.items(body['messages'], 'messages'), strict);
  checkTools(faults, body, strict);
  checkOptions(faults, body, body['reasoning_effort']);
  checkToolsWithEffort(faults, body);
  checkCharacters(faults, body, 'body');
  return faults.list;
}

const LOW_TO_HIGH = ['low', 'medium', 'high'];

/** Statements of the vendors about their models: known efforts, and whether sampling is supported. */
export const MODELS: Readonly<
  Record<
    string,
    { efforts: readonly string[]; sampling: 'always' | 'with none' | 'never'; penalties: boolean }
  >
> = {
  'gpt-4.1': { efforts: [], sampling: 'always', penalties: true },
  'gpt-4o-mini': { efforts: [], sampling: 'always', penalties: true },
  'gpt-35-turbo': { efforts: [], sampling: 'always', penalties: true },
  'ft:gpt-4.1:me:x': { efforts: [], sampling: 'always', penalties: true },
  'gpt-4o-mini-search-preview': { efforts: [], sampling: 'never', penalties: false },
  'gpt-5-chat-latest': { efforts: [], sampling: 'always', penalties: true },
  'o1-mini': { efforts: [], sampling: 'never', penalties: false },
  'o3-mini': { efforts: LOW_TO_HIGH, sampling: 'never', penalties: false },
  o3: { efforts: LOW_TO_HIGH, sampling: 'never', penalties: false },
  'ft:o4-mini:me:x': { efforts: LOW_TO_HIGH, sampling: 'never', penalties: false },
  'gpt-5': { efforts: ['minimal', ...LOW_TO_HIGH], sampling: 'never', penalties: false },
  'gpt-5-nano': { efforts: ['minimal', ...LOW_TO_HIGH], sampling: 'never', penalties: false },
  'gpt-5-pro': { efforts: ['high'], sampling: 'never', penalties: false },
  'gpt-5-codex': { efforts: LOW_TO_HIGH, sampling: 'never', penalties: false },
  'gpt-5.1-chat-latest': { efforts: ['medium'], sampling: 'never', penalties: false },
  'gpt-5.1-codex-max': { efforts: [...LOW_TO_HIGH, 'xhigh'], sampling: 'never', penalties: false },
  'gpt-5.1': { efforts: ['none', ...LOW_TO_HIGH], sampling: 'with none', penalties: false },
  'gpt-5.2': { efforts: ['none', ...LOW_TO_HIGH, 'xhigh'], sampling: 'with none', penalties: false },
  'gpt-5.2-pro': { efforts: ['medium', 'high', 'xhigh'], sampling: 'never', penalties: false },
  'gpt-5.3-codex': { efforts: [...LOW_TO_HIGH, 'xhigh'], sampling: 'never', penalties: false },
  'gpt-5.4-mini': { efforts: ['none', ...LOW_TO_HIGH, 'xhigh'], sampling: 'with none', penalties: false },
  'gpt-5.6-terra': { efforts: ['none', ...LOW_TO_HIGH, 'xhigh'], sampling: 'with none', penalties: false },
  'gpt-6': { efforts: [...LOW_TO_HIGH, 'xhigh'], sampling: 'never', penalties: false },
  'grok-3': { efforts: [], sampling: 'always', penalties: true },
  'grok-3-mini': { efforts: ['low', 'high'], sampling: 'always', penalties: false },
  'grok-4': { efforts: [], sampling: 'always', penalties: false },
  'grok-4-1-fast-non-reasoning': { efforts: [], sampling: 'always', penalties: false },
  'grok-4.20-0309-reasoning': { efforts: [], sampling: 'always', penalties: false },
  'grok-4.3': { efforts: ['none', ...LOW_TO_HIGH], sampling: 'always', penalties: false },
  'grok-4.5': { efforts: LOW_TO_HIGH, sampling: 'always', penalties: false },
  'kimi-k2.5': { efforts: [], sampling: 'never', penalties: false },
  'kimi-k3': { efforts: ['low', 'high', 'max'], sampling: 'never', penalties: false },
};

/** Faults by the rules of the model itself. Models outside of the list have no rules. */
export function checkOptions(faults: Faults, body: JsonObject, effort: unknown): void {
  const { model, stop } = body;
  const known = typeof model === 'string' && Object.hasOwn(MODELS, model) ? MODELS[model] : undefined;
  if (known === undefined) return;
  const of = `with ${String(model)}`;
  if (effort !== undefined) {
    faults.must(
      known.efforts.some((one) => one === effort),
      `the effort '${String(effort)}' is not supported ${of}`,
    );
  }
  const isQuiet = effort === 'none' || (effort === undefined && String(model).startsWith('gpt-5.4'));
  const isSampled = known.sampling === 'always' || (known.sampling === 'with none' && isQuiet);
  for (const key of ['temperature', 'top_p']) {
    faults.must(isSampled || body[key] === undefined, `${key} is not supported ${of}`);
  }
  for (const key of ['presence_penalty', 'frequency_penalty']) {
    faults.must(known.penalties || body[key] === undefined, `${key} is not supported ${of}`);
  }
  const isThinker = /^(ft:)?o\d|^gpt-[5-9](?!-chat)|^grok-(3-mini|4)(?!.*non-reasoning)/.test(String(model));
  faults.must(!isThinker || stop === undefined, `stop is not supported ${of}`);
  const isOld = /^(ft:)?o\d/.test(String(model)) && body['messages'] !== undefined;
  faults.must(
    !isOld || body['parallel_tool_calls'] === undefined,
    `parallel_tool_calls is not supported ${of}`,
  );
}

/** Some models think together with tools in the Responses API only. */
function checkToolsWithEffort(faults: Faults, body: JsonObject): void {
  const { model, tools, reasoning_effort: effort } = body;
  if (tools === undefined) return;
  if (String(model).startsWith('gpt-5.4'))
    faults.must(effort === undefined, 'function tools with reasoning_effort');
  if (String(model).startsWith('gpt-5.6'))
    faults.must(effort === 'none', "function tools want the effort 'none'");
}

/** Half a character can be written in JSON, but it is no text. */
export function checkCharacters(faults: Faults, value: unknown, at: string): void {
  if (typeof value === 'string') faults.must(value.isWellFormed(), `${at} holds half a character`);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    faults.must(key.isWellFormed(), `${at} has a key with half a character`);
    checkCharacters(faults, part, `${at}.${key}`);
  }
}

function checkMessages(faults: Faults, messages: readonly unknown[], strict: ChatStrictness): void {
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
      const keys = strict.takesNames ? ['role', 'content', 'name'] : ['role', 'content'];
      if (faults.object(message, at, keys)) checkUser(faults, message, at, strict);
    } else if (role === 'assistant') open = checkAssistant(faults, message, at, strict);
    else faults.must(false, `${at}.role is '${String(role)}'`);
  });
  faults.must(open.length === 0, `no results for ${open.join(', ')}`);
  checkRoles(
    faults,
    messages.map((message) => String((message as JsonObject)['role'])),
    strict,
  );
}

/** Some vendors reject roles in an order that others accept. */
function checkRoles(faults: Faults, roles: readonly string[], { roleOrder }: ChatStrictness): void {
  if (roleOrder === undefined) return;
  if (roleOrder === 'assistant_after_tool') {
    roles.forEach((role, i) =>
      faults.must(
        roles[i - 1] !== 'tool' || role === 'tool' || role === 'assistant',
        `Unexpected role '${role}' after role 'tool'`,
      ),
    );
    return;
  }
  const talk = roles.slice(roles.findIndex((role) => role !== 'system'));
  talk.forEach((role, i) => {
    const before = talk[i - 1] ?? 'assistant';
    const isTurn = role === 'assistant' ? before !== 'assistant' : before === 'assistant';
    faults.must(isTurn || (role === 'tool' && before === 'tool'), `'${role}' after '${before}'`);
    faults.must(role !== 'system', 'system messages must come first');
  });
  faults.must(talk.at(-1) !== 'assistant', 'the last message must be of the user or a tool');
}

function checkUser(faults: Faults, message: JsonObject, at: string, strict: ChatStrictness): void {
  if (message['name'] !== undefined) faults.text(message['name'], `${at}.name`, NAME);
  if (typeof message['content'] === 'string') return void faults.text(message['content'], `${at}.content`);
  const parts = faults.items(message['content'], `${at}.content`);
  faults.must(parts.length > 0, `${at}.content must not be empty`);
  parts.forEach((part, j) => checkPart(faults, part, `${at}.content[${j}]`, strict));
}

function checkPart(faults: Faults, part: unknown, at: string, strict: ChatStrictness): void {
  const type = (part as JsonObject)['type'];
  if (type === 'text') {
    if (faults.object(part, at, ['type', 'text'])) faults.text(part['text'], `${at}.text`);
  } else if (type === 'image_url') {
    if (!faults.object(part, at, ['type', 'image_url'])) return;
    const image = part['image_url'];
    if (faults.object(image, at, ['url', 'detail'])) faults.text(image['url'], `${at}.url`, strict.imageUrl);
  } else if (type === 'input_audio') {
    if (!faults.object(part, at, ['type', 'input_audio'])) return;
    const audio = part['input_audio'];
    if (!faults.object(audio, at, ['data', 'format'])) return;
    faults.text(audio['data'], `${at}.data`, strict.audioData);
    faults.text(audio['format'], `${at}.format`, /^(wav|mp3)$/);
  } else if (type === 'file') {
    if (!faults.object(part, at, ['type', 'file'])) return;
    faults.object(part['file'], at, ['filename', 'file_data', 'file_id']);
  } else faults.must(false, `${at}.type is '${String(type)}'`);
}

/** The ids of its calls. */
function checkAssistant(faults: Faults, message: unknown, at: string, strict: ChatStrictness): string[] {
  if (!faults.object(message, at, strict.assistantKeys)) return [];
  if (message['name'] !== undefined) faults.text(message['name'], `${at}.name`, NAME);
  const { content, tool_calls: calls } = message;
  checkSigned(faults, message['thinking_blocks'], `${at}.thinking_blocks`);
  if (Array.isArray(content) && strict.assistantParts !== undefined) {
    for (const part of content as readonly JsonObject[])
      if (part['type'] === 'reasoning') checkSigned(faults, part['summary'], `${at}.content.summary`);
    const types = faults.items(content, `${at}.content`).map((part) => String((part as JsonObject)['type']));
    faults.must(
      strict.assistantParts.includes(types[0] ?? '') && !types.slice(1).some((type) => type !== 'text'),
      `${at}.content`,
    );
  } else if (content !== null || calls === undefined) faults.text(content, `${at}.content`);
  if (calls === undefined) return [];
  const list = faults.items(calls, `${at}.tool_calls`);
  faults.must(list.length > 0, `${at}.tool_calls must not be empty`);
  if (strict.thinkingField !== undefined)
    faults.text(message[strict.thinkingField], `${at}.${strict.thinkingField}`);
  const ids = list.map((call, j) => {
    const path = `${at}.tool_calls[${j}]`;
    if (!faults.object(call, path, ['id', 'type', 'function', ...(strict.callKeys ?? [])])) return '';
    checkSignature(faults, call['extra_content'], `${path}.extra_content`);
    faults.text(call['id'], `${path}.id`, strict.callId);
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

/** Thinking of Claude, which LiteLLM and Databricks refuse without a signature. */
function checkSigned(faults: Faults, blocks: unknown, at: string): void {
  if (blocks === undefined) return;
  for (const block of faults.items(blocks, at) as readonly JsonObject[]) {
    if (block['type'] === 'redacted_thinking') faults.text(block['data'], `${at}.data`);
    else faults.text(block['signature'], `${at}.signature`);
  }
}

/** Checks the signature of Gemini that stands with a tool call, at Google's compatible API. */
function checkSignature(faults: Faults, extra: unknown, at: string): void {
  if (extra === undefined || !faults.object(extra, at, ['google'])) return;
  if (faults.object(extra['google'], `${at}.google`, ['thought_signature']))
    faults.text(extra['google']['thought_signature'], `${at}.google.thought_signature`);
}

function checkTools(faults: Faults, body: JsonObject, strict: ChatStrictness): void {
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
  if (choice === undefined || choice === 'auto' || choice === 'none') return;
  const kind = choice === 'required' ? 'required' : 'named';
  faults.must(strict.choices.includes(kind), `tool_choice must not be ${kind}`);
  if (kind === 'required') return;
  if (!faults.object(choice, 'tool_choice', ['type', 'function'])) return;
  const name = (choice['function'] as JsonObject)['name'];
  faults.must(names.includes(name as string), `tool_choice names ${String(name)}`);
}
