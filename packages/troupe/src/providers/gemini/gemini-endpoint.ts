import { TroupeError } from '../../errors.ts';
import { checkBaseUrl, checkKey, joinUrl, mergeHeaders } from '../../model/http/headers.ts';
import type { HttpModelOptions } from '../../model/http/http-chat-model.ts';
import { readEnv } from '#platform';
import { geminiDialectOf, type GeminiDialect } from './gemini-dialect.ts';

/** Where a model of Gemini is asked, with which key, and how. */
export interface GeminiEndpoint {
  /** Model name on the wire, such as `models/gemini-2.5-flash`. */
  readonly model: string;
  readonly dialect: GeminiDialect;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  url(method: string, params?: Readonly<Record<string, string>>): string;
}

export const GEMINI = 'Gemini';
const HOME = 'https://generativelanguage.googleapis.com';
const VERSION = 'v1beta';
const KEY_HEADER = 'x-goog-api-key';
const MODEL = /^(?:[\w-]+\/)*[\w.@-]+$/;

/**
 * The key goes into a header. Who signs in by another one, as one does at Vertex AI, needs none.
 * @throws TroupeError if there is no key, or if the address or the name of the model is none.
 */
export function geminiEndpoint(
  options: Pick<HttpModelOptions, 'modelName' | 'apiKey' | 'baseUrl' | 'headers'>,
): GeminiEndpoint {
  const { modelName, baseUrl = HOME } = options;
  if (!MODEL.test(modelName)) {
    throw invalid("modelName is invalid. Example: 'gemini-2.5-flash'.");
  }
  const given = mergeHeaders({ 'content-type': 'application/json' }, options.headers);
  const signsIn = 'authorization' in given || KEY_HEADER in given;
  const key = options.apiKey ?? (signsIn ? undefined : keyOfEnvironment());
  const model = modelName.includes('/') ? modelName : `models/${modelName}`;
  const root = checkBaseUrl(GEMINI, baseUrl);
  const version = /\/v\d\w*(?:\/|$)/.test(new URL(root).pathname) ? '' : `/${VERSION}`;
  return {
    model,
    dialect: geminiDialectOf(modelName, baseUrl),
    headers: key === undefined ? given : { [KEY_HEADER]: checkKey(GEMINI, key), ...given },
    secrets: key === undefined ? [] : [key],
    url: (method, params) => joinUrl(root, `${version}/${model}:${method}`, params),
  };
}

function keyOfEnvironment(): string {
  const key = readEnv('GEMINI_API_KEY') || readEnv('GOOGLE_API_KEY');
  if (key) return key;
  throw invalid(`${GEMINI} needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY, or give the option apiKey.`);
}

function invalid(message: string): TroupeError {
  return new TroupeError('invalid_config', message);
}
