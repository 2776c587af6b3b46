import { isJsonObject, type JsonObject, type JsonValue } from '../../../util/json.ts';

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

export interface OpenRouterSearchOptions {
  readonly engine?: 'auto' | 'native' | 'exa' | 'parallel' | 'firecrawl' | undefined;
  readonly maxResults?: number | undefined;
  /** Maximum number of searches of an answer. */
  readonly maxUses?: number | undefined;
  readonly allowedDomains?: readonly string[] | undefined;
  readonly excludedDomains?: readonly string[] | undefined;
}

export interface PerplexitySearchOptions {
  readonly mode?: 'web' | 'academic' | 'sec' | undefined;
  /** Domains to search, or with a minus before them not to search. */
  readonly domains?: readonly string[] | undefined;
  readonly recency?: 'hour' | 'day' | 'week' | 'month' | 'year' | undefined;
  readonly searchContextSize?: 'low' | 'medium' | 'high' | undefined;
}

export interface ZhipuSearchOptions {
  /** @default 'search_std' */
  readonly engine?: string | undefined;
  /** Number of results. */
  readonly count?: number | undefined;
}

export interface DashScopeSearchOptions {
  /** Whether the model must search. */
  readonly forced?: boolean | undefined;
  readonly strategy?: 'turbo' | 'max' | 'agent' | 'agent_max' | undefined;
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

  /** Web search of OpenRouter, for any model: the model decides when to search, and for what. */
  openrouterSearch(options: OpenRouterSearchOptions = {}): ChatProviderTool {
    const { engine, maxResults, maxUses, allowedDomains, excludedDomains } = options;
    return chatProviderTools.openrouterTool(
      'web_search',
      given({
        engine,
        max_results: maxResults,
        max_uses: maxUses,
        allowed_domains: allowedDomains,
        excluded_domains: excludedDomains,
      }),
    );
  },

  /** Any server tool of OpenRouter by its name, such as `web_fetch` and `datetime`. */
  openrouterTool(name: string, parameters: JsonObject = {}): ChatProviderTool {
    const type = `openrouter:${name}`;
    return { tool: Object.keys(parameters).length === 0 ? { type } : { type, parameters } };
  },

  /** The search plugin of OpenRouter, which searches once before each answer. OpenRouter has replaced it by `openrouterSearch`. */
  openrouterWeb({ maxResults }: { readonly maxResults?: number } = {}): ChatProviderTool {
    return { fields: { plugins: [given({ id: 'web', max_results: maxResults })] } };
  },

  /** Search of Perplexity, which searches also unasked: where, and how far back. */
  perplexitySearch(options: PerplexitySearchOptions): ChatProviderTool {
    const { mode, domains, recency, searchContextSize: size } = options;
    const context = size && given({ search_context_size: size });
    return {
      fields: given({
        search_mode: mode,
        search_domain_filter: domains,
        search_recency_filter: recency,
        web_search_options: context,
      }),
    };
  },

  /** Web search of Zhipu. */
  zhipuSearch({ engine = 'search_std', count }: ZhipuSearchOptions = {}): ChatProviderTool {
    const search = given({ enable: true, search_engine: engine, search_result: true, count });
    return { tool: { type: 'web_search', web_search: search } };
  },

  /** Web search of DashScope, which tells no sources here. */
  dashscopeSearch({ forced, strategy }: DashScopeSearchOptions = {}): ChatProviderTool {
    const options = given({ forced_search: forced, search_strategy: strategy });
    const isPlain = Object.keys(options).length === 0;
    return { fields: { enable_search: true, ...(!isPlain && { search_options: options }) } };
  },

  /** Web search of Hunyuan. */
  hunyuanSearch(): ChatProviderTool {
    return { fields: { enable_enhancement: true, citation: true, search_info: true } };
  },

  /** Any other, by its definition in the API. */
  other(definition: ChatProviderTool): ChatProviderTool {
    return definition;
  },
} as const;

/** Fields of a request for several tools; their lists and objects are joined. */
export function fieldsOf(tools: readonly ChatProviderTool[]): JsonObject {
  const joined: Record<string, JsonValue> = {};
  for (const { fields = {} } of tools)
    for (const [key, value] of Object.entries(fields)) joined[key] = join(joined[key], value);
  return joined;
}

function join(before: JsonValue | undefined, added: JsonValue): JsonValue {
  if (Array.isArray(before) && Array.isArray(added)) return [...before, ...added];
  return isJsonObject(before) && isJsonObject(added) ? { ...before, ...added } : added;
}

function given(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const defined: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) defined[key] = value;
  return defined;
}
