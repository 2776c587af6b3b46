import { ChatFormatter } from '../../formatter/chat-formatter.ts';
import { MediaLoader } from '../../formatter/media-loader.ts';
import { PromptMedia } from '../../formatter/prompt-media.ts';
import { ProviderParts } from '../../formatter/provider-parts.ts';
import type { Msg } from '../../message/msg.ts';
import { PLAIN_CAPABILITIES, type ToolSchema } from '../../model/chat-model-base.ts';
import { secretsInQuery } from '../../model/http/headers.ts';
import { malformedResponse } from '../../model/http/http-error.ts';
import { settleHttp } from '../../model/http/http-call-options.ts';
import type { HttpModelOptions } from '../../model/http/http-chat-model.ts';
import type { ModelOrigin } from '../../model/model-error.ts';
import { readWholeText } from '../../model/http/read-response.ts';
import { jsonBody } from '../../model/http/wire-texts.ts';
import { EstimateTokenCounter } from '../../token/estimate-token-counter.ts';
import { TokenCounterBase, type CountOptions } from '../../token/token-counter-base.ts';
import { platformFetch } from '../../util/net/http.ts';
import { isJsonObject, readJson } from '../../util/json.ts';
import { GEMINI, GeminiEndpoint } from './gemini-endpoint.ts';
import { isFetched, isTakenByGemini } from './gemini-to-wire.ts';
import { GeminiWriter } from './gemini-writer.ts';

export type GeminiTokenCounterOptions = Pick<
  HttpModelOptions,
  'modelName' | 'apiKey' | 'baseUrl' | 'headers' | 'fetch' | 'deadlines' | 'formatter'
>;

/** Signal of a count without one. */
const NEVER = new AbortController().signal;

/**
 * Counts the tokens of a prompt by asking the API: one small request per count, nothing is generated. A
 * single message is estimated here, because the API counts only whole prompts.
 */
export class GeminiTokenCounter extends TokenCounterBase {
  static override readonly componentName: string = 'geminiTokenCounter';

  readonly #options: GeminiTokenCounterOptions;
  readonly #endpoint: GeminiEndpoint;
  readonly #writer: GeminiWriter;
  readonly #estimate: EstimateTokenCounter;
  /** Downloads nothing. */
  readonly #providerParts = new ProviderParts(isTakenByGemini);
  readonly #media = new PromptMedia({
    loader: new MediaLoader(),
    capabilities: { ...PLAIN_CAPABILITIES, vision: true, audio: true, video: true, files: true },
    takesUrl: isFetched,
  });

  constructor(options: GeminiTokenCounterOptions) {
    super();
    this.#options = options;
    this.#endpoint = new GeminiEndpoint(options);
    this.#writer = new GeminiWriter(this.#endpoint.dialect);
    this.#estimate = new EstimateTokenCounter(options.modelName, { thinking: false });
  }

  /** @throws ModelError, or the reason of the signal. */
  override async count(
    messages: readonly Msg[],
    tools: readonly ToolSchema[] = [],
    { signal }: CountOptions = {},
  ): Promise<number> {
    if (messages.length === 0 && tools.length === 0) return 0;
    const { formatter = new ChatFormatter() } = this.#options;
    const formatted = await formatter.format(messages, { tools, signal });
    const prompt = await this.#media.prepare(this.#providerParts.prepare(formatted), signal);
    const generateContentRequest = jsonBody(
      { model: this.#endpoint.model },
      this.#writer.texts(prompt, tools),
    );
    const answer = await this.#ask(`{"generateContentRequest":${generateContentRequest}}`, signal);
    const parsed = readJson(answer);
    const total = isJsonObject(parsed) ? parsed['totalTokens'] : undefined;
    if (typeof total === 'number') return total;
    throw malformedResponse(this.#origin, 'it contains no count', answer.slice(0, 1024));
  }

  get #origin(): ModelOrigin {
    return { vendor: GEMINI, model: this.#options.modelName, host: this.#endpoint.host };
  }

  protected override async countOne(msg: Msg, options: CountOptions): Promise<number> {
    const [count = 0] = await this.#estimate.countEach([msg], options);
    return count;
  }

  async #ask(body: string, signal: AbortSignal | undefined): Promise<string> {
    const { fetch = platformFetch, deadlines = {} } = this.#options;
    const settings = await settleHttp(this.#options, {}, signal ?? NEVER);
    const call = this.#endpoint.call('countTokens', settings, body);
    const secrets = [...(call.secrets ?? []), ...secretsInQuery(call.url)];
    return readWholeText(
      { ...call, origin: this.#origin, fetch, deadlines, secrets, isOver: () => false },
      signal,
    );
  }
}
