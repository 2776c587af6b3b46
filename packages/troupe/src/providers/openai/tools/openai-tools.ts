import type { JsonObject, JsonValue } from '../../../util/json.ts';
import { MCP_APPROVAL_TOOL } from './responses-client-calls.ts';

/** A tool of OpenAI's Responses API. Made by `openaiTools`. */
export interface OpenAITool {
  /** Definition in the request. */
  readonly tool: JsonObject;
  /** Further data to ask for, such as the sources of a search. */
  readonly include?: readonly string[];
  /** Name of the program's own tool that runs the calls. It is not offered as a function then. */
  readonly runBy?: string;
}

/** Uses that the model may make of a function. */
export interface OpenAIToolUse {
  /** Whether the model learns of the function only by a tool search. @default false */
  readonly deferLoading?: boolean | undefined;
  /** Whether the model calls the function directly, from a program, or both. @default directly */
  readonly callers?: 'direct' | 'program' | 'both' | undefined;
}

export interface OpenAIWebSearchOptions {
  readonly allowedDomains?: readonly string[] | undefined;
  readonly searchContextSize?: 'low' | 'medium' | 'high' | undefined;
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

export interface OpenAIFileSearchOptions {
  readonly vectorStoreIds: readonly string[];
  readonly maxResults?: number | undefined;
  readonly filters?: JsonObject | undefined;
}

export interface OpenAIImageOptions {
  /** Number of images to show while the image is made, up to 3. @default 0 */
  readonly partialImages?: number | undefined;
  readonly size?: string | undefined;
  readonly quality?: 'low' | 'medium' | 'high' | 'auto' | undefined;
  readonly background?: 'transparent' | 'opaque' | 'auto' | undefined;
  readonly outputFormat?: 'png' | 'jpeg' | 'webp' | undefined;
}

export interface OpenAIComputerDisplay {
  readonly width: number;
  readonly height: number;
  readonly environment: 'browser' | 'mac' | 'windows' | 'ubuntu' | 'linux';
}

export interface OpenAIMcpOptions {
  /** Name of the server in calls and approvals. */
  readonly label: string;
  /** Address of the server; or `connectorId` for a connector of OpenAI. */
  readonly url?: string | undefined;
  readonly connectorId?: string | undefined;
  readonly description?: string | undefined;
  /** Token for the server. */
  readonly authorization?: string | undefined;
  readonly allowedTools?: readonly string[] | undefined;
  /**
   * Whether a tool named `mcp_approval` of the program is asked before each call; without such a tool the answer is no.
   * @default 'always'
   */
  readonly requireApproval?: 'always' | 'never' | undefined;
}

/**
 * Tools of OpenAI's Responses API, for the option `providerTools`. The first five run at OpenAI. `shell`, `localShell`,
 * `applyPatch`, `computer` and `custom` are run by the tool of the same name in the agent's toolkit.
 * Folder `providers/openai/tools`: start here.
 *
 * @example
 * ```ts no-run
 * import { OpenAIResponsesModel, openaiTools } from 'troupe/openai';
 *
 * const model = new OpenAIResponsesModel({
 *   modelName: 'gpt-5.1',
 *   providerTools: [openaiTools.webSearch(), openaiTools.imageGeneration({ partialImages: 2 })],
 * });
 * ```
 */
export const openaiTools = {
  webSearch({ allowedDomains, searchContextSize, userLocation }: OpenAIWebSearchOptions = {}): OpenAITool {
    return {
      tool: given({
        type: 'web_search',
        filters: allowedDomains && { allowed_domains: allowedDomains },
        search_context_size: searchContextSize,
        user_location: userLocation && { type: 'approximate', ...userLocation },
      }),
      include: ['web_search_call.action.sources'],
    };
  },

  fileSearch({ vectorStoreIds, maxResults, filters }: OpenAIFileSearchOptions): OpenAITool {
    return {
      tool: given({
        type: 'file_search',
        vector_store_ids: vectorStoreIds,
        max_num_results: maxResults,
        filters,
      }),
      include: ['file_search_call.results'],
    };
  },

  /** @param container id of a container, or the files of a new one */
  codeInterpreter(container: string | { readonly fileIds?: readonly string[] } = {}): OpenAITool {
    const own =
      typeof container === 'string' ? container : given({ type: 'auto', file_ids: container.fileIds });
    return { tool: { type: 'code_interpreter', container: own }, include: ['code_interpreter_call.outputs'] };
  },

  imageGeneration(options: OpenAIImageOptions = {}): OpenAITool {
    const { partialImages, size, quality, background, outputFormat } = options;
    return {
      tool: given({
        type: 'image_generation',
        partial_images: partialImages,
        size,
        quality,
        background,
        output_format: outputFormat,
      }),
    };
  },

  /** A remote MCP server that OpenAI calls. */
  mcp(options: OpenAIMcpOptions): OpenAITool {
    const { label, url, connectorId, description, authorization, allowedTools, requireApproval } = options;
    return {
      tool: given({
        type: 'mcp',
        server_label: label,
        server_url: url,
        connector_id: connectorId,
        server_description: description,
        authorization,
        allowed_tools: allowedTools,
        require_approval: requireApproval ?? 'always',
      }),
      runBy: MCP_APPROVAL_TOOL,
    };
  },

  shell(): OpenAITool {
    return { tool: { type: 'shell' }, runBy: 'shell' };
  },

  localShell(): OpenAITool {
    return { tool: { type: 'local_shell' }, runBy: 'local_shell' };
  },

  applyPatch(): OpenAITool {
    return { tool: { type: 'apply_patch' }, runBy: 'apply_patch' };
  },

  /**
   * A computer that the program's tool named `computer` uses: it gets `actions`, and returns a screenshot as an image.
   * With a size of the display, the tool of the model `computer-use-preview`, which needs `truncation: 'auto'` in
   * `generation.extra`.
   */
  computer(display?: OpenAIComputerDisplay): OpenAITool {
    const tool =
      display === undefined
        ? { type: 'computer' }
        : {
            type: 'computer_use_preview',
            display_width: display.width,
            display_height: display.height,
            environment: display.environment,
          };
    return { tool, runBy: 'computer' };
  },

  /** Lets the model call functions from a program that it writes and OpenAI runs. */
  programmaticToolCalling(): OpenAITool {
    return { tool: { type: 'programmatic_tool_calling' } };
  },

  /**
   * Lets the model search tools with `defer_loading`. With parameters, the program's tool named `tool_search` searches, and
   * returns the definitions of the tools found, as JSON.
   */
  toolSearch(own?: { readonly description: string; readonly parameters: JsonObject }): OpenAITool {
    if (own === undefined) return { tool: { type: 'tool_search' } };
    return { tool: { type: 'tool_search', execution: 'client', ...own }, runBy: 'tool_search' };
  },

  /** A tool whose input is a text, free or by a grammar. The program's tool gets it as `input`. */
  custom(
    name: string,
    options: { readonly description?: string; readonly format?: JsonObject } = {},
  ): OpenAITool {
    return { tool: given({ type: 'custom', name, ...options }), runBy: name };
  },

  /** Any other tool, by its definition in the API, such as `{ type: 'x_search' }` of xAI. */
  other(tool: JsonObject, include: readonly string[] = []): OpenAITool {
    return { tool, include };
  },
} as const;

/** Fields of a function for the uses that the model may make. */
export function functionUseFields({ deferLoading, callers }: OpenAIToolUse = {}): JsonObject {
  const allowed = { direct: ['direct'], program: ['programmatic'], both: ['direct', 'programmatic'] };
  return given({
    defer_loading: deferLoading || undefined,
    allowed_callers: callers === undefined ? undefined : allowed[callers],
  });
}

/** Secrets in the definitions of tools. */
export function toolSecrets(tools: readonly OpenAITool[]): readonly string[] {
  return tools.flatMap(({ tool: { authorization } }) =>
    typeof authorization === 'string' ? [authorization] : [],
  );
}

function given(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const defined: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) defined[key] = value;
  return defined;
}
