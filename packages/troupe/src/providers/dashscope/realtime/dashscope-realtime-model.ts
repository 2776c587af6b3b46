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
import { DashScopeRealtimeWire } from './dashscope-realtime-wire.ts';

export interface DashScopeRealtimeOptions extends SocketRealtimeOptions {
  /** Name of the model, such as `qwen3.5-omni-plus-realtime`. */
  readonly modelName: string;
  /** @default the API's own */
  readonly voice?: string | undefined;
  /** Model that writes down what the person says, or false for none. @default 'qwen3-asr-flash-realtime' */
  readonly transcriptionModel?: string | false | undefined;
  /** Detection of the person's turns. `semantic_vad` needs qwen3.5. @default 'server_vad' */
  readonly turnDetection?: 'semantic_vad' | 'server_vad' | undefined;
  /** Rate of the sound that the model makes. @default 24 000, and 16 000 for turbo models */
  readonly outputRate?: number | undefined;
  /** Further fields of the session, sent unchanged. */
  readonly session?: JsonObject | undefined;
}

const DASHSCOPE = 'DashScope';
const HOME = 'wss://dashscope.aliyuncs.com/api-ws/v1';

/** Qwen-Omni over DashScope's realtime API. The model ends its answers itself when it hears a person. Folder `providers/dashscope/realtime`: start here. */
export class DashScopeRealtimeModel extends SocketRealtimeModel {
  override readonly vendorName = DASHSCOPE;
  override readonly inputRate = 16_000;
  override readonly capabilities: RealtimeCapabilities = {
    truncate: false,
    tools: true,
    images: true,
    update: true,
    respondsToSpeech: true,
    respondsToToolResults: true,
    liveTranscript: false,
  };
  override readonly host: string;
  readonly #options: DashScopeRealtimeOptions;
  readonly #ownKey = readEnv('DASHSCOPE_API_KEY');

  /** @throws TroupeError if the key is missing, or the address is invalid */
  constructor(options: DashScopeRealtimeOptions) {
    super(options);
    this.#options = options;
    this.host = new URL(this.#url()).host;
    if (typeof options.apiKey !== 'function') this.address(options.apiKey);
  }

  protected override address(apiKey = this.#ownKey): SocketAddress {
    if (!apiKey)
      throw new TroupeError(
        'invalid_config',
        `${DASHSCOPE} needs a key: set DASHSCOPE_API_KEY, or give the option apiKey.`,
      );
    const key = checkKey(DASHSCOPE, apiKey);
    const headers = mergeHeaders({ authorization: `Bearer ${key}` }, this.#options.headers);
    return { url: this.#url(), headers, secrets: [key] };
  }

  protected override newWire(): RealtimeWire {
    const { modelName, voice, turnDetection = 'server_vad', session = {} } = this.#options;
    const { transcriptionModel = 'qwen3-asr-flash-realtime' } = this.#options;
    const { outputRate = modelName.includes('turbo') ? 16_000 : 24_000 } = this.#options;
    return new DashScopeRealtimeWire({ voice, turnDetection, transcriptionModel, outputRate, session });
  }

  #url(): string {
    const { baseUrl = HOME, modelName } = this.#options;
    return socketUrl(DASHSCOPE, baseUrl, '/realtime', { model: modelName });
  }
}
