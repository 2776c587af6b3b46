import { isJsonObject, type JsonObject } from '../../src/util/json.ts';
import { Faults, isLike } from './check.ts';

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const CALL_ID = /^[a-zA-Z0-9_-]{1,64}$/;
const IMAGE_TYPE = /^image\/(jpeg|png|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** Half a character, which JSON writes as an escape. */
const HALF_CHARACTER = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;
const PROMPT_KEYS = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'cache_control',
  'output_config',
];
const BODY_KEYS = [
  ...PROMPT_KEYS,
  'max_tokens',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
  'service_tier',
  'container',
  'mcp_servers',
  'inference_geo',
];

/** Faults of a request by the rules of Anthropic's Messages API. */
export function anthropicFaults(body: JsonObject): string[] {
  const faults = new Faults();
  faults.object(body, 'body', BODY_KEYS);
  const max = body['max_tokens'];
  faults.must(Number.isInteger(max) && Number(max) >= 1, 'max_tokens must be a positive integer');
  checkSampling(faults, body);
  checkPrompt(faults, body);
  checkThinking(faults, body);
  checkServerTools(faults, body);
  return faults.list;
}

/** Faults of a request by the rules of the endpoint that counts tokens. */
export function anthropicCountFaults(body: JsonObject): string[] {
  const faults = new Faults();
  faults.object(body, 'body', PROMPT_KEYS);
  checkPrompt(faults, body);
  return faults.list;
}

/** Differences between the generations, independent of the adapter's table. */
function generation(body: JsonObject): {
  thinks: 'budget' | 'adaptive';
  samples: 'one' | 'none';
  forces: boolean;
  turnsOff: boolean;
} {
  const [, major = '4', minor = '0'] = /-(\d)(?:-(\d)(?!\d))?/.exec(String(body['model'])) ?? [];
  const version = Number(`${major}.${minor}`);
  return {
    thinks: version >= 4.6 ? 'adaptive' : 'budget',
    samples: version >= 4.7 ? 'none' : 'one',
    forces: version < 5.5,
    turnsOff: version < 5.5,
  };
}

function checkSampling(faults: Faults, body: JsonObject): void {
  const { temperature, top_p: topP, top_k: topK, stop_sequences: stops } = body;
  const given = [temperature, topP, topK].filter((value) => value !== undefined);
  const { samples } = generation(body);
  if (samples === 'none') faults.must(given.length === 0, 'temperature, top_p and top_k are deprecated');
  faults.must(temperature === undefined || topP === undefined, 'temperature and top_p exclude each other');
  if (temperature !== undefined)
    faults.must(Number(temperature) >= 0 && Number(temperature) <= 1, 'temperature is from 0 to 1');
  if (stops === undefined) return;
  faults.items(stops, 'stop_sequences').forEach((stop, i) => faults.text(stop, `stop_sequences[${i}]`));
}

function checkPrompt(faults: Faults, body: JsonObject): void {
  faults.must(!HALF_CHARACTER.test(JSON.stringify(body)), 'the body holds half a character');
  faults.text(body['model'], 'model');
  let marks = mark(faults, body, 'body');
  if (body['system'] !== undefined) {
    const blocks = faults.items(body['system'], 'system');
    faults.must(blocks.length > 0, 'system must not be empty');
    blocks.forEach((block, i) => {
      const at = `system[${i}]`;
      if (!faults.object(block, at, ['type', 'text', 'cache_control'])) return;
      faults.must(block['type'] === 'text', `${at}.type must be 'text'`);
      faults.text(block['text'], `${at}.text`);
      marks += mark(faults, block, at);
    });
  }
  marks += checkTools(faults, body);
  faults.must(marks <= 4, 'at most 4 blocks may have cache_control');
  checkMessages(faults, faults.items(body['messages'], 'messages'));
}

