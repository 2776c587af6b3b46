import type * as aws from 'aws4fetch';
import { TroupeError } from '../../errors.ts';
import { checkKey } from '../../model/http/headers.ts';
import type { AskedFor } from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';
import type { ModelHosting } from '../../model/http/model-hosting.ts';
import { abortable } from '../../util/abort.ts';
import { timestamp } from '../../util/clock.ts';
import { readEnv } from '#platform';
import { EventStreamFraming } from './event-stream-framing.ts';

/** Credentials of AWS, as `@aws-sdk/credential-providers` gives them. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface BedrockOptions {
  /** Region of AWS, such as 'us-east-1'. @default AWS_REGION, else AWS_DEFAULT_REGION */
  readonly region?: string | undefined;
  /** API key of Bedrock, or a function that returns one. @default AWS_BEARER_TOKEN_BEDROCK */
  readonly apiKey?: AskedFor<string> | undefined;
  /**
   * Credentials, or a function that returns fresh ones. They need the package `aws4fetch`. @default
   * AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
   */
  readonly credentials?: AskedFor<AwsCredentials> | undefined;
}

const TITLE = 'Amazon Bedrock';
const SERVICE = 'bedrock';

/**
 * Amazon Bedrock as the host of Claude: requests are signed (SigV4) or carry an API key of Bedrock, answers
 * come in Amazon's event stream. Folder `providers/bedrock`: start here.
 *
 * @example
 * ```ts no-run
 * import { AnthropicChatModel } from 'troupe/anthropic';
 * import { bedrock } from 'troupe/bedrock';
 *
 * const model = new AnthropicChatModel({
 *   modelName: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
 *   hosting: bedrock({ region: 'us-east-1' }), // credentials are in AWS_ACCESS_KEY_ID …
 * });
 * ```
 *
 * @throws TroupeError without a region, or without a key and credentials
 */
export function bedrock(options: BedrockOptions = {}): ModelHosting {
  const region = options.region ?? (readEnv('AWS_REGION') || readEnv('AWS_DEFAULT_REGION'));
  if (region === undefined || !/^[a-z\d-]+$/.test(region)) {
    throw invalid(`${TITLE} needs a region such as 'us-east-1': set AWS_REGION, or give the option region.`);
  }
  const signIn = signInOf(options);
  return {
    title: TITLE,
    baseUrl: `https://bedrock-runtime.${region}.amazonaws.com`,
    anthropic: { version: 'bedrock-2023-05-31', hasStreamField: false, betas: 'body' },
    tierHeader: 'x-amzn-bedrock-service-tier',
    path(publisher, modelName, isStreamed) {
      if (publisher !== 'anthropic') throw invalid(`${TITLE} does not host models of Google.`);
      const method = isStreamed ? 'invoke-with-response-stream' : 'invoke';
      return `/model/${encodeURIComponent(modelName)}/${method}`;
    },
    async sign(call, signal) {
      const secret = await abortable(Promise.resolve(signIn({ signal })), signal);
      return typeof secret === 'string' ? withKey(call, secret) : withSignature(call, secret, region);
    },
    newFraming: () => new EventStreamFraming(),
  };
}

type SignIn = (options: {
  readonly signal: AbortSignal;
}) => string | AwsCredentials | Promise<string | AwsCredentials>;

/** Given credentials, else a given key, else those of the environment. */
function signInOf({ credentials, apiKey }: BedrockOptions): SignIn {
  const given = credentials ?? apiKey ?? (readEnv('AWS_BEARER_TOKEN_BEDROCK') || credentialsOfEnvironment());
  if (given === undefined) {
    throw invalid(
      `${TITLE} needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK, or give the option credentials or apiKey.`,
    );
  }
  return typeof given === 'function' ? given : () => given;
}

function credentialsOfEnvironment(): AwsCredentials | undefined {
  const accessKeyId = readEnv('AWS_ACCESS_KEY_ID');
  const secretAccessKey = readEnv('AWS_SECRET_ACCESS_KEY');
  if (!accessKeyId || !secretAccessKey) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken: readEnv('AWS_SESSION_TOKEN') || undefined };
}

function withKey(call: WireCall, key: string): WireCall {
  const headers = { ...call.headers, authorization: `Bearer ${checkKey(TITLE, key)}` };
  return { ...call, headers, secrets: [key] };
}

async function withSignature(
  call: WireCall,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  region: string,
): Promise<WireCall> {
  const { AwsV4Signer } = await loadSigner();
  const signer = new AwsV4Signer({
    ...call,
    method: 'POST',
    accessKeyId: checkKey(TITLE, accessKeyId),
    secretAccessKey: checkKey(TITLE, secretAccessKey),
    ...(sessionToken !== undefined && { sessionToken }),
    service: SERVICE,
    region,
    datetime: timestamp().replace(/[:-]|\.\d{3}/g, ''),
  });
  const signed = await signer.sign();
  const headers = Object.fromEntries(signed.headers);
  const signature = headers['authorization'] ?? '';
  const secrets = [
    accessKeyId,
    secretAccessKey,
    signature,
    ...(sessionToken === undefined ? [] : [sessionToken]),
  ];
  return { ...call, url: signed.url.href, headers, secrets };
}

async function loadSigner(): Promise<typeof aws> {
  try {
    return await import('aws4fetch');
  } catch (cause) {
    throw new TroupeError(
      'invalid_config',
      'Credentials of AWS need the package aws4fetch: npm install aws4fetch. Or give an apiKey of Bedrock.',
      { cause },
    );
  }
}

function invalid(message: string): TroupeError {
  return new TroupeError('invalid_config', message);
}
