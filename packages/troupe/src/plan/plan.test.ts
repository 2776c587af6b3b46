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
    const head = `# house\n**Description**: do house\n**Expected Outcome**: house works\n**State**: in_progress\n**Created At**: ${NOW}\n## Subtasks\n`;
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
  test('contains all fields, and restores an equal plan', () => {
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

  test('all problems are reported at once', () => {
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

test('a plan is deeply frozen', () => {
  const plan = new Plan({ ...words('p'), subtasks: [new SubTask(words('a'))] });
  for (const part of [plan, plan.subtasks, plan.subtasks[0]]) expect(Object.isFrozen(part)).toBe(true);
});

test('the state of a plan follows its subtasks, until it is done or abandoned', () => {
  const [todo, busy] = [new SubTask(words('a')), new SubTask({ ...words('b'), state: 'in_progress' })];
  const plan = new Plan({ ...words('p'), subtasks: [todo] });
  expect(plan.with({ subtasks: [todo, busy] }).state).toBe('in_progress');
  expect(plan.with({ subtasks: [todo, busy] }).with({ subtasks: [todo] }).state).toBe('todo');
  expect(plan.with({ state: 'in_progress' }).state).toBe('todo');
  const done = plan.with({ state: 'done' });
  expect(done.with({ subtasks: [busy] }).state).toBe('done');
  expect(done.with({ subtasks: [busy] }).reopened().state).toBe('in_progress');
});

test('a change keeps the objects of unchanged subtasks', () => {
  const [a, b] = [new SubTask(words('a')), new SubTask(words('b'))];
  const plan = new Plan({ ...words('p'), subtasks: [a, b] });
  const next = plan.with({
    name: 'q',
    id: undefined,
    subtasks: plan.subtasks.with(1, b.with({ name: 'c' })),
  });
  expect(next.subtasks[0]).toBe(a);
  expect([next.id, next.subtasks[1]?.id, next.subtasks[1]?.name]).toEqual([plan.id, b.id, 'c']);
});

test('two subtasks have different ids and are not both in progress', () => {
  const busy = new SubTask({ ...words('a'), state: 'in_progress' });
  expect(problemsOf(() => new Plan({ ...words('p'), subtasks: [busy, busy] }))).toEqual([
    '2 subtasks are in progress, and only one may be at a time.',
    'Two subtasks have the same id.',
  ]);
  expect(problemsOf(() => new Plan({ ...words('p'), subtasks: [words('a') as SubTask] }))).toEqual([
    'Every subtask must be a SubTask.',
  ]);
});

describe('of a long plan', () => {
  const subtasks = Array.from(
    { length: 20 },
    (_, i) => new SubTask({ ...words(`s${i}`), id: `s${i}`, state: i < 10 ? 'done' : 'todo' }),
  );
  const linesOf = (plan: Plan, most: number): unknown => plan.toMarkdown(false, most).split('\n').slice(6);
  const plan = new Plan({ ...words('p'), subtasks });

  test('only the subtasks around the next one can be shown', () => {
    expect(linesOf(plan, 4)).toEqual([
      '(not shown: subtasks 0 to 8)',
      '- [x] s9',
      '- [ ] s10',
      '- [ ] s11',
      '- [ ] s12',
      '(not shown: subtasks 13 to 19)',
    ]);
    expect(linesOf(plan.with({ subtasks: subtasks.slice(0, 10) }), 2)).toEqual([
      '(not shown: subtasks 0 to 7)',
      '- [x] s8',
      '- [x] s9',
    ]);
    expect(plan.toMarkdown(true, 20)).toBe(plan.toMarkdown(true));
  });
});
