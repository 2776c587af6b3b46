import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ReActAgent } from '../react/react-agent.ts';
import { withRunConfig } from '../config/run-config.ts';
import { StateError, TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { fakeIds } from '../testing/fake-ids.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import type { JsonObject } from '../util/json.ts';
import { InMemoryPlanStorage } from './in-memory-plan-storage.ts';
import { PlanError } from './plan-error.ts';
import { PlanNotebook, type PlanNotebookOptions } from './plan-notebook.ts';
import { PlanStorageBase } from './plan-storage-base.ts';
import { Plan } from './plan.ts';
import { SubTask } from './sub-task.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const words = (name: string) => ({ name, description: `do ${name}`, expectedOutcome: `${name} works` });
const house = (...subtasks: string[]) => ({ ...words('house'), subtasks: subtasks.map(words) });

let clock: FakeClock;
const installed: Disposable[] = [];
beforeEach(() => {
  clock = new FakeClock();
  installed.push(clock.install(), fakeIds());
});
afterEach(() => installed.splice(0).forEach((one) => one[Symbol.dispose]()));

async function make(options?: PlanNotebookOptions): Promise<PlanNotebook> {
  const notebook = new PlanNotebook(options);
  await notebook.createPlan(house('walls', 'roof', 'paint'));
  return notebook;
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PlanError);
  return (error as PlanError).problems;
}

const statesOf = (plan: Plan | undefined): unknown =>
  plan?.subtasks.map(({ name, state }) => `${name} ${state}`);
const hintOf = async (notebook: PlanNotebook): Promise<string> =>
  (await notebook.getCurrentHint())?.text ?? '';

describe('a program', () => {
  test('creates and edits plans like a model', async () => {
    const notebook = new PlanNotebook();
    const plan = await notebook.createPlan(house('walls', 'roof'));
    expect(plan).toBe(notebook.currentPlan);
    await notebook.updatePlanInfo({ name: 'villa', description: undefined } as never);
    await notebook.updateSubtaskState(0, 'in_progress');
    await notebook.addSubtask(2, words('paint'));
    await notebook.reviseSubtask(2, { name: 'blue paint', description: undefined } as never);
    await notebook.finishSubtask(0, 'four');
    expect(statesOf(await notebook.deleteSubtask(1))).toEqual(['walls done', 'blue paint todo']);
    expect(notebook.currentPlan).toMatchObject({ id: plan.id, name: 'villa', description: 'do house' });
    expect(notebook.currentPlan?.subtasks[1]).toMatchObject({ ...words('paint'), name: 'blue paint' });
    const archived = await notebook.finishPlan('abandoned', 'no money');
    expect(archived).toMatchObject({ id: plan.id, state: 'abandoned', outcome: 'no money', finishedAt: NOW });
    expect(await notebook.getHistoricalPlans()).toEqual([archived]);
    expect((await notebook.recoverHistoricalPlan(plan.id)).id).toBe(plan.id);
  });

  test('gets all problems in one typed error, without a change', async () => {
    const notebook = await make({ maxSubtasks: 3 });
    const before = notebook.currentPlan;
    for (const index of [-1, 3, 0.5, NaN, Infinity, '0' as never, undefined as never]) {
      const shown = typeof index === 'number' ? index : index === undefined ? 'undefined' : 'a string';
      const range = `Invalid subtask index ${shown}. Must be between 0 and 2.`;
      expect(await failure(notebook.deleteSubtask(index))).toEqual([range]);
      expect(await failure(notebook.reviseSubtask(index, words('x')))).toEqual([range]);
      expect((await failure(notebook.finishSubtask(index, 'x'))) as string[]).toContain(range);
      expect((await failure(notebook.updateSubtaskState(index, 'in_progress'))) as string[]).toContain(range);
    }
    expect(await failure(notebook.addSubtask(-1, { name: ' ' } as never))).toEqual([
      'Invalid subtask index -1. Must be between 0 and 3.',
      'The description of the subtask must be a text, not undefined.',
      'The expected outcome of the subtask must be a text, not undefined.',
      'The name of the subtask is blank.',
      'A plan may have at most 3 subtasks, and this would be 4.',
    ]);
    expect(await failure(notebook.updateSubtaskState(5, 'done' as never))).toEqual([
      'Invalid subtask index 5. Must be between 0 and 2.',
      "The state can not be set to 'done'. Finish the subtask with its outcome (finish_subtask).",
    ]);
    expect(await failure(notebook.updateSubtaskState(0, 'later' as never))).toEqual([
      'The state must be one of todo, in_progress, abandoned.',
    ]);
    expect(await failure(notebook.finishPlan('todo' as never, 5 as never))).toEqual([
      'The state must be one of done, abandoned.',
      'The outcome must be a text, not a number.',
    ]);
    expect(await failure(notebook.createPlan({ ...words(''), subtasks: [] }))).toEqual([
      'The name of the plan is blank.',
      'A plan needs at least one subtask.',
    ]);
    expect(await failure(notebook.createPlan(undefined as never))).toEqual([
      'The plan must have a name, a description and an expected outcome; it is undefined.',
      'The subtasks must be a list, not undefined.',
    ]);
    expect(await failure(notebook.createPlan(house('a', 'b', 'c', 'd')))).toEqual([
      'A plan may have at most 3 subtasks, and this would be 4.',
    ]);
    expect(notebook.currentPlan).toBe(before);
    expect(await notebook.storage.getPlans()).toEqual([]);
  });

  test('gets an error for invalid changes too', async () => {
    const notebook = await make();
    const nothing = null as never;
    for (const edit of [notebook.updatePlanInfo(nothing), notebook.reviseSubtask(0, nothing)])
      expect(await failure(edit)).toEqual([expect.stringContaining('must have a name')]);
  });

  test('gets an error with a code', async () => {
    const error = await new PlanNotebook().finishPlan('done', '').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'PlanError', code: 'invalid_plan' });
    expect(TroupeError.isInstance(error)).toBe(true);
    expect(() => new PlanNotebook({ maxSubtasks: 0 })).toThrow(
      'maxSubtasks must be a whole number of 1 or more.',
    );
  });
});

