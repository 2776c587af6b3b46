import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';

import type { ToolOutputBlock } from '../../message/blocks.ts';
import type { ToolCallResult } from '../../toolkit/tool/tool.ts';

/** Converts a tool result for MCP clients. Every status but `ok` becomes an error. */
export function toMcpResult({ output, status }: ToolCallResult): CallToolResult {
  const blocks = typeof output === 'string' ? [{ type: 'text', text: output } as const] : output;
  return { content: blocks.map(toMcpContent), ...(status !== 'ok' && { isError: true }) };
}

/** Text of a result, for a progress message. */
export function resultText({ output }: ToolCallResult): string {
  if (typeof output === 'string') return output;
  return output.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** Converts a block for MCP clients. @param i position, for the name of a file without one */
export function toMcpContent(block: ToolOutputBlock, i: number): ContentBlock {
  if (block.type === 'text') return { type: 'text', text: block.text };
  const { source, type } = block;
  const name = (block.type === 'file' ? block.filename : undefined) ?? `${type}-${i + 1}`;
  if (source.type === 'url') {
    const { url: uri, mediaType: mimeType } = source;
    return { type: 'resource_link', name, uri, ...(mimeType !== undefined && { mimeType }) };
  }
  const { mediaType: mimeType, data } = source;
  if (type === 'image' || type === 'audio') return { type, mimeType, data };
  return {
    type: 'resource',
    resource: { uri: `attachment:${encodeURIComponent(name)}`, mimeType, blob: data },
  };
}
