import { TroupeError } from '../../errors.ts';
import type { MediaBlock, Prompt, PromptItem } from '../../formatter/prompt.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import type { Caching, ModelCallOptions, ModelRequest } from '../../model/chat-model-base.ts';
import {
  HttpChatModel,
  type HttpModelOptions,
  type WireCall,
  type WireDecoder,
  type WireRequest,
} from '../../model/http/http-chat-model.ts';
import { jsonBody } from '../../model/http/wire-texts.ts';
import { toolsForChoice } from '../../model/tool-choice.ts';
import { stoppable } from '../../util/async/stoppable.ts';
import { now } from '../../util/clock.ts';
import type { JsonObject } from '../../util/json.ts';
import { AnthropicApi, ANTHROPIC, type AnthropicApiOptions } from './anthropic-api.ts';
import { AnthropicDecoder } from './anthropic-from-wire.ts';
import { toOptions } from './anthropic-options.ts';
import { fetchesUrl, isTakenByClaude, toolsIn } from './anthropic-to-wire.ts';
import {
  runsCode,
  TOOL_USE_BETA,
  type AnthropicTool,
  type AnthropicToolUse,
} from './tools/anthropic-tools.ts';
import { claudeModel, type ClaudeModel } from './claude-models.ts';
import { BetaFinder, withBetas } from './tools/beta-finder.ts';
import { continuePaused } from './tools/paused-turn.ts';
import { PromptTexts } from './prompt-texts.ts';
import { lastContainer, planServerTools } from './tools/server-tool-pairs.ts';
import { planThinking } from './thinking-plan.ts';

export interface AnthropicChatModelOptions extends HttpModelOptions, AnthropicApiOptions {
  /**
   * Whether Anthropic keeps the prompt, so that the next call of the same conversation is cheaper and faster;
   * `auto` is for five minutes. @default 'auto'
   */
  readonly caching?: 'auto' | 'off' | { readonly ttl: '5m' | '1h' } | undefined;
  /** Tools that Anthropic runs itself, made by `anthropicTools`. */
  readonly providerTools?: readonly AnthropicTool[] | undefined;
  /** Uses that Claude may make of the program's own tools, by tool name. @default offered at once, called directly */
  readonly toolUse?: Readonly<Record<string, AnthropicToolUse>> | undefined;
}

/**
 * Claude over Anthropic's Messages API. `CLAUDE_MODELS` lists the differences between Claude generations.
 * First file to read in this folder: `toCall` builds the request (prompt-texts.ts, anthropic-options.ts),
 * `newDecoder` reads the answer (anthropic-from-wire.ts).
 *
 * Thinking is kept with its signature and sent back with the next model call. No cache marker stands inside a
 * message, so the bytes of a growing history stay the same. Folder `providers/anthropic`: start here.
 *
 * @example
 * ```ts no-run
 * import { ReActAgent } from 'troupe';
 * import { AnthropicChatModel } from 'troupe/anthropic';
 *
 * const model = new AnthropicChatModel({ modelName: 'claude-sonnet-4-5' }); // the key is in ANTHROPIC_API_KEY
 * const agent = new ReActAgent({ name: 'Friday', model });
 * await agent.call('Hello!');
 * ```
 */
export class AnthropicChatModel extends HttpChatModel {
  static override readonly className: string = 'AnthropicChatModel';

  override readonly host: string;
  readonly #api: AnthropicApi;
  readonly #model: ClaudeModel;
  readonly #caching: Caching;
  /** Texts by their cache marker. */
  readonly #texts = new Map<string, PromptTexts>();
  readonly #providerTools: readonly AnthropicTool[];
  readonly #toolUse: Readonly<Record<string, AnthropicToolUse>>;
  readonly #betas = new BetaFinder();

