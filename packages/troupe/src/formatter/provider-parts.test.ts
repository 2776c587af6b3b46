import { expect, test } from 'vitest';
import type { ContentBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import { ChatFormatter } from './chat-formatter.ts';
import { MultiAgentFormatter } from './multi-agent-formatter.ts';
import { ProviderParts } from './provider-parts.ts';

const CONTENT: ContentBlock[] = [
  {
    type: 'provider_tool_use',
    id: 's1',
    name: 'web_search',
    input: { query: 'weather' },
    executedBy: 'anthropic',
  },
  {
    type: 'provider_tool_result',
    id: 's1',
    name: 'web_search',
    output: 'x'.repeat(5000),
    status: 'error',
    executedBy: 'anthropic',
  },
  { type: 'text', text: 'Sunny.', citations: [{ url: 'https://a.example/', title: 'A' }] },
];

test('another provider’s calls, results and citations become text, once for each item', () => {
  const parts = new ProviderParts(() => false);
  const prompt = new ChatFormatter().format([Msg.user('?'), Msg.assistant(CONTENT), Msg.user('!')]);
  const [, answer] = parts.prepare(prompt).items;
  expect(answer).toEqual({
    role: 'assistant',
    name: 'assistant',
    content: [
      { type: 'text', text: '[web_search, run by anthropic: {"query":"weather"}]' },
      {
        type: 'text',
        text: expect.stringMatching(/^\[Result of web_search \(failed\): x{3000,4000}…?.*\]$/),
      },
      { type: 'text', text: 'Sunny.\n\nSources:\n[1] A <https://a.example/>' },
    ],
  });
  expect(parts.prepare(prompt).items[1]).toBe(answer);
});

test('parts that the provider takes back stay the same object', () => {
  const prompt = new ChatFormatter().format([Msg.user('?'), Msg.assistant(CONTENT), Msg.user('!')]);
  expect(new ProviderParts(() => true).prepare(prompt)).toBe(prompt);
});

test('a formatter repairs nothing about a provider’s call without a result', () => {
  const call = CONTENT[0] as ContentBlock;
  const { items, repairs } = new ChatFormatter().format([
    Msg.user('?'),
    Msg.assistant([call]),
    Msg.user('!'),
  ]);
  expect(items.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(repairs).toEqual([]);
});

test('others hear the text of an answer with a provider’s tools', () => {
  const prompt = new MultiAgentFormatter().format([Msg.assistant(CONTENT, { name: 'Ann' })], {
    agentName: 'Bob',
  });
  expect(JSON.stringify(prompt.items)).toContain('Ann: Sunny.');
  expect(JSON.stringify(prompt.items)).not.toContain('web_search');
});
