import type { HttpSettings } from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import type { ModelOrigin } from '../../model/model-error.ts';
import { HttpSttModel, type HttpSttOptions } from '../../stt/http-stt-model.ts';
import type { TranscriptDelta } from '../../stt/stt-model-base.ts';
import { toBase64 } from '../../util/base64.ts';
import type { JsonObject } from '../../util/json.ts';
import { DASHSCOPE, DashScopeEndpoint } from './dashscope-endpoint.ts';

export interface DashScopeSttOptions extends HttpSttOptions {
  /** Model name, such as `qwen3-asr-flash`. */
  readonly modelName: string;
  /** Language of the sound, such as `en`. @default detected */
  readonly language?: string | undefined;
  /** Text that helps with names and spelling. */
  readonly context?: string | undefined;
}

/** Qwen-ASR takes sounds of at most 10 MB. */
const MAX_BYTES = 10 * 1024 * 1024;

/** Speech recognition by Qwen-ASR. */
export class DashScopeSttModel extends HttpSttModel {
  readonly #options: DashScopeSttOptions;
  readonly #endpoint: DashScopeEndpoint;

  constructor(options: DashScopeSttOptions) {
    super(DASHSCOPE, options.modelName, { maxBytes: MAX_BYTES, ...options });
    this.#options = options;
    this.#endpoint = new DashScopeEndpoint(options, 'aigc/multimodal-generation/generation');
  }

  protected override toCall(wav: Uint8Array<ArrayBuffer>, settings: HttpSettings): WireCall {
    const { language, context } = this.#options;
    const system = context === undefined ? [] : [{ role: 'system', content: [{ text: context }] }];
    const user = { role: 'user', content: [{ audio: `data:audio/wav;base64,${toBase64(wav)}` }] };
    const asrOptions = { enable_itn: false, ...(language !== undefined && { language }) };
    const body = {
      model: this.modelName,
      input: { messages: [...system, user] },
      parameters: { asr_options: asrOptions },
    };
    return this.#endpoint.call(settings, JSON.stringify(body));
  }

  protected override *readEvent(data: JsonObject, _origin: ModelOrigin): Iterable<TranscriptDelta> {
    const [choice] = objectsOf(objectOf(data['output'])['choices']);
    for (const { text } of objectsOf(objectOf(choice?.['message'])['content']))
      yield { text: stringOf(text) };
    const usage = objectOf(data['usage']);
    const inputTokens =
      numberOf(usage['input_tokens']) ?? numberOf(objectOf(usage['input_tokens_details'])['audio_tokens']);
    const outputTokens = numberOf(usage['output_tokens']);
    if (inputTokens !== undefined && outputTokens !== undefined)
      yield { usage: { inputTokens, outputTokens } };
  }
}
