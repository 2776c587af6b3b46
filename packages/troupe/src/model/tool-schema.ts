import type { JsonSchema } from '../util/schema.ts';

/** Tool definition sent to a model. */
export interface ToolSchema {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of type object. */
  readonly parameters: JsonSchema;
}
