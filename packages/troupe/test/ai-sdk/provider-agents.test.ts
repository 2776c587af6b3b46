// Agents whose model is one of the AI SDK, with tools that the provider runs: hooks, a session saved and loaded, an interrupt
// at every event, and other vendors in mid-conversation.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';

import {
  AiSdkModel,
  type AiSdkLanguageModel,
  type AiSdkProviderTool,
} from '../../src/providers/ai-sdk/index.ts';
import type { JsonObject } from '../../src/util/json.ts';
import type { Fetch } from '../../src/util/net/http.ts';
import { anthropicFaults } from '../wire/anthropic-rules.ts';
import { geminiFaults } from '../wire/gemini-rules.ts';
import { openAiResponsesFaults } from '../wire/openai-responses-rules.ts';
import { readFixtures } from '../wire/replay.ts';
import { wholeContent, wholeMessage, wholeResponse } from '../wire/whole-answer.ts';
import { describeProviderTools, type ProviderToolCase } from '../wire/provider-tools-suite.ts';

interface Package {
  readonly folder: string;
  readonly faultsIn: (body: JsonObject) => string[];
  readonly model: (fetch: Fetch) => AiSdkLanguageModel;
  readonly providerTools: readonly AiSdkProviderTool[];
  readonly answerIn: (body: JsonObject) => unknown;
  readonly cases: readonly ProviderToolCase[];
}

const recorded = (folder: string, name: string): Uint8Array =>
  readFixtures(folder).get(name) ?? new Uint8Array();
const messageOf = (name: string): JsonObject[] =>
  wholeMessage(recorded('anthropic', name))['content'] as JsonObject[];
/** The parts of an answer; the package keeps no signatures of code. */
function partsOf(name: string): JsonObject[] {
  const { candidates } = wholeContent(recorded('gemini', name)) as {
    candidates?: { content: { parts: JsonObject[] } }[];
  };
  return (candidates ?? []).flatMap(({ content }) =>
    content.parts.map(({ thoughtSignature: _, ...part }) => part),
  );
}
/** The items of an answer; the package sends a message as a string. */
function outputOf(name: string): JsonObject[] {
  const output = wholeResponse(recorded('openai-responses', name))['output'] as JsonObject[];
  return output.map(({ content, ...item }) =>
    item['type'] === 'message'
      ? { role: 'assistant', content: (content as { text: string }[]).map(({ text }) => text).join('') }
      : item,
  );
}

const KEY = { apiKey: 'key' };
const PACKAGES: readonly Package[] = [
  {
    folder: 'anthropic',
    // The package asks for arguments that stream without a check.
    faultsIn: (body) =>
      anthropicFaults(body).filter((fault) => !fault.endsWith('eager_input_streaming is unknown')),
    model: (fetch) => createAnthropic({ ...KEY, fetch })('claude-sonnet-4-5'),
    providerTools: [
      { id: 'anthropic.web_search_20250305', name: 'web_search' },
      { id: 'anthropic.code_execution_20250825', name: 'code_execution' },
    ],
    answerIn: ({ messages }) => (messages as { content: unknown }[])[1]?.content,
    cases: [
      {
        name: 'server-tools',
        sentBack: messageOf('server-tools'),
        inWords: ['web_search, run by anthropic'],
      },
      { name: 'search-error', sentBack: messageOf('search-error'), inWords: ['max_uses_exceeded'] },
    ],
  },
  {
    folder: 'gemini',
    faultsIn: (body) => geminiFaults(body, 'gemini-3-flash-preview'),
    model: (fetch) => createGoogleGenerativeAI({ ...KEY, fetch })('gemini-3-flash-preview'),
    providerTools: [{ id: 'google.code_execution' }],
    answerIn: ({ contents }) => (contents as { parts: unknown }[])[1]?.parts,
    cases: [
      {
        name: 'code-execution',
        sentBack: partsOf('code-execution'),
        inWords: ['code_execution, run by google'],
      },
    ],
  },
  {
    folder: 'openai-responses',
    // The package sends instructions as a string, which the API takes, too.
    faultsIn: (body) =>
      openAiResponsesFaults(body).filter((fault) => !/content must (?:be a list|not be empty)$/.test(fault)),
    model: (fetch) => createOpenAI({ ...KEY, fetch }).responses('gpt-5.1'),
    providerTools: [{ id: 'openai.web_search' }],
    answerIn: ({ input }) => (input as JsonObject[]).slice(1, -1),
    cases: [{ name: 'web-search', sentBack: outputOf('web-search'), inWords: ['web_search, run by openai'] }],
  },
];

for (const { folder, faultsIn, model, providerTools, answerIn, cases } of PACKAGES)
  describeProviderTools({
    wire: { folder, contentType: 'text/event-stream', faultsIn },
    makeModel: ({ fetch }) => new AiSdkModel(model(fetch as Fetch), { providerTools }),
    answerIn,
    cases,
  });
