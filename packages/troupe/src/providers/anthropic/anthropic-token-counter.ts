import { ChatFormatter } from '../../formatter/chat-formatter.ts';
import type { FormatterBase } from '../../formatter/formatter-base.ts';
import { MediaLoader } from '../../formatter/media-loader.ts';
import { PromptMedia } from '../../formatter/prompt-media.ts';
import { ProviderParts } from '../../formatter/provider-parts.ts';
import { Msg } from '../../message/msg.ts';
import { PLAIN_CAPABILITIES, type ToolSchema } from '../../model/chat-model-base.ts';
import { secretsInQuery } from '../../model/http/headers.ts';
import { settleHttp } from '../../model/http/http-call-options.ts';
import type { HttpModelOptions } from '../../model/http/http-chat-model.ts';
import { malformedResponse } from '../../model/http/http-error.ts';
import { readWholeText } from '../../model/http/read-response.ts';
import { jsonBody } from '../../model/http/wire-texts.ts';
import { TokenCounterBase, type CountOptions } from '../../token/token-counter-base.ts';
import { platformFetch } from '../../util/net/http.ts';
import { isJsonObject, readJson } from '../../util/json.ts';
import { AnthropicApi, ANTHROPIC, type AnthropicApiOptions } from './anthropic-api.ts';
import { fetchesUrl, isTakenByClaude, toolsIn } from './anthropic-to-wire.ts';
import { claudeModel } from './claude-models.ts';
import { BetaFinder, withBetas } from './tools/beta-finder.ts';
import { PromptTexts } from './prompt-texts.ts';
import { planServerTools } from './tools/server-tool-pairs.ts';
import { planThinking } from './thinking-plan.ts';

export interface AnthropicTokenCounterOptions
  extends
    Omit<AnthropicApiOptions, 'hosting'>,
    Pick<HttpModelOptions, 'fetch' | 'deadlines' | 'formatter' | 'media'> {}

/** Signal of a count without one. */
const NEVER = new AbortController().signal;

/**
 * Counts the tokens of a prompt by asking Anthropic. A count is free, but each is one request with its own
 * rate limits: for a growing history an estimate may be enough.
 */
export class AnthropicTokenCounter extends TokenCounterBase {
  static override readonly componentName: string = 'anthropicTokenCounter';

  readonly #options: AnthropicTokenCounterOptions;
  readonly #api: AnthropicApi;
  readonly #formatter: FormatterBase;
  readonly #media: PromptMedia;
  readonly #providerParts = new ProviderParts(isTakenByClaude);
  readonly #betas = new BetaFinder();
  readonly #texts = new PromptTexts();

  /** @throws TroupeError without a key. */
  constructor(options: AnthropicTokenCounterOptions) {
    super();
    const { files } = claudeModel(options.modelName);
    this.#options = options;
    this.#api = new AnthropicApi(options);
    this.#formatter = options.formatter ?? new ChatFormatter();
    this.#media = new PromptMedia({
      loader: options.media ?? new MediaLoader(),
      capabilities: { ...PLAIN_CAPABILITIES, vision: true, files },
      takesUrl: fetchesUrl,
    });
  }

  /** @throws ModelError if the answer has no count. */
  override async count(
    messages: readonly Msg[],
    tools: readonly ToolSchema[] = [],
    { signal }: CountOptions = {},
  ): Promise<number> {
    const { modelName, fetch = platformFetch, deadlines = {} } = this.#options;
    const formatted = await this.#formatter.format(messages, { tools, signal });
    const prompt = await this.#media.prepare(this.#providerParts.prepare(formatted), signal);
    const sent = tools.length > 0 ? tools : toolsIn(prompt.items);
    const { items } = planServerTools(prompt.items, new Set(sent.map(({ name }) => name)));
    const { field, keepsEarlier } = planThinking({}, claudeModel(modelName), prompt.items);
    const body = jsonBody(
      { model: modelName, thinking: field },
      this.#texts.write({ ...prompt, items }, sent, keepsEarlier),
    );
    const settings = await settleHttp(this.#options, {}, signal ?? NEVER);
    const sentCall = this.#api.call(
      'messages/count_tokens',
      withBetas(settings, this.#betas.find(items)),
      body,
    );
    const { host } = new URL(sentCall.url);
    const origin = { vendor: ANTHROPIC, model: modelName, host };
    const secrets = [...(sentCall.secrets ?? []), ...secretsInQuery(sentCall.url)];
    const call = { ...sentCall, origin, fetch, deadlines, secrets, isOver: () => false };
    const text = await readWholeText(call, signal);
    const answer = readJson(text);
    const tokens = isJsonObject(answer) ? answer['input_tokens'] : undefined;
    if (typeof tokens === 'number') return tokens;
    throw malformedResponse(origin, 'it contains no count', text.slice(0, 1024));
  }

  /** Counts tool results together with their tool calls, which the API requires. */
  protected override countOne(msg: Msg, options: CountOptions): Promise<number> {
    const calls = msg
      .getContentBlocks('tool_result')
      .map(({ id, name }) => ({ type: 'tool_use', id, name, input: {} }) as const);
    const before = calls.length === 0 ? [] : [Msg.assistant(calls)];
    return this.count([...before, msg], undefined, options);
  }
}
