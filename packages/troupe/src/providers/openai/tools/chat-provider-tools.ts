import type { JsonObject, JsonValue } from '../../../util/json.ts';

/** A tool that a vendor of the Chat Completions API runs itself. Made by `chatProviderTools`. */
export interface ChatProviderTool {
  /** Fields of the request. */
  readonly fields?: JsonObject;
  /** Definition among the tools. */
  readonly tool?: JsonObject;
}

export interface XaiSearchOptions {
  readonly mode?: 'auto' | 'on' | 'off' | undefined;
  readonly maxResults?: number | undefined;
  /** Dates as `2026-01-31`. */
  readonly fromDate?: string | undefined;
  readonly toDate?: string | undefined;
  /** Such as `{ type: 'web' }` and `{ type: 'x' }`. */
  readonly sources?: readonly JsonObject[] | undefined;
}

/**
 * Tools that vendors of the Chat Completions API run themselves, for the option `providerTools` of `OpenAIChatModel`.
 *
 * @example
 * ```ts no-run
 * import { chatProviderTools, OpenAIChatModel } from 'troupe/openai';
 *
 * const model = new OpenAIChatModel({
 *   vendor: 'xai',
 *   modelName: 'grok-4',
 *   providerTools: [chatProviderTools.xaiSearch({ maxResults: 5 })],
 * });
 * ```
 */
export const chatProviderTools = {
  /** Live search of xAI. */
  xaiSearch({ mode, maxResults, fromDate, toDate, sources }: XaiSearchOptions = {}): ChatProviderTool {
    const search = given({
      mode: mode ?? 'auto',
      return_citations: true,
      max_search_results: maxResults,
      from_date: fromDate,
      to_date: toDate,
      sources,
    });
    return { fields: { search_parameters: search } };
  },

  /** Tools of Groq's compound systems, such as `web_search`, `code_interpreter` and `visit_website`. */
  groqCompound(tools: readonly string[]): ChatProviderTool {
    return { fields: { compound_custom: { tools: { enabled_tools: tools } } } };
  },

  /** A tool of Groq beside functions. */
  groqTool(type: 'browser_search' | 'code_interpreter'): ChatProviderTool {
    return { tool: { type } };
  },

  /** Web search of OpenAI's search models. */
  openaiSearch(options: { readonly searchContextSize?: 'low' | 'medium' | 'high' } = {}): ChatProviderTool {
    return { fields: { web_search_options: given({ search_context_size: options.searchContextSize }) } };
  },

  /** Web search of OpenRouter, for any model. */
  openrouterWeb({ maxResults }: { readonly maxResults?: number } = {}): ChatProviderTool {
    return { fields: { plugins: [given({ id: 'web', max_results: maxResults })] } };
  },

  /** Any other, by its definition in the API. */
  other(definition: ChatProviderTool): ChatProviderTool {
    return definition;
  },
} as const;

function given(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const defined: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) defined[key] = value;
  return defined;
}
