import { expect, test } from 'vitest';

import { Msg } from '../../message/msg.ts';
import { TurnControl } from './turn-control.ts';

const makeTurn = (): TurnControl => new TurnControl({ agentId: 'a', agentName: 'ann' });
const texts = (msgs: readonly Msg[]): string[] => msgs.map((msg) => msg.text);

test('takes messages in until there is nothing more to answer', () => {
  const turn = makeTurn();
  const firstReply = turn.reply.id;
  expect(turn.inbox.steer([Msg.user('left')])).toBe(true);
  expect(turn.inbox.followUp([Msg.user('and then?')])).toBe(true);
  expect(texts(turn.inbox.unread)).toEqual(['left', 'and then?']);
  expect(texts(turn.inbox.takeSteering())).toEqual(['left']);
  expect(texts(turn.takeFollowUps())).toEqual(['and then?']);
  expect(turn.reply.id).not.toBe(firstReply);
  expect(turn.inbox.followUp([Msg.user('one more')])).toBe(true);
  expect(texts(turn.takeFollowUps())).toEqual(['one more']);

  expect(turn.takeFollowUps()).toEqual([]);
  expect(turn.inbox.followUp([Msg.user('too late')])).toBe(false);
  expect(turn.inbox.steer([Msg.user('too late')])).toBe(false);
  expect(turn.inbox.unread).toEqual([]);
});

test('an interrupt counts until the outcome is decided', () => {
  const stopped = makeTurn();
  expect(stopped.interrupt('user', [Msg.user('stop')])).toBe(true);
  expect(stopped.state.interrupt?.error.source).toBe('user');
  expect(() => stopped.commit(Msg.assistant('late'))).toThrow('ann was interrupted.');

  const answered = makeTurn();
  answered.commit(Msg.assistant('done'));
  answered.state.finalize();
  expect(answered.interrupt('user')).toBe(false);
  expect(answered.signal.aborted).toBe(false);

  const failed = makeTurn();
  failed.state.decideWithoutAnswer();
  expect(failed.interrupt('user')).toBe(false);
});

test('an interrupt between the answer and the end of its hooks counts if the hooks are cut off', () => {
  const cut = makeTurn();
  cut.commit(Msg.assistant('raw'));
  expect([cut.interrupt('user'), cut.signal.aborted, cut.state.interrupt?.error.source]).toEqual([
    true,
    true,
    undefined,
  ]);
  cut.state.acceptLateInterrupt();
  expect([cut.state.interrupt?.error.source, cut.state.answer]).toEqual(['user', undefined]);
  cut.end();

  const inTime = makeTurn();
  inTime.commit(Msg.assistant('raw'));
  inTime.interrupt('user');
  inTime.commit(Msg.assistant('as the hooks made it'));
  inTime.state.finalize();
  inTime.state.acceptLateInterrupt();
  expect([inTime.state.interrupt?.error.source, inTime.state.answer?.text]).toEqual([
    undefined,
    'as the hooks made it',
  ]);
  inTime.end();
});

test('a turn that is over hears nothing of its parent or its caller', () => {
  const caller = new AbortController();
  const parent = makeTurn();
  const turn = new TurnControl({ agentId: 'b', agentName: 'bob', parent, signal: caller.signal });
  expect(turn.place.agentPath).toEqual(['ann', 'bob']);
  expect(turn.place.runId).toBe(parent.place.runId);
  turn.end();
  parent.interrupt('user');
  caller.abort();
  expect(turn.signal.aborted).toBe(false);
});

test('adds up the usage of the call and of nested calls', async () => {
  const turn = makeTurn();
  expect(turn.costs.usage).toBe(undefined);
  const inner = new TurnControl({ agentId: 'b', agentName: 'bob', parent: turn });
  await turn.addUsage({ inputTokens: 10, outputTokens: 1, cost: 0.5 });
  await inner.addUsage({ inputTokens: 5, outputTokens: 2, cachedTokens: 3 });
  await turn.addUsage(undefined);
  expect(inner.costs.usage).toEqual({ inputTokens: 5, outputTokens: 2, cachedTokens: 3 });
  expect(turn.costs.usage).toEqual({ inputTokens: 15, outputTokens: 3, cachedTokens: 3, cost: 0.5 });
  expect(turn.continuation().costs.usage).toEqual(turn.costs.usage);
  turn.end();
  await turn.addUsage({ inputTokens: 1, outputTokens: 1 });
  expect(turn.costs.usage?.inputTokens).toBe(15);
});