/** Number of marks at this place: one or none. */
function mark(faults: Faults, holder: JsonObject, at: string): number {
  const control = holder['cache_control'];
  if (control === undefined) return 0;
  if (!faults.object(control, `${at}.cache_control`, ['type', 'ttl'])) return 1;
  faults.must(control['type'] === 'ephemeral', `${at}.cache_control.type must be 'ephemeral'`);
  faults.must([undefined, '5m', '1h'].includes(control['ttl'] as string), `${at}.cache_control.ttl is wrong`);
  return 1;
}

/** Messages of one role in a row are one turn. */
function checkMessages(faults: Faults, messages: readonly unknown[]): void {
  faults.must(messages.length > 0, 'messages must not be empty');
  const turns: { role: unknown; blocks: JsonObject[] }[] = [];
  messages.forEach((message, i) => {
    const at = `messages[${i}]`;
    if (!faults.object(message, at, ['role', 'content'])) return;
    const { role } = message;
    faults.must(role === 'user' || role === 'assistant', `${at}.role is '${String(role)}'`);
    const content = faults.items(message['content'], `${at}.content`);
    faults.must(content.length > 0, `${at}.content must not be empty`);
    content.forEach((block, j) => checkBlock(faults, role, block, `${at}.content[${j}]`));
    if (turns.at(-1)?.role !== role) turns.push({ role, blocks: [] });
    turns.at(-1)?.blocks.push(...content.filter((block) => isJsonObject(block)));
  });
  faults.must(turns[0]?.role === 'user', 'the first message must be of the user');
  const end = turns.at(-1);
  const isPausedTurn = /^(server|mcp)_tool_use$/.test(String(end?.blocks.at(-1)?.['type']));
  faults.must(end?.role === 'user' || isPausedTurn, 'the conversation must end with a user message');
  const ids = turns.flatMap(({ blocks }) => idsIn(blocks, 'tool_use', 'id'));
  faults.unique(ids, 'ids of tool_use blocks');
  turns.forEach(({ role, blocks }, i) => {
    if (role === 'assistant') {
      faults.must(!/thinking/.test(String(blocks.at(-1)?.['type'])), 'the final block must not be thinking');
      return;
    }
    const calls = i === 0 ? [] : idsIn(turns[i - 1]!.blocks, 'tool_use', 'id');
    const results = idsIn(blocks, 'tool_result', 'tool_use_id');
    const firstOther = blocks.findIndex(({ type }) => type !== 'tool_result');
    const lastResult = blocks.findLastIndex(({ type }) => type === 'tool_result');
    faults.must(firstOther === -1 || lastResult < firstOther, `turn ${i}: results must come first`);
    faults.unique(results, `results of turn ${i}`);
    faults.must(
      calls.length === results.length && calls.every((id) => results.includes(id)),
      `turn ${i}: ${results.join()} are no results of ${calls.join()}`,
    );
  });
}

function idsIn(blocks: readonly JsonObject[], type: string, key: string): unknown[] {
  return blocks.filter((block) => block['type'] === type).map((block) => block[key]);
}

const BLOCKS: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'image', 'document', 'tool_result'],
  assistant: [
    'text',
    'thinking',
    'redacted_thinking',
    'tool_use',
    'server_tool_use',
    'mcp_tool_use',
    'compaction',
    'fallback',
    ...'web_search web_fetch code_execution bash_code_execution text_editor_code_execution tool_search mcp advisor'
      .split(' ')
      .map((name) => `${name}_tool_result`),
  ],
  tool_result: ['text', 'image', 'document'],
};

