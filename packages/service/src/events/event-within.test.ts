import type { AgentEvent } from 'troupe';
import { expect, test } from 'vitest';

import { eventWithin } from './event-within.ts';

const ORIGIN = {
  id: 'e',
  runId: 'r',
  replyId: 'p',
  agentPath: ['assistant'],
  seq: 1,
  timestamp: '2026-01-01T00:00:00.000Z',
};

function textEvent(text: string): AgentEvent {
  return { ...ORIGIN, type: 'text_delta', msgId: 'm', index: 0, text };
}

test('an event within the limit is the same, a longer one has its texts cut, and every event fits', () => {
  const short = textEvent('Hello.');
  expect(eventWithin(short, 1000)).toBe(JSON.stringify(short));
  const cut = JSON.parse(eventWithin(textEvent('😀'.repeat(5000)), 1000)) as { text: string };
  expect(cut.text).toBe(`${'😀'.repeat(62)} … 10000 characters`);
  for (let length = 0; length < 3000; length += 7)
    expect(eventWithin(textEvent('"\n'.repeat(length)), 1000).length).toBeLessThanOrEqual(1000);
});

test('an event of many short texts becomes one that names its type and length', () => {
  const agentPath = ['assistant'];
  const data = Array.from({ length: 500 }, (_, n) => `part ${n}`);
  const event: AgentEvent = { ...ORIGIN, agentPath, type: 'custom', name: 'parts', data };
  expect(JSON.parse(eventWithin(event, 1000))).toEqual({
    ...ORIGIN,
    type: 'custom',
    name: 'too_large',
    data: { type: 'custom', chars: JSON.stringify(event).length },
  });
});
