import { getLogger } from '../../config/run-config.ts';
import type { Prompt } from '../../formatter/prompt.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import { ToolTexts, WireTexts } from '../../model/http/wire-texts.ts';
import type { JsonValue } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';
import type { GeminiDialect } from './gemini-dialect.ts';
import { toFunction } from './gemini-options.ts';
import { arrange } from './gemini-prompt.ts';
import { toContents } from './gemini-to-wire.ts';
import { inlineRefs } from './values/inline-refs.ts';

/**
 * Writes the parts of a body that are large: each item, tool and schema is turned into its wire form only
 * once.
 */
export class GeminiWriter {
  readonly #dialect: GeminiDialect;
  readonly #contents: WireTexts;
  readonly #tools = new ToolTexts((tool) =>
    toFunction(tool, this.schema(tool.parameters, `the schema of '${tool.name}'`)),
  );
  readonly #schemas = new WeakMap<JsonSchema, JsonSchema>();

  constructor(dialect: GeminiDialect) {
    this.#dialect = dialect;
    this.#contents = new WireTexts((item) => toContents(item, dialect));
  }

  /** The fields `contents`, `systemInstruction` and `tools`, as JSON. */
  texts(
    prompt: Prompt,
    tools: readonly ToolSchema[] = [],
    googleTools: readonly JsonValue[] = [],
  ): Record<string, string> {
    const { system, items } = arrange(prompt.items, this.#dialect);
    const allTools = [
      ...(tools.length > 0 ? [`{"functionDeclarations":${this.#tools.array(tools)}}`] : []),
      ...googleTools.map((tool) => JSON.stringify(tool)),
    ];
    return {
      contents: this.#contents.array(items),
      ...(system.length > 0 && {
        systemInstruction: JSON.stringify({ parts: system.map(({ text }) => ({ text })) }),
      }),
      ...(allTools.length > 0 && { tools: `[${allTools.join(',')}]` }),
    };
  }

  /** A schema with its references inlined. */
  schema(schema: JsonSchema, what: string): JsonSchema {
    let inlined = this.#schemas.get(schema);
    if (inlined === undefined) {
      const { schema: plain, warnings } = inlineRefs(schema, what);
      for (const warning of warnings)
        getLogger().log('warn', `Gemini schema: ${warning}. This part accepts any value.`);
      this.#schemas.set(schema, (inlined = plain));
    }
    return inlined;
  }
}