function checkBlock(faults: Faults, holder: unknown, block: unknown, at: string): void {
  if (!faults.must(isJsonObject(block), `${at} must be an object`)) return;
  const type = String((block as JsonObject)['type']);
  faults.must(BLOCKS[String(holder)]?.includes(type) ?? false, `${at} may not be ${type}`);
  switch (type) {
    case 'text':
      if (!faults.object(block, at, ['type', 'text', ...(holder === 'assistant' ? ['citations'] : [])]))
        return;
      faults.text(block['text'], `${at}.text`);
      return checkCitations(faults, block['citations'], at);
    case 'server_tool_use':
    case 'mcp_tool_use':
      if (!faults.object(block, at, ['type', 'id', 'name', 'input', 'caller', 'server_name'])) return;
      faults.text(block['id'], `${at}.id`, type === 'mcp_tool_use' ? /^mcptoolu_\w+$/ : /^srvtoolu_\w+$/);
      faults.must(isLike(block['input'], 'object'), `${at}.input must be an object`);
      return;
    case 'compaction':
      if (faults.object(block, at, ['type', 'content']))
        faults.must(isLike(block['content'], 'string', 'null'), `${at}.content must be text`);
      return;
    case 'fallback':
      faults.object(block, at, ['type', 'from', 'to']);
      return;
    case 'thinking':
      if (!faults.object(block, at, ['type', 'thinking', 'signature'])) return;
      faults.must(isLike(block['thinking'], 'string'), `${at}.thinking must be text`);
      faults.text(block['signature'], `${at}.signature`, /^E[A-Za-z0-9+/]{8,}=*$/);
      return;
    case 'redacted_thinking':
      if (faults.object(block, at, ['type', 'data'])) faults.text(block['data'], `${at}.data`);
      return;
    case 'tool_use':
      if (!faults.object(block, at, ['type', 'id', 'name', 'input', 'caller'])) return;
      faults.text(block['id'], `${at}.id`, CALL_ID);
      faults.text(block['name'], `${at}.name`, TOOL_NAME);
      faults.must(isLike(block['input'], 'object'), `${at}.input must be an object`);
      return;
    case 'tool_result':
      return checkResult(faults, block, at);
    case 'image':
      if (faults.object(block, at, ['type', 'source'])) checkSource(faults, block['source'], at, IMAGE_TYPE);
      return;
    case 'document':
      if (!faults.object(block, at, ['type', 'source', 'title'])) return;
      if (block['title'] !== undefined) faults.text(block['title'], `${at}.title`);
      checkSource(faults, block['source'], at, /^application\/pdf$/);
  }
}

const LOCATION = /^(web_search_result|char|page|content_block|search_result)_location$/;

function checkCitations(faults: Faults, citations: unknown, at: string): void {
  if (citations === undefined) return;
  for (const citation of faults.items(citations, `${at}.citations`)) {
    const { type, encrypted_index: index } = citation as JsonObject;
    faults.text(type, `${at}.citations.type`, LOCATION);
    if (type === 'web_search_result_location') faults.text(index, `${at}.citations.encrypted_index`);
  }
}

/** Server calls have their result behind them; without one they must wait for tool results or be paused, at the very end. */
function checkServerTools(faults: Faults, body: JsonObject): void {
  const messages = faults.items(body['messages'], 'messages') as readonly JsonObject[];
  const blocks = messages.flatMap(({ content }) => content as readonly JsonObject[]);
  const calls = blocks.filter(({ type }) => /^(server|mcp)_tool_use$/.test(String(type)));
  const results = blocks.filter(({ type }) => /._tool_result$/.test(String(type)));
  const idsOf = (list: readonly JsonObject[], key: string): unknown[] => list.map((block) => block[key]);
  faults.unique(idsOf(calls, 'id'), 'ids of server tools');
  for (const { tool_use_id: id } of results)
    faults.must(idsOf(calls, 'id').includes(id), `a result of server tool ${String(id)} has no call`);
  const sources = blocks.flatMap(({ type, caller }) =>
    type === 'tool_use' || type === 'server_tool_use'
      ? [(caller as JsonObject | undefined)?.['tool_id']]
      : [],
  );
  for (const source of sources.filter((id) => id !== undefined))
    faults.must(idsOf(calls, 'id').includes(source), `source tool ${String(source)} not found`);
  const last = messages.at(-1)!;
  const isPaused = last['role'] === 'assistant';
  const isWaiting = (last['content'] as readonly JsonObject[]).every(({ type }) => type === 'tool_result');
  // Beside tool calls of the program, a server tool runs when their results are there.
  const waiting = idsOf((messages.at(-2)?.['content'] ?? []) as readonly JsonObject[], 'id');
  for (const { id } of calls) {
    const isLeft = !idsOf(results, 'tool_use_id').includes(id);
    faults.must(
      !isLeft || isPaused || (isWaiting && (sources.includes(id) || waiting.includes(id))),
      `server tool ${String(id)} was found without a corresponding result`,
    );
    if (isLeft && !isPaused && sources.includes(id))
      faults.text(body['container'], 'container is required while code waits');
  }
  const names = ((body['tools'] ?? []) as readonly JsonObject[]).map(({ name }) => name);
  for (const name of JSON.stringify(results).matchAll(/"tool_name":"([^"]*)"/g))
    faults.must(names.includes(name[1]), `Tool reference '${name[1]}' not found in available tools`);
}

