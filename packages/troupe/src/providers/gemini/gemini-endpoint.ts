import { TroupeError } from '../../errors.ts';
import { checkBaseUrl, checkKey, joinUrl, mergeHeaders } from '../../model/http/headers.ts';
import { knownHttp, type HttpCallOptions, type HttpSettings } from '../../model/http/http-call-options.ts';
import type { WireCall, WireRequest } from '../../model/http/http-chat-model.ts';
import type { ModelHosting } from '../../model/http/model-hosting.ts';
import { readEnv } from '#platform';
import { geminiDialectOf, type GeminiDialect } from './gemini-dialect.ts';

export const GEMINI = 'Gemini';
const HOME = 'https://generativelanguage.googleapis.com';
const VERSION = 'v1beta';
const KEY_HEADER = 'x-goog-api-key';
const MODEL = /^(?:[\w-]+\/)*[\w.@-]+$/;

/**
 * Where a model of Gemini is asked, with which key, and how. The key goes into a header. Who signs in by
 * another one needs none.
 */
export class GeminiEndpoint {
  readonly host: string;
  /** Model name on the wire, such as `models/gemini-2.5-flash`. */
  readonly model: string;
  readonly dialect: GeminiDialect;
  readonly #modelName: string;
  /** Key when the model was made, of the option or of the environment. */
  readonly #ownKey: string | undefined;

  /** @throws TroupeError if there is no key, or if the address or the name of the model is none. */
  constructor(
    options: HttpCallOptions & { readonly modelName: string; readonly hosting?: ModelHosting | undefined },
  ) {
    const { modelName, hosting, baseUrl = hosting?.baseUrl ?? HOME, apiKey } = options;
    this.#modelName = modelName;
    if (!MODEL.test(modelName)) {
      throw invalid("modelName is invalid. Example: 'gemini-2.5-flash'.");
    }
    this.model = modelName.includes('/') ? modelName : `models/${modelName}`;
    this.dialect = geminiDialectOf(modelName, baseUrl);
    this.#ownKey =
      typeof apiKey === 'string'
        ? apiKey
        : readEnv('GEMINI_API_KEY') || readEnv('GOOGLE_API_KEY') || undefined;
    const known = knownHttp(options);
    this.host = new URL(this.#url({ ...known, baseUrl }, '')).host;
    if (hosting !== undefined) return;
    if (typeof apiKey !== 'function' && typeof options.headers !== 'function') this.#headers(known);
  }

  /** Request to the platform that hosts the model. @throws TroupeError if the address is invalid */
  async hostedCall(
    hosting: ModelHosting,
    { settings, generation: { serviceTier } }: WireRequest,
    body: string,
    signal: AbortSignal,
  ): Promise<WireCall> {
    const tier = serviceTier === undefined ? {} : { [hosting.tierHeader]: serviceTier };
    const path = hosting.path('google', this.#modelName, settings.isStreamed);
    const root = checkBaseUrl(hosting.title, settings.baseUrl ?? hosting.baseUrl);
    const params = settings.isStreamed ? { ...settings.query, alt: 'sse' } : settings.query;
    const headers = mergeHeaders({ 'content-type': 'application/json', ...tier }, settings.headers);
    return hosting.sign({ url: joinUrl(root, path, params), headers, body }, signal);
  }

  /** @throws TroupeError if there is no key, or if the key or the address is invalid. */
  call(
    method: string,
    settings: HttpSettings,
    body: string,
    params: Readonly<Record<string, string>> = {},
  ): WireCall {
    const key = this.#key(settings);
    return {
      url: joinUrl(this.#url(settings, method), '', { ...settings.query, ...params }),
      headers: this.#headers(settings),
      body,
      secrets: key === undefined ? [] : [key],
    };
  }

  #url({ baseUrl = HOME }: HttpSettings, method: string): string {
    const root = checkBaseUrl(GEMINI, baseUrl);
    const version = /\/v\d\w*(?:\/|$)/.test(new URL(root).pathname) ? '' : `/${VERSION}`;
    return joinUrl(root, `${version}/${this.model}:${method}`);
  }

  /** The key, if a request needs one. */
  #key({ apiKey, headers }: HttpSettings): string | undefined {
    const signsIn = 'authorization' in headers || KEY_HEADER in headers;
    return apiKey ?? (signsIn ? undefined : this.#ownKey);
  }

  #headers(settings: HttpSettings): Readonly<Record<string, string>> {
    const { headers } = settings;
    const key = this.#key(settings);
    if (key === undefined && !('authorization' in headers) && !(KEY_HEADER in headers)) {
      throw invalid(
        `${GEMINI} needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY, or give the option apiKey.`,
      );
    }
    const own = key === undefined ? {} : { [KEY_HEADER]: checkKey(GEMINI, key) };
    return mergeHeaders({ ...own, 'content-type': 'application/json' }, headers);
  }
}

function invalid(message: string): TroupeError {
  return new TroupeError('invalid_config', message);
}
