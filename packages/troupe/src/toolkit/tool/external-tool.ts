import type { AnySchema } from '../../util/schema.ts';
import { ToolSuspension } from './tool-suspension.ts';
import { tool, type Tool, type ToolSettings } from './tool.ts';

export interface ExternalToolOptions extends ToolSettings {
  /** Name that the model uses. */
  readonly name: string;
  /** Purpose of the tool, for the model. */
  readonly description?: string;
  /** Schema of the arguments. */
  readonly schema: AnySchema;
}

/**
 * Makes a tool that runs elsewhere, by a person or another program. Every tool call is pending until its
 * result is supplied.
 */
export function externalTool(options: ExternalToolOptions): Tool {
  return tool({
    ...options,
    execute: () => {
      throw new ToolSuspension();
    },
  });
}
