import { TroupeError } from '../../../errors.ts';
import { checkKey, mergeHeaders } from '../../../model/http/headers.ts';
import type { RealtimeCapabilities } from '../../../realtime/realtime-model-base.ts';
import {
  SocketRealtimeModel,
  socketUrl,
  type SocketAddress,
  type SocketRealtimeOptions,
} from '../../../realtime/wire/socket-realtime-model.ts';
import type { RealtimeWire } from '../../../realtime/wire/realtime-wire.ts';
import type { JsonObject } from '../../../util/json.ts';
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
  /** Further fields of the session, sent unchanged. */
  readonly session?: JsonObject | undefined;
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