describe('the state', () => {
  test('contains the current and the archived plans, and restores an equal notebook', async () => {
    const notebook = new PlanNotebook();
    expect(notebook.stateDict()).toEqual({
      __version__: 2,
      storage: { plans: [] },
      currentPlan: null,
      told: {},
    });
    await notebook.createPlan(house('walls', 'roof'));
    await clock.advance(1000);
    await notebook.finishSubtask(0, 'four');
    const saved = notebook.stateDict();
    const base = { createdAt: NOW };
    expect(saved).toEqual({
      __version__: 2,
      told: {},
      storage: { plans: [] },
      currentPlan: {
        id: 'id-3',
        ...words('house'),
        state: 'in_progress',
        ...base,
        subtasks: [
          {
            id: 'id-1',
            ...words('walls'),
            state: 'done',
            ...base,
            finishedAt: '2026-01-01T00:00:01.000Z',
            outcome: 'four',
          },
          { id: 'id-2', ...words('roof'), state: 'in_progress', ...base },
        ],
      },
    });
    await notebook.finishPlan('done', 'half a home');
    const later = notebook.stateDict();
    expect(later).toEqual({
      __version__: 2,
      told: {},
      storage: {
        plans: [
          {
            ...(saved['currentPlan'] as JsonObject),
            state: 'done',
            outcome: 'half a home',
            finishedAt: '2026-01-01T00:00:01.000Z',
          },
        ],
      },
      currentPlan: null,
    });
    for (const state of [saved, later]) {
      const other = new PlanNotebook();
      other.loadStateDict(JSON.parse(JSON.stringify(state)) as JsonObject);
      expect(other.stateDict()).toEqual(state);
    }
    const other = new PlanNotebook();
    other.loadStateDict(saved);
    expect(other.currentPlan).toBeInstanceOf(Plan);
    expect(statesOf(await other.finishSubtask(1, 'red'))).toEqual(['walls done', 'roof done']);
    other.loadStateDict(later);
    expect(other.currentPlan).toBeUndefined();
    expect(await other.getHistoricalPlans()).toEqual(await notebook.getHistoricalPlans());
  });

  test('is refused as a whole if a part is invalid', async () => {
    const notebook = await make();
    const before = notebook.stateDict();
    const plan = before['currentPlan'] as JsonObject;
    for (const state of [
      { storage: { plans: [] }, currentPlan: { ...plan, state: 'busy' } },
      { storage: { plans: [{ ...plan, id: '../x' }] }, currentPlan: null },
      { storage: { plans: {} }, currentPlan: null },
      { storage: { plans: [] }, currentPlan: 'x' },
      { storage: { plans: [] }, currentPlan: { ...plan, state: 'done' } },
      { ...before, told: ['planner'] },
    ]) {
      expect(() => notebook.loadStateDict(state)).toThrow(StateError);
      expect(notebook.stateDict()).toEqual(before);
    }
  });

  test('of an agent contains the state of its notebook', async () => {
    const [notebook, other] = [new PlanNotebook(), new PlanNotebook()];
    const [agent, next] = [notebook, other].map(
      (planNotebook) => new ReActAgent({ name: 'a', model: new ScriptedModel([]), planNotebook }),
    );
    await notebook.createPlan(house('walls'));
    next?.loadStateDict(agent?.stateDict() ?? {});
    expect(other.currentPlan?.toJSON()).toEqual(notebook.currentPlan?.toJSON());
    expect(other.currentPlan?.name).toBe('house');
  });

  test('is not loaded during an edit', async () => {
    const notebook = await make();
    const saved = notebook.stateDict();
    const edit = notebook.finishPlan('done', 'x');
    expect(() => notebook.loadStateDict(saved)).toThrow('the plan is being edited');
    await edit;
    notebook.loadStateDict(saved);
    await failure(notebook.deleteSubtask(9));
    notebook.loadStateDict(saved);
    expect(notebook.stateDict()).toEqual(saved);
  });
});

