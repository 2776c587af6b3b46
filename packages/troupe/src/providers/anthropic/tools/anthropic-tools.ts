import type { JsonObject, JsonValue } from '../../../util/json.ts';

/** A tool that Anthropic runs itself. Made by `anthropicTools`. */
export interface AnthropicTool {
  /** Definition in the request. */
  readonly tool: JsonObject;
  /** Beta features that the tool needs. */
  readonly betas?: readonly string[];
  /** Remote MCP server of the tool. */
  readonly mcpServer?: JsonObject;
}

/** Uses that Claude may make of a tool of the program. */
export interface AnthropicToolUse {
  /** Whether Claude learns of the tool only by a tool search. @default false */
  readonly deferLoading?: boolean | undefined;
  /** Whether Claude calls the tool directly, from code that it runs, or both. @default directly */
  readonly callers?: 'direct' | 'code' | 'both' | undefined;
}

export interface WebSearchOptions {
  readonly maxUses?: number | undefined;
  readonly allowedDomains?: readonly string[] | undefined;
  readonly blockedDomains?: readonly string[] | undefined;
  /** Approximate place of the user. */
  readonly userLocation?:
    | {
        readonly city?: string;
        readonly region?: string;
        readonly country?: string;
        readonly timezone?: string;
      }
    | undefined;
}

export interface WebFetchOptions {
  readonly maxUses?: number | undefined;
  readonly allowedDomains?: readonly string[] | undefined;
  readonly blockedDomains?: readonly string[] | undefined;
  /** Whether answers cite the fetched pages. @default false */
  readonly citations?: boolean | undefined;
  readonly maxContentTokens?: number | undefined;
}

export interface AnthropicMcpOptions {
  readonly name: string;
  readonly url: string;
  /** OAuth token for the server. */
  readonly authorizationToken?: string | undefined;
  /** Tools that may be used. @default all */
  readonly allowedTools?: readonly string[] | undefined;
}

/** Version of code execution from which programs may call tools. */
const CODE_VERSION = 'code_execution_20250825';
const MCP_BETA = 'mcp-client-2025-11-20';
const COMPACTION_BETA = 'compact-2026-01-12';
export const TOOL_USE_BETA = 'advanced-tool-use-2025-11-20';

/** Beta features that a block of the history needs, by the type of the block. */
export const BETA_OF_BLOCK: Readonly<Record<string, string>> = {
  mcp_tool_use: MCP_BETA,
  mcp_tool_result: MCP_BETA,
  compaction: COMPACTION_BETA,
  fallback: 'server-side-fallback-2026-07-01',
  advisor_tool_result: 'advisor-tool-2026-03-01',
};

/**
 * Tools that Anthropic runs itself, for the option `providerTools`. Each takes another version of the tool by `type`, as the
 * API names it. Folder `providers/anthropic/tools`: start here.
 *
 * @example
 * ```ts no-run
 * import { AnthropicChatModel, anthropicTools } from 'troupe/anthropic';
 *
 * const model = new AnthropicChatModel({
 *   modelName: 'claude-sonnet-4-5',
 *   providerTools: [anthropicTools.webSearch({ maxUses: 3 }), anthropicTools.codeExecution()],
 * });
 * ```
 */
export const anthropicTools = {
  webSearch(
    { maxUses, allowedDomains, blockedDomains, userLocation }: WebSearchOptions = {},
    type = 'web_search_20250305',
  ): AnthropicTool {
    return {
      tool: given({
        type,
        name: 'web_search',
        max_uses: maxUses,
        allowed_domains: allowedDomains,
        blocked_domains: blockedDomains,
        user_location: userLocation && { type: 'approximate', ...userLocation },
      }),
    };
  },

  webFetch(options: WebFetchOptions = {}, type = 'web_fetch_20250910'): AnthropicTool {
    const { maxUses, allowedDomains, blockedDomains, citations, maxContentTokens } = options;
    return {
      tool: given({
        type,
        name: 'web_fetch',
        max_uses: maxUses,
        allowed_domains: allowedDomains,
        blocked_domains: blockedDomains,
        citations: citations === undefined ? undefined : { enabled: citations },
        max_content_tokens: maxContentTokens,
      }),
      betas: ['web-fetch-2025-09-10'],
    };
  },

  codeExecution(type = CODE_VERSION): AnthropicTool {
    return { tool: { type, name: 'code_execution' }, betas: ['code-execution-2025-08-25'] };
  },

  /** Lets Claude search tools with `deferLoading` by words or by a regular expression. */
  toolSearch(by: 'bm25' | 'regex' = 'bm25', type = `tool_search_tool_${by}_20251119`): AnthropicTool {
    return { tool: { type, name: `tool_search_tool_${by}` }, betas: [TOOL_USE_BETA] };
  },

  /** A remote MCP server that Anthropic calls. */
  mcp({ name, url, authorizationToken, allowedTools }: AnthropicMcpOptions): AnthropicTool {
    return {
      tool: given({
        type: 'mcp_toolset',
        mcp_server_name: name,
        default_config: allowedTools && { enabled: false },
        configs: allowedTools && Object.fromEntries(allowedTools.map((tool) => [tool, { enabled: true }])),
      }),
      betas: [MCP_BETA],
      mcpServer: given({ type: 'url', name, url, authorization_token: authorizationToken }),
    };
  },

  /** Any other tool of Anthropic, by its definition in the API. */
  other(tool: JsonObject, betas: readonly string[] = []): AnthropicTool {
    return { tool, betas };
  },
} as const;

/** Fields of a tool of the program's own that tell how Claude may use it. */
export function toolUseFields({ deferLoading, callers }: AnthropicToolUse = {}): JsonObject {
  const allowed = { direct: ['direct'], code: [CODE_VERSION], both: ['direct', CODE_VERSION] };
  return given({
    defer_loading: deferLoading || undefined,
    allowed_callers: callers === undefined ? undefined : allowed[callers],
  });
}

/** Whether a provider tool runs code in a container. */
export function runsCode({ tool }: AnthropicTool): boolean {
  return tool['name'] === 'code_execution';
}

function given(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const defined: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) defined[key] = value;
  return defined;
}
