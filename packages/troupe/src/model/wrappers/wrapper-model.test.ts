import { expect, test } from 'vitest';

import type { ModelDelta } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { ChatModelBase, PLAIN_CAPABILITIES, type ModelRequest } from '../chat-model-base.ts';
import { WrapperModel, type RelayOptions } from './wrapper-model.ts';

const request: ModelRequest = { messages: [Msg.user('hi')] };

class Loud extends WrapperModel {
  protected override async *relay(request: ModelRequest, options: RelayOptions): AsyncGenerator<ModelDelta> {
    for await (const delta of this.model.stream(request, options))
      yield delta.type === 'text' ? { ...delta, text: delta.text.toUpperCase() } : delta;
  }
}

/** Says `x` and waits; records calls of its methods. */
class Watched extends ChatModelBase {
  override readonly capabilities = { ...PLAIN_CAPABILITIES, vision: true };
  override readonly generation = { temperature: 0.5 };
  override readonly vendorName = 'Ann';
  readonly log: string[] = [];

  override async *stream(
    _request: ModelRequest,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<ModelDelta> {
    this.log.push('opened');
    try {
      yield { type: 'text', text: 'a' };
      await new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    } finally {
      this.log.push('closed');
    }
  }
}

test('has the name, the vendor, the capabilities and the options of the model inside', () => {
  const inner = new Watched('inner');
  const outer = new Loud(inner);
  expect([outer.modelName, outer.capabilities, outer.model]).toEqual(['inner', inner.capabilities, inner]);
  expect(outer.capabilities.vision).toBe(true);
  expect([outer.vendorName, outer.generation]).toEqual(['Ann', { temperature: 0.5 }]);
});

test('changes what the wrapper wants to change, in a stream and in a call', async () => {
  const inner = new ScriptedModel(['hello', 'bye']);
  const outer = new Loud(inner);
  expect((await outer.call(request)).text).toBe('HELLO');
  const deltas: ModelDelta[] = [];
  for await (const delta of outer.stream(request)) deltas.push(delta);
  expect(deltas).toEqual([
    { type: 'text', text: 'BYE' },
    { type: 'finish', reason: 'stop' },
  ]);
  expect(inner.requests).toEqual([request, request]);
});

test('nothing is asked before the stream is read, or for a caller who has stopped already', async () => {
  const inner = new Watched('inner');
  const outer = new Loud(inner);
  outer.stream(request);
  const stopped = outer.stream(request, { signal: AbortSignal.abort(new Error('too late')) });
  await expect(stopped.next()).rejects.toThrow('too late');
  expect(await outer.stream(request).return()).toEqual({ done: true, value: undefined });
  expect(inner.log).toEqual([]);
});

test("the caller's abort reaches the model inside, with its reason", async () => {
  const inner = new Watched('inner');
  const controller = new AbortController();
  const stream = new Loud(inner).stream(request, { signal: controller.signal });
  expect(await stream.next()).toEqual({ done: false, value: { type: 'text', text: 'A' } });
  const next = stream.next();
  const reason = new Error('stop');
  controller.abort(reason);
  await expect(next).rejects.toBe(reason);
  expect(inner.log).toEqual(['opened', 'closed']);
});

test('leaving between two deltas closes the model inside', async () => {
  const inner = new Watched('inner');
  for await (const _delta of new Loud(new Loud(inner)).stream(request)) break;
  expect(inner.log).toEqual(['opened', 'closed']);
});

test('leaving while the next delta is awaited closes the model inside, and ends the wait', async () => {
  const inner = new Watched('inner');
  const stream = new Loud(new Loud(inner)).stream(request);
  await stream.next();
  const next = stream.next();
  expect(await stream.return()).toEqual({ done: true, value: undefined });
  expect(await next).toEqual({ done: true, value: undefined });
  expect(inner.log).toEqual(['opened', 'closed']);
});

test('no listener stays on the signal of a caller, however the stream ends', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  const model = new Loud(new ScriptedModel(['a', { error: new Error('broken') }, 'c']));
  await model.call(request, { signal });
  await expect(model.call(request, { signal })).rejects.toThrow('broken');
  const stream = model.stream(request, { signal });
  await stream.next();
  expect(listeners).toBe(1);
  await stream.return();
  expect(listeners).toBe(0);
});
