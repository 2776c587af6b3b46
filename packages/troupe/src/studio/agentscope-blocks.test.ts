import { expect, test } from 'vitest';

import { fromAgentScopeBlocks, toAgentScopeBlocks } from './agentscope-blocks.ts';

test('tools that a provider ran are tool blocks in the form of AgentScope', () => {
  const [id, name, executedBy] = ['s1', 'web_search', 'anthropic'];
  const blocks = toAgentScopeBlocks([
    { type: 'provider_tool_use', id, name, input: { query: 'Oslo' }, executedBy },
    { type: 'provider_tool_result', id, name, output: 'rain', status: 'ok', executedBy },
  ]);
  expect(blocks).toEqual([
    { type: 'tool_use', id, name, input: { query: 'Oslo' } },
    { type: 'tool_result', id, name, output: 'rain' },
  ]);
});

test('blocks of AgentScope come back as they went, and unknown ones as text', () => {
  const blocks = [
    { type: 'text', text: 'Hi' },
    { type: 'thinking', thinking: 'Hm' },
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    { type: 'tool_use', id: 'c1', name: 'add', input: { a: 1 } },
  ] as const;
  expect(fromAgentScopeBlocks(toAgentScopeBlocks(blocks))).toEqual(blocks);
  expect(fromAgentScopeBlocks([{ type: 'hologram' }])).toEqual([
    { type: 'text', text: '{"type":"hologram"}' },
  ]);
});
