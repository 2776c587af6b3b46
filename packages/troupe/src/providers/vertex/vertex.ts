import { TroupeError } from '../../errors.ts';
import { checkKey } from '../../model/http/headers.ts';
import type { AskedFor } from '../../model/http/http-call-options.ts';
import type { ModelHosting } from '../../model/http/model-hosting.ts';
import { abortable } from '../../util/abort.ts';
import { readEnv } from '#platform';

export interface VertexOptions {
  /**
   * Access token of Google, or a function that returns a fresh one, such as `() => auth.getAccessToken()` of
   * `google-auth-library`. Tokens expire after an hour.
   */
  readonly token: AskedFor<string | null | undefined>;
  /** Project of Google Cloud. @default GOOGLE_CLOUD_PROJECT */
  readonly project?: string | undefined;
  /** Location, such as 'europe-west1'. @default GOOGLE_CLOUD_LOCATION, else 'global' */
  readonly location?: string | undefined;
}

const TITLE = 'Vertex AI';
const NAME = /^[\w.:-]+$/;

/**
 * Vertex AI of Google Cloud as the host of Gemini and of Claude. Folder `providers/vertex`: start here.
 *
 * @example
 * ```ts no-run
 * import { AnthropicChatModel } from 'troupe/anthropic';
 * import { vertex } from 'troupe/vertex';
 *
 * declare const auth: { getAccessToken(): Promise<string> }; // new GoogleAuth({ scopes: … }) of google-auth-library
 * const hosting = vertex({ project: 'my-project', token: () => auth.getAccessToken() });
 * const model = new AnthropicChatModel({ modelName: 'claude-sonnet-4-5@20250929', hosting });
 * ```
 *
 * @throws TroupeError without a project, or with an invalid location
 */
export function vertex({ token, ...options }: VertexOptions): ModelHosting {
  const project = options.project ?? (readEnv('GOOGLE_CLOUD_PROJECT') || '');
  const location = options.location ?? (readEnv('GOOGLE_CLOUD_LOCATION') || 'global');
  if (!NAME.test(project)) {
    throw invalid(`${TITLE} needs a project: set GOOGLE_CLOUD_PROJECT, or give the option project.`);
  }
  if (!/^[a-z\d-]+$/.test(location)) throw invalid("location is invalid. Example: 'europe-west1'.");
  return {
    title: TITLE,
    baseUrl: baseUrlOf(location),
    anthropic: { version: 'vertex-2023-10-16', hasStreamField: true, betas: 'header' },
    tierHeader: 'x-vertex-ai-llm-shared-request-type',
    path(publisher, modelName, isStreamed) {
      const [whole, streamed] =
        publisher === 'google'
          ? ['generateContent', 'streamGenerateContent']
          : ['rawPredict', 'streamRawPredict'];
      const model = `publishers/${publisher}/models/${encodeURIComponent(modelName).replaceAll('%40', '@')}`;
      return `/v1/projects/${project}/locations/${location}/${model}:${isStreamed ? streamed : whole}`;
    },
    async sign(call, signal) {
      const given = typeof token === 'function' ? token({ signal }) : token;
      const key = checkKey(TITLE, (await abortable(Promise.resolve(given), signal)) ?? '');
      return { ...call, headers: { ...call.headers, authorization: `Bearer ${key}` }, secrets: [key] };
    },
  };
}

/** Host of a location: global, one of several regions such as 'eu', or a region. */
function baseUrlOf(location: string): string {
  if (location === 'global') return 'https://aiplatform.googleapis.com';
  return /^[a-z]{2}$/.test(location)
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`;
}

function invalid(message: string): TroupeError {
  return new TroupeError('invalid_config', message);
}