  /** @throws TroupeError without a key. */
  constructor(options: AnthropicChatModelOptions) {
    const model = claudeModel(options.modelName);
    const { forcedTools, structured, files } = model;
    super(options.hosting?.title ?? ANTHROPIC, options, { vision: true, files, forcedTools, structured });
    this.#model = { ...model, forcedTools: this.capabilities.forcedTools };
    const { providerTools = [], toolUse = {} } = options;
    this.#providerTools = providerTools;
    this.#toolUse = toolUse;
    const betas = [
      ...(options.betas ?? []),
      ...providerTools.flatMap(({ betas: own = [] }) => own),
      ...(Object.keys(toolUse).length > 0 ? [TOOL_USE_BETA] : []),
    ];
    this.#api = new AnthropicApi({ ...options, betas });
    this.host = this.#api.host;
    this.#caching = options.generation?.caching ?? options.caching ?? 'auto';
    toCacheControl(this.#caching);
  }

  protected override takesUrl(block: MediaBlock): boolean {
    return this.#api.hosting === undefined && fetchesUrl(block); // platforms fetch nothing
  }

  protected override takesBack(block: ContentBlock): boolean {
    return isTakenByClaude(block);
  }

  override stream(
    request: ModelRequest,
    { signal }: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return stoppable(
      (stopped) => continuePaused((next) => super.stream(next, { signal: stopped }), request),
      signal,
    );
  }

  protected override toCall(
    prompt: Prompt,
    request: WireRequest,
    signal: AbortSignal,
  ): WireCall | Promise<WireCall> {
    const { hosting } = this.#api;
    const offered = toolsForChoice(request);
    const tools = offered.length > 0 ? offered : toolsIn(prompt.items);
    const cacheControl = toCacheControl(request.generation.caching ?? this.#caching);
    const plan = planThinking(request.generation, this.#model, prompt.items);
    const options = toOptions(request, this.#model, plan, offered.length + this.#providerTools.length > 0);
    const { items, hasWaitingCode } = planServerTools(prompt.items, new Set(tools.map(({ name }) => name)));
    const settings = withBetas(request.settings, this.#betas.find(items));
    const body = jsonBody(
      {
        // Platforms that host Claude mark only the tools and the system prompt.
        cache_control: hosting === undefined ? cacheControl : undefined,
        container: this.#container(items, hasWaitingCode),
        mcp_servers: this.#mcpServers,
        ...options,
        ...this.#api.fields(settings),
        ...(tools.length > offered.length && { tool_choice: { type: 'none' } }),
      },
      this.#textsFor(cacheControl).write({ ...prompt, items }, tools, plan.keepsEarlier),
    );
    return hosting === undefined
      ? this.#guarded(this.#api.call('messages', settings, body))
      : this.#api
          .hostedCall(hosting, { ...request, settings }, body, signal)
          .then((call) => this.#guarded(call));
  }

  /** A request whose errors show no token of an MCP server. */
  #guarded(call: WireCall): WireCall {
    const tokens = this.#providerTools.flatMap(({ mcpServer }) => mcpServer?.['authorization_token'] ?? []);
    return { ...call, secrets: [...(call.secrets ?? []), ...tokens.map(String)] };
  }

  /** The container in which code runs on: needed while code waits, and as long as it lasts where code may run. */
  #container(items: readonly PromptItem[], hasWaitingCode: boolean): string | undefined {
    const container = hasWaitingCode || this.#providerTools.some(runsCode) ? lastContainer(items) : undefined;
    if (container === undefined) return undefined;
    const isOver = Date.parse(container.expiresAt) <= now();
    return isOver && !hasWaitingCode ? undefined : container.id;
  }

  get #mcpServers(): readonly JsonObject[] | undefined {
    const servers = this.#providerTools
      .map(({ mcpServer }) => mcpServer)
      .filter((server) => server !== undefined);
    return servers.length === 0 ? undefined : servers;
  }

  #textsFor(cacheControl: JsonObject | undefined): PromptTexts {
    const key = JSON.stringify(cacheControl ?? null);
    let texts = this.#texts.get(key);
    if (texts === undefined) {
      const [providerTools, toolUse] = [this.#providerTools, this.#toolUse];
      this.#texts.set(key, (texts = new PromptTexts({ cacheControl, providerTools, toolUse })));
    }
    return texts;
  }

  protected override newDecoder(): WireDecoder {
    return new AnthropicDecoder();
  }
}

/** @throws TroupeError for a caching that Anthropic does not have */
function toCacheControl(caching: Caching): JsonObject | undefined {
  if (caching === 'off') return undefined;
  const ttl = typeof caching === 'object' ? caching.ttl : undefined;
  if (caching === 'auto' || (typeof caching === 'object' && caching.key !== undefined && ttl === undefined))
    return { type: 'ephemeral' };
  if (ttl === '5m' || ttl === '1h') return { type: 'ephemeral', ttl };
  throw new TroupeError('invalid_config', "caching must be 'auto', 'off', {ttl: '5m'} or {ttl: '1h'}.");
}
