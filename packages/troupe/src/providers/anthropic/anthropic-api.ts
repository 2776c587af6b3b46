import { TroupeError } from '../../errors.ts';
import { checkBaseUrl, checkKey, joinUrl, mergeHeaders } from '../../model/http/headers.ts';
import {
  knownHttp,
  type AskedFor,
  type HttpCallOptions,
  type HttpSettings,
} from '../../model/http/http-call-options.ts';
import type { WireCall, WireRequest } from '../../model/http/http-chat-model.ts';
import type { ModelHosting } from '../../model/http/model-hosting.ts';
import type { JsonValue } from '../../util/json.ts';
import { readEnv } from '#platform';
import { claudeModel } from './claude-models.ts';
import { BINDING_BETA } from './thinking-plan.ts';

export const ANTHROPIC = 'Anthropic';
const BASE_URL = 'https://api.anthropic.com';
const VERSION = '2023-06-01';
const KEY_VARIABLE = 'ANTHROPIC_API_KEY';

export interface AnthropicApiOptions extends HttpCallOptions {
  readonly modelName: string;
  /** @default the environment variable ANTHROPIC_API_KEY */
  readonly apiKey?: AskedFor<string> | undefined;
  /** Beta features to request in the header `anthropic-beta`. */
  readonly betas?: readonly string[] | undefined;
  /** Platform that hosts the model: `bedrock(…)` of `troupe/bedrock`, `vertex(…)` of `troupe/vertex`. @default Anthropic itself */
  readonly hosting?: ModelHosting | undefined;
}

/** Where the API is, and how one is let in. */
export class AnthropicApi {
  /** Name of the vendor, or of the platform that hosts the model. */
  readonly title: string;
  readonly host: string;
  readonly hosting: ModelHosting | undefined;
  readonly #modelName: string;
  /** Key when the model was made, of the option or of the environment. */
  readonly #ownKey: string | undefined;
  readonly #betas: readonly string[];

  /** @throws TroupeError without a key, or with an invalid address. */
  constructor(options: AnthropicApiOptions) {
    const { modelName, apiKey, betas = [], hosting } = options;
    const own = claudeModel(modelName).bindsThinking ? [BINDING_BETA] : [];
    this.#modelName = modelName;
    this.#betas = [...own, ...betas];
    this.#ownKey = typeof apiKey === 'string' ? apiKey : readEnv(KEY_VARIABLE) || undefined;
    this.hosting = hosting;
    this.title = hosting?.title ?? ANTHROPIC;
    const known = knownHttp(options);
    this.host = new URL(this.#url(known, '')).host;
    if (typeof apiKey !== 'function' && hosting === undefined) this.call('', known, '');
  }

  /** Request to a path of the API. @throws TroupeError without a key, or with an invalid key or address. */
  call(path: string, settings: HttpSettings, body: string): WireCall {
    const key = settings.apiKey ?? this.#ownKey;
    if (key === undefined) {
      throw new TroupeError(
        'invalid_config',
        `${ANTHROPIC} needs a key: set ${KEY_VARIABLE}, or give the option apiKey.`,
      );
    }
    const own = {
      'content-type': 'application/json',
      'x-api-key': checkKey(ANTHROPIC, key),
      'anthropic-version': VERSION,
    };
    return {
      url: this.#url(settings, path),
      headers: this.#withBetas(mergeHeaders(own, settings.headers)),
      body,
      secrets: [key],
    };
  }

  /** Fields of a body that name the model, besides the options of the request. */
  fields({ headers }: HttpSettings): { readonly [key: string]: JsonValue | undefined } {
    if (this.hosting === undefined) return { model: this.#modelName };
    const { version, hasStreamField, betas } = this.hosting.anthropic;
    const features = betas === 'body' ? this.#features(headers) : [];
    return {
      service_tier: undefined, // in a header
      anthropic_version: version,
      ...(features.length > 0 && { anthropic_beta: features }),
      ...(!hasStreamField && { stream: undefined }),
    };
  }

  /** Request to the platform that hosts the model. @throws TroupeError if the address is invalid */
  async hostedCall(
    hosting: ModelHosting,
    { settings, generation: { serviceTier } }: WireRequest,
    body: string,
    signal: AbortSignal,
  ): Promise<WireCall> {
    const tier = serviceTier === undefined ? {} : { [hosting.tierHeader]: serviceTier };
    const merged = mergeHeaders({ 'content-type': 'application/json', ...tier }, settings.headers);
    const { 'anthropic-beta': _, ...rest } = merged;
    const headers = hosting.anthropic.betas === 'body' ? rest : this.#withBetas(merged);
    const path = hosting.path('anthropic', this.#modelName, settings.isStreamed);
    const root = checkBaseUrl(hosting.title, settings.baseUrl ?? hosting.baseUrl);
    const call = { url: joinUrl(root, path, settings.query), headers, body };
    const signed = await hosting.sign(call, signal);
    return settings.isStreamed ? { ...signed, newFraming: hosting.newFraming } : signed;
  }

  #features({ 'anthropic-beta': given = '' }: Readonly<Record<string, string>>): readonly string[] {
    const features = [...this.#betas, ...given.split(/[\s,]+/)].filter((name) => name !== '');
    return [...new Set(features)];
  }

  #withBetas(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const { 'anthropic-beta': _, ...rest } = headers;
    const features = this.#features(headers);
    return { ...rest, ...(features.length > 0 && { 'anthropic-beta': features.join(',') }) };
  }

  #url({ baseUrl, query }: HttpSettings, path: string): string {
    const root = checkBaseUrl(this.title, baseUrl ?? this.hosting?.baseUrl ?? BASE_URL);
    return joinUrl(root.replace(/\/v1(?=\?|$)/, ''), `/v1/${path}`, query);
  }
}
