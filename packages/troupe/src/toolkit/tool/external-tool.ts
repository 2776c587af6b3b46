import type { AnySchema } from '../../util/schema.ts';
import { ToolSuspension } from './tool-suspension.ts';
import { tool, type Tool, type ToolSettings } from './tool.ts';

export interface ExternalToolOptions extends ToolSettings {
  /** What the model calls it by. */
  readonly name: string;
  /** What the model chooses it by. */
  readonly description?: string;
  /** Its arguments. */
  readonly schema: AnySchema;
}

/** A tool that is run elsewhere, by a person or another program: each call waits until its result is supplied. */
export function externalTool(options: ExternalToolOptions): Tool {
  return tool({
    ...options,
    execute: () => {
      throw new ToolSuspension();
    },
  });
}
