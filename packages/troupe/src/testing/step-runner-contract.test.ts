import { describe, expect, test } from 'vitest';

import type { StepRunner } from '../event/step.ts';
import { StepJournal } from './step-journal.ts';
import { stepRunnerContract, type BeginAttempt } from './step-runner-contract.ts';

const identity: StepRunner = (_step, body) => body();
const journalled = (): BeginAttempt => {
  const journal = new StepJournal();
  return () => journal.attempt();
};

describe('no runner at all', () => {
  test.each(stepRunnerContract(() => () => identity))('$name', ({ run }) => run());
});

describe('a journal', () => {
  test.each(stepRunnerContract(journalled, { isDurable: true }))('$name', ({ run }) => run());
});

/** Names of the cases that a runner fails. */
async function failedBy(openRun: () => BeginAttempt, isDurable: boolean): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of stepRunnerContract(openRun, { isDurable })) {
    await run().catch(() => failed.push(name));
  }
  return failed;
}

test('the contract finds a runner that calls a body twice', async () => {
  const twice: StepRunner = async (_step, body) => {
    await body();
    return body();
  };
  expect(await failedBy(() => () => twice, false)).toContain('a body is called once, and only in its step');
});

test('the contract finds a runner that runs one step after the other', async () => {
  const openRun = (): BeginAttempt => {
    let last: Promise<unknown> = Promise.resolve();
    const queue: StepRunner = (_step, body) => {
      const result = last.then(body);
      last = result.catch(() => {});
      return result;
    };
    return () => queue;
  };
  expect(await failedBy(openRun, false)).toContain('steps run in parallel and inside of each other');
});

test('the contract finds a runner that replays by position instead of by key', async () => {
  const openRun = (): BeginAttempt => {
    const results: unknown[] = [];
    return () => {
      let position = 0;
      return async (step, body) => {
        const mine = position++;
        if (mine in results && step.kind !== 'write') return results[mine] as never;
        const result = await body();
        results[mine] = result;
        return result;
      };
    };
  };
  expect(await failedBy(openRun, true)).toContain(
    'a run that was cut at any step is finished by the next attempt, with the same keys',
  );
});

test('the contract finds a runner that forgets', async () => {
  const failed = await failedBy(() => () => identity, true);
  expect(failed).toContain('a replayed run calls no model and no tool, and has the same keys');
});

test('a journal refuses two steps with one key, and a key that changed its kind', async () => {
  const journal = new StepJournal();
  const runStep = journal.attempt();
  expect(await runStep({ kind: 'model', name: 'x', key: 'k' }, async () => 1)).toBe(1);
  await expect(runStep({ kind: 'model', name: 'x', key: 'k' }, async () => 2)).rejects.toThrow(
    'Two steps of one run share the key k.',
  );
  await expect(journal.attempt()({ kind: 'tool', name: 'x', key: 'k' }, async () => 3)).rejects.toThrow(
    'The step k was a model step before, and is a tool step now.',
  );
  expect(journal.keys).toEqual(['k']);
});
