/**
 * What the bridge uses of an AI SDK language model. Declared here by its shape, so that a user of another
 * provider's package needs no further one, and so that the versions of the specification fit side by side.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: SpecVersion;
  /** Whose model it is, such as `openai.responses`. */
  readonly provider: string;
  readonly modelId: string;
  /** By media type, the addresses that the provider fetches by itself. */
  readonly supportedUrls?: SupportedUrls | PromiseLike<SupportedUrls>;
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: AiSdkStream }>;
}

export const SPEC_VERSIONS = ['v2', 'v3', 'v4'] as const;
export type SpecVersion = (typeof SPEC_VERSIONS)[number];

export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

/** The options of a call. Prompts and tools differ between the versions; `to-call.ts` writes them. */
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

/** A `ReadableStream` of stream parts, whichever library declares it. */
export interface AiSdkStream {
  getReader(): AiSdkReader;
}

export interface AiSdkReader {
  read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(): PromiseLike<void>;
}
