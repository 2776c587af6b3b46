import { agentTool, PermissionRules, ReActAgent, tool, type AgentEvent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';

import type { EntryBody, RunEntry, Span } from '../protocol.ts';
import { spansOf } from './event-spans.ts';

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  schema: z.object({ to: z.string() }),
  execute: ({ to }) => `sent to ${to}`,
});

/** A lead whose sub-agent asks before it sends mail. */
function lead(): ReActAgent {
  const finance = new ReActAgent({
    name: 'Finance',
    model: new ScriptedModel([
      { toolCalls: [{ id: 'i1', name: 'send_mail', input: { to: 'Bob' } }] },
      'Sent.',
    ]),
    tools: [mail],
    permissionPolicy: new PermissionRules({ mode: 'default' }),
    console: false,
  });
  return new ReActAgent({
    name: 'Lead',
    model: new ScriptedModel([
      { toolCalls: [{ id: 'o1', name: 'finance', input: { query: 'Write.' } }] },
      'Done.',
    ]),
    tools: [agentTool(finance, { name: 'finance', description: 'Money.' })],
    console: false,
  });
}

/** Notes events as entries, with the tool call to which each nested reply belongs. */
class Tape {
  readonly entries: RunEntry[] = [];

  async note(events: AsyncIterable<AgentEvent>): Promise<void> {
    for await (const event of events) {
      const { runId: callId, replyId, agentPath, timestamp: at } = event;
      if (event.type === 'reply_start' && agentPath.length > 1)
        this.#add(at, {
          kind: 'input',
          callId,
          replyId,
          agentPath,
          agentId: 'f',
          toolCallId: 'o1',
          messages: [],
        });
      this.#add(at, { kind: 'event', event, agentId: 'a' });
    }
  }

  #add(at: string, body: EntryBody): void {
    this.entries.push({ ...body, seq: this.entries.length + 1, at });
  }
}

/** Spans as a tree of names with their statuses. */
function treeOf(spans: readonly Span[], parent?: string): unknown[] {
  return spans
    .filter(({ parentId }) => parentId === parent)
    .map(({ id, name, status }) => [`${name} ${status}`, ...treeOf(spans, id)]);
}

test('a tool call that is suspended ends with its reply, and has a second span in the reply that resumes it', async () => {
  const agent = lead();
  const tape = new Tape();
  await tape.note(agent.stream('Go!', { nested: true }));
  const suspended = [
    'Lead suspended',
    ['reasoning ok'],
    ['finance suspended', ['Finance suspended', ['reasoning ok'], ['send_mail suspended']]],
  ];
  expect(treeOf(spansOf(tape.entries))).toEqual([suspended]);

  const id = agent.pendingCalls[0]?.id ?? '';
  await tape.note(agent.stream(undefined, { nested: true, decisions: [{ id, verdict: 'allow' }] }));
  const spans = spansOf(tape.entries);
  expect(treeOf(spans)).toEqual([
    suspended,
    ['Lead ok', ['finance ok', ['Finance ok', ['send_mail ok'], ['reasoning ok']]], ['reasoning ok']],
  ]);
  expect(new Set(spans.map((span) => span.id)).size).toBe(spans.length);
  expect(spans.filter(({ endMs }) => endMs === undefined)).toEqual([]);
});