describe('hints', () => {
  test('for each of the five stages of a plan', async () => {
    const notebook = new PlanNotebook();
    const msg = (await notebook.getCurrentHint()) as Msg;
    expect([msg.role, msg.name]).toEqual(['user', 'user']);
    expect(msg.content).toBe(
      "<system-hint>A request that takes several steps (a program, a paper, research) needs a plan: call 'create_plan' before you begin with it. A simple request needs none: just answer it.</system-hint>",
    );
    const plan = await notebook.createPlan(house('walls', 'roof', 'paint'));
    const shown = (now: Plan | undefined = notebook.currentPlan): string =>
      `<system-hint>The current plan:\n\`\`\`\n${now?.toMarkdown()}\n\`\`\`\n`;
    const revise = "- If the plan does not fit any more: change it by 'revise_current_plan'.";
    const abandon =
      "- If the user wants something else: call 'finish_plan' with the state 'abandoned' and say why.";
    const start = (index: number): string =>
      `- Go on: call 'update_subtask_state' with subtask_idx=${index} and the state 'in_progress', and work on it.`;
    expect(await hintOf(notebook)).toBe(
      `${shown(plan)}None of its subtasks has been started.\nWhat you can do:\n${start(0)}\n${revise}\n${abandon}</system-hint>`,
    );
    await notebook.finishSubtask(0, 'four');
    const details = notebook.currentPlan?.subtasks[1]?.toMarkdown(true);
    expect(await hintOf(notebook)).toBe(
      `${shown()}Subtask 1 is in progress:\n\`\`\`\n${details}\n\`\`\`\nWhat you can do:\n- Work on it.\n- When it is done: call 'finish_subtask' with subtask_idx=1 and the outcome.\n- If something is missing that only the user can tell: ask.\n${revise}\n${abandon}</system-hint>`,
    );
    await notebook.updateSubtaskState(1, 'todo');
    expect(await hintOf(notebook)).toBe(
      `${shown()}No subtask is in progress.\nWhat you can do:\n${start(1)}\n${revise}\n${abandon}</system-hint>`,
    );
    await notebook.updateSubtaskState(1, 'abandoned');
    await notebook.updateSubtaskState(2, 'abandoned');
    expect(await hintOf(notebook)).toBe(
      `${shown()}All subtasks are done or abandoned.\nWhat you can do:\n- Call 'finish_plan' with the state 'done' and what came of the plan; then tell the user about it.\n- If something is left to do: add a subtask by 'revise_current_plan'.\n${abandon}</system-hint>`,
    );
  });

  test('a plan with only abandoned subtasks counts as ended', async () => {
    const notebook = await make();
    for (const index of [0, 1]) await notebook.updateSubtaskState(index, 'abandoned');
    expect(await hintOf(notebook)).toContain('No subtask is in progress.');
    await notebook.updateSubtaskState(2, 'abandoned');
    expect(await hintOf(notebook)).toContain('All subtasks are done or abandoned.');
  });

  test("contain the limit and the need for the user's consent", async () => {
    const notebook = new PlanNotebook({ maxSubtasks: 3, needUserConfirm: true });
    const rules = [
      'A plan has at most 3 subtasks.',
      'Show the plan to the user, and begin with it only when the user agrees.',
    ];
    for (const rule of rules) expect(await hintOf(notebook)).toContain(rule);
    await notebook.createPlan(house('a'));
    for (const rule of rules) expect(await hintOf(notebook)).toContain(`- ${rule}`);
  });

  test('can be replaced, for all stages or for some', async () => {
    const own = await make({ planToHint: async (plan, { maxSubtasks }) => `${plan?.name} ${maxSubtasks}` });
    expect(await hintOf(own)).toBe('<system-hint>house Infinity</system-hint>');
    const quiet = new PlanNotebook({ planToHint: { noPlan: () => undefined } });
    expect(await quiet.getCurrentHint()).toBeUndefined();
    await quiet.createPlan(house('walls'));
    expect(await hintOf(quiet)).toContain('None of its subtasks has been started.');
    const none = await make({ planToHint: () => undefined });
    expect(await none.getCurrentHint()).toBeUndefined();
  });

  test('and errors about a plan of ten thousand subtasks are short', async () => {
    const notebook = new PlanNotebook();
    const subtasks = Array.from({ length: 10_000 }, (_, i) => words(`subtask ${i}`));
    await notebook.createPlan({ ...words('house'), subtasks });
    const hint = await hintOf(notebook);
    expect(hint).toContain('- [ ] subtask 99\n(not shown: subtasks 100 to 9999)');
    expect(hint.length).toBeLessThan(4000);
    const [problem] = (await failure(notebook.finishSubtask(9999, ''))) as string[];
    expect(problem).toMatch(/first: 0 'subtask 0', .* 9 'subtask 9', and 9989 more\.$/);
  });

  test.each([5, 'x', null, { noPlan: 5 }])('%j is refused in their place', (planToHint) => {
    expect(() => new PlanNotebook({ planToHint: planToHint as never })).toThrow(
      'planToHint must be a function, or an object of functions.',
    );
  });

  test('that are not text are omitted', async () => {
    const logged: unknown[] = [];
    const logging = { log: (...entry: unknown[]) => void logged.push(entry) };
    for (const hint of ['', null, 5, {}]) {
      const notebook = new PlanNotebook({ planToHint: () => hint as string });
      expect(await withRunConfig({ logging }, () => notebook.getCurrentHint())).toBeUndefined();
    }
    expect(logged).toEqual([
      ['warn', 'planToHint failed: the hint must be a text, not a number'],
      ['warn', 'planToHint failed: the hint must be a text, not an object'],
    ]);
  });

  test('a failing hint is logged and omitted', async () => {
    const logged: unknown[] = [];
    const notebook = new PlanNotebook({
      planToHint: () => {
        throw new Error('broken');
      },
    });
    const logging = { log: (...entry: unknown[]) => void logged.push(entry) };
    await withRunConfig({ logging }, async () => {
      expect(await notebook.getCurrentHint()).toBeUndefined();
    });
    expect(logged).toEqual([['warn', 'planToHint failed: broken']]);
  });

  test('summary for compression', async () => {
    const notebook = new PlanNotebook();
    expect(notebook.getCompressionHint()).toBeUndefined();
    await notebook.createPlan(house('walls', 'roof', 'paint'));
    await notebook.finishSubtask(0, 'four');
    expect(notebook.getCompressionHint()).toBe(
      '<plan_aware_hint>\nGoal: do house\nCurrent Progress: roof\nProgress: 1/3 subtasks completed\nExpected Outcome: house works\n</plan_aware_hint>',
    );
    await notebook.updateSubtaskState(1, 'abandoned');
    await notebook.updatePlanInfo({ description: '', expectedOutcome: '' });
    expect(notebook.getCompressionHint()).toBe(
      '<plan_aware_hint>\nProgress: 1/3 subtasks completed\n</plan_aware_hint>',
    );
  });
});

