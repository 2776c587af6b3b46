import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { FakeClock } from '../testing/fake-clock.ts';
import { fakeIds } from '../testing/fake-ids.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import type { JsonObject } from '../util/json.ts';
import { PlanNotebook } from './plan-notebook.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const words = (name: string) => ({ name, description: `do ${name}`, expected_outcome: `${name} works` });
const plan = (name: string, ...subtasks: string[]) => ({ ...words(name), subtasks: subtasks.map(words) });

let notebook: PlanNotebook;
let toolkit: Toolkit;
const installed: Disposable[] = [];
beforeEach(() => {
  installed.push(new FakeClock().install(), fakeIds());
  use(new PlanNotebook());
});
afterEach(() => installed.splice(0).forEach((one) => one[Symbol.dispose]()));

function use(given: PlanNotebook): void {
  notebook = given;
  toolkit = new Toolkit();
  notebook.registerPlanTools(toolkit);
}

async function call(name: string, input: JsonObject = {}): Promise<unknown> {
  const { status, output } = await toolkit.callToolFunction({ type: 'tool_use', id: 'c', name, input });
  return status === 'ok' ? output : [status, output];
}

const states = (): unknown => notebook.currentPlan?.subtasks.map(({ name, state }) => `${name} ${state}`);

test('a notebook has nine tools, the eight of AgentScope first', () => {
  expect(notebook.tools.map(({ name }) => name)).toEqual([
    'view_subtasks',
    'update_subtask_state',
    'finish_subtask',
    'create_plan',
    'revise_current_plan',
    'finish_plan',
    'view_historical_plans',
    'recover_historical_plan',
    'update_plan_info',
  ]);
  expect(toolkit.getJsonSchemas()[4]).toEqual({
    name: 'revise_current_plan',
    description: 'Adds a subtask to the current plan, revises a subtask, or deletes one.',
    parameters: {
      type: 'object',
      properties: {
        subtask_idx: {
          type: 'integer',
          minimum: 0,
          description: 'Index of the subtask, from 0; the position of a new subtask.',
        },
        action: { enum: ['add', 'revise', 'delete'] },
        subtask: expect.objectContaining({ required: ['name', 'description', 'expected_outcome'] }),
      },
      required: ['subtask_idx', 'action'],
    },
  });
});

test('a plan from creation to end', async () => {
  expect(await call('create_plan', plan('house', 'walls', 'roof', 'paint'))).toBe(
    "The plan 'house' is created.",
  );
  expect(await call('update_subtask_state', { subtask_idx: 0, state: 'in_progress' })).toBe(
    "Subtask 0 'walls' is marked as 'in_progress'. The plan is 'in_progress' now.",
  );
  expect(await call('update_subtask_state', { subtask_idx: 0, state: 'todo' })).toBe(
    "Subtask 0 'walls' is marked as 'todo'. The plan is 'todo' now.",
  );
  expect(await call('finish_subtask', { subtask_idx: 0, outcome: 'four' })).toBe(
    "Subtask 0 'walls' is done. In progress now: 1 'roof'.",
  );
  expect(states()).toEqual(['walls done', 'roof in_progress', 'paint todo']);
  expect(await call('finish_subtask', { subtask_idx: 1, outcome: 'red' })).toBe(
    "Subtask 1 'roof' is done. In progress now: 2 'paint'.",
  );
  expect(await call('finish_subtask', { subtask_idx: 2, outcome: 'blue' })).toBe(
    "Subtask 2 'paint' is done. No subtask is in progress now.",
  );
  expect(await call('finish_plan', { state: 'done', outcome: 'a home' })).toBe(
    "The plan 'house' is done and archived. Tell the user what came of it.",
  );
  expect(notebook.currentPlan).toBeUndefined();
  expect(await call('view_historical_plans')).toBe(
    `Plan 'house':\n- ID: id-4\n- Created At: ${NOW}\n- Finished At: ${NOW}\n- Description: do house\n- State: done (3/3 subtasks done)\n- Outcome: a home`,
  );
});

describe('without a plan', () => {
  test.each<[string, JsonObject]>([
    ['view_subtasks', { subtask_idx: [0] }],
    ['update_subtask_state', { subtask_idx: 0, state: 'todo' }],
    ['finish_subtask', { subtask_idx: 0, outcome: '' }],
    ['revise_current_plan', { subtask_idx: 0, action: 'delete' }],
    ['finish_plan', { state: 'done', outcome: '' }],
    ['update_plan_info', { name: 'x' }],
  ])('%s is an error', async (name, input) => {
    const problem = 'Error: There is no current plan. Create one first (create_plan).';
    expect(await call(name, input)).toEqual(['error', problem]);
  });

  test('without archived plans, the tool says so', async () => {
    expect(await call('view_historical_plans')).toBe('There are no archived plans.');
    expect(await call('recover_historical_plan', { plan_id: 'nope' })).toEqual([
      'error',
      "Error: There is no archived plan with the id 'nope'. See view_historical_plans for the ids.",
    ]);
  });
});

