import type { HttpSettings } from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';
import { JsonByteDecoder } from '../../model/http/sound-request.ts';
import { numberOf, objectOf, stringOf } from '../../model/http/wire-values.ts';
import { ModelError, type ModelOrigin } from '../../model/model-error.ts';
import { HttpTtsModel, soundOf, type HttpTtsOptions, type SpeechDecoder } from '../../tts/http-tts-model.ts';
import type { SpeechDelta } from '../../tts/tts-model-base.ts';
import type { JsonObject } from '../../util/json.ts';
import { DASHSCOPE, DashScopeEndpoint } from './dashscope-endpoint.ts';

export interface DashScopeTtsOptions extends HttpTtsOptions {
  /** Model name, such as `qwen3-tts-flash` or `cosyvoice-v3-plus`. */
  readonly modelName: string;
  /** @default 'Cherry' for Qwen-TTS, 'longanyang' for CosyVoice */
  readonly voice?: string | undefined;
  /** Language of the text, for Qwen-TTS. @default 'Auto' */
  readonly language?: string | undefined;
  /** Rate of the sound, for CosyVoice. Qwen-TTS always has 24 000. @default 24 000 */
  readonly rate?: number | undefined;
}

const QWEN_PATH = 'aigc/multimodal-generation/generation';
const COSYVOICE_PATH = 'audio/tts/SpeechSynthesizer';

/** Speech of Qwen-TTS, and of CosyVoice where the name of the model begins with it. */
export class DashScopeTtsModel extends HttpTtsModel {
  readonly #options: DashScopeTtsOptions;
  readonly #isCosyVoice: boolean;
  readonly #endpoint: DashScopeEndpoint;

  constructor(options: DashScopeTtsOptions) {
    super(DASHSCOPE, options.modelName, options);
    this.#options = options;
    this.#isCosyVoice = options.modelName.startsWith('cosyvoice');
    this.#endpoint = new DashScopeEndpoint(options, this.#isCosyVoice ? COSYVOICE_PATH : QWEN_PATH);
  }

  override get cacheKey(): string {
    const { modelName, voice, language, rate } = this.#options;
    return JSON.stringify([this.#endpoint.host, modelName, voice, language, rate]);
  }

  protected override toCall(text: string, settings: HttpSettings): WireCall {
    const { modelName: model, voice, language = 'Auto' } = this.#options;
    const input = this.#isCosyVoice
      ? { text, voice: voice ?? 'longanyang', format: 'pcm', sample_rate: this.#rate }
      : { text, voice: voice ?? 'Cherry', language_type: language };
    return this.#endpoint.call(settings, JSON.stringify({ model, input }), { 'x-dashscope-sse': 'enable' });
  }

  protected override newDecoder(origin: ModelOrigin): SpeechDecoder {
    return new JsonByteDecoder(origin, (data) => readSpeech(data, this.#rate, origin));
  }

  get #rate(): number {
    return this.#isCosyVoice ? (this.#options.rate ?? 24_000) : 24_000;
  }
}

function* readSpeech(data: JsonObject, rate: number, origin: ModelOrigin): Iterable<SpeechDelta> {
  const audio = objectOf(objectOf(data['output'])['audio']);
  const sound = stringOf(audio['data']);
  if (sound !== '') yield soundOf(sound, rate, origin);
  else if (audio['url'] !== undefined && audio['data'] === undefined)
    throw new ModelError('The speech came as an address, not as sound.', { kind: 'malformed', ...origin });
  const usage = objectOf(data['usage']);
  const inputTokens = numberOf(usage['input_tokens']);
  const outputTokens = numberOf(usage['output_tokens']);
  const isLast = stringOf(objectOf(data['output'])['finish_reason']) === 'stop';
  if (isLast && inputTokens !== undefined && outputTokens !== undefined)
    yield { usage: { inputTokens, outputTokens } };
}
