import { expect, test } from 'vitest';

import { InterruptedError } from '../../errors.ts';
import { Msg } from '../../message/msg.ts';
import { TurnState, type AcceptedInterrupt } from './turn-state.ts';

const interrupt = (text: string): AcceptedInterrupt => ({
  error: new InterruptedError('ann', 'user'),
  msgs: [Msg.user(text)],
});
const answer = Msg.assistant('done');

/** Outcome of an interrupt for a state, and the messages of the interrupt in effect. */
function interrupted(state: TurnState, text = 'stop', isStopped = false): unknown[] {
  const effect = state.addInterrupt(interrupt(text), isStopped);
  return [effect, state.interrupt?.msgs.map((msg) => msg.text) ?? []];
}

test('running: the first interrupt counts, further ones add their messages until it is handled', () => {
  const state = new TurnState();
  expect(interrupted(state, 'one')).toEqual(['first', ['one']]);
  expect(interrupted(state, 'two', true)).toEqual(['further', ['one', 'two']]);
  state.beginHandling();
  expect(interrupted(state, 'three', true)).toEqual(['refused', ['one', 'two']]);
  state.decideWithoutAnswer();
  expect(interrupted(state, 'four', true)).toEqual(['refused', ['one', 'two']]);
});

test('running: after an abort an interrupt comes too late', () => {
  expect(interrupted(new TurnState(), 'stop', true)).toEqual(['refused', []]);
});

test('decided: an interrupt while hooks of the answer run is late, and counts if they are cut off', () => {
  const state = new TurnState();
  state.commit(answer);
  expect([interrupted(state), state.hasLateInterrupt, state.answer]).toEqual([['first', []], true, answer]);
  state.acceptLateInterrupt();
  expect([state.interrupt?.msgs.length, state.answer, state.hasLateInterrupt]).toEqual([1, undefined, false]);
});

test('decided: a late interrupt is forgotten when the hooks end in time', () => {
  const state = new TurnState();
  state.commit(answer);
  interrupted(state);
  const changed = Msg.assistant('as the hooks made it');
  state.commit(changed);
  expect([state.hasLateInterrupt, state.isAnswerFinal]).toEqual([true, false]);
  state.finalize();
  state.acceptLateInterrupt();
  expect([state.interrupt, state.answer, state.isAnswerFinal]).toEqual([undefined, changed, true]);
  expect(interrupted(state)).toEqual(['refused', []]);
});

test('decided without an answer: interrupts come too late', () => {
  const state = new TurnState();
  state.decideWithoutAnswer();
  expect([interrupted(state), state.answer]).toEqual([['refused', []], undefined]);
});

test('suspended: the question is final, and an interrupt comes too late', () => {
  const state = new TurnState();
  state.commit(answer);
  state.suspend(answer);
  expect([state.isSuspended, state.isAnswerFinal, interrupted(state)]).toEqual([true, true, ['refused', []]]);
  const reworded = Msg.assistant('May I?');
  state.commit(reworded);
  expect([state.isSuspended, state.answer]).toEqual([true, reworded]);
});

test('a follow-up begins a new reply, which can be interrupted again', () => {
  const state = new TurnState();
  state.commit(answer);
  state.finalize();
  state.restart();
  expect([state.answer, interrupted(state)]).toEqual([undefined, ['first', ['stop']]]);
});

test('over: the answer and the interrupt stay, and nothing changes any more', () => {
  const state = new TurnState();
  interrupted(state);
  state.end();
  state.commit(answer);
  state.suspend(answer);
  state.decideWithoutAnswer();
  expect([state.isOver, state.answer, interrupted(state, 'late')]).toEqual([
    true,
    undefined,
    ['refused', ['stop']],
  ]);
});
