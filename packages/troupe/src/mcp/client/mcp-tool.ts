import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

import { fingerprint } from '../../util/hash.ts';
import { tool, type Tool } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';
import { toolName } from '../protocol/tool-name.ts';
import type { CautiousCheck } from './cautious-check.ts';
import type { McpClient } from './mcp-client.ts';
import type { McpToolDefinition } from './tool-ledger.ts';

export interface McpToolOptions {
  /** How long a call may take. @default that of the client */
  readonly timeoutMs?: number | undefined;
  /** Whether the server's word is taken for what its tools do to the world. @default false */
  readonly trustHints?: boolean | undefined;
}

/** A tool of a server as a tool of ours. Unless its server is trusted, it is taken for one that changes something. */
export function mcpTool(
  client: McpClient,
  definition: McpToolDefinition,
  options: McpToolOptions = {},
): Tool {
  const { timeoutMs, trustHints = false } = options;
  const { name, description, inputSchema } = definition;
  const annotations = (trustHints && definition.annotations) || {};
  const { readOnlyHint = false, destructiveHint = true, idempotentHint = false } = annotations;
  return tool({
    name: toolName(name),
    ...(description !== undefined && { description }),
    schema: strangersSchema(inputSchema as JsonSchema),
    timeoutMs: Infinity, // the client has a limit of its own
    readOnly: readOnlyHint,
    sideEffect: !readOnlyHint && (destructiveHint || !idempotentHint),
    execute: (input: JsonObject, { signal, emit }) =>
      client.callTool(name, input, { signal, onProgress: emit, timeoutMs }),
  });
}

/** Shown as it is, and checked with caution. */
function strangersSchema(
  schema: JsonSchema,
): StandardSchemaV1<JsonObject> & StandardJSONSchemaV1<JsonObject> {
  const show = (): JsonSchema => schema;
  let check: CautiousCheck | undefined;
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp',
      jsonSchema: { input: show, output: show },
      validate: async (value) => {
        check ??= new (await import('./cautious-check.ts')).CautiousCheck(schema);
        const issues = check.problemsOf(value);
        return issues.length > 0 ? { issues } : { value: value as JsonObject };
      },
    },
  };
}

/** The names that a tool may get, from the nicest on: its own, `server__tool`, and one that nobody else has. */
export function namesOf(server: string, tool: string): readonly [string, string, string] {
  const own = toolName(tool);
  const prefix = toolName(server).slice(0, Math.max(62 - own.length, 16));
  const full = `${prefix}__${own}`.slice(0, 64);
  return [own, full, `${full.slice(0, 55)}_${fingerprint(`${server} ${tool}`).slice(0, 8)}`];
}
