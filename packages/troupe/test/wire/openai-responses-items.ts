import type { JsonObject } from '../../src/util/json.ts';
import type { Faults } from './check.ts';

/** Keys of items that OpenAI has run itself, as the API takes them back. */
const PROVIDER_ITEMS: Readonly<Record<string, readonly string[]>> = {
  web_search_call: ['id', 'status', 'action', 'call_id', 'name', 'arguments'], // the last three at xAI
  file_search_call: ['id', 'status', 'queries', 'results'],
  x_search_call: ['id', 'status', 'call_id', 'name', 'arguments'],
  code_interpreter_call: [
    'id',
    'status',
    'code',
    'container_id',
    'outputs',
    'call_id',
    'name',
    'arguments', // the last three at xAI
  ],
  program: ['id', 'call_id', 'code', 'fingerprint'],
  program_output: ['id', 'call_id', 'status', 'result'],
  compaction: ['id', 'encrypted_content'],
  image_generation_call: [
    'id',
    'status',
    'result',
    'background',
    'output_format',
    'quality',
    'revised_prompt',
    'size',
  ],
  mcp_list_tools: ['id', 'server_label', 'tools', 'error'],
  mcp_call: ['id', 'status', 'arguments', 'name', 'server_label', 'output', 'error', 'approval_request_id'],
};

/** Calls run by the program: keys of the call, type of the answering item, keys of that item. */
const CLIENT_CALLS: Readonly<
  Record<string, readonly [keys: string[], answer: string, answerKeys: string[]]>
> = {
  custom_tool_call: [
    ['id', 'call_id', 'name', 'input', 'status'],
    'custom_tool_call_output',
    ['call_id', 'output'],
  ],
  local_shell_call: [['id', 'call_id', 'action', 'status'], 'local_shell_call_output', ['call_id', 'output']],
  shell_call: [
    ['id', 'call_id', 'action', 'status', 'environment'],
    'shell_call_output',
    ['call_id', 'output', 'max_output_length'],
  ],
  computer_call: [
    ['id', 'call_id', 'status', 'action', 'actions', 'pending_safety_checks'],
    'computer_call_output',
    ['call_id', 'output', 'acknowledged_safety_checks'],
  ],
  tool_search_call: [
    ['id', 'call_id', 'status', 'arguments', 'execution'],
    'tool_search_output',
    ['call_id', 'status', 'execution', 'tools', 'id'],
  ],
  apply_patch_call: [
    ['id', 'call_id', 'operation', 'status'],
    'apply_patch_call_output',
    ['call_id', 'status', 'output'],
  ],
  mcp_approval_request: [
    ['id', 'arguments', 'name', 'server_label'],
    'mcp_approval_response',
    ['approval_request_id', 'approve', 'reason'],
  ],
};
const ANSWERS = new Map(
  Object.entries(CLIENT_CALLS).map(([type, [, answer, keys]]) => [answer, [type, keys]] as const),
);

/** Whether a call, or its result, is one of a type that programs run too, but OpenAI has run this one. */
function isHosted({ type, environment, execution, id, call_id }: JsonObject): boolean {
  if (type === 'custom_tool_call') return String(call_id).startsWith('xs_call_'); // the search of xAI
  if (type === 'tool_search_call' || type === 'tool_search_output') return execution === 'server';
  return (
    (type === 'shell_call' && environment !== undefined) || (type === 'shell_call_output' && id !== undefined)
  );
}

/** Checks an item that is no message, reasoning or function call. Returns whether such an item exists. */
export function checkItem(faults: Faults, item: JsonObject, at: string, open: Map<unknown, string>): boolean {
  const type = String(item['type']);
  const own = Object.hasOwn(PROVIDER_ITEMS, type) ? PROVIDER_ITEMS[type] : undefined;
  if (own !== undefined) {
    if (faults.object(item, at, ['type', ...own])) faults.text(item['id'], `${at}.id`);
    return true;
  }
  if (isHosted(item)) {
    const keys = CLIENT_CALLS[type]?.[0] ?? ANSWERS.get(type)?.[1] ?? [];
    if (faults.object(item, at, ['type', 'id', 'status', ...keys])) faults.text(item['id'], `${at}.id`);
    return true;
  }
  const call = Object.hasOwn(CLIENT_CALLS, type) ? CLIENT_CALLS[type] : undefined;
  if (call !== undefined) {
    if (!faults.object(item, at, ['type', ...call[0]])) return true;
    const id = item[type === 'mcp_approval_request' ? 'id' : 'call_id'];
    faults.text(id, `${at}: id of the call`);
    open.set(id, type);
    return true;
  }
  const [asked, keys] = ANSWERS.get(type) ?? [];
  if (asked === undefined || keys === undefined) return false;
  if (!faults.object(item, at, ['type', ...keys])) return true;
  const id = item['call_id'] ?? item['approval_request_id'];
  faults.must(open.get(id) === asked, `${at}: No tool call found for ${type} with call_id ${String(id)}`);
  open.delete(id);
  if (type === 'computer_call_output') {
    const { output } = item;
    if (faults.object(output, `${at}.output`, ['type', 'image_url', 'file_id']))
      faults.text(output['image_url'], `${at}.output.image_url`, /^(https?:|data:image\/)/);
  }
  return true;
}
