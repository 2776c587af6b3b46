import type { ToolOutputBlock, ToolStatus } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import type { JsonObject } from '../../util/json.ts';

export interface ToolResponseOptions {
  /** Data for the program. Stays with the result; models don't see it. */
  readonly metadata?: JsonObject | undefined;
  /** Outcome of the tool call. @default 'ok' */
  readonly status?: ToolStatus;
  /**
   * Ends the agent's reply, when all tool calls of the model message are done: the answer is this text or message, or the content of the
   * response (`true`). Without effect where the caller wants structured output. @default the model is called again
   */
  readonly responseMsg?: boolean | string | Msg | undefined;
}

const brand = Symbol.for('troupe.tool_response');

/**
 * Return value of a tool with blocks, a status, metadata or the answer of the agent. A class, so that JSON from elsewhere can't
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
  readonly responseMsg: boolean | string | Msg | undefined;

  constructor(
    content: string | readonly ToolOutputBlock[],
    { metadata, status = 'ok', responseMsg }: ToolResponseOptions = {},
  ) {
    this.content = content;
    this.metadata = metadata;
    this.status = status;
    this.responseMsg = responseMsg;
  }

  /** Also true for instances of another copy of the package. */
  static isInstance(value: unknown): value is ToolResponse {
    return typeof value === 'object' && value !== null && brand in value;
  }
}
