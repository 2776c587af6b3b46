import { expect, test } from 'vitest';

import type { AgentEvent } from 'troupe';
import { ReActAgent } from 'troupe';
import { ConversationView } from 'troupe/events';
import { ScriptedModel } from 'troupe/testing';

import type { RunEntry } from '../protocol.ts';
import { compactEntries } from './compact-entries.ts';

/** Entries of a run with thinking, text and a tool call in small pieces. */
async function entriesOf(): Promise<RunEntry[]> {
  const toolCalls = [{ id: 'c1', name: 'none', input: { city: 'Lisbon' } }];
  const model = new ScriptedModel([
    { thinking: 'Let me think.', text: 'I look.', toolCalls, chunkSize: 2 },
    { text: 'It is sunny.', chunkSize: 1 },
  ]);
  const agent = new ReActAgent({ name: 'Ann', model, console: false });
  const entries: RunEntry[] = [];
  for await (const event of agent.stream('Hi!'))
    entries.push({ kind: 'event', event, agentId: 'a', seq: entries.length + 1, at: event.timestamp });
  return entries;
}

function folded(entries: readonly RunEntry[]): ConversationView {
  const view = new ConversationView();
  for (const entry of entries)
    if (entry.kind === 'event') view.add(JSON.parse(JSON.stringify(entry.event)) as AgentEvent);
  return view;
}

test('compact entries fold into the same messages, from any entry on', async () => {
  const entries = await entriesOf();
  const compact = compactEntries(entries);
  expect(entries.length).toBeGreaterThan(compact.length * 1.5);
  expect(folded(compact).toJSON()).toEqual(folded(entries).toJSON());
  for (let cut = 0; cut < entries.length; cut++) {
    const resumed = [...compactEntries(entries.slice(0, cut)), ...entries.slice(cut)];
    expect(folded(resumed).toJSON()).toEqual(folded(entries).toJSON());
  }
  const numbers = compact.map(({ seq }) => seq);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
});
