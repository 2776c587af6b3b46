import { describe, expect, test } from 'vitest';
import { withRunConfig } from '../../config/run-config.ts';
import type { GenerationOptions } from '../../model/chat-model-base.ts';
import { EFFORTS, OPENAI_MODELS, ruleFor, XAI_MODELS, type ModelRule } from './model-rules.ts';
import { OptionFitter } from './option-fitter.ts';

const ALL: GenerationOptions = {
  maxTokens: 9,
  temperature: 0,
  topP: 0.5,
  stop: ['x'],
  seed: 4,
  presencePenalty: 1,
  frequencyPenalty: 2,
  parallelToolCalls: false,
  extra: { temperature: 1 },
};

function fit(modelName: string, asked: GenerationOptions, hasTools = false, rules = OPENAI_MODELS) {
  const lines: string[] = [];
  const fitter = new OptionFitter(modelName, ruleFor(modelName, rules));
  const fitted = withRunConfig(
    { logging: { log: (level, message) => void lines.push(`${level}: ${message}`) } },
    () => {
      fitter.fit(asked, hasTools);
      return fitter.fit(asked, hasTools);
    },
  );
  return { fitted, lines };
}
const effortOf = (modelName: string, effort: GenerationOptions['reasoningEffort'], rules = OPENAI_MODELS) =>
  fit(modelName, { reasoningEffort: effort }, false, rules).fitted.reasoningEffort;

describe('the options of a call', () => {
  test('reach a model that nothing is known about as they are', () => {
    const asked = { ...ALL, reasoningEffort: 'minimal' } as const;
    expect(fit('my-model', asked, true)).toEqual({ fitted: asked, lines: [] });
  });

  test('that a model does not take are left out, and that is said once', () => {
    expect(fit('gpt-5', ALL)).toEqual({
      fitted: { maxTokens: 9, seed: 4, parallelToolCalls: false, extra: { temperature: 1 } },
      lines: [
        'warn: gpt-5 does not accept temperature, so it is omitted.',
        'warn: gpt-5 does not accept topP, so it is omitted.',
        'warn: gpt-5 does not accept presencePenalty, so it is omitted.',
        'warn: gpt-5 does not accept frequencyPenalty, so it is omitted.',
        'warn: gpt-5 does not accept stop, so it is omitted.',
      ],
    });
    expect(fit('gpt-4o', { ...ALL, reasoningEffort: 'low' })).toEqual({
      fitted: ALL,
      lines: ['warn: gpt-4o does not accept reasoningEffort, so it is omitted.'],
    });
    expect(fit('grok-4', { temperature: 0, stop: ['x'], reasoningEffort: 'low' }, false, XAI_MODELS)).toEqual(
      {
        fitted: { temperature: 0 },
        lines: [
          'warn: grok-4 does not accept reasoningEffort, so it is omitted.',
          'warn: grok-4 does not accept stop, so it is omitted.',
        ],
      },
    );
  });

  test('are taken by newer models that are told not to think', () => {
    const asked = { temperature: 0, topP: 1, reasoningEffort: 'none' } as const;
    expect(fit('gpt-5.1', asked)).toEqual({ fitted: asked, lines: [] });
    expect(fit('gpt-5.1', { temperature: 0 })).toEqual({
      fitted: {},
      lines: ['warn: gpt-5.1 does not accept temperature, so it is omitted.'],
    });
  });

  test('hold the nearest effort that the model knows', () => {
    const nearest = (modelName: string): unknown[] => EFFORTS.map((effort) => effortOf(modelName, effort));
    expect(nearest('gpt-5')).toEqual(['minimal', 'minimal', 'low', 'medium', 'high', 'high']);
    expect(nearest('gpt-5.1')).toEqual(['none', 'low', 'low', 'medium', 'high', 'high']);
    expect(nearest('gpt-5.2')).toEqual(['none', 'low', 'low', 'medium', 'high', 'xhigh']);
    expect(nearest('o3')).toEqual(['low', 'low', 'low', 'medium', 'high', 'high']);
    expect(nearest('gpt-5-pro')).toEqual(Array(6).fill('high'));
    expect(effortOf('grok-3-mini', 'medium', XAI_MODELS)).toBe('high');
    expect(fit('o3', { reasoningEffort: 'minimal' }).lines).toEqual([
      "warn: o3 does not accept the effort 'minimal', so 'low' is sent.",
    ]);
  });

  test('let a model think or call tools, where Chat Completions does not allow both', () => {
    const line = (name: string): string =>
      `warn: ${name} accepts tools in Chat Completions only without thinking. Use OpenAIResponsesModel for both.`;
    expect(fit('gpt-5.4', { reasoningEffort: 'high' }, true)).toEqual({
      fitted: {},
      lines: [line('gpt-5.4')],
    });
    expect(fit('gpt-5.4', {}, true)).toEqual({ fitted: {}, lines: [] });
    expect(fit('gpt-5.4', { temperature: 0, reasoningEffort: 'none' }, true)).toEqual({
      fitted: { temperature: 0 },
      lines: [],
    });
    expect(fit('gpt-5.4', { reasoningEffort: 'high' }).fitted.reasoningEffort).toBe('high');
    expect(fit('gpt-5.6-sol', {}, true)).toEqual({
      fitted: { reasoningEffort: 'none' },
      lines: [line('gpt-5.6-sol')],
    });
    expect(fit('gpt-5.6-sol', { reasoningEffort: 'none' }, true).lines).toEqual([]);
  });
});

test('a rule is found by the name, whatever stands behind it', () => {
  const thinks = (modelName: string): boolean => ruleFor(modelName, OPENAI_MODELS).isReasoning === true;
  for (const name of [
    'o1',
    'o3-mini',
    'o4-mini-2025-04-16',
    'ft:o4-mini:me',
    'gpt-5',
    'gpt-5.1-chat-latest',
    'gpt-6',
  ])
    expect([name, thinks(name)]).toEqual([name, true]);
  for (const name of [
    'gpt-4o',
    'gpt-35-turbo',
    'gpt-3.5-turbo',
    'chatgpt-4o-latest',
    'gpt-5-chat-latest',
    'o365',
  ])
    expect([name, thinks(name)]).toEqual([name, false]);
});

test('no rule is hidden behind another one', () => {
  const ALL_RULES: readonly (readonly [ModelRule[], string[]])[] = [
    [
      [...OPENAI_MODELS],
      [
        'gpt-4o-search-preview',
        'gpt-4.1',
        'o1-mini',
        'o3',
        'gpt-5.2-chat-latest',
        'gpt-5-pro',
        'gpt-5.2-pro',
        'gpt-5.1-codex',
        'gpt-5.3-codex',
        'gpt-5-mini',
        'gpt-5.1',
        'gpt-5.2',
        'gpt-5.4',
        'gpt-5.10',
        'gpt-6-sol',
        'gpt-6',
        'openai/gpt-oss-20b',
      ],
    ],
    [
      [...XAI_MODELS],
      ['grok-4-fast-non-reasoning', 'grok-3-mini', 'grok-3', 'grok-4.3', 'grok-4.5', 'grok-4.6', 'grok-4'],
    ],
  ];
  for (const [rules, names] of ALL_RULES) {
    expect(names.map((name) => rules.indexOf(ruleFor(name, rules)))).toEqual(rules.map((_, i) => i));
  }
});
