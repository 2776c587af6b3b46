import { inspect } from 'node:util';

import { APICallError } from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';

import { TroupeError } from '../../errors.ts';
import { ModelError } from '../../model/model-error.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { toModelError } from './ai-sdk-error.ts';

const REQUEST = {
  url: 'https://api.acme.test/v1/chat?key=sk-4711',
  requestBodyValues: { messages: [{ role: 'user', content: 'My diary says: hush.' }] },
};
const NEXT = 'Wrap the model in a RetryModel, or in a FallbackModel with another model.';
const map = (thrown: unknown, hasBegun = false): ModelError =>
  toModelError(thrown, { vendor: 'acme.chat', model: 'm1' }, hasBegun) as ModelError;
const named = (name: string, message: string): Error => Object.assign(new Error(message), { name });

describe('an answer with a status', () => {
  const answer = (fields: object): APICallError =>
    new APICallError({ message: 'Slow down.', ...REQUEST, statusCode: 429, ...fields });

  test('tells what the provider said, and when to come back', () => {
    using _clock = new FakeClock().install();
    const headers = {
      'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT',
      'request-id': 'req_1',
      'bad name': 'x',
    };
    const body = '{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}';
    expect(map(answer({ responseHeaders: headers, responseBody: body }))).toMatchObject({
      message: `acme.chat (m1 at api.acme.test) has had too many requests (429). It said: Slow down. ${NEXT}`,
      vendor: 'acme.chat',
      model: 'm1',
      host: 'api.acme.test',
      kind: 'rate_limit',
      status: 429,
      isRetryable: true,
      providerCode: 'rate_limit_exceeded',
      retryAfterMs: 30_000,
      requestId: 'req_1',
      body,
    });
  });

  test('without a body, its words are those of the error', () => {
    expect(map(answer({ responseBody: ' ' }))).toMatchObject({
      kind: 'rate_limit',
      message: expect.stringMatching(/It said: Slow down\. Wrap the model/) as string,
    });
  });

  test('holds nothing of the request, wherever one looks', () => {
    const headers = { authorization: 'Bearer sk-4711' };
    const error = map(answer({ responseBody: '{}', responseHeaders: headers, cause: new Error('sk-4711') }));
    const shown = inspect(error, { depth: Infinity, showHidden: true }) + JSON.stringify(error);
    expect(shown).toContain('acme.chat');
    expect(shown).not.toMatch(/sk-4711|hush|v1\/chat/);
    expect(Object.keys(error).sort()).toEqual([
      'code',
      'host',
      'isRetryable',
      'kind',
      'model',
      'name',
      'status',
      'vendor',
    ]);
  });

  test('an account without credit is not asked again', () => {
    const body = '{"error":{"message":"You exceeded your current quota.","code":"insufficient_quota"}}';
    expect(map(answer({ responseBody: body }))).toMatchObject({ kind: 'rate_limit', isRetryable: false });
  });
});

describe('a connection', () => {
  const code = (code: string, message: string): Error => Object.assign(new Error(message), { code });

  test.each([
    [
      'that could not be made',
      new APICallError({ message: 'Cannot connect to API: no route', ...REQUEST, isRetryable: true }),
      'Cannot connect to API: no route',
    ],
    [
      'that the SDK says nothing about',
      new TypeError('fetch failed', { cause: code('ENOTFOUND', 'getaddrinfo') }),
      'ENOTFOUND getaddrinfo',
    ],
    [
      'whose name was not found in time',
      new TypeError('fetch failed', { cause: code('EAI_AGAIN', 'getaddrinfo') }),
      'EAI_AGAIN getaddrinfo',
    ],
    ['that fetch says nothing about', new TypeError('fetch failed'), 'fetch failed'],
    [
      'that somebody else aborted',
      named('AbortError', 'This operation was aborted'),
      'This operation was aborted',
    ],
  ])('%s', (_what, thrown, reason) => {
    const error = map(thrown);
    expect(error).toMatchObject({ kind: 'network', isRetryable: true });
    expect(error.message).toMatch(
      new RegExp(`^acme\\.chat \\(m1( at api\\.acme\\.test)?\\) could not be reached: `),
    );
    expect(error.message).toContain(`: ${reason}. Check the network and the address. ${NEXT}`);
    expect(error.cause).toBeUndefined();
  });

  test('that broke in the middle of a good answer', () => {
    const cause = new TypeError('terminated', { cause: code('UND_ERR_SOCKET', 'other side closed') });
    const thrown = new APICallError({ message: 'Failed to process', ...REQUEST, statusCode: 200, cause });
    expect(map(thrown, true).message).toBe(
      `The connection to acme.chat (m1 at api.acme.test) was lost: UND_ERR_SOCKET other side closed. Check the network and the address. ${NEXT}`,
    );
    const silent = new APICallError({ message: 'Failed to process', ...REQUEST, statusCode: 200 });
    expect(map(silent, true)).toMatchObject({ kind: 'network', isRetryable: true });
  });

  test('that took longer than the provider allows', () => {
    expect(map(named('TimeoutError', 'The operation timed out'))).toMatchObject({
      kind: 'timeout',
      message: `acme.chat (m1) took too long. ${NEXT}`,
    });
  });
});

test.each([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
  'AI_EmptyResponseBodyError',
])('an answer that could not be read: %s', (name) => {
  const error = map(named(name, 'Value: {"a":1}'));
  expect(error).toMatchObject({ kind: 'malformed', isRetryable: false, body: 'Value: {"a":1}' });
  expect(error.message).toBe(`acme.chat (m1) sent an invalid response: it could not be read (${name}).`);
});

test.each([
  ['an object', { type: 'overloaded_error', message: 'Overloaded' }, 'overloaded'],
  [
    'an object in an object',
    { type: 'error', error: { code: 'context_length_exceeded', message: 'x' } },
    'context_overflow',
  ],
  [
    'with a status of its own',
    { message: 'Busy.', statusCode: 503, isRetryable: true, data: 'hush' },
    'overloaded',
  ],
  ['a text', 'rate limit reached', 'rate_limit'],
  ['a missing key', named('AI_LoadAPIKeyError', 'Acme API key is missing. Pass it.'), 'auth'],
  [
    'something that the model cannot do',
    named('AI_UnsupportedFunctionalityError', "'video' functionality not supported."),
    'bad_request',
  ],
  ['nothing', undefined, 'overloaded'],
  ['an object that says nothing', { data: 'hush' }, 'overloaded'],
  ['a mistake of the package', new TypeError('x is undefined'), 'bad_request'],
])('%s', (_what, thrown, kind) => {
  const error = map(thrown);
  expect(ModelError.isInstance(error)).toBe(true);
  expect(error.kind).toBe(kind);
  expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('hush');
});

test('our own errors stay what they are', () => {
  const own = new TroupeError('invalid_input', 'Give it a name.');
  expect(toModelError(own, { vendor: 'acme.chat' }, false)).toBe(own);
});