describe('change hooks', () => {
  test('receive the plan after every change', async () => {
    const notebook = new PlanNotebook();
    const seen: unknown[] = [];
    notebook.registerPlanChangeHook('watch', (given, plan) => {
      expect(given).toBe(notebook);
      seen.push([plan?.name, plan?.state, plan?.subtasks.length]);
    });
    const { id } = await notebook.createPlan(house('walls', 'roof'));
    await notebook.addSubtask(2, words('paint'));
    await notebook.updateSubtaskState(0, 'in_progress');
    await notebook.finishSubtask(0, 'four');
    await notebook.updatePlanInfo({ name: 'villa' });
    await failure(notebook.finishSubtask(0, 'again'));
    await notebook.finishPlan('done', 'x');
    await notebook.recoverHistoricalPlan(id);
    expect(seen).toEqual([
      ['house', 'todo', 2],
      ['house', 'todo', 3],
      ['house', 'in_progress', 3],
      ['house', 'in_progress', 3],
      ['villa', 'in_progress', 3],
      [undefined, undefined, undefined],
      ['villa', 'in_progress', 3],
    ]);
  });

  test('can be replaced and removed', async () => {
    const notebook = new PlanNotebook();
    const seen: string[] = [];
    notebook.registerPlanChangeHook('a', () => seen.push('first'));
    notebook.registerPlanChangeHook('a', () => seen.push('second'));
    await notebook.createPlan(house('walls'));
    notebook.removePlanChangeHook('a');
    await notebook.finishPlan('done', '');
    expect(seen).toEqual(['second']);
    expect(() => notebook.removePlanChangeHook('a')).toThrow("There is no plan change hook 'a'.");
    expect(() => notebook.registerPlanChangeHook('b', undefined as never)).toThrow(
      'needs a name, then a function',
    );
  });

  test('a failing hook affects neither the plan nor other hooks', async () => {
    const notebook = new PlanNotebook();
    const told: unknown[] = [];
    const logged: unknown[] = [];
    notebook.registerPlanChangeHook('sync', () => {
      throw new Error('broken');
    });
    notebook.registerPlanChangeHook('async', async () => Promise.reject(new Error('late')));
    notebook.registerPlanChangeHook('good', (_, plan) => told.push(plan?.name));
    const logging = { log: (...entry: unknown[]) => void logged.push(entry) };
    await withRunConfig({ logging }, () => notebook.createPlan(house('walls')));
    expect([notebook.currentPlan?.name, told]).toEqual(['house', ['house']]);
    expect(logged).toEqual([
      ['warn', "The plan change hook 'sync' failed: broken"],
      ['warn', "The plan change hook 'async' failed: late"],
    ]);
  });

  test('may edit the plan themselves', async () => {
    const notebook = new PlanNotebook();
    notebook.registerPlanChangeHook('start', async (_, plan) => {
      if (plan?.state === 'todo') await notebook.updateSubtaskState(0, 'in_progress');
    });
    await notebook.createPlan(house('walls'));
    expect(notebook.currentPlan?.state).toBe('in_progress');
  });

  test('a slow hook is awaited, and does not change the order of the others', async () => {
    const notebook = await make();
    const seen: unknown[] = [];
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    notebook.registerPlanChangeHook('slow', (_, plan) => (plan?.name === 'one' ? gate : undefined));
    notebook.registerPlanChangeHook('watch', (_, plan) => seen.push(plan?.name));
    let isOver = false;
    const first = notebook.updatePlanInfo({ name: 'one' }).then(() => (isOver = true));
    await notebook.updatePlanInfo({ name: 'two' });
    expect([seen, isOver]).toEqual([['one', 'two'], false]);
    release();
    await first;
  });
});

