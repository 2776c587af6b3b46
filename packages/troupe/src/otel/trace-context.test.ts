import * as api from '@opentelemetry/api';
import { expect, test } from 'vitest';

import { headersOf, remoteSpan } from './trace-context.ts';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test('a span goes to another program and comes back the same, without baggage', () => {
  const headers = { traceparent: PARENT, baggage: 'user=secret' };
  const span = remoteSpan((name) => headers[name as keyof typeof headers], api);
  expect(span).toMatchObject({ traceFlags: 1, isRemote: true });
  expect(headersOf(span, api)).toEqual({ traceparent: PARENT });
});

test('the state of a trace is passed on, unless it is long', () => {
  const span = remoteSpan(() => PARENT, api) ?? api.INVALID_SPAN_CONTEXT;
  const stateOf = (text: string): api.TraceState => {
    const state: api.TraceState = {
      get: () => undefined,
      set: () => state,
      unset: () => state,
      serialize: () => text,
    };
    return state;
  };
  expect(headersOf({ ...span, traceState: stateOf('a=1') }, api)).toMatchObject({ tracestate: 'a=1' });
  expect(headersOf({ ...span, traceState: stateOf('a'.repeat(600)) }, api)).toEqual({ traceparent: PARENT });
});

test.each([
  undefined,
  '',
  'nonsense',
  '00-00000000000000000000000000000000-b7ad6b7169203331-01',
  '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
  '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01',
  `${PARENT}${'-x'.repeat(100_000)}`,
])('a traceparent that is not valid is ignored: %#', (traceparent) => {
  expect(remoteSpan((name) => (name === 'traceparent' ? traceparent : undefined), api)).toBeUndefined();
});

test('without a span there are no headers', () => {
  expect(headersOf(undefined, api)).toEqual({});
  expect(headersOf(api.INVALID_SPAN_CONTEXT, api)).toEqual({});
});
