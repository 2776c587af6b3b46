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
import { GeminiLiveWire } from './gemini-live-wire.ts';

export interface GeminiLiveOptions extends SocketRealtimeOptions {
  /** Name of the model, such as `gemini-3.8-live`. */
  readonly modelName: string;
  /** @default the API's own */
  readonly voice?: string | undefined;
  /** Rule for the moment at which a tool result is spoken, for models whose tool calls do not wait. @default the API's own */
  readonly toolScheduling?: 'SILENT' | 'WHEN_IDLE' | 'INTERRUPT' | undefined;
  /** Further fields of the setup, sent unchanged. */
  readonly setup?: JsonObject | undefined;
}

const GEMINI = 'Gemini';
const HOME = 'wss://generativelanguage.googleapis.com';
const PATH = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent';

/** Gemini Live over a WebSocket. The model ends its answers itself when it hears a person, and resumes lost connections. Folder `providers/gemini/realtime`: start here. */
export class GeminiLiveModel extends SocketRealtimeModel {
  override readonly vendorName = GEMINI;
  override readonly inputRate = 16_000;
  override readonly capabilities: RealtimeCapabilities = {
    truncate: false,
    tools: true,
    images: true,
    update: false,
    respondsToSpeech: true,
    respondsToToolResults: true,
    liveTranscript: true,
  };
  override readonly host: string;
  readonly #options: GeminiLiveOptions;
  readonly #ownKey = readEnv('GEMINI_API_KEY') || readEnv('GOOGLE_API_KEY') || undefined;

  /** @throws TroupeError if the key is missing, or the address is invalid */
  constructor(options: GeminiLiveOptions) {
    super(options);
    this.#options = options;
    this.host = new URL(this.#url()).host;
    if (typeof options.apiKey !== 'function') this.address(options.apiKey);
  }

  protected override address(apiKey = this.#ownKey): SocketAddress {
    if (!apiKey)
      throw new TroupeError(
        'invalid_config',
        `${GEMINI} needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY, or give the option apiKey.`,
      );
    const key = checkKey(GEMINI, apiKey);
    const headers = mergeHeaders({ 'x-goog-api-key': key }, this.#options.headers);
    return { url: this.#url(), headers, secrets: [key] };
  }

  protected override newWire(): RealtimeWire {
    const { modelName, voice, toolScheduling, setup = {} } = this.#options;
    const model = modelName.includes('/') ? modelName : `models/${modelName}`;
    return new GeminiLiveWire({ model, voice, toolScheduling, setup });
  }

  #url(): string {
    return socketUrl(GEMINI, this.#options.baseUrl ?? HOME, PATH, {});
  }
}
