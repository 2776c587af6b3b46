import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { FakeClock } from '../testing/fake-clock.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { InMemoryPlanStorage } from './in-memory-plan-storage.ts';
import { PlanNotebook } from './plan-notebook.ts';
import { Plan } from './plan.ts';
import { SubTask } from './sub-task.ts';

const words = (name: string) => ({ name, description: '', expectedOutcome: '' });
const house = (name: string) => ({ ...words(name), subtasks: [words('walls')] });

let clock: FakeClock;
let installed: Disposable;
beforeEach(() => {
  clock = new FakeClock();
  installed = clock.install();
});
afterEach(() => installed[Symbol.dispose]());

/** A storage that can block. */
class SlowStorage extends InMemoryPlanStorage {
  #gate = Promise.resolve();
  #onAsked = (): void => {};

  /** Blocks until the returned function is called. */
  stick(): { asked: Promise<void>; release: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    const asked = new Promise<void>((tell) => (this.#onAsked = tell));
    return { asked, release: resolve };
  }

  work(): void {
    this.#gate = Promise.resolve();
  }

  override async addPlan(plan: Plan): Promise<void> {
    this.#onAsked();
    await this.#gate;
    await super.addPlan(plan);
  }
}

describe('a hanging storage', () => {
  test('fails the edit after the time limit, without a change, and the next edit works', async () => {
    const storage = new SlowStorage();
    const notebook = new PlanNotebook({ storage, storageTimeoutMs: 5000 });
    const plan = await notebook.createPlan(house('a'));
    storage.stick();
    const stuck = notebook.finishPlan('done', 'x').catch((error: unknown) => error);
    const next = notebook.updatePlanInfo({ name: 'b' });
    await clock.advance(5000);
    expect(await stuck).toMatchObject({
      code: 'store_failed',
      message: 'The storage of plans did not answer within 5 s. The plan is unchanged.',
    });
    expect(await next).toEqual(plan.with({ name: 'b' }));
  });

  test('does not delay an interrupt; a late answer changes nothing', async () => {
    const storage = new SlowStorage();
    const notebook = new PlanNotebook({ storage });
    const { id } = await notebook.createPlan(house('a'));
    const toolkit = new Toolkit();
    notebook.registerPlanTools(toolkit);
    const { asked, release } = storage.stick();
    const controller = new AbortController();
    const input = { state: 'done', outcome: 'too early' };
    const answer = toolkit.callToolFunction(
      { type: 'tool_use', id: 'c', name: 'finish_plan', input },
      { signal: controller.signal },
    );
    await asked;
    controller.abort();
    expect((await answer).status).toBe('interrupted');
    storage.work();
    await notebook.updateSubtaskState(0, 'in_progress');
    release();
    while ((await storage.getPlans()).length === 0) await clock.advance(0); // the plan is stored after all
    expect([notebook.currentPlan?.id, notebook.currentPlan?.state]).toEqual([id, 'in_progress']);
    expect(await notebook.getHistoricalPlans()).toEqual([]);
    await notebook.finishPlan('done', 'fine');
    expect((await notebook.getHistoricalPlans()).map(({ state, outcome }) => [state, outcome])).toEqual([
      ['done', 'fine'],
    ]);
    notebook.loadStateDict(notebook.stateDict());
  });

  test('needs a valid time limit', () => {
    expect(() => new PlanNotebook({ storageTimeoutMs: 0 })).toThrow('storageTimeoutMs must be a number of 1');
  });
});

describe('a storage that returns something other than plans', () => {
  const NO_PLAN = 'returned a value that is not a Plan';
  test.each<[string, unknown, string | undefined, string]>([
    ['nothing', undefined, undefined, 'did not return a list of plans'],
    ['null', null, undefined, 'did not return a list of plans'],
    ['a text', 'x', NO_PLAN, 'did not return a list of plans'],
    ['an object', {}, NO_PLAN, 'did not return a list of plans'],
    ['a list of null', [null], NO_PLAN, NO_PLAN],
    ['a list of plain objects', [{ id: 'abc' }], NO_PLAN, NO_PLAN],
  ])('%s', async (_, garbage, one, many) => {
    const storage = new InMemoryPlanStorage();
    storage.getPlan = async () => garbage as Plan;
    storage.getPlans = async () => garbage as Plan[];
    const notebook = new PlanNotebook({ storage });
    const failed = { code: 'store_failed', message: expect.stringContaining(many) as string };
    await expect(notebook.getHistoricalPlans()).rejects.toMatchObject(failed);
    await expect(notebook.recoverHistoricalPlan('abc')).rejects.toThrow(
      one ?? "There is no archived plan with the id 'abc'.",
    );
    expect(notebook.currentPlan).toBeUndefined();
  });

  test('a plan with another id', async () => {
    const storage = new InMemoryPlanStorage();
    const other = new Plan({ ...words('other'), subtasks: [new SubTask(words('x'))] });
    storage.getPlan = async () => other;
    const notebook = new PlanNotebook({ storage });
    await expect(notebook.recoverHistoricalPlan('abc')).rejects.toThrow('returned a plan with another id');
    expect((await notebook.recoverHistoricalPlan(other.id)).id).toBe(other.id);
  });
});
