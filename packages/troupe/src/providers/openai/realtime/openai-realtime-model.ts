import { TroupeError } from '../../../errors.ts';
import { checkKey, mergeHeaders } from '../../../model/http/headers.ts';
import { malformedResponse } from '../../../model/http/http-error.ts';
import { JsonByteDecoder, soundResponse } from '../../../model/http/sound-request.ts';
import type { ModelOrigin } from '../../../model/model-error.ts';
import type { ToolSchema } from '../../../model/tool-schema.ts';
import type { RealtimeCapabilities } from '../../../realtime/realtime-model-base.ts';
import {
  SocketRealtimeModel,
  socketUrl,
  type SocketAddress,
  type SocketRealtimeOptions,
} from '../../../realtime/wire/socket-realtime-model.ts';
import type { RealtimeWire } from '../../../realtime/wire/realtime-wire.ts';
import { numberIn, objectIn } from '../../../realtime/wire/wire-values.ts';
import { checkNumber } from '../../../util/check-number.ts';
import type { JsonObject } from '../../../util/json.ts';
import type { Fetch } from '../../../util/net/http.ts';
import { readEnv } from '#platform';
import { OpenAIRealtimeWire } from './openai-realtime-wire.ts';

export interface OpenAIRealtimeOptions extends SocketRealtimeOptions {
  /**
   * Name of the model, such as `gpt-realtime-2.1`; on Azure, the deployment. `gpt-realtime`, `gpt-realtime-mini` and `gpt-audio-mini` end on
   * 2027-01-20.
   */
  readonly modelName: string;
  /** @default the API's own */
  readonly voice?: string | undefined;
  /** From 0.25 to 1.5. @default 1 */
  readonly speed?: number | undefined;
  /** Model that writes down what the person says, or false for none. @default 'gpt-transcribe' */
  readonly transcriptionModel?: string | false | undefined;
  /** Detection of the person's turns. @default 'semantic_vad' */
  readonly turnDetection?: 'semantic_vad' | 'server_vad' | undefined;
  /** Whether `baseUrl` is one of Azure, whose key has a header of its own. @default by its host */
  readonly isAzure?: boolean | undefined;
  /** Function that asks for short-lived keys. @default the platform's fetch */
  readonly fetch?: Fetch | undefined;
  /** Further fields of the session, sent unchanged. */
  readonly session?: JsonObject | undefined;
}

