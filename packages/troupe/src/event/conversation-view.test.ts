import { describe, expect, test } from 'vitest';

import type { BlockChange } from '../message/block-change.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import type { AgentEvent, EventBody } from './agent-event.ts';
import { ConversationView } from './conversation-view.ts';

const NOWHERE = { runId: '', replyId: '', agentPath: [], seq: 0, id: '', timestamp: '' };
const TIME = '2026-01-31T09:30:00.000Z';

/** Adds events of one run, each with the next number. */
function feeder(view: ConversationView, agentPath: readonly string[] = ['Ann'], runId = 'run') {
  let seq = 0;
  return (...bodies: readonly EventBody[]): AgentEvent[] =>
    bodies.map((body) => {
      const place = {
        runId,
        replyId: `reply of ${runId}`,
        agentPath,
        id: `${runId}-${seq}`,
        timestamp: TIME,
      };
      const event: AgentEvent = { ...body, ...place, seq: seq++ };
      view.add(event);
      return event;
    });
}

const at = (index: number, msgId = 'm') => ({ msgId, index });
const text = (said: string, index = 0): BlockChange => ({ type: 'text_delta', ...at(index), text: said });
const startText: BlockChange = { type: 'block_start', ...at(0), blockType: 'text' };
const startCall = (index: number, id = 'c1'): BlockChange => ({
  type: 'block_start',
  ...at(index),
  blockType: 'tool_use',
  toolCallId: id,
  name: 'weather',
});
const input = (json: string, index = 0): BlockChange => ({ type: 'tool_input_delta', ...at(index), json });
const result = (id: string, output: string): ToolResultBlock => ({
  type: 'tool_result',
  id,
  name: 'weather',
  output,
  status: 'ok',
});
const ended = (id: string, output: string): EventBody => ({
  type: 'tool_result',
  call: { type: 'tool_use', id, name: 'weather', input: {} },
  result: result(id, output),
  durationMs: 1,
});
const contents = ({ messages }: ConversationView) => messages.map(({ content }) => content);

describe('a block that grows', () => {
  test('is text so far', () => {
    const view = new ConversationView();
    const add = feeder(view);
    add(startText, text('Hel'));
    expect(view.messages).toEqual([
      {
        id: 'm',
        name: 'Ann',
        role: 'assistant',
        content: [{ type: 'text', text: 'Hel', isPartial: true }],
        agentPath: ['Ann'],
        replyId: 'reply of run',
      },
    ]);
    add(text('lo'), { type: 'block_end', ...at(0) });
    expect(contents(view)).toEqual([[{ type: 'text', text: 'Hello' }]]);
  });

  test('is a tool call with the arguments as far as they are written', () => {
    const view = new ConversationView();
    const add = feeder(view);
    const inputs: unknown[] = [];
    const look = (): void => void inputs.push(view.messages[0]?.content[0]);
    const call = { type: 'tool_use', id: 'c1', name: 'weather', isPartial: true };
    add(startCall(0));
    look();
    for (const json of ['{"ci', 'ty": "Lis', 'bon", "days": 1', '0}']) {
      add(input(json));
      look();
    }
    expect(inputs).toEqual([
      { ...call, input: {} },
      { ...call, input: {} },
      { ...call, input: { city: 'Lis' } },
      { ...call, input: { city: 'Lisbon' } },
      { ...call, input: { city: 'Lisbon', days: 10 } },
    ]);
    const block = {
      type: 'tool_use',
      id: 'c1',
      name: 'weather',
      input: { city: 'Lisbon', days: 10 },
    } as const;
    add({ type: 'block_end', ...at(0), block });
    expect(contents(view)).toEqual([[block]]);
  });

  test('is dropped if the model never finished its tool call', () => {
    const view = new ConversationView();
    const add = feeder(view);
    add(startCall(0), input('{"city": "Lis'));
    expect(view.messages).toHaveLength(1);
    add({ type: 'block_end', ...at(0) });
    expect(view.messages).toEqual([]);
    expect(view.status).toBe('running');
  });

  test('is the output of a tool that still runs', () => {
    const view = new ConversationView();
    const add = feeder(view);
    add(startCall(0), { type: 'tool_chunk', result: result('c1', 'so') });
    const ofResult = { name: 'system', role: 'system', id: 'm:c1' };
    expect(view.messages[1]).toMatchObject({ ...ofResult, content: [{ output: 'so', isPartial: true }] });
    add({ type: 'block_start', ...at(0, 'm:c1'), blockType: 'tool_result' });
    expect(view.messages[1]).toMatchObject({ ...ofResult, content: [{ output: 'so', isPartial: true }] });
    add(ended('c1', 'some'));
    expect(view.messages[1]).toMatchObject(ofResult);
    expect(view.messages[1]?.content).toEqual([result('c1', 'some')]);
    add({ type: 'block_end', ...at(0, 'm:c1'), block: result('c1', 'some') });
    expect(view.messages).toHaveLength(2);
  });

  test('is void when its message starts anew', () => {
    const view = new ConversationView();
    const add = feeder(view);
    add(startText, text('I beg'), { type: 'block_end', ...at(0) }, startCall(1));
    add({ type: 'msg_reset', msgId: 'm', reason: 'another model' });
    expect(view.messages).toEqual([]);
    add(startText, text('Better'));
    expect(contents(view)).toEqual([[{ type: 'text', text: 'Better', isPartial: true }]]);
  });
});

