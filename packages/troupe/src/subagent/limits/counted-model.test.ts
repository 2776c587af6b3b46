// Token limits of one model call: how many tokens the model is told, and when its answer is stopped.
import { describe, expect, test } from 'vitest';

import { Msg } from '../../message/msg.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import type { GenerationOptions, ModelRequest } from '../../model/chat-model-base.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { Budget } from './budget.ts';
import { CountedModel } from './counted-model.ts';

const text = (length: number): ModelDelta => ({ type: 'text', text: 'x'.repeat(length) });
const usage = (inputTokens: number, outputTokens: number): ModelDelta => ({
  type: 'usage',
  usage: { inputTokens, outputTokens },
});
const END: ModelDelta = { type: 'finish', reason: 'stop' };
const CUT: ModelDelta = { type: 'finish', reason: 'length' };

interface Outcome {
  readonly handedOver: number | undefined;
  readonly deltas: number;
  readonly error: string | undefined;
}

/** Streams one answer within a limit. */
async function streamed(
  maxTokens: number | undefined,
  deltas: readonly ModelDelta[],
  request: Partial<ModelRequest> = {},
): Promise<Outcome> {
  const model = new ScriptedModel([{ deltas }]);
  const budget = Budget.ofHost({}, undefined).inner({ maxTokens });
  const outcome = { deltas: 0, error: undefined as string | undefined };
  try {
    const stream = new CountedModel(model, budget).stream({ messages: [Msg.user('hi')], ...request });
    for await (const _ of stream) outcome.deltas++;
  } catch (error) {
    outcome.error = String(error);
  }
  return { handedOver: model.requests[0]?.generation?.maxTokens, ...outcome };
}

const reached = (tokens: number): string => `LimitReached: The limit of ${tokens} tokens is used up.`;

describe('the model is told', () => {
  const told = async (maxTokens: number | undefined, generation?: GenerationOptions) =>
    (await streamed(maxTokens, [END], { generation })).handedOver;

  test('the rest of the budget, and nothing without a limit', async () => {
    expect(await told(1000)).toBe(1000);
    expect(await told(undefined)).toBeUndefined();
  });

  test('no more than every model accepts, unless it has a maximum of its own', async () => {
    expect(await told(4095)).toBe(4095);
    expect(await told(100_000)).toBeUndefined();
    expect(await told(6000, { maxTokens: 8000 })).toBe(6000);
    expect(await told(6000, { maxTokens: 500 })).toBe(500);
  });

  test('no less than every model accepts', async () => {
    expect(await told(3)).toBe(16);
    expect(await told(3, { maxTokens: 10 })).toBe(10);
  });

  test('the rest of the budget after a long input', async () => {
    const messages = [Msg.user('x'.repeat(8000))]; // about 2000 tokens, 1500 at the least, less the tolerance
    expect((await streamed(3000, [END], { messages })).handedOver).toBe(3000 - (1503 - 256));
    expect(await streamed(1247, [END], { messages })).toEqual({
      handedOver: undefined,
      deltas: 0,
      error: reached(1247),
    });
  });
});

describe('an answer', () => {
  test('is stopped before the delta that passes the limit', async () => {
    // 400 characters are 75 tokens at the least
    const deltas = [text(400), text(400), text(400), END];
    expect(await streamed(150, deltas)).toEqual({ handedOver: 150, deltas: 2, error: reached(150) });
    expect(await streamed(225, deltas)).toEqual({ handedOver: 225, deltas: 4, error: undefined });
  });

  test('is counted as the model reports it, once it does', async () => {
    const deltas = [usage(140, 1), text(4), text(40), text(40), END];
    expect(await streamed(150, deltas)).toEqual({ handedOver: 150, deltas: 3, error: reached(150) });
    expect(await streamed(139, deltas)).toEqual({ handedOver: 139, deltas: 1, error: reached(139) });
  });

  test('that is complete is kept, whatever it cost', async () => {
    const deltas = [text(40), usage(900, 900), END];
    expect(await streamed(150, deltas)).toEqual({ handedOver: 150, deltas: 3, error: undefined });
  });

  test('with thinking and tool calls is counted, too', async () => {
    const thinking: ModelDelta = { type: 'thinking', thinking: 'x'.repeat(400) };
    const call: ModelDelta[] = [
      { type: 'tool_use_start', index: 0, name: 'look' },
      { type: 'tool_input', index: 0, json: `{"a":"${'x'.repeat(400)}"}` },
      { type: 'tool_use_end', index: 0 },
    ];
    expect((await streamed(100, [thinking, ...call, END])).deltas).toBe(2);
  });

  test('that begins anew is counted together with what was void', async () => {
    const reset: ModelDelta = { type: 'reset', reason: 'fallback' };
    const deltas = [text(400), usage(20, 100), reset, text(200), text(400), END];
    expect(await streamed(200, deltas)).toMatchObject({ deltas: 4, error: reached(200) });
  });

  test('that the model cut is over the limit only if the limit is used up by it', async () => {
    expect(await streamed(150, [text(4), CUT])).toMatchObject({ deltas: 2, error: reached(150) });
    expect(await streamed(150, [text(4), usage(50, 100), CUT])).toMatchObject({ error: reached(150) });
    expect(await streamed(150, [text(4), usage(50, 10), CUT])).toMatchObject({ error: undefined });
  });
});

test('a model call that has ended takes nothing from the next', async () => {
  const model = new CountedModel(
    new ScriptedModel([{ deltas: [text(400), END] }, { deltas: [text(400), END] }]),
    Budget.ofHost({}, undefined).inner({ maxTokens: 100 }),
  );
  for (let n = 0; n < 2; n++) expect((await model.call({ messages: [] })).text).toHaveLength(400);
});