describe('looking at subtasks', () => {
  beforeEach(() => call('create_plan', plan('house', 'walls', 'roof', 'paint')));

  test('shows their details', async () => {
    const [walls, , paint] = notebook.currentPlan?.subtasks ?? [];
    expect(await call('view_subtasks', { subtask_idx: [0, 2] })).toBe(
      `Subtask 0:\n\`\`\`\n${walls?.toMarkdown(true)}\n\`\`\`\n\nSubtask 2:\n\`\`\`\n${paint?.toMarkdown(true)}\n\`\`\``,
    );
  });

  test('names all invalid indices', async () => {
    const output = await call('view_subtasks', { subtask_idx: [3, 1, 99] });
    expect(output).toMatch(/^Subtask 1:/);
    expect(output).toMatch(/Invalid subtask indices: 3, 99\. Must be between 0 and 2\.$/);
    expect(await call('view_subtasks', { subtask_idx: [] })).toBe(
      'No index was given. Must be between 0 and 2.',
    );
    expect(await call('view_subtasks', { subtask_idx: [-1] })).toEqual([
      'error',
      expect.stringMatching(/subtask_idx\[0\]: .*0/),
    ]);
  });
});

describe('revising', () => {
  beforeEach(() => call('create_plan', plan('house', 'walls', 'roof', 'paint')));
  const revise = (subtask_idx: unknown, action: string, subtask?: unknown): Promise<unknown> =>
    call('revise_current_plan', {
      subtask_idx,
      action,
      ...(subtask !== undefined && { subtask }),
    } as JsonObject);

  test('adds a subtask in between and at the end', async () => {
    expect(await revise(1, 'add', words('floor'))).toBe(
      "Subtask 1 'floor' is added. The plan has 4 subtasks now.",
    );
    expect(await revise(4, 'add', words('door'))).toBe(
      "Subtask 4 'door' is added. The plan has 5 subtasks now.",
    );
    expect(states()).toEqual(['walls todo', 'floor todo', 'roof todo', 'paint todo', 'door todo']);
  });

  test('a revised subtask has new text and keeps its id and state', async () => {
    await call('finish_subtask', { subtask_idx: 0, outcome: 'four' });
    const before = notebook.currentPlan?.subtasks[0]?.toJSON();
    expect(await revise(0, 'revise', { ...words('brick walls'), state: 'todo', outcome: 'none' })).toBe(
      "Subtask 0 'brick walls' is revised. The plan has 3 subtasks now.",
    );
    expect(notebook.currentPlan?.subtasks[0]?.toJSON()).toEqual({
      ...before,
      name: 'brick walls',
      description: 'do brick walls',
      expectedOutcome: 'brick walls works',
    });
  });

  test('deletes a subtask, but not the only one', async () => {
    expect(await revise(0, 'delete')).toBe('Subtask 0 is deleted. The plan has 2 subtasks now.');
    await revise(0, 'delete', words('ignored'));
    expect(states()).toEqual(['paint todo']);
    expect(await revise(0, 'delete')).toEqual([
      'error',
      'Error: The only subtask can not be deleted. Revise it, or finish the plan as abandoned.',
    ]);
  });

  test('accepts numbers and a subtask written as strings', async () => {
    expect(await revise('3', 'add', JSON.stringify(words('door')))).toBe(
      "Subtask 3 'door' is added. The plan has 4 subtasks now.",
    );
    expect(await call('finish_subtask', { subtask_idx: '0', outcome: 'four' })).toMatch(
      /^Subtask 0 'walls' is done/,
    );
    expect(await call('view_subtasks', { subtask_idx: '[0, "1"]' })).toMatch(/^Subtask 0:/);
    const input = { ...words('other'), subtasks: JSON.stringify([words('a')]) };
    expect(await call('create_plan', input)).toMatch(/^The plan 'other' is created/);
    expect(await call('create_plan', { ...words('third'), subtasks: [JSON.stringify(words('a'))] })).toMatch(
      /^The plan 'third' is created/,
    );
  });

  test('reports all problems at once, without a change', async () => {
    use(new PlanNotebook({ maxSubtasks: 3 }));
    await call('create_plan', plan('house', 'walls', 'roof', 'paint'));
    const before = notebook.stateDict();
    expect(await revise(7, 'add', { ...words('x'), name: ' ' })).toEqual([
      'error',
      'Error: Invalid subtask index 7. Must be between 0 and 3. The name of the subtask is blank. A plan may have at most 3 subtasks, and this would be 4.',
    ]);
    expect(await revise(3, 'revise')).toEqual([
      'error',
      'Error: Invalid subtask index 3. Must be between 0 and 2. The subtask is missing. Give its name, description and expected outcome.',
    ]);
    expect(await revise(3, 'delete')).toEqual([
      'error',
      'Error: Invalid subtask index 3. Must be between 0 and 2.',
    ]);
    const both = await revise(-1, 'improve', { name: 5 });
    expect(both).toEqual(['error', expect.stringMatching(/- subtask_idx: .*\n- action: .*\n- subtask.*/)]);
    expect(notebook.stateDict()).toEqual(before);
  });
});

