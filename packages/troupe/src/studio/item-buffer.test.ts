import { describe, expect, test } from 'vitest';

import type { AgentEvent, EventBody } from '../event/agent-event.ts';
import { ItemBuffer } from './item-buffer.ts';
import type { ProgramItem } from './program-protocol.ts';

const event = (body: EventBody, seq = 0): AgentEvent => ({
  ...body,
  id: `e${seq}`,
  runId: 'call',
  replyId: 'reply',
  agentPath: ['Ann'],
  seq,
  timestamp: '2026-01-31T09:30:00.000Z',
});
const item = (one: AgentEvent): ProgramItem => ({ kind: 'event', runId: 'run', agentId: 'a', event: one });
const delta = (text: string, seq = 0, msgId = 'm'): ProgramItem =>
  item(event({ type: 'text_delta', msgId, index: 0, text }, seq));
const end = item(event({ type: 'run_end', status: 'finished', durationMs: 1 }));

describe('a buffer', () => {
  test('joins deltas of the same block that follow each other, with the number of the last one', () => {
    const buffer = new ItemBuffer();
    for (const one of [delta('Hel', 1), delta('lo', 2), delta('x', 3, 'other'), delta('y', 4, 'other'), end])
      buffer.add(one);
    expect(buffer.take(Infinity)).toEqual([delta('Hello', 2), delta('xy', 4, 'other'), end]);
    expect([buffer.size, buffer.chars]).toEqual([0, 0]);
  });

  test('that is full drops deltas, keeps ends as long as it can, and counts what it dropped', () => {
    const buffer = new ItemBuffer({ maxItems: 8 });
    for (let n = 0; n < 10; n++) buffer.add(delta('x', n, `m${n}`));
    expect([buffer.size, buffer.dropped]).toEqual([6, 4]);
    buffer.add(end);
    buffer.add(end);
    buffer.add(end);
    expect([buffer.size, buffer.takeDropped(), buffer.dropped]).toEqual([8, 5, 0]);
    expect(buffer.take(Infinity).slice(-2)).toEqual([end, end]);
  });

  test('counts characters, of joined deltas too', () => {
    const buffer = new ItemBuffer({ maxChars: 10_000 });
    for (let n = 0; n < 100; n++) buffer.add(delta('x'.repeat(100), n));
    expect(buffer.size).toBe(1);
    expect(buffer.dropped).toBeGreaterThan(25);
    expect(buffer.chars).toBeLessThan(10_000);
  });

  test('gives items in batches, each with one at least', () => {
    const buffer = new ItemBuffer();
    for (let n = 0; n < 5; n++) buffer.add(delta('x'.repeat(1000), n, `m${n}`));
    expect([buffer.take(10).length, buffer.take(3000).length, buffer.take(Infinity).length]).toEqual([
      1, 2, 2,
    ]);
    expect(buffer.take(10)).toEqual([]);
  });
});