export interface ClientSecretOptions {
  /** Time in which the key can begin conversations, from 10 to 7200. @default 60 */
  readonly seconds?: number | undefined;
  readonly instructions?: string | undefined;
  /** Tools of the page, such as `agent.toolSchemas`: the page runs their tool calls. */
  readonly tools?: readonly ToolSchema[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Short-lived key of a page. */
export interface ClientSecret {
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export const OPENAI_REALTIME_RATE = 24_000;
const HOME = 'wss://api.openai.com/v1';
const TRANSCRIPTION_MODEL = 'gpt-transcribe';

/**
 * OpenAI's Realtime API over a WebSocket, of OpenAI, Azure and compatible servers. The adapter asks for each response itself, so that a noise
 * neither ends an answer nor begins one. Folder `providers/openai/realtime`: start here.
 *
 * @example
 * ```ts no-run
 * import { OpenAIRealtimeModel } from 'troupe/openai';
 * import { RealtimeAgent } from 'troupe/realtime';
 * import { SinkPlayer, TerminalSpeaker } from 'troupe/speech';
 *
 * const realtimeModel = new OpenAIRealtimeModel({ modelName: 'gpt-realtime-2.1' });
 * const agent = new RealtimeAgent({ name: 'Friday', realtimeModel });
 * const talk = await agent.connect({ player: new SinkPlayer(new TerminalSpeaker()) });
 * talk.respond('Greet the user.');
 * ```
 */
export class OpenAIRealtimeModel extends SocketRealtimeModel {
  override readonly vendorName = 'OpenAI';
  override readonly inputRate = OPENAI_REALTIME_RATE;
  override readonly capabilities: RealtimeCapabilities;
  override readonly host: string;
  readonly #options: OpenAIRealtimeOptions;
  readonly #ownKey: string | undefined;

  /** @throws TroupeError if the key is missing, or the address is invalid */
  constructor(options: OpenAIRealtimeOptions) {
    super(options);
    this.#options = options;
    const { transcriptionModel = TRANSCRIPTION_MODEL, apiKey } = options;
    this.#ownKey = readEnv(this.#isAzure ? 'AZURE_OPENAI_API_KEY' : 'OPENAI_API_KEY');
    this.host = new URL(this.#url()).host;
    if (typeof apiKey !== 'function') this.address(apiKey);
    this.capabilities = {
      truncate: true,
      tools: true,
      images: true,
      update: true,
      respondsToSpeech: false,
      respondsToToolResults: false,
      liveTranscript: transcriptionModel !== false && transcriptionModel.includes('live'),
    };
  }

  /**
   * A short-lived key with which a page talks with the model directly, over WebRTC, in place of the program's own key. The sound then does not pass this program:
   * hooks, memory and tools of an agent have no part in the conversation. The page may change the instructions.
   * @throws ModelError
   */
  async createClientSecret(options: ClientSecretOptions = {}): Promise<ClientSecret> {
    const { seconds = 60, instructions = '', tools = [] } = options;
    const { signal = new AbortController().signal } = options;
    checkNumber('seconds', seconds, { least: 10, most: 7200 });
    const { apiKey, fetch } = this.#options;
    const { headers, secrets } = this.address(typeof apiKey === 'function' ? await apiKey() : apiKey);
    const { baseUrl = HOME, modelName } = this.#options;
    const url = new URL(socketUrl(this.vendorName, baseUrl, '/realtime/client_secrets', {}));
    url.protocol = url.protocol.replace('ws', 'http');
    const [start] = this.newWire().start({ instructions, tools, history: [], agentName: '', turns: 'model' });
    const session = { ...objectIn(start?.['session']), model: modelName };
    const body = JSON.stringify({ expires_after: { anchor: 'created_at', seconds }, session });
    const call = {
      url: url.href,
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      secrets,
    };
    const { vendorName } = this;
    const newDecoder = (origin: ModelOrigin): JsonByteDecoder<ClientSecret> =>
      new JsonByteDecoder(origin, function* ({ value, expires_at }) {
        const expiresAt = numberIn(expires_at);
        if (typeof value !== 'string' || expiresAt === undefined)
          throw malformedResponse(origin, 'no client secret');
        yield { value, expiresAt: expiresAt * 1000 };
      });
    const request = { vendorName, modelName, options: { fetch }, toCall: () => call, newDecoder };
    for await (const secret of soundResponse(request, signal)) return secret;
    throw malformedResponse({ vendor: vendorName, model: modelName, host: url.host }, 'an empty answer');
  }

  protected override address(apiKey = this.#ownKey): SocketAddress {
    if (!apiKey)
      throw new TroupeError(
        'invalid_config',
        `${this.vendorName} needs a key: set OPENAI_API_KEY, or give the option apiKey.`,
      );
    const key = checkKey(this.vendorName, apiKey);
    const own = this.#isAzure ? { 'api-key': key } : { authorization: `Bearer ${key}` };
    return { url: this.#url(), headers: mergeHeaders(own, this.#options.headers), secrets: [key] };
  }

  protected override newWire(): RealtimeWire {
    const { voice, speed, turnDetection = 'semantic_vad', session = {} } = this.#options;
    const { transcriptionModel = TRANSCRIPTION_MODEL } = this.#options;
    return new OpenAIRealtimeWire({ voice, speed, turnDetection, transcriptionModel, session });
  }

  get #isAzure(): boolean {
    const { isAzure, baseUrl = HOME } = this.#options;
    return isAzure ?? /\.azure\.com(?:[:/]|$)/.test(baseUrl);
  }

  #url(): string {
    const { baseUrl = HOME, modelName } = this.#options;
    return socketUrl(this.vendorName, baseUrl, '/realtime', { model: modelName });
  }
}
