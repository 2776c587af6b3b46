/**
 * Parts of an AI SDK language model that the bridge uses. Declared structurally, so that no package of the AI
 * SDK is required and all versions of the specification fit.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: SpecVersion;
  /** Provider name, such as `openai.responses`. */
  readonly provider: string;
  readonly modelId: string;
  /** URLs that the provider fetches, by media type. */
  readonly supportedUrls?: SupportedUrls | PromiseLike<SupportedUrls>;
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: AiSdkStream }>;
  /** Needed for `stream: false`. */
  doGenerate?(options: AiSdkCallOptions): PromiseLike<object>;
}

export const SPEC_VERSIONS = ['v2', 'v3', 'v4'] as const;
export type SpecVersion = (typeof SPEC_VERSIONS)[number];

export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

/** Options of a model call. Prompts and tools differ between versions; `to-call.ts` writes both. */
export interface AiSdkCallOptions {
  readonly prompt: readonly object[];
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** Known from v4 on. */
  readonly reasoning?: string;
  readonly responseFormat?: object;
  readonly tools?: readonly object[];
  readonly toolChoice?: object;
  readonly abortSignal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly providerOptions?: object;
}

/** `ReadableStream` of stream parts, independent of the declaring library. */
export interface AiSdkStream {
  getReader(): AiSdkReader;
}

export interface AiSdkReader {
  read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(): PromiseLike<void>;
}
