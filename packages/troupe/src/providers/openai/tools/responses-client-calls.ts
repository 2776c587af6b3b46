import type { ToolResultBlock, ToolUseBlock } from '../../../message/blocks.ts';
import { plainOutput } from '../../../formatter/tool-output.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import { isJsonObject, readJson, type JsonObject } from '../../../util/json.ts';

/** Name of the tool that is asked before a remote MCP server is used. */
export const MCP_APPROVAL_TOOL = 'mcp_approval';

/** Rules to read and answer one type of call that the program runs, other than of a function. */
interface ClientCall {
  /** Name of the tool of the program; undefined where the item names it. */
  readonly tool?: string;
  /** Field of the item with the id of the call. @default 'call_id' */
  readonly idField?: string;
  readonly input: (item: JsonObject) => JsonObject;
  /** The input item with the result. */
  readonly output: (call: JsonObject, id: string, result: ToolResultBlock) => JsonObject;
}

const CLIENT_CALLS: Readonly<Record<string, ClientCall>> = {
  custom_tool_call: {
    input: ({ input }) => ({ input: stringOf(input) }),
    output: (_, id, result) => ({
      type: 'custom_tool_call_output',
      call_id: id,
      output: plainOutput(result),
    }),
  },
  local_shell_call: {
    tool: 'local_shell',
    input: ({ action }) => objectOf(action),
    output: (_, id, result) => ({
      type: 'local_shell_call_output',
      call_id: id,
      output: plainOutput(result),
    }),
  },
  shell_call: {
    tool: 'shell',
    input: ({ action }) => objectOf(action),
    output: shellOutput,
  },
  apply_patch_call: {
    tool: 'apply_patch',
    input: ({ operation }) => objectOf(operation),
    output: (_, id, result) => ({
      type: 'apply_patch_call_output',
      call_id: id,
      status: result.status === 'ok' ? 'completed' : 'failed',
      output: plainOutput(result),
    }),
  },
  computer_call: {
    tool: 'computer',
    input: ({ action, actions, pending_safety_checks: checks }) => ({
      actions: actions ?? (isJsonObject(action) ? [action] : []),
      ...(objectsOf(checks).length > 0 && { pending_safety_checks: objectsOf(checks) }),
    }),
    output: computerOutput,
  },
  tool_search_call: {
    tool: 'tool_search',
    input: ({ arguments: goal }) => objectOf(goal),
    output: (_, id, result) => ({
      type: 'tool_search_output',
      call_id: id,
      execution: 'client',
      status: 'completed',
      tools: result.status === 'ok' ? foundTools(result) : [],
    }),
  },
  mcp_approval_request: {
    tool: MCP_APPROVAL_TOOL,
    idField: 'id',
    input: ({ server_label: server, name, arguments: json }) => {
      const args = readJson(stringOf(json));
      return { server: stringOf(server), tool: stringOf(name), arguments: isJsonObject(args) ? args : {} };
    },
    output: (_, id, result) => ({
      type: 'mcp_approval_response',
      approval_request_id: id,
      approve: result.status === 'ok',
      ...(result.status !== 'ok' && { reason: plainOutput(result) }),
    }),
  },
};

/** Whether an item is a call that the program runs, other than of a function. Shells in a container run at OpenAI, as most tool searches do. */
export function isClientCall(item: JsonObject): boolean {
  const type = stringOf(item['type']);
  if (!Object.hasOwn(CLIENT_CALLS, type)) return false;
  if (type === 'tool_search_call') return item['execution'] === 'client';
  return type !== 'shell_call' || !stringOf(objectOf(item['environment'])['type']).startsWith('container');
}

/** Id, tool and input of a call that the program runs. */
export function readClientCall(item: JsonObject): { id: string; name: string; input: JsonObject } {
  const kind = CLIENT_CALLS[stringOf(item['type'])];
  if (kind === undefined) return { id: '', name: '', input: {} };
  const id = stringOf(item[kind.idField ?? 'call_id']);
  return { id, name: kind.tool ?? stringOf(item['name']), input: kind.input(item) };
}

/** The item of a tool call as OpenAI made it; undefined for a call of a function. @param id id of the call now */
export function wireClientCall({ providerMeta, id }: ToolUseBlock, metaKey: string): JsonObject | undefined {
  const item = objectOf(objectOf(providerMeta?.[metaKey])['item']);
  if (!isClientCall(item)) return undefined;
  const { idField = 'call_id' } = CLIENT_CALLS[stringOf(item['type'])] ?? {};
  return { ...item, [idField]: id };
}

/** The input item for the result of a tool call; undefined for a call of a function. */
export function wireClientOutput(
  call: ToolUseBlock | undefined,
  result: ToolResultBlock,
  metaKey: string,
): JsonObject | undefined {
  const item = call && wireClientCall(call, metaKey);
  if (item === undefined) return undefined;
  return CLIENT_CALLS[stringOf(item['type'])]?.output(item, result.id, result);
}

/** A screenshot with nothing on it, for a tool that has none: the API takes nothing else. */
const NO_SCREENSHOT =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The screenshot that the program's tool returned. Safety checks count as seen if the tool has run: they are in its input. */
function computerOutput(
  { pending_safety_checks: checks }: JsonObject,
  id: string,
  result: ToolResultBlock,
): JsonObject {
  const seen = result.status === 'ok' ? objectsOf(checks) : [];
  return {
    type: 'computer_call_output',
    call_id: id,
    output: { type: 'computer_screenshot', image_url: screenshotOf(result) ?? NO_SCREENSHOT },
    ...(seen.length > 0 && { acknowledged_safety_checks: seen }),
  };
}

function screenshotOf({ output }: ToolResultBlock): string | undefined {
  const image = typeof output === 'string' ? undefined : output.findLast(({ type }) => type === 'image');
  if (image?.type !== 'image') return undefined;
  const { source } = image;
  return source.type === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/** The words of a result that the item of the result has no place for; empty if there are none. */
export function wordsBeside(
  call: ToolUseBlock | undefined,
  result: ToolResultBlock,
  metaKey: string,
): string {
  const item = call && wireClientCall(call, metaKey);
  if (item?.['type'] !== 'computer_call' && item?.['type'] !== 'tool_search_call') return '';
  if (item['type'] === 'tool_search_call') return result.status === 'ok' ? '' : plainOutput(result);
  const { output } = result;
  const texts =
    typeof output === 'string' ? [output] : output.map((one) => (one.type === 'text' ? one.text : ''));
  return texts.filter((text) => /\S/.test(text)).join('\n');
}

/** The definitions of tools that a search of the program has found: its output is their JSON. */
function foundTools(result: ToolResultBlock): readonly JsonObject[] {
  const found = readJson(plainOutput(result));
  return objectsOf(isJsonObject(found) ? found['tools'] : found);
}

function shellOutput({ action }: JsonObject, id: string, result: ToolResultBlock): JsonObject {
  const limit = numberOf(objectOf(action)['max_output_length']);
  const text = plainOutput(result);
  const isOk = result.status === 'ok';
  return {
    type: 'shell_call_output',
    call_id: id,
    ...(limit !== undefined && { max_output_length: limit }),
    output: [
      {
        stdout: isOk ? text : '',
        stderr: isOk ? '' : text,
        outcome: { type: 'exit', exit_code: isOk ? 0 : 1 },
      },
    ],
  };
}