describe('edits at the same time', () => {
  test('run one after the other, in the order of the method calls', async () => {
    const notebook = await make();
    const plans = await Promise.all([
      notebook.finishSubtask(0, 'a'),
      notebook.finishSubtask(1, 'b'),
      notebook.addSubtask(3, words('door')),
      notebook.deleteSubtask(2),
    ]);
    expect(plans.map(statesOf).at(-1)).toEqual(['walls done', 'roof done', 'door todo']);
    expect(plans.at(-1)).toBe(notebook.currentPlan);
  });

  test('a failing edit does not block the next', async () => {
    const notebook = await make();
    const [wrong, right] = await Promise.allSettled([notebook.deleteSubtask(9), notebook.deleteSubtask(0)]);
    expect([wrong?.status, right?.status]).toEqual(['rejected', 'fulfilled']);
    expect(statesOf(notebook.currentPlan)).toEqual(['roof todo', 'paint todo']);
  });

  test('of any kind keep the rules of a plan, lose nothing, and are restored from the state', async () => {
    const index = fc.integer({ min: -1, max: 5 });
    const step = fc.oneof(
      fc.tuple(fc.constant('create'), fc.integer({ min: 0, max: 5 })),
      fc.tuple(fc.constantFrom('add', 'revise', 'delete', 'finish'), index),
      fc.tuple(fc.constantFrom('todo', 'in_progress', 'abandoned'), index),
      fc.tuple(fc.constantFrom('end', 'recover'), index),
    );
    let accepted = 0;
    const run = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const notebook = new PlanNotebook({ maxSubtasks: 4 });
      const made = new Set<string>();
      for (const [action, n] of steps) {
        const plans = await notebook.getHistoricalPlans();
        const edits: Partial<Record<string, () => Promise<Plan>>> = {
          create: () => notebook.createPlan(house(...Array.from({ length: n }, (_, i) => `s${i}`))),
          add: () => notebook.addSubtask(n, words('new')),
          revise: () => notebook.reviseSubtask(n, { name: 'revised' }),
          delete: () => notebook.deleteSubtask(n),
          finish: () => notebook.finishSubtask(n, 'fine'),
          end: () => notebook.finishPlan(n % 2 === 0 ? 'done' : 'abandoned', 'over'),
          recover: () => notebook.recoverHistoricalPlan(plans[n]?.id ?? 'none'),
        };
        const before = notebook.stateDict();
        try {
          const work = edits[action]?.() ?? notebook.updateSubtaskState(n, action as 'todo');
          made.add((await work).id);
          accepted++;
        } catch (error) {
          expect(error).toBeInstanceOf(PlanError);
          expect(notebook.stateDict()).toEqual(before);
        }
        const { currentPlan } = notebook;
        const subtasks = currentPlan?.subtasks ?? [];
        const busy = subtasks.filter(({ state }) => state === 'in_progress').length;
        expect(busy).toBeLessThanOrEqual(1);
        expect(subtasks.length).toBeLessThanOrEqual(4);
        if (currentPlan !== undefined) expect(currentPlan.state).toBe(busy === 1 ? 'in_progress' : 'todo');
        for (const { state, outcome } of subtasks)
          expect(outcome).toBe(state === 'done' ? 'fine' : undefined);
        const kept = [...(await notebook.storage.getPlans()), ...(currentPlan ? [currentPlan] : [])];
        expect(new Set(kept.map(({ id }) => id))).toEqual(made);
        const copy = new PlanNotebook();
        copy.loadStateDict(JSON.parse(JSON.stringify(notebook.stateDict())) as JsonObject);
        expect(copy.stateDict()).toEqual(notebook.stateDict());
      }
    });
    await fc.assert(run, { numRuns: 150 });
    expect(accepted).toBeGreaterThan(50);
  });
});

