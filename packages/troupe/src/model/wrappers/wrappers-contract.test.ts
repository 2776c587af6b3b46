import { describe, expect, test } from 'vitest';

import {
  chatModelContract,
  CONTRACT_CALLS,
  CONTRACT_TEXT,
  contractRequest,
} from '../../testing/chat-model-contract.ts';
import type { ContractScenario } from '../../testing/chat-model-case.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { ScriptedModel, type ScriptedTurn } from '../../testing/scripted-model.ts';
import { CacheModel } from './cache-model.ts';
import type { ChatModelBase } from '../chat-model-base.ts';
import { FallbackModel } from './fallback-model.ts';
import { ModelError } from '../model-error.ts';
import { RateLimitModel } from './rate-limit-model.ts';
import { RecordingModel } from './recording-model.ts';
import { ReplayModel } from './replay-model.ts';
import { RetryModel } from './retry-model.ts';

const usage = { inputTokens: 3, outputTokens: 4, seconds: 0.5 };
const error = new ModelError('The provider is overloaded.', { kind: 'overloaded' });

const turns: Record<ContractScenario, ScriptedTurn> = {
  text: { text: CONTRACT_TEXT, chunkSize: 3, usage },
  tools: { thinking: 'Hm.', toolCalls: CONTRACT_CALLS, chunkSize: 3, usage },
  stall: { text: 'Let me see', chunkSize: 3, stall: true },
  failure: { error },
  breaks: { text: 'Let me see', chunkSize: 3, error },
};

/** Counts the answers that it is giving. */
class Counted extends ScriptedModel {
  running = 0;

  override async *stream(
    ...args: Parameters<ScriptedModel['stream']>
  ): AsyncGenerator<ModelDelta, void, void> {
    this.running++;
    try {
      yield* super.stream(...args);
    } finally {
      this.running--;
    }
  }
}

const scripted = (scenario: ContractScenario): ScriptedModel =>
  new ScriptedModel([{ when: () => true, ...turns[scenario] }]);
const broken = (): ScriptedModel =>
  new ScriptedModel([{ when: () => true, deltas: [{ type: 'usage', usage }], error }], 'broken');

const retry = (model: ChatModelBase): ChatModelBase => new RetryModel(model, { baseDelayMs: 0 });
const cache = (model: ChatModelBase): ChatModelBase => new CacheModel(model);
const limit = (model: ChatModelBase): ChatModelBase =>
  new RateLimitModel(model, { requestsPerMinute: 100, tokensPerMinute: 1e6, maxConcurrent: 1 });
const record = (model: ChatModelBase): ChatModelBase => new RecordingModel(model, { write: () => {} });

const wrappers: Record<string, (model: ChatModelBase) => ChatModelBase> = {
  RetryModel: retry,
  FallbackModel: (model) => new FallbackModel([model, model]),
  'FallbackModel behind a broken model': (model) => new FallbackModel([broken(), model]),
  RateLimitModel: limit,
  CacheModel: cache,
  RecordingModel: record,
  'all of them': (model) => cache(new FallbackModel([retry(limit(record(model)))])),
};

describe.each(Object.entries(wrappers))('%s', (_name, wrap) => {
  const inner = new WeakMap<ChatModelBase, Counted>();
  const make = (scenario: ContractScenario): ChatModelBase => {
    const model = new Counted([{ when: () => true, ...turns[scenario] }]);
    const wrapped = wrap(model);
    inner.set(wrapped, model);
    return wrapped;
  };
  const workOf = (model: ChatModelBase): number => inner.get(model)?.requests.length ?? NaN;
  const runningOf = (model: ChatModelBase): number => inner.get(model)?.running ?? NaN;
  const cases = chatModelContract(make, { workOf, runningOf });

  test.each(cases.map(({ name, run }) => [name, run] as const))('%s', (_name, run) => run());

  test('runs the cases of all scenarios', () => {
    expect(new Set(cases.map(({ name }) => name.split(':')[0])).size).toBe(5);
  });
});

describe('ReplayModel', () => {
  /** A tape on which the same is asked a few times. */
  const make = async (scenario: ContractScenario): Promise<ChatModelBase> => {
    let tape = '';
    const recorder = new RecordingModel(scripted(scenario), { write: (line) => void (tape += line) });
    for (let i = 0; i < 4; i++) await recorder.call(contractRequest(scenario)).catch(() => {});
    return new ReplayModel(tape);
  };
  // Fields that are not on the tape make another request, and a tape can not stall.
  const cases = chatModelContract(make, {
    scenarios: ['text', 'tools', 'failure', 'breaks'],
  }).filter(({ name }) => !name.includes('unknown fields'));

  test.each(cases.map(({ name, run }) => [name, run] as const))('%s', (_name, run) => run());

  test('runs most cases', () => {
    expect(cases.length).toBeGreaterThan(20);
  });
});
