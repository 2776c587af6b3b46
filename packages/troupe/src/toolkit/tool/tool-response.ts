import type { ToolOutputBlock, ToolStatus } from '../../message/blocks.ts';
import type { JsonObject } from '../../util/json.ts';

export interface ToolResponseOptions {
  /** For the program: stays with the result, and no model sees it. */
  readonly metadata?: JsonObject | undefined;
  /** @default 'ok' */
  readonly status?: ToolStatus;
}

const brand = Symbol.for('troupe.tool_response');

/**
 * What a tool returns when text alone doesn't say it: blocks, how the call ended, data for the program.
 * It is a class, so that no JSON which a tool got from elsewhere can pass for one.
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

  /** Also true for one of another copy of the package. */
  static isInstance(value: unknown): value is ToolResponse {
    return typeof value === 'object' && value !== null && brand in value;
  }
}