describe('messages', () => {
  test('stay the same objects while they do not change', () => {
    const view = new ConversationView({ messages: [Msg.user('Hi!')] });
    const add = feeder(view);
    add(startText, text('Hel'));
    const before = view.messages;
    expect(view.messages).toBe(before);
    add({ type: 'plan_change', plan: null });
    expect(view.messages).toBe(before);
    add(text('lo'));
    const after = view.messages;
    expect(after).not.toBe(before);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
    expect(before[1]?.content).toEqual([{ type: 'text', text: 'Hel', isPartial: true }]);
  });

  test('are those of users too, where the program adds them', () => {
    const view = new ConversationView();
    const question = Msg.user('How is Lisbon?', { name: 'ann' });
    view.addMsg(question);
    feeder(view)(startText, text('Warm.'));
    const { id, timestamp } = question;
    const content = [{ type: 'text', text: 'How is Lisbon?' }];
    const given = { id, name: 'ann', role: 'user', metadata: {}, timestamp, agentPath: [], content };
    expect(view.messages[0]).toEqual(given);
    expect(view.messages[1]?.role).toBe('assistant');
  });

  test('have results in the order of the tool calls, after what nested agents said', () => {
    const view = new ConversationView();
    const add = feeder(view);
    add(startCall(0, 'c1'), startCall(1, 'c2'));
    const nested = feeder(view, ['Ann', 'Bob'], 'nested');
    nested({ type: 'block_start', ...at(0, 'n'), blockType: 'text' });
    nested({ type: 'text_delta', ...at(0, 'n'), text: 'I help.' });
    add(ended('c2', 'two'), ended('c1', 'one'));
    expect(view.messages.map(({ id }) => id)).toEqual(['m', 'n', 'm:c1', 'm:c2']);
    expect(view.messages.map(({ agentPath }) => agentPath.join())).toEqual(['Ann', 'Ann,Bob', 'Ann', 'Ann']);
  });

  test('of a view are loaded as JSON into another, which goes on', () => {
    const view = new ConversationView();
    const add = feeder(view);
    view.addMsg(Msg.user('Hi!'));
    add({ type: 'reply_start', name: 'Ann' }, startText, text('Hello'), { type: 'block_end', ...at(0) });
    const pending = {
      id: 'p1',
      agentPath: ['Ann'],
      kind: 'approval',
      call: { type: 'tool_use', id: 'c1', name: 'weather', input: {} },
    } as const;
    add(startCall(1), { type: 'block_end', ...at(1), block: pending.call });
    add({ type: 'approval_needed', pending });
    const question = Msg.assistant('May I?', { name: 'Ann', pending: [pending] });
    add({ type: 'run_end', status: 'suspended', durationMs: 1, msg: question });
    const state = JSON.parse(JSON.stringify(view)) as ReturnType<ConversationView['toJSON']>;
    const copy = new ConversationView(state);
    expect(JSON.parse(JSON.stringify(copy))).toEqual(state);
    expect([copy.status, copy.pending]).toEqual(['suspended', [pending]]);
    const answer = Msg.assistant('Done.', { name: 'Ann' });
    for (const one of [view, copy])
      feeder(one, ['Ann'], 'second')({ type: 'reply_start', name: 'Ann' }, ended('c1', 'sunny'), {
        type: 'run_end',
        status: 'finished',
        durationMs: 1,
        msg: answer,
      });
    expect(copy.messages).toEqual(view.messages);
    expect(copy.messages).toHaveLength(4);
    expect([copy.status, copy.pending]).toEqual(['finished', []]);
  });
});

