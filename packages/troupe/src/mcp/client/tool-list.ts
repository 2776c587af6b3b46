import type { StandardSchemaV1 } from '@standard-schema/spec';

import { getLogger } from '../../config/run-config.ts';
import { isJsonObject } from '../../util/json.ts';
import { mcpClientSdk } from '../protocol/sdk.ts';
import { readSpecType } from '../protocol/spec-type.ts';
import type { McpToolDefinition } from './accepted-tools.ts';

interface ToolList {
  readonly tools: McpToolDefinition[];
  readonly nextCursor: string | undefined;
}

/**
 * Schema of a page of tools. Invalid items are dropped with a warning, so that the others stay usable; a
 * missing `type: 'object'` in the arguments schema is added.
 */
export function toolList(server: string): StandardSchemaV1<unknown, ToolList> {
  const validate = (value: unknown): StandardSchemaV1.Result<ToolList> => {
    const { tools, nextCursor } = isJsonObject(value) ? value : {};
    if (!Array.isArray(tools)) return { issues: [{ message: 'not a list of tools' }] };
    const good = tools.map(readTool).filter((tool) => tool !== undefined);
    const left = tools.length - good.length;
    if (left > 0) getLogger().log('warn', `${server} lists ${left} invalid tools. They are ignored.`);
    return { value: { tools: good, nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined } };
  };
  return { '~standard': { version: 1, vendor: 'troupe', validate } };
}

function readTool(tool: unknown): McpToolDefinition | undefined {
  const { inputSchema = {} } = isJsonObject(tool) ? tool : {};
  const isUntyped = isJsonObject(inputSchema) && !('type' in inputSchema);
  const typed = isUntyped ? { inputSchema: { ...inputSchema, type: 'object' } } : {};
  return readSpecType(mcpClientSdk.specTypeSchemas.Tool, isJsonObject(tool) ? { ...tool, ...typed } : tool);
}
