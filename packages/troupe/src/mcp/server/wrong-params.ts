import type { JSONRPCMessage, McpServer } from '@modelcontextprotocol/server';

import { isJsonObject, readJson } from '../../util/json.ts';
import { oneLine } from '../../util/text.ts';
import { mcpServerSdk } from '../protocol/sdk.ts';

const MAX_PROBLEMS = 3;
const MAX_CHARS = 300;

/**
 * Lets a server answer a request with wrong parameters by -32602 and the names of the fields. The package answers most of these
 * requests by -32603, as for a failure of the server, with a list of problems as JSON.
 */
export function answerWrongParams(server: McpServer['server']): void {
  const connect = server.connect.bind(server);
  server.connect = async (transport) => {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => send(withCode(message), options);
    await connect(transport);
  };
}

function withCode(message: JSONRPCMessage): JSONRPCMessage {
  const { InternalError, InvalidParams } = mcpServerSdk.ProtocolErrorCode;
  if (!('error' in message) || message.error.code !== InternalError) return message;
  const problem = problemIn(message.error.message);
  return problem === undefined ? message : { ...message, error: { code: InvalidParams, message: problem } };
}

/** Problems of a list of the package, in one line; undefined for other texts. */
function problemIn(text: string): string | undefined {
  const issues = readJson(text);
  if (!Array.isArray(issues) || issues.length === 0) return undefined;
  const problems = issues.map((issue: unknown) => {
    if (!isJsonObject(issue)) return undefined;
    const { path, message } = issue;
    return Array.isArray(path) && typeof message === 'string' ? `${path.join('.')}: ${message}` : undefined;
  });
  if (problems.includes(undefined)) return undefined;
  return oneLine(`Invalid params: ${problems.slice(0, MAX_PROBLEMS).join('; ')}`).slice(0, MAX_CHARS);
}
