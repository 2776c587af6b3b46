import { TroupeError } from '../../errors.ts';
import type { HttpModelOptions } from '../../model/http/http-chat-model.ts';
import { readEnv } from '#platform';
import { dialectOf, type GeminiDialect } from './gemini-dialect.ts';

/** Where a model of Gemini is asked, with which key, and how. */
export interface GeminiEndpoint {
  /** The model as the API calls it, such as `models/gemini-2.5-flash`. */
  readonly model: string;
  readonly dialect: GeminiDialect;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  url(method: string): string;
}

const HOME = 'https://generativelanguage.googleapis.com';
const VERSION = 'v1beta';
const MODEL = /^(?:[\w-]+\/)*[\w.@-]+$/;

/** @throws TroupeError if there is no key, or if the address or the name of the model is none. */
export function geminiEndpoint(
  options: Pick<HttpModelOptions, 'modelName' | 'apiKey' | 'baseUrl' | 'headers'>,
): GeminiEndpoint {
  const { modelName, baseUrl = HOME } = options;
  if (!MODEL.test(modelName)) {
    throw invalid("modelName is no name of a model, such as 'gemini-2.5-flash'.");
  }
  if (!URL.canParse(baseUrl)) throw invalid('The baseUrl of Gemini is no address.');
  const key = options.apiKey ?? (readEnv('GEMINI_API_KEY') || readEnv('GOOGLE_API_KEY') || undefined);
  if (key === undefined) {
    throw invalid('Gemini needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY, or give the option apiKey.');
  }
  const model = modelName.includes('/') ? modelName : `models/${modelName}`;
  const root = baseUrl.replace(/\/+$/, '');
  const versioned = /\/v\d\w*(?:\/|$)/.test(new URL(root).pathname) ? root : `${root}/${VERSION}`;
  return {
    model,
    dialect: dialectOf(modelName, baseUrl),
    headers: {
      'content-type': 'application/json',
      ...(key !== '' && { 'x-goog-api-key': key }),
      ...options.headers,
    },
    secrets: [key],
    url: (method) => `${versioned}/${model}:${method}`,
  };
}

function invalid(message: string): TroupeError {
  return new TroupeError('invalid_config', message);
}
