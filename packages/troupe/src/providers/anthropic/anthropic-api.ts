import { TroupeError } from '../../errors.ts';
import { checkBaseUrl, checkKey, joinUrl, mergeHeaders } from '../../model/http/headers.ts';
import { readEnv } from '#platform';
import { claudeModel } from './claude-models.ts';
import { BINDING_BETA } from './thinking-plan.ts';

export const ANTHROPIC = 'Anthropic';
const BASE_URL = 'https://api.anthropic.com';
const VERSION = '2023-06-01';
const KEY_VARIABLE = 'ANTHROPIC_API_KEY';

export interface AnthropicApiOptions {
  readonly modelName: string;
  /** @default the environment variable ANTHROPIC_API_KEY */
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Beta features to request in the header `anthropic-beta`. */
  readonly betas?: readonly string[] | undefined;
}

/** Where the API is, and how one is let in. */
export class AnthropicApi {
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly #root: string;

  /** @throws TroupeError without a key, or with an invalid address. */
  constructor({ modelName, apiKey, baseUrl = BASE_URL, headers, betas = [] }: AnthropicApiOptions) {
    const key = apiKey ?? (readEnv(KEY_VARIABLE) || undefined);
    if (key === undefined) {
      throw new TroupeError(
        'invalid_config',
        `${ANTHROPIC} needs a key: set ${KEY_VARIABLE}, or give the option apiKey.`,
      );
    }
    this.apiKey = checkKey(ANTHROPIC, key);
    this.#root = checkBaseUrl(ANTHROPIC, baseUrl).replace(/\/v1(?=\?|$)/, '');
    const { 'anthropic-beta': given = '', ...rest } = mergeHeaders(
      { 'content-type': 'application/json', 'x-api-key': key, 'anthropic-version': VERSION },
      headers,
    );
    const own = claudeModel(modelName).bindsThinking ? [BINDING_BETA] : [];
    const features = [...own, ...betas, ...given.split(/[\s,]+/)].filter((name) => name !== '');
    this.headers = {
      ...rest,
      ...(features.length > 0 && { 'anthropic-beta': [...new Set(features)].join(',') }),
    };
  }

  /** The headers of a request that needs more beta features. */
  headersWith(betas: ReadonlySet<string>): Readonly<Record<string, string>> {
    const { 'anthropic-beta': given = '' } = this.headers;
    const known = given.split(',').filter((name) => name !== '');
    const more = [...betas].filter((name) => !known.includes(name));
    return more.length === 0
      ? this.headers
      : { ...this.headers, 'anthropic-beta': [...known, ...more].join(',') };
  }

  url(path: string): string {
    return joinUrl(this.#root, `/v1/${path}`);
  }
}
