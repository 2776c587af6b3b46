import { TroupeError } from '../../errors.ts';
import { checkBaseUrl, checkKey, joinUrl, mergeHeaders } from '../../model/http/headers.ts';
import {
  knownHttp,
  type AskedFor,
  type HttpCallOptions,
  type HttpSettings,
} from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';
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
}

/** Where the API is, and how one is let in. */
export class AnthropicApi {
  readonly host: string;
  /** Key when the model was made, of the option or of the environment. */
  readonly #ownKey: string | undefined;
  readonly #betas: readonly string[];

  /** @throws TroupeError without a key, or with an invalid address. */
  constructor(options: AnthropicApiOptions) {
    const { modelName, apiKey, betas = [] } = options;
    const own = claudeModel(modelName).bindsThinking ? [BINDING_BETA] : [];
    this.#betas = [...own, ...betas];
    this.#ownKey = typeof apiKey === 'string' ? apiKey : readEnv(KEY_VARIABLE) || undefined;
    const known = knownHttp(options);
    this.host = new URL(urlOf(known, '')).host;
    if (typeof apiKey !== 'function') this.call('', known, '');
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
      url: urlOf(settings, path),
      headers: this.#withBetas(mergeHeaders(own, settings.headers)),
      body,
      secrets: [key],
    };
  }

  #withBetas(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const { 'anthropic-beta': given = '', ...rest } = headers;
    const features = [...this.#betas, ...given.split(/[\s,]+/)].filter((name) => name !== '');
    return { ...rest, ...(features.length > 0 && { 'anthropic-beta': [...new Set(features)].join(',') }) };
  }
}

function urlOf({ baseUrl = BASE_URL, query }: HttpSettings, path: string): string {
  const root = checkBaseUrl(ANTHROPIC, baseUrl).replace(/\/v1(?=\?|$)/, '');
  return joinUrl(root, `/v1/${path}`, query);
}