describe('a client that comes in the middle', () => {
  test('sees what comes, and the whole answer at the end', () => {
    const view = new ConversationView();
    const add = feeder(view);
    add(text('lo, An'), input('bon"}', 1));
    expect(view.status).toBe('running');
    expect(contents(view)).toEqual([[{ type: 'text', text: 'lo, An', isPartial: true }]]);
    const call = { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Lisbon' } } as const;
    add({ type: 'block_end', ...at(1), block: call });
    expect(contents(view)).toEqual([[{ type: 'text', text: 'lo, An', isPartial: true }, call]]);
    add(ended('c1', 'sunny'));
    expect(view.messages[1]?.id).toBe('m:c1');
    add({
      type: 'run_end',
      status: 'finished',
      durationMs: 1,
      msg: Msg.assistant('Hello, Ann.', { id: 'm' }),
    });
    expect(contents(view)[0]).toEqual([{ type: 'text', text: 'Hello, Ann.' }]);
    expect(view.status).toBe('finished');
  });

  test('sees a result once, though its tool call is unknown', () => {
    const view = new ConversationView();
    const add = feeder(view);
    add({ type: 'tool_chunk', result: result('c1', 'so') }, ended('c1', 'some'));
    expect(contents(view)).toEqual([[result('c1', 'some')]]);
    add({ type: 'block_start', ...at(0, 'm:c1'), blockType: 'tool_result' });
    add({ type: 'block_end', ...at(0, 'm:c1'), block: result('c1', 'some') });
    expect(view.messages).toMatchObject([{ id: 'm:c1', name: 'system', content: [result('c1', 'some')] }]);
  });

  test('may get events again', () => {
    const view = new ConversationView();
    const events = feeder(view)(startText, text('Hel'), text('lo'));
    for (const event of events) view.add(event);
    expect(contents(view)).toEqual([[{ type: 'text', text: 'Hello', isPartial: true }]]);
  });
});

describe('the status', () => {
  test('is that of the outermost agent', () => {
    const view = new ConversationView();
    expect(view.status).toBe('idle');
    const event = (body: EventBody, seq: number, ...agentPath: string[]): AgentEvent => ({
      ...body,
      runId: 'run',
      replyId: agentPath.join(),
      agentPath,
      seq,
      id: `run-${seq}`,
      timestamp: TIME,
    });
    view.add(event({ type: 'reply_start', name: 'Ann' }, 0, 'Ann'));
    view.add(
      event(
        { type: 'run_end', status: 'finished', durationMs: 1, msg: Msg.assistant('Helped.') },
        1,
        'Ann',
        'Bob',
      ),
    );
    expect([view.status, view.messages.length]).toEqual(['running', 1]);
    view.add(event({ type: 'run_end', status: 'interrupted', durationMs: 1 }, 2, 'Ann'));
    expect(view.status).toBe('interrupted');
  });

  test('says why a run was refused', () => {
    const view = new ConversationView();
    const error = { message: 'busy', code: 'agent_busy' } as const;
    view.add({ type: 'run_end', status: 'failed', durationMs: 1, error, ...NOWHERE });
    expect([view.status, view.error]).toEqual(['failed', error]);
    view.add({ type: 'run_end', status: 'failed', durationMs: 1, error, ...NOWHERE });
    expect(view.messages).toEqual([]);
  });

  test('does not change by events of a later version', () => {
    const view = new ConversationView();
    const origin = { runId: 'run', replyId: 'reply', agentPath: ['Ann'], seq: 0 };
    view.add({ ...origin, type: 'weather_change' } as object as AgentEvent);
    expect([view.status, view.messages]).toEqual(['running', []]);
  });
});

describe('additions of a provider to an answer', () => {
  test('is shown while it comes: a call with its input so far, sources of a text, an image that is being made', () => {
    const view = new ConversationView();
    const add = feeder(view);
    const by = { name: 'web_search', executedBy: 'anthropic' };
    add(
      { type: 'block_start', ...at(0), blockType: 'provider_tool_use', toolCallId: 's1', ...by },
      input('{"query":"wea'),
      { type: 'block_start', ...at(1), blockType: 'text' },
      text('Sunny', 1),
      { type: 'citations_delta', ...at(1), citations: [{ url: 'https://a.example/' }] },
      { type: 'block_start', ...at(2), blockType: 'image' },
      { type: 'image_delta', ...at(2), data: 'AAAA', mediaType: 'image/png' },
      { type: 'image_delta', ...at(2), data: 'BBBB', mediaType: 'image/png' },
    );
    expect(contents(view)).toEqual([
      [
        { type: 'provider_tool_use', id: 's1', ...by, input: { query: 'wea' }, isPartial: true },
        { type: 'text', text: 'Sunny', citations: [{ url: 'https://a.example/' }], isPartial: true },
        { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'BBBB' }, isPartial: true },
      ],
    ]);
    add({ type: 'block_end', ...at(0) }, { type: 'block_end', ...at(1) }, { type: 'block_end', ...at(2) });
    expect(contents(view)).toEqual([
      [{ type: 'text', text: 'Sunny', citations: [{ url: 'https://a.example/' }] }],
    ]);
  });

  test('is no tool call that could get a result', () => {
    const view = new ConversationView();
    const add = feeder(view);
    const by = { name: 'weather', executedBy: 'anthropic' };
    add(
      { type: 'block_start', ...at(0), blockType: 'provider_tool_use', toolCallId: 'c1', ...by },
      {
        type: 'block_end',
        ...at(0),
        block: { type: 'provider_tool_use', id: 'c1', input: {}, ...by },
      },
      ended('c1', 'of nobody'),
    );
    expect(view.messages.map(({ id }) => id)).toEqual(['m', 'Ann:c1']);
  });
});
