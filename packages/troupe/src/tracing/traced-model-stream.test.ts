import { afterEach, expect, test } from 'vitest';

import type { ModelDelta } from '../message/model-delta.ts';
import { Msg } from '../message/msg.ts';
import { ChatModelBase } from '../model/chat-model-base.ts';
import { RetryModel } from '../model/wrappers/retry-model.ts';
import { installInstrumentation } from './instrumentation.ts';
import type { SpanOutcome } from './traced-operation.ts';

const request = { messages: [Msg.user('Hello')] };
const USAGE = { inputTokens: 3, outputTokens: 1 };
let uninstall = (): void => {};
afterEach(() => uninstall());

class Speaker extends ChatModelBase {
  readonly made: AsyncIterable<ModelDelta>[] = [];

  override stream(): AsyncIterable<ModelDelta> {
    const deltas = this.#deltas();
    this.made.push(deltas);
    return deltas;
  }

  async *#deltas(): AsyncGenerator<ModelDelta, void, void> {
    yield { type: 'response_id', id: 'r1' };
    yield { type: 'text', text: 'Hi' };
    yield { type: 'usage', usage: USAGE };
    yield { type: 'finish', reason: 'stop' };
  }
}

class LoudSpeaker extends Speaker {
  override stream(): AsyncIterable<ModelDelta> {
    return super.stream();
  }
}

/** Installs an instrumentation that notes outcomes. */
function noted(capturesContent = false): SpanOutcome[] {
  const ended: SpanOutcome[] = [];
  uninstall = installInstrumentation({
    isRecording: true,
    begin: () => ({ capturesContent, run: (body) => body(), end: (outcome) => void ended.push(outcome) }),
    headers: () => ({}),
    continueTrace: (_headers, body) => body(),
  });
  return ended;
}

test('without tracing, a model gives its own stream, with nothing around it', () => {
  const model = new Speaker('m');
  expect(model.stream()).toBe(model.made[0]);
  expect(model).toBeInstanceOf(Speaker);
  expect(model.constructor).toBe(Speaker);
});

test('a stream is one span with what its deltas tell, also for a subclass and inside a wrapper', async () => {
  const ended = noted();
  const known = {
    usage: USAGE,
    finishReason: 'stop',
    responseId: 'r1',
    firstDeltaMs: expect.any(Number) as number,
  };
  for (const model of [new Speaker('m'), new LoudSpeaker('m'), new RetryModel(new LoudSpeaker('m'))]) {
    expect((await model.call(request)).text).toBe('Hi');
    expect(ended.splice(0)).toEqual([{ status: 'ok', answer: undefined, ...known }]);
  }
  uninstall();
  const captured = noted(true);
  await new Speaker('m').call(request);
  expect(captured[0]?.answer?.text).toBe('Hi');
});

test('a stream that is never read has no span; one that is left ends it with what came so far', async () => {
  const ended = noted(true);
  const model: ChatModelBase = new Speaker('m');
  model.stream(request);
  expect(ended).toEqual([]);
  for await (const delta of model.stream(request)) if (delta.type === 'text') break;
  expect(ended).toMatchObject([{ status: 'ok', responseId: 'r1', answer: { content: [{ text: 'Hi' }] } }]);
  expect(ended[0]?.usage).toBeUndefined();
});
