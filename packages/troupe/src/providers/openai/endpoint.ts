import { TroupeError } from '../../errors.ts';
import type { HttpModelOptions } from '../../model/http/http-chat-model.ts';
import { readEnv } from '#platform';
import { CHAT_VENDORS, vendorAt, type ChatVendor, type ChatVendorName } from './vendors.ts';

export interface OpenAIEndpointOptions extends HttpModelOptions {
  /** Whose API it is. @default by the baseUrl; without one, OpenAI */
  readonly vendor?: ChatVendorName | undefined;
  /** For Azure's older addresses, which name the deployment (the modelName) and a version. */
  readonly apiVersion?: string | undefined;
}

/** Where requests go, and with what. */
export interface Endpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What must not appear in an error. */
  readonly secrets: readonly string[];
}

/** @throws TroupeError that lists the vendors. */
export function vendorOf({ vendor, baseUrl }: OpenAIEndpointOptions): ChatVendorName {
  const name = vendor ?? (baseUrl === undefined ? 'openai' : vendorAt(baseUrl));
  if (Object.hasOwn(CHAT_VENDORS, name)) return name;
  throw new TroupeError('invalid_config', `vendor must be one of ${Object.keys(CHAT_VENDORS).join(', ')}.`);
}

/** @param path such as `/chat/completions`. @throws TroupeError if the key or the address is missing. */
export function endpointOf(options: OpenAIEndpointOptions, vendor: ChatVendor, path: string): Endpoint {
  const key = options.apiKey ?? vendor.keyVariables.map(readEnv).find(Boolean);
  if (key === undefined && !vendor.isKeyOptional) {
    const variables = vendor.keyVariables.join(' or ');
    const message = `${vendor.title} needs a key: set ${variables}, or give the option apiKey.`;
    throw new TroupeError('invalid_config', message);
  }
  const keyHeader =
    vendor.keyHeader === 'api-key' ? { 'api-key': key ?? '' } : { authorization: `Bearer ${key}` };
  return {
    url: urlOf(options, vendor, path),
    headers: { 'content-type': 'application/json', ...(key !== undefined && keyHeader), ...options.headers },
    secrets: key === undefined ? [] : [key],
  };
}

function urlOf(
  { baseUrl, apiVersion, modelName }: OpenAIEndpointOptions,
  vendor: ChatVendor,
  path: string,
): string {
  const isAzure = vendor.keyHeader === 'api-key';
  const base = baseUrl ?? vendor.baseUrl ?? (isAzure ? readEnv('AZURE_OPENAI_ENDPOINT') : undefined);
  if (base === undefined || !URL.canParse(base)) {
    const where = isAzure ? ', such as https://NAME.openai.azure.com, or set AZURE_OPENAI_ENDPOINT' : '';
    throw new TroupeError('invalid_config', `${vendor.title} needs a baseUrl${where}.`);
  }
  const root = base.replace(/\/+$/, '');
  if (!isAzure) return root + path;
  if (apiVersion === undefined) return `${root.endsWith('/v1') ? root : `${root}/openai/v1`}${path}`;
  const deployment = encodeURIComponent(modelName);
  return `${root}/openai/deployments/${deployment}${path}?api-version=${encodeURIComponent(apiVersion)}`;
}
