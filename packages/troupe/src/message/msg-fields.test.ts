// Fields of a message about its reply: their checks, and their values in messages of version 0.1.
import { describe, expect, test } from 'vitest';
import { isDeepFrozen } from '../../test/arbitraries.ts';
import { InvalidMsgError } from '../errors.ts';
import type { JsonObject } from '../util/json.ts';
import { Msg, type MsgInit } from './msg.ts';
import type { PendingCall } from './pending-call.ts';

const pending: PendingCall = {
  id: 'pending_1',
  agentPath: ['Ann', 'Bob'],
  kind: 'approval',
  call: { type: 'tool_use', id: 'c1', name: 'pay', input: { sum: 5 } },
  reason: 'It costs money.',
};
const base = { id: 'm1', name: 'Ann', role: 'assistant', content: 'May I?', timestamp: 'then' } as const;
const fields = {
  endReason: 'tool_suspended',
  finishReason: 'tool_calls',
  responseId: 'resp_1',
  answeredBy: { model: 'small', vendor: 'Acme', host: 'api.acme.test' },
  pending: [pending],
} as const;

describe('the fields of a message', () => {
  test('are saved and loaded exactly', () => {
    const msg = new Msg({ ...base, ...fields });
    const json = { ...base, metadata: {}, ...fields };
    expect(msg.toJSON()).toStrictEqual(json);
    expect(JSON.stringify(Msg.from(JSON.parse(JSON.stringify(msg))))).toBe(JSON.stringify(msg));
    expect(Object.fromEntries(Object.entries(msg))).toStrictEqual(json);
    expect(isDeepFrozen(msg)).toBe(true);
    expect(Object.keys(new Msg(base))).toEqual(['id', 'name', 'role', 'content', 'metadata', 'timestamp']);
  });

  test('are copies of the given values', () => {
    const path = ['Ann'];
    const msg = new Msg({ ...base, pending: [{ ...pending, agentPath: path }] });
    path.push('Mallory');
    expect(msg.pending?.[0]?.agentPath).toEqual(['Ann']);
  });

  test('are changed by `with`, and stay otherwise', () => {
    const msg = new Msg({ ...base, ...fields });
    expect(msg.with({ content: 'Well?' }).toJSON()).toStrictEqual({ ...msg.toJSON(), content: 'Well?' });
    const changed = msg.with({
      endReason: 'finished',
      finishReason: 'stop',
      responseId: 'r2',
      pending: [],
      answeredBy: { model: 'big' },
    });
    expect(changed.toJSON()).toStrictEqual({
      ...base,
      metadata: {},
      endReason: 'finished',
      finishReason: 'stop',
      responseId: 'r2',
      answeredBy: { model: 'big' },
    });
  });

  test.each<[string, JsonObject, string]>([
    ['an end reason', { endReason: 'bored' }, 'endReason must be one of finished, structured,'],
    ['an end reason that is no text', { endReason: ['finished'] }, 'endReason must be one of'],
    ['a finish reason', { finishReason: 'STOP' }, 'finishReason must be one of stop, tool_calls,'],
    ['a response id', { responseId: 7 }, 'responseId must be a string, not'],
    ['who answered', { answeredBy: 'small' }, 'answeredBy is a string, not an object'],
    [
      'who answered without a model',
      { answeredBy: { vendor: 'Acme' } },
      'answeredBy.model must be a string, not undefined',
    ],
    ['who answered where', { answeredBy: { model: 'm', host: 7 } }, 'answeredBy.host must be a string, not'],
    ['a pending call', { pending: [{ ...pending, kind: 'maybe' }] as never }, 'pending must be a list of'],
    ['pending calls that are no list', { pending: {} }, 'pending must be a list of'],
    ['a pending call without a call', { pending: [{ id: 'x' }] }, 'pending must be a list of'],
  ])('%s that is wrong is refused', (_, wrong, problem) => {
    const json = { ...base, metadata: {}, ...wrong };
    expect(() => Msg.from(json)).toThrow(InvalidMsgError);
    expect(() => Msg.from(json)).toThrow(problem);
    expect(() => new Msg(json as JsonObject & MsgInit)).toThrow(problem);
  });
});

