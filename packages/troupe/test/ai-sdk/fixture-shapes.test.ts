// Recorded answers are held against the schemas of the AI SDK's packages, which read real answers every day: a fixture in a
// shape that no vendor sends is found here.
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import type { AiSdkLanguageModel } from '../../src/providers/ai-sdk/index.ts';
import { isJsonObject } from '../../src/util/json.ts';
import { readFixtures, toText } from '../wire/replay.ts';
import { Loopback } from './loopback.ts';

let server: Loopback;
beforeAll(async () => {
  server = await new Loopback().listen();
});
afterAll(() => server.close());

const MAKE: Readonly<Record<string, (url: string) => AiSdkLanguageModel>> = {
  'openai-responses': (baseURL) => createOpenAI({ apiKey: 'k', baseURL }).responses('gpt-5'),
  anthropic: (baseURL) => createAnthropic({ apiKey: 'k', baseURL })('claude-sonnet-4-5'),
  gemini: (baseURL) => createGoogleGenerativeAI({ apiKey: 'k', baseURL })('gemini-3-pro-preview'),
};

/** Answers that are broken on purpose, or newer than the package. */
const LEFT_OUT: readonly string[] = [
  'anthropic/unknown-block',
  'anthropic/disconnect',
  'anthropic/open-call',
  'anthropic/whole-in-start', // the package reads no text there
  'gemini/disconnect',
  'openai-responses/disconnect',
  'openai-responses/nested-error', // the package throws an error before any output
  'openai-responses/search-results', // of Perplexity, whose events lack fields that OpenAI sends
];

const cases = Object.keys(MAKE).flatMap((folder) =>
  [...readFixtures(folder)].map(([name, bytes]) => ({ id: `${folder}/${name}`, folder, bytes })),
);

test.each(cases.filter(({ id }) => !LEFT_OUT.includes(id)))('$id', async ({ folder, bytes }) => {
  server.willAnswer(toText(bytes));
  const model = MAKE[folder]?.(server.url);
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }];
  const { stream } = (await model?.doStream({ prompt })) ?? {};
  const reader = stream?.getReader();
  const invalid: string[] = [];
  let count = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) break;
    count++;
    const error: unknown = isJsonObject(value) && value['type'] === 'error' ? value['error'] : undefined;
    if (error instanceof Error && /TypeValidation|JSONParse/.test(error.name)) invalid.push(error.message);
  }
  expect(invalid).toEqual([]);
  expect(count).toBeGreaterThan(1);
});
