import { expect, test } from 'vitest';

import { TroupeError } from '../errors.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import { readDecisions, toVerdict } from './decisions.ts';

const pending: PendingCall = {
  id: 'ask',
  agentPath: ['ann'],
  kind: 'approval',
  call: { type: 'tool_use', id: 'a', name: 'pay', input: { eur: 1 } },
};
const fit = (result: ToolResultBlock): ToolResultBlock => result;
const refusal = (problem: string): TroupeError =>
  new TroupeError('decision_refused', `The pending tool call 'ask' ${problem}.`);
/** A decision as JSON from outside may be. */
const given = (decision: object): PendingDecision => decision as PendingDecision;

test('an allowed tool call runs with its own arguments, or with edited ones', () => {
  expect(toVerdict({ id: 'ask', verdict: 'allow' }, pending, fit)).toEqual({
    type: 'grant',
    input: undefined,
  });
  const edited = { id: 'ask', verdict: 'allow', input: { eur: 2 }, scope: 'run' } as const;
  expect(toVerdict(edited, pending, fit)).toEqual({ type: 'grant', input: { eur: 2 } });
});

test('a denial is a tool result with the reason', () => {
  const text = 'PermissionDenied: The user did not allow the tool call, and the tool did not run';
  const denied = (output: string): object => ({
    type: 'tool_result',
    id: 'a',
    name: 'pay',
    output,
    status: 'denied',
  });
  expect(toVerdict({ id: 'ask', verdict: 'deny' }, pending, fit)).toEqual(denied(`${text}.`));
  expect(toVerdict({ id: 'ask', verdict: 'deny', reason: 'too much' }, pending, fit)).toEqual(
    denied(`${text}: too much`),
  );
});

test('a supplied result belongs to the tool call, and is cut to the length of its tool', () => {
  const short = (result: ToolResultBlock): ToolResultBlock => ({ ...result, output: 'cut' });
  const verdict = toVerdict(
    { id: 'ask', verdict: 'result', output: 'long', status: 'error' },
    pending,
    short,
  );
  expect(verdict).toEqual({ type: 'tool_result', id: 'a', name: 'pay', output: 'cut', status: 'error' });
});

test.each([
  ["needs a verdict: 'allow', 'deny', 'answer' or 'result'", { verdict: 'maybe' }, 'approval'],
  ['is run elsewhere: supply its result', { verdict: 'allow' }, 'external'],
  [
    "has a decision that is not valid: scope must be 'once' or 'run'",
    { verdict: 'allow', scope: 'ever' },
    'approval',
  ],
  [
    'has a decision that is not valid: reason must be a string, not a number',
    { verdict: 'deny', reason: 1 },
    'approval',
  ],
] as const)('refuses a decision: the tool call %s', (problem, decision, kind) => {
  const act = (): unknown => toVerdict(given({ id: 'ask', ...decision }), { ...pending, kind }, fit);
  expect(act).toThrow(refusal(problem));
});

test('decisions are copied: later changes of the caller have no effect', () => {
  const decision = { id: 'ask', verdict: 'allow', input: { eur: 1 } };
  const copies = readDecisions([given(decision)]);
  decision.input.eur = 1000;
  expect(copies).toEqual([{ id: 'ask', verdict: 'allow', input: { eur: 1 } }]);
});

test.each([
  ['decisions must be a list', 'allow'],
  ['decisions[1] is not readable', [{ id: 'ask', verdict: 'deny' }, () => 'allow']],
  [
    'decisions[0] is not readable: it.verdict is a getter',
    [
      {
        id: 'ask',
        get verdict() {
          return 'allow';
        },
      },
    ],
  ],
])('refuses decisions from outside: %s', (problem, decisions) => {
  expect(() => readDecisions(decisions as readonly PendingDecision[])).toThrow(problem);
});