describe('a storage', () => {
  class Elsewhere extends PlanStorageBase {
    readonly asked: string[] = [];
    isBroken = false;
    readonly #kept = new InMemoryPlanStorage();
    async addPlan(plan: Plan): Promise<void> {
      if (this.isBroken) throw new Error('The disk is full.');
      await this.#kept.addPlan(plan);
    }
    deletePlan(id: string): Promise<boolean> {
      return this.#kept.deletePlan(id);
    }
    getPlans(): Promise<readonly Plan[]> {
      return this.#kept.getPlans();
    }
    getPlan(id: string): Promise<Plan | undefined> {
      this.asked.push(id);
      return this.#kept.getPlan(id);
    }
  }

  test('outside the state keeps plans out of the state', async () => {
    const storage = new Elsewhere();
    const notebook = await make({ storage });
    const { id } = await notebook.finishPlan('done', 'x');
    expect(notebook.stateDict()).toMatchObject({ storage: {}, currentPlan: null });
    expect((await notebook.recoverHistoricalPlan(id)).id).toBe(id);
  });

  test('that fails leaves the current plan unchanged', async () => {
    const storage = new Elsewhere();
    const notebook = await make({ storage });
    const before = notebook.currentPlan;
    storage.isBroken = true;
    await expect(notebook.finishPlan('done', 'x')).rejects.toThrow('The disk is full.');
    await expect(notebook.createPlan(house('a'))).rejects.toThrow('The disk is full.');
    expect(notebook.currentPlan).toBe(before);
    storage.isBroken = false;
    await notebook.finishPlan('done', 'x');
    expect(notebook.currentPlan).toBeUndefined();
  });

  test('receives valid ids only', async () => {
    const storage = new Elsewhere();
    const notebook = new PlanNotebook({ storage });
    const names = [
      '',
      '..',
      '../x',
      'a/b',
      'a\\b',
      'a\0b',
      '%2e%2e',
      '~',
      'a.',
      'a ',
      'x'.repeat(65),
      'é',
      '🙂',
    ];
    for (const id of [...names, 5 as never, undefined as never]) {
      expect(await failure(notebook.recoverHistoricalPlan(id))).toEqual([
        'There is no archived plan with such an id. See view_historical_plans for the ids.',
      ]);
    }
    expect(storage.asked).toEqual([]);
    await failure(notebook.recoverHistoricalPlan('__proto__'));
    expect(storage.asked).toEqual(['__proto__']);
  });

  test('in memory keeps the order, and does not replace a plan with override: false', async () => {
    const storage = new InMemoryPlanStorage();
    const [a, b] = ['a', 'b'].map(
      (name) => new Plan({ ...words(name), subtasks: [new SubTask(words('s'))] }),
    ) as [Plan, Plan];
    await storage.addPlan(a);
    await storage.addPlan(b, { override: false });
    const changed = a.with({ name: 'A' });
    await expect(storage.addPlan(changed, { override: false })).rejects.toThrow(
      `There is a plan with the id '${a.id}' already.`,
    );
    expect(await storage.getPlan(a.id)).toBe(a);
    await storage.addPlan(changed);
    expect((await storage.getPlans()).map(({ name }) => name)).toEqual(['A', 'b']);
    expect([await storage.deletePlan(a.id), await storage.deletePlan(a.id)]).toEqual([true, false]);
    expect(await storage.getPlans()).toEqual([b]);
  });
});

