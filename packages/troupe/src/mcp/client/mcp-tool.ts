import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

import { fingerprint } from '../../util/hash.ts';
import { cancelSuspendedWork } from '../../toolkit/tool/suspended-work.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import type { ToolResume } from '../../toolkit/tool/tool-suspension.ts';
import { tool, type Tool, type ToolContext } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';
import { toolName } from '../protocol/tool-name.ts';
import { AskingToolCall } from './requests/asking-tool-call.ts';
import type { UntrustedSchemaCheck } from './untrusted-schema-check.ts';
import type { McpCallOptions } from './mcp-connection.ts';
import type { McpToolDefinition } from './accepted-tools.ts';

/** The part of `McpClient` that a tool needs. */
export interface McpToolCaller {
  readonly name: string;
  callTool(name: string, input: JsonObject, options: McpCallOptions): Promise<unknown>;
}

export interface McpToolOptions {
  /** Time limit of a tool call. @default the client's */
  readonly timeoutMs?: number | undefined;
  /** Whether the server's hints decide if a tool has side effects. @default false */
  readonly trustHints?: boolean | undefined;
}

/**
 * Converts a tool of a server to a `Tool`. Unless the server is trusted, the tool counts as having side
 * effects.
 */
export function mcpTool(
  client: McpToolCaller,
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
    schema: untrustedSchema(inputSchema as JsonSchema),
    source: `mcp:${client.name}`,
    timeoutMs: Infinity, // the client limits the time
    readOnly: readOnlyHint,
    sideEffect: !readOnlyHint && (destructiveHint || !idempotentHint),
    execute: (input: JsonObject, context) => {
      const { signal, emit, agentName, isBackground = false, resume } = context;
      if (resume !== undefined) return resumed(client.name, resume, context);
      const canAsk = agentName !== undefined && !isBackground;
      if (!canAsk) return client.callTool(name, input, { signal, onProgress: emit, timeoutMs });
      return new AskingToolCall((options) => client.callTool(name, input, { ...options, timeoutMs })).next(
        context,
      );
    },
    onAbandoned: cancelSuspendedWork,
  });
}

/** Continues a tool call that was suspended for a question of the server. */
function resumed(server: string, { state, decisions }: ToolResume, context: ToolContext): unknown {
  const call = AskingToolCall.take(state);
  const [decision] = decisions;
  if (decision?.verdict === 'result') {
    call?.cancel();
    return new ToolResponse(decision.output, { status: decision.status ?? 'ok' });
  }
  if (call === undefined) return new ToolResponse(lost(server), { status: 'error' });
  call.decide(decision);
  return call.next(context);
}

function lost(server: string): string {
  return `${server} asked the user, and the connection over which it asked is gone: the program has ended since, or too much time has passed. The answer did not reach it, and the outcome of the tool call is unknown. Check before you call it again.`;
}

/** Shows the schema unchanged, and validates by `UntrustedSchemaCheck`. */
function untrustedSchema(
  schema: JsonSchema,
): StandardSchemaV1<JsonObject> & StandardJSONSchemaV1<JsonObject> {
  const show = (): JsonSchema => schema;
  let check: UntrustedSchemaCheck | undefined;
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp',
      jsonSchema: { input: show, output: show },
      validate: async (value) => {
        check ??= new (await import('./untrusted-schema-check.ts')).UntrustedSchemaCheck(schema);
        const issues = check.problemsOf(value);
        return issues.length > 0 ? { issues } : { value: value as JsonObject };
      },
    },
  };
}

/** Possible names of a tool, best first: its own, `server__tool`, and a unique one. */
export function namesOf(server: string, tool: string): readonly [string, string, string] {
  const own = toolName(tool);
  const prefix = toolName(server).slice(0, Math.max(62 - own.length, 16));
  const full = `${prefix}__${own}`.slice(0, 64);
  return [own, full, `${full.slice(0, 55)}_${fingerprint(`${server} ${tool}`).slice(0, 8)}`];
}
