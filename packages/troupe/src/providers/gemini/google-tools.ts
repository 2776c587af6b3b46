import type { JsonObject } from '../../util/json.ts';

/** A tool that Google runs itself. Made by `googleTools`. */
export interface GoogleTool {
  /** Definition in the request. */
  readonly tool: JsonObject;
  /** Secrets to keep out of errors. */
  readonly secrets?: readonly string[];
}

export interface GoogleMcpOptions {
  readonly name: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Tools that Google runs itself, for the option `providerTools`. Beside tools of the program's own, they need Gemini 3 or later.
 *
 * @example
 * ```ts no-run
 * import { GeminiChatModel, googleTools } from 'troupe/gemini';
 *
 * const model = new GeminiChatModel({
 *   modelName: 'gemini-3-flash-preview',
 *   providerTools: [googleTools.googleSearch(), googleTools.urlContext()],
 * });
 * ```
 */
export const googleTools = {
  googleSearch(options: JsonObject = {}): GoogleTool {
    return { tool: { googleSearch: options } };
  },

  /** Reads the pages whose addresses stand in the conversation. */
  urlContext(): GoogleTool {
    return { tool: { urlContext: {} } };
  },

  codeExecution(): GoogleTool {
    return { tool: { codeExecution: {} } };
  },

  fileSearch(storeNames: readonly string[]): GoogleTool {
    return { tool: { fileSearch: { fileSearchStoreNames: storeNames } } };
  },

  /** A remote MCP server that Google calls. */
  mcp({ name, url, headers }: GoogleMcpOptions): GoogleTool {
    const streamableHttpTransport = { url, ...(headers && { headers }) };
    const secrets = Object.values(headers ?? {}).flatMap((value) => value.split(/\s+/));
    return { tool: { mcpServers: [{ name, streamableHttpTransport }] }, secrets };
  },

  /** Any other tool of Google, by its definition in the API. */
  other(tool: JsonObject): GoogleTool {
    return { tool };
  },
} as const;
