import { expect, test } from 'vitest';
import { claudeModel } from './claude-models.ts';

test.each([
  ['claude-2.1', 'none', 4096, 'always', 'none'],
  ['claude-3-opus-20240229', 'none', 4096, 'always', 'none'],
  ['claude-3-5-sonnet-20241022', 'none', 8192, 'always', 'none'],
  ['claude-3-7-sonnet-latest', 'budget', 64_000, 'without_thinking', 'none'],
  ['claude-sonnet-4-20250514', 'budget', 64_000, 'without_thinking', 'none'],
  ['anthropic/claude-4-sonnet', 'budget', 64_000, 'without_thinking', 'none'],
  ['claude-opus-4-1-20250805', 'budget', 32_000, 'without_thinking', 'none'],
  ['claude-haiku-4-5@20251001', 'budget', 64_000, 'without_thinking', 'native'],
  ['anthropic/claude-4.5-sonnet', 'budget', 64_000, 'without_thinking', 'native'],
  ['us.anthropic.claude-opus-4-6-v1', 'adaptive', 128_000, 'without_thinking', 'native'],
  ['claude-opus-4-8[1m]', 'adaptive', 128_000, 'without_thinking', 'native'],
  ['claude-sonnet-5-20270101', 'adaptive', 128_000, 'always', 'native'],
  ['claude-mythos-preview', 'adaptive', 128_000, 'always', 'native'],
  ['claude-haiku-5-5', 'adaptive', 128_000, 'always', 'native'],
  ['claude-fable-5-2', 'adaptive', 128_000, 'never', 'native'],
  ['claude-opus-latest', 'adaptive', 128_000, 'never', 'native'],
  ['claude-saga-9', 'adaptive', 128_000, 'never', 'native'],
  ['glm-4.5', 'budget', Infinity, 'without_thinking', 'none'],
] as const)('the features of %s', (name, thinking, maxOutput, forcedTools, structured) => {
  expect(claudeModel(name)).toMatchObject({ thinking, maxOutput, forcedTools, structured });
});

test.each([
  ['claude-sonnet-4-5', 'unasked', false],
  ['claude-opus-4-7', 'unasked', false],
  ['claude-opus-5', 'disabled', false],
  ['claude-fable-5', 'never', false],
  ['claude-haiku-5-5', 'disabled', true],
  ['claude-sonnet-5-5', 'between_tools', true],
  ['claude-opus-5-5', 'never', true],
] as const)(
  'the way to switch off thinking of %s, and the limits of its thinking',
  (name, thinkingOff, bindsThinking) => {
    expect(claudeModel(name)).toMatchObject({ thinkingOff, bindsThinking });
  },
);