describe('in a toolkit', () => {
  test('the tools can be a group that the model activates', async () => {
    const notebook = new PlanNotebook();
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(toolkit.metaTool);
    notebook.registerPlanTools(toolkit, { asGroup: true });
    expect(toolkit.getJsonSchemas().map(({ name }) => name)).toEqual(['reset_equipped_tools']);
    expect(notebook.isActiveIn(toolkit)).toBe(false);
    const call = { type: 'tool_use', id: 'c', name: 'reset_equipped_tools' } as const;
    await toolkit.callToolFunction({ ...call, input: { plan_related: true } });
    expect(notebook.isActiveIn(toolkit)).toBe(true);
    expect(new PlanNotebook().isActiveIn(toolkit)).toBe(false);
    await toolkit.callToolFunction({ ...call, input: {} });
    expect(notebook.isActiveIn(toolkit)).toBe(false);
  });

  test('the tools are always offered otherwise, also under another name', () => {
    const notebook = new PlanNotebook();
    const toolkit = new Toolkit();
    expect(notebook.isActiveIn(toolkit)).toBe(false);
    const [first] = notebook.tools;
    toolkit.registerToolFunction(first as never, { name: 'look' });
    expect(notebook.isActiveIn(toolkit)).toBe(true);
  });

  test('two agents with separate plans can share a toolkit', () => {
    const shared = new Toolkit();
    const [a, b] = [new PlanNotebook(), new PlanNotebook()];
    const [forA, forB] = [shared.withTools(), shared.withTools()];
    a.registerPlanTools(forA, { asGroup: true });
    b.registerPlanTools(forB, { asGroup: true });
    shared.updateToolGroups(['plan_related'], true);
    expect([a.isActiveIn(forA), a.isActiveIn(forB), b.isActiveIn(forB)]).toEqual([true, false, true]);
  });

  test('a taken name is refused before any tool is registered', () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({ name: 'finish_plan', execute: () => '' });
    expect(() => new PlanNotebook().registerPlanTools(toolkit, { asGroup: true })).toThrow(
      "There is a tool 'finish_plan' already. A toolkit can have one plan.",
    );
    expect([toolkit.has('view_subtasks'), toolkit.hasToolGroup('plan_related')]).toEqual([false, false]);
  });

  test('an edit is not made if its tool call was interrupted in the queue', async () => {
    const notebook = await make();
    const toolkit = new Toolkit();
    notebook.registerPlanTools(toolkit);
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const storage = notebook.storage as InMemoryPlanStorage;
    const add = storage.addPlan.bind(storage);
    storage.addPlan = async (plan) => gate.then(() => add(plan));
    const replacing = notebook.createPlan(house('a', 'b'));
    const controller = new AbortController();
    const call = {
      type: 'tool_use',
      id: 'c',
      name: 'finish_subtask',
      input: { subtask_idx: 0, outcome: '' },
    } as const;
    const answer = toolkit.callToolFunction(call, { signal: controller.signal });
    await clock.advance(0);
    controller.abort();
    expect((await answer).status).toBe('interrupted');
    release();
    await replacing;
    await notebook.updatePlanInfo({ name: 'later' });
    expect(statesOf(notebook.currentPlan)).toEqual(['a todo', 'b todo']);
  });
});

