import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { FakeClock } from '../testing/fake-clock.ts';
import { fakeIds } from '../testing/fake-ids.ts';
import { PlanError } from './plan-error.ts';
import { Plan } from './plan.ts';
import { SubTask } from './sub-task.ts';
import type { WorkState } from './work-item.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const words = (name: string) => ({ name, description: `do ${name}`, expectedOutcome: `${name} works` });

const installed: Disposable[] = [];
beforeEach(() => void installed.push(new FakeClock().install(), fakeIds()));
afterEach(() => installed.splice(0).forEach((one) => one[Symbol.dispose]()));

function problemsOf(body: () => unknown): unknown {
  try {
    return body();
  } catch (error) {
    return error instanceof PlanError ? error.problems : error;
  }
}

describe('markdown', () => {
  test.each<[WorkState, string]>([
    ['todo', '- [ ] paint'],
    ['in_progress', '- [ ] [WIP]paint'],
    ['done', '- [x] paint'],
    ['abandoned', '- [ ] [Abandoned]paint'],
  ])('a subtask that is %s', (state, line) => {
    const subtask = new SubTask({ ...words('paint'), state, outcome: 'blue', finishedAt: NOW });
    expect(subtask.toMarkdown()).toBe(line);
    const fields = [
      line,
      `\t- Created At: ${NOW}`,
      '\t- Description: do paint',
      '\t- Expected Outcome: paint works',
      `\t- State: ${state}`,
    ];
    const finish = [`\t- Finished At: ${NOW}`, '\t- Actual Outcome: blue'];
    expect(subtask.toMarkdown(true)).toBe([...fields, ...(state === 'done' ? finish : [])].join('\n'));
  });

  test('a plan, with and without details', () => {
    const subtasks = [new SubTask({ ...words('a'), state: 'in_progress' }), new SubTask(words('b'))];
    const plan = new Plan({ ...words('house'), subtasks });
    const head = `# house\n**Description**: do house\n**Expected Outcome**: house works\n**State**: todo\n**Created At**: ${NOW}\n## Subtasks\n`;
    expect(plan.toMarkdown()).toBe(`${head}- [ ] [WIP]a\n- [ ] b`);
    expect(plan.toMarkdown(true)).toBe(head + subtasks.map((one) => one.toMarkdown(true)).join('\n'));
  });

  test('a name can not forge a line', () => {
    const subtask = new SubTask(words('a\n- [x] b'));
    const plan = new Plan({ ...words('p'), name: 'p\n# q', subtasks: [subtask] });
    expect(plan.toMarkdown().split('\n')).toHaveLength(7);
    expect(subtask.toMarkdown()).toBe('- [ ] a - [x] b');
  });
});

describe('json', () => {
  test('holds everything, and comes back as it was', () => {
    const subtasks = [
      new SubTask({ ...words('a'), state: 'done', outcome: 'fine', finishedAt: NOW }),
      new SubTask(words('b')),
    ];
    const plan = new Plan({ ...words('p'), state: 'abandoned', outcome: 'no', finishedAt: NOW, subtasks });
    const json = {
      id: 'id-3',
      ...words('p'),
      state: 'abandoned',
      createdAt: NOW,
      finishedAt: NOW,
      outcome: 'no',
      subtasks: [
        { id: 'id-1', ...words('a'), state: 'done', createdAt: NOW, finishedAt: NOW, outcome: 'fine' },
        { id: 'id-2', ...words('b'), state: 'todo', createdAt: NOW },
      ],
    };
    expect(plan.toJSON()).toStrictEqual(json);
    const back = Plan.from(JSON.parse(JSON.stringify(plan)));
    expect(back).toEqual(plan);
    expect(back.toJSON()).toStrictEqual(json);
  });

  test('all that is wrong with it is told at once', () => {
    expect(problemsOf(() => Plan.from('x'))).toEqual(['The plan must be an object, not a string.']);
    expect(problemsOf(() => Plan.from({}))).toEqual(['The plan has no id.', 'The plan has no createdAt.']);
    const saved = { id: 'p', createdAt: NOW, ...words('p') };
    expect(problemsOf(() => Plan.from(saved))).toEqual(['The subtasks must be a list, not undefined.']);
    expect(problemsOf(() => Plan.from({ ...saved, subtasks: [null] }))).toEqual([
      'subtasks[0] must be an object, not null.',
    ]);
    expect(problemsOf(() => Plan.from({ ...saved, name: '', subtasks: [] }))).toEqual([
      'The name of the plan is blank.',
      'A plan needs at least one subtask.',
    ]);
    const wrong = { id: '../p', createdAt: 1, name: ' ', state: 'busy', outcome: 5, finishedAt: null };
    expect(problemsOf(() => SubTask.from(wrong))).toEqual([
      'The description of the subtask must be a text, not undefined.',
      'The expected outcome of the subtask must be a text, not undefined.',
      'The name of the subtask is blank.',
      'The id of the subtask must be 1 to 64 letters, digits, _ and -.',
      'The state of the subtask must be one of todo, in_progress, done, abandoned.',
      'createdAt of the subtask must be a text, not a number.',
      'finishedAt of the subtask must be a text, not null.',
      'outcome of the subtask must be a text, not a number.',
    ]);
  });
});

test('nothing of a plan can be changed', () => {
  const plan = new Plan({ ...words('p'), subtasks: [new SubTask(words('a'))] });
  for (const part of [plan, plan.subtasks, plan.subtasks[0]]) expect(Object.isFrozen(part)).toBe(true);
});

test('its state follows its subtasks, until it is done or abandoned', () => {
  const [todo, busy] = [new SubTask(words('a')), new SubTask({ ...words('b'), state: 'in_progress' })];
  const plan = new Plan({ ...words('p'), subtasks: [todo] });
  expect(plan.withSubtasks([todo, busy]).state).toBe('in_progress');
  expect(plan.withSubtasks([todo, busy]).withSubtasks([todo]).state).toBe('todo');
  const done = plan.with({ state: 'done' });
  expect(done.withSubtasks([busy]).state).toBe('done');
  expect(done.withSubtasks([busy]).reopened().state).toBe('in_progress');
});
