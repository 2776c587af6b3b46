import { readEnv } from '#platform';

import { TroupeError } from '../../errors.ts';
import { checkBaseUrl, checkKey, joinUrl, mergeHeaders } from '../../model/http/headers.ts';
import { knownHttp, type HttpCallOptions, type HttpSettings } from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';

export const DASHSCOPE = 'DashScope';
const HOME = 'https://dashscope.aliyuncs.com';
const PATH = '/api/v1/services';

/** Address and key of DashScope's own API. Folder `providers/dashscope`: start here. */
export class DashScopeEndpoint {
  readonly host: string;
  readonly #path: string;

  /** @throws TroupeError if the key is missing, or the address is invalid */
  constructor(options: Omit<HttpCallOptions, 'stream'>, path: string) {
    this.#path = path;
    this.host = new URL(this.#url(knownHttp(options))).host;
    if (typeof options.apiKey !== 'function') keyOf(knownHttp(options));
  }

  call(settings: HttpSettings, body: string, headers: Readonly<Record<string, string>> = {}): WireCall {
    const key = keyOf(settings);
    const own = {
      'content-type': 'application/json',
      authorization: `Bearer ${checkKey(DASHSCOPE, key)}`,
      ...headers,
    };
    return {
      url: joinUrl(this.#url(settings), '', settings.query),
      headers: mergeHeaders(own, settings.headers),
      body,
      secrets: [key],
    };
  }

  #url({ baseUrl = HOME }: HttpSettings): string {
    return joinUrl(checkBaseUrl(DASHSCOPE, baseUrl), `${PATH}/${this.#path}`);
  }
}

function keyOf({ apiKey = readEnv('DASHSCOPE_API_KEY') }: HttpSettings): string {
  if (apiKey) return apiKey;
  const advice = 'set DASHSCOPE_API_KEY, or give the option apiKey';
  throw new TroupeError('invalid_config', `${DASHSCOPE} needs a key: ${advice}.`);
}
