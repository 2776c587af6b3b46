import { specTypeSchemas } from '@modelcontextprotocol/client';
import type { StandardSchemaV1 } from '@standard-schema/spec';

import { getLogger } from '../../config/run-config.ts';
import { isJsonObject } from '../../util/json.ts';
import type { McpToolDefinition } from './tool-ledger.ts';

interface ToolList {
  readonly tools: McpToolDefinition[];
  readonly nextCursor: string | undefined;
}

/**
 * A page of tools as a server lists them. What is no tool is left out with a warning, so that it doesn't take the others with it; a tool
 * whose schema forgets to say that its arguments are an object is one.
 */
export function toolList(server: string): StandardSchemaV1<unknown, ToolList> {
  const validate = (value: unknown): StandardSchemaV1.Result<ToolList> => {
    const { tools, nextCursor } = isJsonObject(value) ? value : {};
    if (!Array.isArray(tools)) return { issues: [{ message: 'it is no list of tools' }] };
    const good = tools.map(readTool).filter((tool) => tool !== undefined);
    const left = tools.length - good.length;
    if (left > 0) getLogger().log('warn', `${server} lists ${left} that are no tools. They are left out.`);
    return { value: { tools: good, nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined } };
  };
  return { '~standard': { version: 1, vendor: 'troupe', validate } };
}

function readTool(tool: unknown): McpToolDefinition | undefined {
  const { inputSchema = {} } = isJsonObject(tool) ? tool : {};
  const isUntyped = isJsonObject(inputSchema) && !('type' in inputSchema);
  const typed = isUntyped ? { inputSchema: { ...inputSchema, type: 'object' } } : {};
  const result = specTypeSchemas.Tool['~standard'].validate(
    isJsonObject(tool) ? { ...tool, ...typed } : tool,
  );
  return result.issues === undefined ? result.value : undefined;
}
