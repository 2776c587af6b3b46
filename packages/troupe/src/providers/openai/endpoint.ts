import { TroupeError } from '../../errors.ts';
import { checkBaseUrl, checkKey, joinUrl, mergeHeaders } from '../../model/http/headers.ts';
import type { HttpModelOptions, WireCall } from '../../model/http/http-chat-model.ts';
import { knownHttp, type HttpSettings } from '../../model/http/http-call-options.ts';
import { readEnv } from '#platform';
import { CHAT_VENDORS, vendorAt, type ChatVendor, type ChatVendorName } from './vendors.ts';

export interface OpenAIEndpointOptions extends HttpModelOptions {
  /** Vendor of the API. @default detected from `baseUrl`; without a `baseUrl`, OpenAI */
  readonly vendor?: ChatVendorName | undefined;
  /** For Azure's older addresses, which name the deployment (the modelName) and a version. */
  readonly apiVersion?: string | undefined;
}

/** @throws TroupeError with a list of the vendors. */
export function vendorOf({ vendor, baseUrl }: OpenAIEndpointOptions): ChatVendorName {
  const name = vendor ?? (baseUrl === undefined ? 'openai' : vendorAt(baseUrl));
  if (Object.hasOwn(CHAT_VENDORS, name)) return name;
  throw new TroupeError('invalid_config', `vendor must be one of ${Object.keys(CHAT_VENDORS).join(', ')}.`);
}

/** Address and headers of the requests of an OpenAI-compatible API. */
export class Endpoint {
  readonly host: string;
  readonly #options: OpenAIEndpointOptions;
  readonly #vendor: ChatVendor;
  readonly #path: string;
  /** Key of the environment when the model was made. */
  readonly #ownKey: string | undefined;

  /**
   * @param path such as `/chat/completions`. @throws TroupeError if the key is missing or the address is
   * missing or invalid.
   */
  constructor(options: OpenAIEndpointOptions, vendor: ChatVendor, path: string) {
    this.#options = options;
    this.#vendor = vendor;
    this.#path = path;
    this.#ownKey = vendor.keyVariables.map(readEnv).find(Boolean);
    const known = knownHttp(options);
    this.host = new URL(this.#url(known)).host;
    if (typeof options.apiKey !== 'function') this.#headers(known);
  }

  /** @throws TroupeError if the key is missing, or the key or the address is invalid. */
  call(settings: HttpSettings, body: WireCall['body'], contentType = 'application/json'): WireCall {
    const key = this.#key(settings);
    return {
      url: joinUrl(this.#url(settings), '', settings.query),
      headers: this.#headers(settings, contentType),
      body,
      secrets: key === undefined ? [] : [key],
    };
  }

  #key({ apiKey }: HttpSettings): string | undefined {
    return apiKey ?? this.#ownKey;
  }

  #headers(settings: HttpSettings, contentType = 'application/json'): Readonly<Record<string, string>> {
    const vendor = this.#vendor;
    const key = this.#key(settings);
    if (key === undefined && !vendor.isKeyOptional) {
      const variables = vendor.keyVariables.join(' or ');
      const message = `${vendor.title} needs a key: set ${variables}, or give the option apiKey.`;
      throw new TroupeError('invalid_config', message);
    }
    const own = { 'content-type': contentType, ...(key !== undefined && keyHeader(vendor, key)) };
    return mergeHeaders(own, settings.headers);
  }

  #url({ baseUrl }: HttpSettings): string {
    return urlOf({ ...this.#options, baseUrl }, this.#vendor, this.#path);
  }
}

function keyHeader(vendor: ChatVendor, key: string): Readonly<Record<string, string>> {
  const checked = checkKey(vendor.title, key);
  return vendor.keyHeader === 'api-key' ? { 'api-key': checked } : { authorization: `Bearer ${checked}` };
}

function urlOf(
  { baseUrl, apiVersion, modelName }: OpenAIEndpointOptions,
  vendor: ChatVendor,
  path: string,
): string {
  const isAzure = vendor.keyHeader === 'api-key';
  const base = baseUrl ?? vendor.baseUrl ?? (isAzure ? readEnv('AZURE_OPENAI_ENDPOINT') : undefined);
  if (base === undefined) {
    const where = isAzure ? ', such as https://NAME.openai.azure.com, or set AZURE_OPENAI_ENDPOINT' : '';
    throw new TroupeError('invalid_config', `${vendor.title} needs a baseUrl${where}.`);
  }
  const root = checkBaseUrl(vendor.title, base);
  return isAzure ? azureUrl(root, modelName, path, apiVersion) : joinUrl(root, path);
}

/** Path of a base URL that names the deployment itself. */
const DEPLOYMENT = /\/deployments\/[^/]+$/;

function azureUrl(root: string, modelName: string, path: string, given: string | undefined): string {
  const { pathname, searchParams } = new URL(root);
  const inQuery = searchParams.get('api-version') ?? '';
  const version = given ?? (/^\d{4}-/.test(inQuery) ? inQuery : undefined);
  const params = version === undefined ? {} : { 'api-version': version };
  if (DEPLOYMENT.test(pathname)) return joinUrl(root, path, params);
  if (version === undefined) return joinUrl(root, `${pathname.endsWith('/v1') ? '' : '/openai/v1'}${path}`);
  // Only the Responses API is not below a deployment: there the model is named in the body.
  const deployment = path === '/responses' ? '' : `/deployments/${encodeURIComponent(modelName)}`;
  return joinUrl(root, `/openai${deployment}${path}`, params);
}
