import { isJsonObject, readJson, copyJsonObject, type JsonObject } from '../../util/json.ts';

/** Error of JSON-RPC itself. Those of A2A are made by the package. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
}

/** A request, or the error to answer with; `id` is the id for the answer. */
export type RpcRequest =
  | { readonly body: JsonObject & { readonly method: string }; readonly id: string | number | null }
  | { readonly error: RpcError; readonly id: string | number | null };

const MAX_JSON = { maxDepth: 100 };

const METHODS: ReadonlySet<unknown> = new Set([
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
]);

/** Reads a JSON-RPC request: the envelope only. A list of requests is refused: A2A has none. */
export function readRpcRequest(text: string): RpcRequest {
  const json = readJson(text);
  if (json === undefined) return failed(null, -32700, 'The request is not JSON.');
  if (!isJsonObject(json)) return failed(null, -32600, 'Send one JSON-RPC request, as an object.');
  const { id = null, jsonrpc, method } = json;
  const isId = id === null || typeof id === 'string' || Number.isInteger(id);
  const answerId = isId ? (id as string | number | null) : null;
  if (!isId) return failed(null, -32600, 'id must be a text, a whole number or null.');
  if (jsonrpc !== '2.0') return failed(answerId, -32600, 'jsonrpc must be "2.0".');
  if (typeof method !== 'string' || method === '')
    return failed(answerId, -32600, 'method must be the name of a method.');
  try {
    return { body: { ...copyJsonObject(json, 'the request', MAX_JSON), method }, id: answerId };
  } catch {
    return failed(answerId, -32602, 'params are nested too deeply, or too large.');
  }
}

/** The error for a method that A2A does not have. */
export function unknownMethod(method: string): RpcError | undefined {
  return METHODS.has(method) ? undefined : { code: -32601, message: 'There is no such method.' };
}

/** Whether the name is one of protocol 0.3, whose clients are told that the version is not supported. */
export function isOldMethod(method: string): boolean {
  return /^(?:message\/(?:send|stream)|tasks\/(?:get|list|cancel|resubscribe|pushNotificationConfig\/\w+)|agent\/\w+)$/.test(
    method,
  );
}

function failed(id: string | number | null, code: number, message: string): RpcRequest {
  return { id, error: { code, message } };
}
