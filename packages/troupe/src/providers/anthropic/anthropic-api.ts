import { TroupeError } from '../../errors.ts';
import { readEnv } from '#platform';

export const VENDOR = 'Anthropic';
const BASE_URL = 'https://api.anthropic.com';
const VERSION = '2023-06-01';
const KEY_VARIABLE = 'ANTHROPIC_API_KEY';

export interface AnthropicApiOptions {
  /** @default the environment variable ANTHROPIC_API_KEY */
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Features that have to be asked for by name, in the header `anthropic-beta`. */
  readonly betas?: readonly string[] | undefined;
}

/** Where the API is, and how one is let in. */
export class AnthropicApi {
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly #root: string;

  /** @throws TroupeError without a key, or with an address that is none. */
  constructor({ apiKey, baseUrl = BASE_URL, headers, betas = [] }: AnthropicApiOptions) {
    const key = apiKey ?? readEnv(KEY_VARIABLE);
    if (key === undefined || key === '') {
      throw new TroupeError(
        'invalid_config',
        `${VENDOR} needs a key: set ${KEY_VARIABLE}, or give the option apiKey.`,
      );
    }
    if (!URL.canParse(baseUrl)) {
      throw new TroupeError('invalid_config', `baseUrl must be an address, such as ${BASE_URL}.`);
    }
    this.apiKey = key;
    this.#root = baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
    this.headers = {
      'content-type': 'application/json',
      'x-api-key': key,
      'anthropic-version': VERSION,
      ...(betas.length > 0 && { 'anthropic-beta': [...new Set(betas)].join(',') }),
      ...headers,
    };
  }

  url(path: string): string {
    return `${this.#root}/v1/${path}`;
  }
}