describe('the order of subtasks', () => {
  beforeEach(() => call('create_plan', plan('house', 'walls', 'roof', 'paint')));
  const start = (subtask_idx: number): Promise<unknown> =>
    call('update_subtask_state', { subtask_idx, state: 'in_progress' });

  test('a subtask can not start or finish before the previous ones', async () => {
    const first =
      "Error: Subtasks are worked on in order. Finish or abandon these first: 0 'walls', 1 'roof'.";
    expect(await start(2)).toEqual(['error', first]);
    expect(await call('finish_subtask', { subtask_idx: 2, outcome: '' })).toEqual(['error', first]);
    await call('update_subtask_state', { subtask_idx: 0, state: 'abandoned' });
    expect(await start(1)).toMatch(/in_progress/);
  });

  test('one subtask at a time is in progress', async () => {
    await start(0);
    expect(await start(0)).toMatch(/^Subtask 0 'walls' is marked as 'in_progress'/);
    expect(await start(1)).toEqual([
      'error',
      "Error: Subtasks are worked on in order. Finish or abandon these first: 0 'walls'. Subtask 0 'walls' is in progress, and only one may be at a time.",
    ]);
  });

  test("'done' needs an outcome, and comes once", async () => {
    expect(await call('update_subtask_state', { subtask_idx: 0, state: 'done' })).toEqual([
      'error',
      expect.stringMatching(/^Arguments Validation Error: .*\n- state: /),
    ]);
    await call('finish_subtask', { subtask_idx: 0, outcome: 'four' });
    expect(await call('finish_subtask', { subtask_idx: 0, outcome: 'five' })).toEqual([
      'error',
      "Error: Subtask 0 'walls' is done already.",
    ]);
    expect(notebook.currentPlan?.subtasks[0]?.outcome).toBe('four');
  });

  test('a finished subtask starts the next subtask in state todo only', async () => {
    await call('update_subtask_state', { subtask_idx: 1, state: 'abandoned' });
    expect(await call('finish_subtask', { subtask_idx: 0, outcome: '' })).toBe(
      "Subtask 0 'walls' is done. In progress now: 2 'paint'.",
    );
    expect(states()).toEqual(['walls done', 'roof abandoned', 'paint in_progress']);
  });

  test('and starts none while another is in progress', async () => {
    await start(0);
    await call('revise_current_plan', { subtask_idx: 0, action: 'add', subtask: words('ground') });
    expect(await call('finish_subtask', { subtask_idx: 0, outcome: '' })).toBe(
      "Subtask 0 'ground' is done. In progress now: 1 'walls'.",
    );
    expect(states()).toEqual(['ground done', 'walls in_progress', 'roof todo', 'paint todo']);
  });

  test('a reopened subtask has no outcome', async () => {
    await call('finish_subtask', { subtask_idx: 0, outcome: 'four' });
    await call('update_subtask_state', { subtask_idx: 1, state: 'todo' });
    await start(0);
    expect(notebook.currentPlan?.subtasks[0]).toMatchObject({
      state: 'in_progress',
      outcome: undefined,
      finishedAt: undefined,
    });
  });
});

