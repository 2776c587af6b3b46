import { TroupeError } from '../../errors.ts';
import type { MediaBlock, Prompt, PromptItem } from '../../formatter/prompt.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import type { ModelCallOptions, ModelRequest } from '../../model/chat-model-base.ts';
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
import { runsCode, TOOL_USE_BETA, type AnthropicTool, type AnthropicToolUse } from './anthropic-tools.ts';
import { claudeModel, type ClaudeModel } from './claude-models.ts';
import { BetaFinder } from './beta-finder.ts';
import { continuePaused } from './paused-turn.ts';
import { PromptTexts } from './prompt-texts.ts';
import { lastContainer, planServerTools } from './server-tool-pairs.ts';
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
  override readonly host: string;
  readonly #api: AnthropicApi;
  readonly #model: ClaudeModel;
  readonly #cacheControl: JsonObject | undefined;
  readonly #texts: PromptTexts;
  readonly #providerTools: readonly AnthropicTool[];
  readonly #betas = new BetaFinder();

  /** @throws TroupeError without a key. */
  constructor(options: AnthropicChatModelOptions) {
    const model = claudeModel(options.modelName);
    const { forcedTools, structured, files } = model;
    super(ANTHROPIC, options, { vision: true, files, forcedTools, structured });
    this.#model = { ...model, forcedTools: this.capabilities.forcedTools };
    const { providerTools = [], toolUse = {} } = options;
    this.#providerTools = providerTools;
    const betas = [
      ...(options.betas ?? []),
      ...providerTools.flatMap(({ betas: own = [] }) => own),
      ...(Object.keys(toolUse).length > 0 ? [TOOL_USE_BETA] : []),
    ];
    this.#api = new AnthropicApi({ ...options, betas });
    this.host = new URL(this.#api.url('messages')).host;
    this.#cacheControl = toCacheControl(options.caching);
    this.#texts = new PromptTexts({ cacheControl: this.#cacheControl, providerTools, toolUse });
  }

  protected override get secrets(): readonly string[] {
    const tokens = this.#providerTools.flatMap(({ mcpServer }) => mcpServer?.['authorization_token'] ?? []);
    return [this.#api.apiKey, ...tokens.map(String)];
  }

  protected override takesUrl(block: MediaBlock): boolean {
    return fetchesUrl(block);
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

  protected override toCall(prompt: Prompt, request: WireRequest): WireCall {
    const offered = toolsForChoice(request);
    const tools = offered.length > 0 ? offered : toolsIn(prompt.items);
    const plan = planThinking(request.generation, this.#model, prompt.items);
    const options = toOptions(request, this.#model, plan, offered.length + this.#providerTools.length > 0);
    const { items, hasWaitingCode } = planServerTools(prompt.items, new Set(tools.map(({ name }) => name)));
    const body = jsonBody(
      {
        model: this.modelName,
        cache_control: this.#cacheControl,
        container: this.#container(items, hasWaitingCode),
        mcp_servers: this.#mcpServers,
        ...options,
        ...(tools.length > offered.length && { tool_choice: { type: 'none' } }),
      },
      this.#texts.write({ ...prompt, items }, tools, plan.keepsEarlier),
    );
    const headers = this.#api.headersWith(this.#betas.find(items));
    return { url: this.#api.url('messages'), headers, body };
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

  protected override newDecoder(): WireDecoder {
    return new AnthropicDecoder();
  }
}

function toCacheControl(caching: AnthropicChatModelOptions['caching'] = 'auto'): JsonObject | undefined {
  if (caching === 'off') return undefined;
  if (caching === 'auto') return { type: 'ephemeral' };
  if (caching.ttl === '5m' || caching.ttl === '1h') return { type: 'ephemeral', ttl: caching.ttl };
  throw new TroupeError('invalid_config', "caching must be 'auto', 'off', {ttl: '5m'} or {ttl: '1h'}.");
}
