import { expect, test } from 'vitest';

import { providerName } from './provider-names.ts';

test.each([
  ['OpenAI', 'api.openai.com', 'openai'],
  ['OpenAI', 'dashscope.aliyuncs.com', 'dashscope'],
  ['OpenAI', 'api.deepseek.com:443', 'deepseek'],
  ['OpenAI', 'me.openai.azure.com', 'azure.ai.openai'],
  ['Azure OpenAI', 'me.openai.azure.com', 'azure.ai.openai'],
  ['Anthropic', 'api.anthropic.com', 'anthropic'],
  ['Gemini', undefined, 'gcp.gemini'],
  ['google.vertex.chat', undefined, 'gcp.vertex_ai'],
  ['amazon-bedrock', undefined, 'aws.bedrock'],
  ['Moonshot', 'api.moonshot.cn', 'moonshot'],
  ['Ollama', '127.0.0.1:11434', 'ollama'],
  ['llama.cpp', undefined, 'llama.cpp'],
  [undefined, undefined, 'unknown'],
])('%s at %s is %s', (vendor, host, expected) => {
  expect(providerName(vendor, host)).toBe(expected);
});