describe('structured output', () => {
  const day = new Date(0);
  const msg = new Msg({ ...base, metadata: { day: '1970-01-01' }, structured: { day } });

  test('is a property, but neither in the JSON nor enumerable', () => {
    expect(msg.structured).toEqual({ day });
    expect(Object.keys(msg)).not.toContain('structured');
    expect(Msg.from(msg.toJSON()).structured).toBeUndefined();
    expect(Msg.from({ ...msg.toJSON(), structured: 'forged' }).structured).toBeUndefined();
  });

  test('stays while the metadata stays', () => {
    expect(msg.with({ content: 'So.' }).structured).toBe(msg.structured);
    expect(msg.with({ metadata: { day: 'never' } }).structured).toBeUndefined();
    expect(msg.with({ metadata: {}, structured: 7 }).structured).toBe(7);
  });
});

describe('a message of version 0.1', () => {
  const old = (metadata: JsonObject, more: JsonObject = {}): JsonObject => ({ ...base, metadata, ...more });
  const asJson = [JSON.parse(JSON.stringify(pending)) as JsonObject];

  test.each<[string, JsonObject, JsonObject]>([
    ['why it ended', old({ _end_reason: 'finished', a: 1 }), old({ a: 1 }, { endReason: 'finished' })],
    [
      'what is pending',
      old({ _end_reason: 'tool_suspended', _pending: asJson }),
      old({}, { endReason: 'tool_suspended', pending: asJson }),
    ],
    [
      'that it was interrupted',
      old({ _is_interrupted: true, _end_reason: 'interrupted' }),
      old({ _is_interrupted: true }, { endReason: 'interrupted' }),
    ],
    [
      'a structured answer as the model sent it',
      old({ day: '1970-01-01', _is_raw: true, _end_reason: 'structured' }),
      old({ day: '1970-01-01' }, { endReason: 'structured' }),
    ],
  ])('says %s in fields', (_, json, expected) => {
    const msg = Msg.from(json);
    expect(msg.toJSON()).toStrictEqual(expected);
    expect(Msg.from(msg.toJSON()).toJSON()).toStrictEqual(expected);
  });

  test.each<[string, JsonObject]>([
    ['an unknown reason', old({ _end_reason: 'bored' })],
    ['a reason that is no text', old({ _end_reason: { finished: true } })],
    ['pending calls without a reason', old({ _pending: asJson })],
    ['keys without an underscore', old({ endReason: 'finished', finishReason: 'stop', responseId: 'r1' })],
    ['a mark of something else', old({ _is_raw: true, _is_interrupted: true })],
    [
      'keys beside the fields',
      old({ _end_reason: 'error', _pending: [], x: 1 }, { endReason: 'structured' }),
    ],
  ])('keeps its metadata: %s', (_, json) => {
    expect(Msg.from(json).toJSON()).toStrictEqual(json);
  });

  test('keeps invalid pending tool calls in its metadata', () => {
    const json = old({ _end_reason: 'tool_suspended', _pending: [{ id: 'x' }] });
    expect(Msg.from(json).toJSON()).toStrictEqual(
      old({ _pending: [{ id: 'x' }] }, { endReason: 'tool_suspended' }),
    );
  });

  test('is recognized in saved data only; metadata of a program stays', () => {
    const msg = new Msg({ ...base, metadata: { _end_reason: 'finished' } });
    expect(msg.metadata).toEqual({ _end_reason: 'finished' });
    const changed = msg.with({ content: 'So.' });
    expect([changed.metadata, changed.endReason]).toEqual([{ _end_reason: 'finished' }, undefined]);
  });
});
