import { messageOf } from '../../errors.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { REDACTED } from '../../util/redaction/key-patterns.ts';
import { oneLine } from '../../util/text.ts';
import {
  changeModelError,
  ModelError,
  nameOrigin,
  type DeadlineName,
  type ModelErrorKind,
  type ModelOrigin,
} from '../model-error.ts';

/** Code and message of a provider's error response. */
interface ProviderMessage {
  readonly code: string;
  readonly message: string;
}

export interface FailedResponse {
  readonly origin: ModelOrigin;
  readonly status?: number | undefined;
  readonly body: string;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** Phrases of providers for a prompt that is too long. */
const TOO_LONG =
  /context[ _-]?(length|window|size)|maximum context|prompt is too long|input is too long|too[ _]many[ _]((input|prompt)[ _])?tokens|(input|prompt)[^.]{0,40}(exceed|longer than)[^.]{0,60}(token|limit|length)|token count[^.]{0,40}exceeds|range of input length|reduce the length|exceeded model token limit|token length too long|maximum prompt length|超长|exceeds? (the )?(model'?s? )?max(imum)?( \w+)? tokens/i;
const FILTERED =
  /content[ _-]?filter|content management policy|data_inspection_failed|inappropriate content|safety (system|settings)|prohibited[ _]content|invalid_prompt|^1301\b|不安全或敏感/i;
const BAD_KEY =
  /api[ _-]?key[^.]{0,30}(invalid|not valid|incorrect|missing|expired)|(invalid|incorrect|missing)[^.]{0,20}api[ _-]?key|authentication|permission_(denied|error)|unauthorized/i;
const NO_CREDIT =
  /insufficient[_ ](quota|balance|credits?)|exceeded your current quota|billing|arrear|credit balance is too low|^1113\b|余额不足/i;
const REJECTED = /invalid_(request|argument|image)|image_parse_error|bad_request|not_found|unsupported/i;
/** Advice with which Bedrock rejects too many tokens in a minute or a day. */
const WAIT = /please wait|per (?:minute|day)/i;
const TOO_FAST = /rate[_ -]?limit|too many requests|resource_exhausted|throttl/i;

/** Classifies a failure by status and error text. */
export function kindOf(status: number | undefined, { code, message }: ProviderMessage): ModelErrorKind {
  const said = `${code} ${message}`;
  if (status === 401 || status === 403) return FILTERED.test(said) ? 'content_filter' : 'auth';
  if (status === 402) return 'rate_limit';
  if (status === 408) return 'timeout';
  if (status === 413) return 'context_overflow';
  if (status === 424) return 'overloaded'; // a model of Bedrock failed
  if (status === 429) return TOO_LONG.test(said) && !WAIT.test(said) ? 'context_overflow' : 'rate_limit';
  if (status !== undefined && status >= 500) return 'overloaded';
  if (TOO_LONG.test(said)) return 'context_overflow';
  if (FILTERED.test(said)) return 'content_filter';
  if (BAD_KEY.test(said)) return 'auth';
  if (TOO_FAST.test(said) || NO_CREDIT.test(said)) return 'rate_limit';
  if (status === 409) return 'overloaded';
  // A failure after the request was accepted is the provider's fault, unless the error says otherwise.
  return status === undefined && !REJECTED.test(said) ? 'overloaded' : 'bad_request';
}

const WHAT: Record<ModelErrorKind, string> = {
  auth: 'did not accept the key',
  rate_limit: 'has had too many requests',
  overloaded: 'is overloaded or has a fault',
  context_overflow: 'says that the prompt is too long',
  content_filter: 'blocked the request by its content filter',
  bad_request: 'rejected the request',
  network: 'could not be reached',
  timeout: 'took too long',
  malformed: 'sent an invalid response',
};

/** Error for a response that reports a failure, by its status or inside its body. */
export function responseError(answer: FailedResponse): ModelError {
  const { origin, body, requestId, retryAfterMs } = answer;
  const reported = readProviderMessage(body);
  const status = answer.status ?? statusIn(body);
  const kind = kindOf(status, reported);
  const askedMs = delayIn(body);
  const hasNoCredit =
    kind === 'rate_limit' &&
    (status === 402 || (askedMs === undefined && NO_CREDIT.test(`${reported.code} ${reported.message}`)));
  const what = hasNoCredit ? 'says that the account has no credit left' : WHAT[kind];
  const said = sentence(oneLine(reported.message).slice(0, 300).trim());
  const head = `${nameOrigin(origin)} ${what}${status === undefined ? '' : ` (${status})`}.`;
  return new ModelError(said === '' ? head : `${head} It said: ${said}`, {
    ...origin,
    kind,
    status,
    providerCode: reported.code || undefined,
    retryAfterMs: retryAfterMs ?? askedMs,
    requestId,
    body,
    ...(status === 404 && { check: 'Check the name of the model and the baseUrl.' }),
    ...(hasNoCredit && { isRetryable: false, check: 'Check the plan.' }),
  });
}

export function malformedResponse(origin: ModelOrigin, problem: string, body?: string): ModelError {
  const message = `${nameOrigin(origin)} sent an invalid response: ${problem}.`;
  return new ModelError(message, { ...origin, kind: 'malformed', body });
}

/** Error for a response in another format, as servers send it that have another API or none. */
export function foreignResponse(origin: ModelOrigin, problem: string, body: string): ModelError {
  const check = 'Check the baseUrl and the vendor.';
  return changeModelError(malformedResponse(origin, problem, body), { check });
}

/** Timeouts of Node's own fetch. */
const FETCH_TIMEOUTS: Readonly<Record<string, DeadlineName>> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  UND_ERR_HEADERS_TIMEOUT: 'first_byte',
  UND_ERR_BODY_TIMEOUT: 'idle',
};

/**
 * Error for a failed or lost connection. Contains only the message of the thrown value, which itself may hold
 * the URL or a header.
 */
export function lostConnection(
  { origin, secrets }: { readonly origin: ModelOrigin; readonly secrets: readonly string[] },
  hasBegun: boolean,
  thrown?: unknown,
): ModelError {
  const { code, words } =
    thrown === undefined ? { code: '', words: 'it ended before the answer did' } : reasonOf(thrown);
  const who = nameOrigin(origin);
  const what = hasBegun ? `The connection to ${who} was lost` : `${who} could not be reached`;
  const reason = withoutSecrets([code, words].filter(Boolean).join(' '), secrets);
  const deadline = FETCH_TIMEOUTS[code];
  return new ModelError(`${what}: ${reason.replace(/\.$/, '')}.`, {
    ...origin,
    kind: deadline === undefined ? 'network' : 'timeout',
    deadline,
    check: 'Check the network and the baseUrl.',
  });
}

/** Shorter secrets could be part of ordinary words, and are removed only where they stand alone. */
const LONG_SECRET = 8;
/** Shorter secrets protect nothing, and could be ordinary words themselves. */
const SHORT_SECRET = 4;

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => withoutSecret(rest, secret), text);
}

