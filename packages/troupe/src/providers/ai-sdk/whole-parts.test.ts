import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { describe, expect, test } from 'vitest';

import { TOOLS } from '../../../test/wire/histories.ts';
import { fetchOf, outcomeOf, readFixtures, toBytes, type SentRequest } from '../../../test/wire/replay.ts';
import { wholeChat, wholeContent, wholeMessage } from '../../../test/wire/whole-answer.ts';
import { Msg } from '../../message/msg.ts';
import type { Fetch } from '../../util/net/http.ts';
import { AiSdkModel } from './ai-sdk-model.ts';
import type { AiSdkLanguageModel } from './language-model.ts';

const ASK = { messages: [Msg.user('Hi.')], tools: TOOLS };

describe.each<[string, (fetch: Fetch) => AiSdkLanguageModel, (recording: Uint8Array) => object]>([
  ['openai-chat', (fetch) => createOpenAI({ apiKey: 'k', fetch }).chat('gpt-4.1'), wholeChat],
  ['anthropic', (fetch) => createAnthropic({ apiKey: 'k', fetch })('claude-sonnet-4-5'), wholeMessage],
  ['gemini', (fetch) => createGoogle({ apiKey: 'k', fetch })('gemini-2.5-flash'), wholeContent],
])('%s without streaming', (folder, make, toWhole) => {
  // The package for Gemini makes up ids that are missing.
  const names = ['plain', 'parallel-tools', ...(folder === 'gemini' ? [] : ['thinking-and-tools'])];
  test.each(names)('%s is the answer of its stream', async (name) => {
    const recording = readFixtures(folder).get(name)!;
    const sse = { 'content-type': 'text/event-stream' };
    const streamed = await outcomeOf(
      new AiSdkModel(make(fetchOf({ pieces: [recording], headers: sse }))),
      ASK,
    );
    const sent: SentRequest[] = [];
    const pieces = [toBytes(JSON.stringify(toWhole(recording)))];
    const fetch = fetchOf({ pieces, headers: { 'content-type': 'application/json' } }, sent);
    const whole = await outcomeOf(new AiSdkModel(make(fetch), { stream: false }), ASK);
    expect(whole).toEqual(streamed);
    expect(whole.error).toBe(undefined);
    expect(sent[0]!.body).not.toContain('"stream":true');
    expect(await outcomeOf(new AiSdkModel(make(fetch)), { ...ASK, http: { stream: false } })).toEqual(whole);
  });

  test('an error is the error of a stream', async () => {
    const pieces = [toBytes('{"error":{"message":"No.","type":"invalid_request_error"}}')];
    const fetch = fetchOf({ pieces, status: 400, headers: { 'content-type': 'application/json' } });
    const failures = await Promise.all(
      [true, false].map((stream) =>
        new AiSdkModel(make(fetch), { stream }).call(ASK).catch((error: unknown) => error),
      ),
    );
    expect(failures[1]).toMatchObject({ kind: 'bad_request' });
    expect(failures[1]).toEqual(failures[0]);
  });
});
