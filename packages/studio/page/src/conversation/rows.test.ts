import type { AgentEvent } from 'troupe';
import { expect, test } from 'vitest';

import type { EntryBody } from '../../../src/protocol.ts';
import { TapeFold } from '../live/tape-fold.ts';
import { rowsOf, type RowOptions } from './rows.ts';

const AT = '2026-01-31T09:30:00.000Z';
const OPTIONS: RowOptions = { folds: new Map(), showsThinking: true, showsTools: true, agent: undefined };

type Origin = 'id' | 'runId' | 'replyId' | 'agentPath' | 'seq' | 'timestamp';
type WithoutOrigin<Event> = Event extends unknown ? Omit<Event, Origin> : never;
type EventBody = WithoutOrigin<AgentEvent>;

/** A tape that tests write entry by entry. */
class Tape {
  readonly fold = new TapeFold();
  #seq = 0;

  input(agentPath: readonly string[], replyId: string, content: string, toolCallId?: string): void {
    const messages = [{ id: `msg-${replyId}`, name: 'ann', role: 'user' as const, content }];
    this.#add({
      kind: 'input',
      callId: 'run',
      replyId,
      agentId: agentPath.join('/'),
      agentPath,
      messages,
      ...(toolCallId !== undefined && { toolCallId }),
    });
  }

  event(agentPath: readonly string[], replyId: string, body: EventBody): void {
    const seq = this.#seq;
    const event: AgentEvent = {
      ...body,
      id: `e${seq}`,
      runId: 'run',
      replyId,
      agentPath,
      seq,
      timestamp: AT,
    };
    this.#add({ kind: 'event', event, agentId: agentPath.join('/') });
  }

  text(agentPath: readonly string[], replyId: string, msgId: string, text: string): void {
    this.event(agentPath, replyId, { type: 'block_start', msgId, index: 0, blockType: 'text' });
    this.event(agentPath, replyId, { type: 'text_delta', msgId, index: 0, text });
  }

  call(agentPath: readonly string[], replyId: string, msgId: string, id: string, index = 0): void {
    const block = { type: 'tool_use' as const, id, name: `tool_${id}`, input: {} };
    this.event(agentPath, replyId, {
      type: 'block_start',
      msgId,
      index,
      blockType: 'tool_use',
      toolCallId: id,
      name: block.name,
    });
    this.event(agentPath, replyId, { type: 'block_end', msgId, index, block });
    this.event(agentPath, replyId, { type: 'tool_start', call: block });
  }

  result(agentPath: readonly string[], replyId: string, id: string, status: 'ok' | 'error' = 'ok'): void {
    const call = { type: 'tool_use' as const, id, name: `tool_${id}`, input: {} };
    const result = { type: 'tool_result' as const, id, name: call.name, output: 'out', status };
    this.event(agentPath, replyId, { type: 'tool_result', call, result, durationMs: 5 });
  }

  #add(body: EntryBody): void {
    this.#seq += 1;
    this.fold.add({ ...body, seq: this.#seq, at: AT });
  }

  /** The rows in short: kind, depth, and name or text. */
  rows(options: Partial<RowOptions> = {}): string[] {
    return rowsOf(this.fold, { ...OPTIONS, ...options }).map((row) => {
      const indent = '  '.repeat(row.depth);
      if (row.kind === 'message')
        return `${indent}${row.hasHeader ? `${row.msg.name}: ` : ''}${textOf(row.msg.content)}`;
      if (row.kind === 'tool') return `${indent}[${row.call?.name} ${row.state}${row.isOpen ? ' open' : ''}]`;
      return row.kind === 'tools' ? `${indent}[${row.names.length} tools]` : `${indent}(${row.notice.kind})`;
    });
  }
}

function textOf(content: readonly object[]): string {
  return content.map((block) => ('text' in block ? block.text : '')).join('');
}

function withSubAgent(): Tape {
  const tape = new Tape();
  tape.input(['Lead'], 'r1', 'Go!');
  tape.call(['Lead'], 'r1', 'm1', 'a');
  tape.call(['Lead'], 'r1', 'm1', 'b', 1);
  tape.input(['Lead', 'Finance'], 'r2', 'Task', 'b');
  tape.text(['Lead', 'Finance'], 'r2', 'm2', 'I look.');
  tape.call(['Lead', 'Finance'], 'r2', 'm3', 'c');
  return tape;
}

test('folds a sub-agent under the tool call that started it, while others run beside', () => {
  const tape = withSubAgent();
  expect(tape.rows()).toEqual([
    'ann: Go!',
    '[tool_a running open]',
    '[tool_b running open]',
    '  Finance: I look.',
    '  [tool_c running open]',
  ]);
  for (const [path, reply, id] of [
    [['Lead', 'Finance'], 'r2', 'c'],
    [['Lead'], 'r1', 'a'],
    [['Lead'], 'r1', 'b'],
  ] as const)
    tape.result(path, reply, id);
  tape.text(['Lead'], 'r1', 'm4', 'Done.');
  expect(tape.rows()).toEqual(['ann: Go!', '[tool_a ok]', '[tool_b ok]', 'Lead: Done.']);
});

test('keeps failed tool calls open beside finished ones in one line', () => {
  const tape = new Tape();
  tape.input(['Lead'], 'r1', 'Go!');
  for (const [index, id] of ['a', 'b', 'c', 'd'].entries()) tape.call(['Lead'], 'r1', 'm1', id, index);
  for (const id of ['a', 'b', 'd']) tape.result(['Lead'], 'r1', id);
  tape.result(['Lead'], 'r1', 'c', 'error');
  expect(tape.rows()).toEqual(['ann: Go!', '[3 tools]', '[tool_c error open]']);
  expect(tape.rows({ folds: new Map([['m1:tools', true]]) })).toEqual([
    'ann: Go!',
    '[3 tools]',
    '[tool_a ok]',
    '[tool_b ok]',
    '[tool_c error open]',
    '[tool_d ok]',
  ]);
});

test('shows one agent alone', () => {
  expect(withSubAgent().rows({ agent: 'Lead › Finance' })).toEqual([
    'ann: Go!',
    '  Finance: I look.',
    '  [tool_c running open]',
  ]);
});

test('keeps the objects of rows that did not change', () => {
  const tape = withSubAgent();
  const cache = new Map();
  const before = rowsOf(tape.fold, OPTIONS, cache);
  tape.event(['Lead', 'Finance'], 'r2', { type: 'text_delta', msgId: 'm2', index: 0, text: ' More.' });
  const after = rowsOf(tape.fold, OPTIONS, cache);
  expect(after.map((row, at) => row === before[at])).toEqual([true, true, true, false, true]);
});

test('makes frames, and gives agents colours in the order of appearance', () => {
  const tape = withSubAgent();
  tape.text(['Lead'], 'r1', 'm9', 'Later.');
  expect(tape.fold.frames.map(({ kind }) => kind)).toEqual([
    'input',
    'message',
    'tool',
    'tool',
    'message',
    'message',
    'tool',
    'message',
  ]);
  expect([...tape.fold.cast.values()].map(({ key, colour }) => [key, colour])).toEqual([
    ['Lead', 0],
    ['Lead › Finance', 1],
  ]);
});
