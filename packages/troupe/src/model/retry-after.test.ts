import { expect, test, vi } from 'vitest';

import { parseRetryAfter } from './retry-after.ts';

const NOW = Date.UTC(1994, 10, 6, 8, 49, 35);

test.each([
  [{ 'retry-after-ms': '1500' }, 1500],
  [{ 'retry-after-ms': '12.6' }, 13],
  [{ 'retry-after-ms': '0' }, 0],
  [{ 'Retry-After': '2' }, 2000],
  [{ 'Retry-After': ' 2 ' }, 2000],
  [{ 'Retry-After': '0.25' }, 250],
  [{ 'Retry-After': '3600' }, 3_600_000],
  [{ 'Retry-After': 'Sun, 06 Nov 1994 08:49:37 GMT' }, 2000],
  [{ 'Retry-After': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 2000],
  [{ 'Retry-After': 'Sun Nov  6 08:49:37 1994' }, 2000],
  [{ 'Retry-After': 'Sun, 06 Nov 1994 08:49:35 GMT' }, 0],
  [{ 'Retry-After': 'Sat, 05 Nov 1994 08:49:37 GMT' }, 0],
])('%o asks to wait for %i ms', (headers, expected) => {
  expect(parseRetryAfter(new Headers(headers), NOW)).toBe(expected);
});

test('a date is Greenwich time, wherever the program runs', () => {
  vi.stubEnv('TZ', 'America/New_York');
  expect(new Date(NOW).getHours()).toBe(3);
  const date = new Headers({ 'Retry-After': 'Sun Nov  6 08:49:37 1994' });
  expect(parseRetryAfter(date, NOW)).toBe(2000);
  vi.unstubAllEnvs();
});

test('a date counts from the Date of the response, whatever the time of day is here', () => {
  const headers = { date: 'Sun, 06 Nov 1994 08:49:30 GMT', 'Retry-After': 'Sun, 06 Nov 1994 08:49:37 GMT' };
  expect(parseRetryAfter(new Headers(headers), NOW - 90_000)).toBe(7000);
  expect(parseRetryAfter(new Headers({ ...headers, date: 'today' }), NOW)).toBe(2000);
});

test('0 milliseconds beside a real delay count as none', () => {
  expect(parseRetryAfter(new Headers({ 'Retry-After': '1', 'retry-after-ms': '0' }), NOW)).toBe(1000);
  expect(parseRetryAfter(new Headers({ 'Retry-After': 'soon', 'retry-after-ms': '0' }), NOW)).toBe(0);
});

test('milliseconds are more exact, and win', () => {
  expect(parseRetryAfter(new Headers({ 'Retry-After': '2', 'retry-after-ms': '1234' }), NOW)).toBe(1234);
});

test('invalid milliseconds fall back to the other header', () => {
  expect(parseRetryAfter(new Headers({ 'Retry-After': '2', 'retry-after-ms': 'soon' }), NOW)).toBe(2000);
});

test('without a header there is no wait', () => {
  expect(parseRetryAfter(new Headers(), NOW)).toBeUndefined();
});

// JavaScript reads a date out of many of these.
test.each([
  '',
  'soon',
  '-2',
  '+2',
  '2s',
  '2 apples',
  '1e3',
  '0x10',
  'NaN',
  'Infinity',
  '9'.repeat(400),
  '2, 3',
  'tomorrow 5',
  'Sun, 06 Nov 1994',
  'Sun, 06 Nov 1994 08:49:37',
  'Sun, 06 Nov 1994 08:49:37 PST',
  'Sun, 99 Xyz 1994 08:49:37 GMT',
  'Sun, 06 Nov 1994 08:49:37 GMT (really)',
])('%j asks for nothing', (value) => {
  expect(parseRetryAfter(new Headers({ 'Retry-After': value }), NOW)).toBeUndefined();
  expect(parseRetryAfter(new Headers({ 'retry-after-ms': value }), NOW)).toBeUndefined();
});