function checkResult(faults: Faults, result: unknown, at: string): void {
  if (!faults.object(result, at, ['type', 'tool_use_id', 'content', 'is_error'])) return;
  faults.text(result['tool_use_id'], `${at}.tool_use_id`, CALL_ID);
  faults.must(isLike(result['is_error'], 'undefined', 'boolean'), `${at}.is_error must be a boolean`);
  const { content } = result;
  faults.must(content !== undefined || result['is_error'] !== true, `${at}: an error must say something`);
  if (content === undefined) return;
  const blocks = faults.items(content, `${at}.content`);
  faults.must(blocks.length > 0, `${at}.content must not be empty`);
  blocks.forEach((block, i) => checkBlock(faults, 'tool_result', block, `${at}.content[${i}]`));
}

function checkSource(faults: Faults, source: unknown, at: string, types: RegExp): void {
  if (!faults.must(isJsonObject(source), `${at}.source must be an object`)) return;
  const { type } = source as JsonObject;
  if (type === 'url') {
    if (faults.object(source, at, ['type', 'url'])) faults.text(source['url'], `${at}.source.url`, /^https:/);
  } else if (type === 'text') {
    if (!faults.object(source, at, ['type', 'media_type', 'data'])) return;
    faults.text(source['media_type'], `${at}.source.media_type`, /^text\/plain$/);
    faults.text(source['data'], `${at}.source.data`);
    faults.must(types.test('application/pdf'), `${at}.source of type text is for documents`);
  } else if (type === 'base64') {
    if (!faults.object(source, at, ['type', 'media_type', 'data'])) return;
    faults.text(source['media_type'], `${at}.source.media_type`, types);
    faults.text(source['data'], `${at}.source.data`, BASE64);
  } else faults.must(false, `${at}.source.type is '${String(type)}'`);
}

/** Number of marks among the tools. */
function checkTools(faults: Faults, body: JsonObject): number {
  const { tools, tool_choice: choice } = body;
  if (tools === undefined) {
    faults.must(choice === undefined, 'tool_choice needs tools');
    const hasCalls = JSON.stringify(body['messages']).includes('"type":"tool_use"');
    faults.must(!hasCalls, 'messages with tool_use need tools');
    return 0;
  }
  let marks = 0;
  const list = faults.items(tools, 'tools');
  faults.must(list.length > 0, 'tools must not be empty');
  const names = list.map((tool, i) => {
    const at = `tools[${i}]`;
    if (isJsonObject(tool) && tool['type'] !== undefined) return checkServerTool(faults, tool, at, body);
    const own = ['name', 'description', 'input_schema', 'cache_control', 'defer_loading', 'allowed_callers'];
    if (!faults.object(tool, at, own)) return '';
    if (tool['defer_loading']) faults.must(!tool['cache_control'], `${at}: defer_loading can't be cached`);
    faults.text(tool['name'], `${at}.name`, TOOL_NAME);
    faults.must(isLike(tool['description'], 'undefined', 'string'), `${at}.description must be text`);
    const schema = tool['input_schema'];
    faults.must(isJsonObject(schema) && schema['type'] === 'object', `${at}.input_schema.type is required`);
    marks += mark(faults, tool, at);
    return tool['name'];
  });
  faults.unique(names, 'tool names');
  if (choice !== undefined) checkChoice(faults, choice, names, generation(body).forces);
  return marks;
}

