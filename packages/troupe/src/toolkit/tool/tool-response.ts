import type { ToolOutputBlock, ToolStatus } from '../../message/blocks.ts';
import type { JsonObject } from '../../util/json.ts';

export interface ToolResponseOptions {
  /** Data for the program. Stays with the result; models don't see it. */
  readonly metadata?: JsonObject | undefined;
  /** Outcome of the tool call. @default 'ok' */
  readonly status?: ToolStatus;
}

const brand = Symbol.for('troupe.tool_response');

/**
 * Return value of a tool with blocks, a status or metadata. A class, so that JSON from elsewhere can't
 * imitate a response.
 *
 * @example
 * ```ts
 * import { tool, ToolResponse } from 'troupe';
 *
 * const count = tool({
 *   name: 'count',
 *   execute: () => new ToolResponse('three files', { metadata: { files: 3 } }), // no model sees the metadata
 * });
 * console.log(count.name);
 * ```
 */
export class ToolResponse {
  readonly [brand] = true;
  readonly content: string | readonly ToolOutputBlock[];
  readonly metadata: JsonObject | undefined;
  readonly status: ToolStatus;

  constructor(
    content: string | readonly ToolOutputBlock[],
    { metadata, status = 'ok' }: ToolResponseOptions = {},
  ) {
    this.content = content;
    this.metadata = metadata;
    this.status = status;
  }

  /** Also true for instances of another copy of the package. */
  static isInstance(value: unknown): value is ToolResponse {
    return typeof value === 'object' && value !== null && brand in value;
  }
}