describe('archived plans', () => {
  test('a replaced plan is archived as abandoned', async () => {
    await call('create_plan', plan('house', 'walls'));
    expect(await call('create_plan', plan('boat', 'hull'))).toBe(
      "The plan 'boat' is created. It has replaced the plan 'house', which is archived.",
    );
    expect((await notebook.storage.getPlans()).map((one) => one.toJSON())).toEqual([
      {
        id: 'id-2',
        name: 'house',
        description: 'do house',
        expectedOutcome: 'house works',
        state: 'abandoned',
        createdAt: NOW,
        finishedAt: NOW,
        outcome: "Set aside for the plan 'boat'.",
        subtasks: [
          {
            id: 'id-1',
            name: 'walls',
            description: 'do walls',
            expectedOutcome: 'walls works',
            state: 'todo',
            createdAt: NOW,
          },
        ],
      },
    ]);
  });

  test('a recovered plan is open again, with its ids and outcomes', async () => {
    await call('create_plan', plan('house', 'walls', 'roof'));
    await call('finish_subtask', { subtask_idx: 0, outcome: 'four' });
    await call('finish_plan', { state: 'done', outcome: 'half a home' });
    const [house] = await notebook.storage.getPlans();
    await call('create_plan', plan('boat', 'hull'));
    expect(await call('recover_historical_plan', { plan_id: house?.id ?? '' })).toBe(
      "The plan 'house' is the current plan again, and 'in_progress'. The plan 'boat' is archived as 'abandoned'.",
    );
    const { finishedAt: _, ...rest } = house?.toJSON() ?? {};
    expect(notebook.currentPlan?.toJSON()).toEqual({ ...rest, state: 'in_progress' });
    expect((await notebook.getHistoricalPlans()).map(({ name }) => name)).toEqual(['boat']);
    expect(await call('finish_subtask', { subtask_idx: 1, outcome: 'red' })).toMatch(
      /^Subtask 1 'roof' is done/,
    );
    await call('create_plan', plan('tent', 'poles'));
    const archived = await notebook.storage.getPlan(house?.id ?? '');
    expect(archived).toMatchObject({ state: 'abandoned', outcome: 'half a home' });
    expect(archived?.subtasks.map(({ outcome }) => outcome)).toEqual(['four', 'red']);
  });

  test('the latest fifty are listed', async () => {
    for (let i = 0; i <= 52; i++) await call('create_plan', plan(`plan ${i}`, 'x'));
    const output = await call('view_historical_plans');
    expect(output).toContain("(not shown: 2 plans that are older)\n\nPlan 'plan 2':");
    expect(output).toContain("Plan 'plan 51':");
  });

  test('the current one can not be recovered', async () => {
    await call('create_plan', plan('house', 'walls'));
    const { id = '' } = notebook.currentPlan ?? {};
    expect(await call('recover_historical_plan', { plan_id: id })).toEqual([
      'error',
      'Error: This plan is the current one already.',
    ]);
  });
});

test('a long name or a name with line breaks is shown short and on one line', async () => {
  const name = `first line\n${'x'.repeat(1000)}`;
  const short = `'first line ${'x'.repeat(52)}…'`;
  expect(await call('create_plan', plan(name, name, 'roof'))).toBe(`The plan ${short} is created.`);
  expect(await call('finish_subtask', { subtask_idx: 0, outcome: '' })).toBe(
    `Subtask 0 ${short} is done. In progress now: 1 'roof'.`,
  );
  expect(await call('finish_plan', { state: 'done', outcome: '' })).toContain(`The plan ${short} is done`);
  expect(await call('view_historical_plans')).toContain(`Plan ${short}:`);
});

test('name, description and expected outcome of a plan can be changed', async () => {
  await call('create_plan', plan('house', 'walls'));
  const before = notebook.currentPlan?.toJSON();
  expect(await call('update_plan_info', { name: 'villa', expected_outcome: 'a view' })).toBe(
    "The plan 'villa' is updated.",
  );
  expect(notebook.currentPlan?.toJSON()).toEqual({ ...before, name: 'villa', expectedOutcome: 'a view' });
  expect(await call('update_plan_info', { name: '' })).toEqual([
    'error',
    'Error: The name of the plan is blank.',
  ]);
});

describe('a plan of too many subtasks', () => {
  beforeEach(() => use(new PlanNotebook({ maxSubtasks: 2 })));

  test('is refused', async () => {
    expect(await call('create_plan', plan('house', 'a', 'b', ' '))).toEqual([
      'error',
      'Error: A plan may have at most 2 subtasks, and this would be 3. The name of subtasks[2] is blank.',
    ]);
    expect(notebook.currentPlan).toBeUndefined();
    expect(await call('create_plan', plan('house', 'a', 'b'))).toBe("The plan 'house' is created.");
  });

  test('without subtasks is refused too', async () => {
    expect(await call('create_plan', plan('house'))).toEqual([
      'error',
      expect.stringMatching(/- subtasks: /),
    ]);
  });
});