function withoutSecret(text: string, secret: string): string {
  if (secret.length < SHORT_SECRET) return text;
  if (secret.length >= LONG_SECRET) return text.replaceAll(secret, REDACTED);
  return text.replaceAll(secret, (match, at: number) => {
    const isInWord = WORD.test(text[at - 1] ?? '') || WORD.test(text[at + secret.length] ?? '');
    return isInWord ? match : REDACTED;
  });
}

const WORD = /[\p{L}\p{N}]/u;

/** The cause of 'fetch failed' has the real reason. */
function reasonOf(thrown: unknown): { readonly code: string; readonly words: string } {
  const inner = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  const code: unknown = inner instanceof Error ? (inner as NodeJS.ErrnoException).code : undefined;
  return { code: typeof code === 'string' ? code : '', words: messageOf(inner) };
}

/** Finds code and message in the various error formats. */
function readProviderMessage(body: string): ProviderMessage {
  const parsed = readJson(body);
  const outer = Array.isArray(parsed) ? (parsed as readonly unknown[])[0] : parsed;
  if (!isJsonObject(outer)) return { code: '', message: /^\s*</.test(body) ? '' : body.slice(0, 300) };
  const { error = outer } = outer;
  if (typeof error === 'string') return { code: text(outer['code']), message: error };
  if (!isJsonObject(error)) return { code: '', message: '' };
  const code = text(error['code']) || text(error['status']) || text(error['type']);
  return {
    code: /^\d*$/.test(code) ? text(error['status']) || text(error['type']) || code : code,
    message: text(error['message']) || text(outer['message']) || text(outer['detail']),
  };
}

/** Fields of error events in a stream that may hold an HTTP status. */
const STATUS_FIELDS = ['status_code', 'http_status', 'statusCode', 'status', 'code'];

function statusIn(body: string): number | undefined {
  const outer = firstObject(body);
  const { error } = outer;
  const found = [isJsonObject(error) ? error : {}, outer]
    .flatMap((holder) => STATUS_FIELDS.map((field) => text(holder[field])))
    .find((value) => /^[45]\d\d$/.test(value));
  return found === undefined ? undefined : Number(found);
}

/** The object of a body, or the first of a list, which Google sends. */
function firstObject(body: string): JsonObject {
  const parsed = readJson(body);
  const first: unknown = Array.isArray(parsed) ? (parsed as readonly unknown[])[0] : parsed;
  return isJsonObject(first) ? first : {};
}

/** Delay in the body of Google's errors. An account with a delay still has credit. */
function delayIn(body: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000);
}

function sentence(text: string): string {
  return text === '' || /[.!?…]$/.test(text) ? text : `${text}.`;
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