test('a user edits the plan during a reply, and the agent continues with the edited plan', async () => {
  const notebook = new PlanNotebook();
  const toolkit = new Toolkit();
  notebook.registerPlanTools(toolkit);
  toolkit.registerToolFunction({
    name: 'build',
    async execute() {
      await notebook.deleteSubtask(1); // the user, meanwhile
      await notebook.addSubtask(1, words('garden'));
      return 'built';
    },
  });
  const call = (name: string, input: JsonObject) => ({ toolCalls: [{ name, input }] });
  const { expectedOutcome, ...rest } = words('house');
  const wall = { name: 'walls', description: '', expected_outcome: '' };
  const subtasks = [wall, { ...wall, name: 'roof' }, { ...wall, name: 'paint' }];
  const model = new ScriptedModel([
    call('create_plan', { ...rest, expected_outcome: expectedOutcome, subtasks }),
    call('build', {}),
    call('finish_subtask', { subtask_idx: 0, outcome: 'four' }),
    call('finish_subtask', { subtask_idx: 7, outcome: '' }),
    'Done.',
  ]);
  const agent = new ReActAgent({ name: 'builder', model, toolkit });
  agent.setConsoleOutputEnabled(false);
  await agent.call('Build a house.');
  const outputs = (await agent.memory.getMemory())
    .flatMap((msg) => msg.getContentBlocks('tool_result'))
    .map(({ status, output }) => [status, output]);
  expect(outputs).toEqual([
    ['ok', "The plan 'house' is created."],
    ['ok', 'built'],
    ['ok', "Subtask 0 'walls' is done. In progress now: 1 'garden'."],
    ['error', expect.stringContaining('Invalid subtask index 7. Must be between 0 and 2.')],
  ]);
  expect(statesOf(notebook.currentPlan)).toEqual(['walls done', 'garden in_progress', 'paint todo']);
});