const SERVER_TOOL =
  /^(web_search|web_fetch|code_execution|tool_search_tool_(bm25|regex))_\d{8}$|^mcp_toolset$/;

function checkServerTool(faults: Faults, tool: JsonObject, at: string, body: JsonObject): string {
  faults.text(tool['type'], `${at}.type`, SERVER_TOOL);
  if (tool['type'] !== 'mcp_toolset') return String(tool['name']);
  const servers = faults.items(body['mcp_servers'], 'mcp_servers') as readonly JsonObject[];
  const name = String(tool['mcp_server_name']);
  faults.must(
    servers.some((server) => server['name'] === name),
    `${at} names no MCP server`,
  );
  return `mcp ${name}`;
}

function checkChoice(faults: Faults, choice: unknown, names: readonly unknown[], forces: boolean): void {
  const { type } = choice as JsonObject;
  faults.must(['auto', 'any', 'tool', 'none'].includes(String(type)), `tool_choice.type is ${String(type)}`);
  if (!forces)
    faults.must(type === 'auto' || type === 'none', `tool_choice ${String(type)} is not supported`);
  const keys = type === 'none' ? [] : ['disable_parallel_tool_use'];
  if (!faults.object(choice, 'tool_choice', ['type', ...keys, ...(type === 'tool' ? ['name'] : [])])) return;
  if (type === 'tool') faults.must(names.includes(choice['name']), 'tool_choice names no tool');
}

function checkThinking(faults: Faults, body: JsonObject): void {
  const { thinking, max_tokens: max, tool_choice: choice } = body;
  const { thinks, turnsOff } = generation(body);
  if (body['output_config'] !== undefined) {
    faults.object(body['output_config'], 'output_config', ['effort', 'format']);
    faults.must(
      thinks === 'adaptive' || !('effort' in (body['output_config'] as object)),
      'effort is unknown',
    );
  }
  if (thinking === undefined) return;
  if (!faults.must(isJsonObject(thinking), 'thinking must be an object')) return;
  const { type, budget_tokens: budget } = thinking as JsonObject;
  if (type === 'enabled') {
    faults.object(thinking, 'thinking', ['type', 'budget_tokens']);
    faults.must(thinks === 'budget', 'thinking.type.enabled is not supported for this model');
    faults.must(Number.isInteger(budget) && Number(budget) >= 1024, 'budget_tokens must be at least 1024');
    faults.must(Number(budget) < Number(max), 'max_tokens must be greater than budget_tokens');
    faults.must(!isForcing(choice), 'thinking may not be enabled when tool_choice forces tool use');
    for (const key of ['temperature', 'top_p', 'top_k'])
      faults.must(!(key in body), `${key} may not be set when thinking is enabled`);
    checkTurnStart(faults, faults.items(body['messages'], 'messages'));
  } else if (type === 'adaptive') {
    faults.object(thinking, 'thinking', ['type', 'display', 'block_binding']);
    faults.must(thinks === 'adaptive', 'adaptive thinking is not supported on this model');
  } else if (type === 'disabled') faults.must(turnsOff, 'thinking.type.disabled is not supported');
  else faults.must(type === 'between_tools' && !turnsOff, `thinking.type is ${String(type)}`);
}

function isForcing(choice: unknown): boolean {
  return isJsonObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool');
}

/** The turn whose results are sent must have begun with thinking. */
function checkTurnStart(faults: Faults, messages: readonly unknown[]): void {
  const blocksOf = (message: unknown): readonly JsonObject[] =>
    ((message as JsonObject | undefined)?.['content'] as readonly JsonObject[] | undefined) ?? [];
  const isResults = (message: unknown): boolean =>
    blocksOf(message).every(({ type }) => type === 'tool_result');
  if (!isResults(messages.at(-1))) return;
  const asked = messages.findLastIndex(
    (message) => (message as JsonObject)['role'] === 'user' && !isResults(message),
  );
  const type = String(blocksOf(messages[asked + 1])[0]?.['type']);
  faults.must(/thinking/.test(type), `expected thinking or redacted_thinking, but found ${type}`);
}
