import { timestamp } from '../util/clock.ts';
import { describe } from '../util/json.ts';
import { cutText, oneLine } from '../util/text.ts';
import { PlanError, refuseIf } from './plan-error.ts';
import { NO_SUBTASKS, Plan } from './plan.ts';
import { SubTask } from './sub-task.ts';
import { textProblems, wordProblems, type WorkWords } from './work-item.ts';

/** Everything that can be done to a plan. An edit either fits, or throws a `PlanError` that names all that is wrong with it. */
export type PlanEdit = (current: Plan | undefined) => Edited;

export interface Edited {
  /** The plan that is current from now on. */
  readonly current: Plan | undefined;
  /** The plan that no longer is. */
  readonly archived?: Plan | undefined;
}

/** A plan that does not exist yet. */
export interface NewPlan extends WorkWords {
  readonly subtasks: readonly WorkWords[];
}

export type ReviseAction = 'add' | 'revise' | 'delete';
/** What the state of a subtask can be set to; it becomes `done` only with an outcome. */
export type SettableState = 'todo' | 'in_progress' | 'abandoned';
export type FinalState = 'done' | 'abandoned';

const SETTABLE: readonly unknown[] = ['todo', 'in_progress', 'abandoned'] satisfies SettableState[];
const FINAL: readonly unknown[] = ['done', 'abandoned'] satisfies FinalState[];

/** An error names no more subtasks than that. */
const MAX_SHOWN = 10;

export function createPlan(words: NewPlan, maxSubtasks: number): PlanEdit {
  return (current) => {
    refuseIf([...wordProblems(words, 'The plan'), ...subtasksProblems(words?.subtasks, maxSubtasks)]);
    const subtasks = words.subtasks.map((one) => new SubTask(wordsOf(one)));
    const plan = new Plan({ ...wordsOf(words), subtasks });
    return { current: plan, archived: current && setAside(current, plan) };
  };
}

export function updatePlanInfo(changes: Partial<WorkWords>): PlanEdit {
  return (current) => {
    const plan = existing(current);
    const words = changes && { ...wordsOf(plan), ...given(changes) };
    refuseIf(wordProblems(words, 'The plan'));
    return { current: plan.with(wordsOf(words)) };
  };
}

/** @param words all of them for a new subtask; for one that is revised, what is to be different */
export function reviseCurrentPlan(
  index: number,
  action: ReviseAction,
  words: Partial<WorkWords> | undefined,
  maxSubtasks: number,
): PlanEdit {
  return (current) => {
    const plan = existing(current);
    const { subtasks } = plan;
    const old = action === 'revise' ? subtasks[index] : undefined;
    const merged = words && { ...(old && wordsOf(old)), ...given(words) };
    const isMissing = words === undefined && action !== 'delete';
    refuseIf([
      ...indexProblems(index, action === 'add' ? subtasks.length + 1 : subtasks.length),
      ...(isMissing ? ['The subtask is missing. Give its name, description and expected outcome.'] : []),
      ...(merged === undefined || action === 'delete' ? [] : wordProblems(merged, 'The subtask')),
      ...(action === 'add' ? limitProblems(subtasks.length + 1, maxSubtasks) : []),
      ...(action === 'delete' && subtasks.length === 1
        ? ['The only subtask can not be deleted. Revise it, or finish the plan as abandoned.']
        : []),
    ]);
    if (action === 'delete') return { current: plan.with({ subtasks: subtasks.toSpliced(index, 1) }) };
    const next = wordsOf(merged as WorkWords);
    if (old !== undefined) return { current: plan.with({ subtasks: subtasks.with(index, old.with(next)) }) };
    return { current: plan.with({ subtasks: subtasks.toSpliced(index, 0, new SubTask(next)) }) };
  };
}

/** A subtask whose state is set has no outcome any more. */
export function updateSubtaskState(index: number, state: SettableState): PlanEdit {
  return (current) => {
    const plan = existing(current);
    const { subtasks } = plan;
    const isDone = (state as unknown) === 'done';
    refuseIf([
      ...indexProblems(index, subtasks.length),
      ...(isDone
        ? ["The state can not be set to 'done'. Finish the subtask with its outcome (finish_subtask)."]
        : oneOf(state, SETTABLE, 'The state')),
      ...(state === 'in_progress'
        ? [...earlierProblems(subtasks, index), ...busyProblems(subtasks, index)]
        : []),
    ]);
    return { current: changed(plan, index, { state, outcome: undefined, finishedAt: undefined }) };
  };
}

/** The next subtask that is still to do is in progress then, unless another one is. */
export function finishSubtask(index: number, outcome: string): PlanEdit {
  return (current) => {
    const plan = existing(current);
    const { subtasks } = plan;
    refuseIf([
      ...indexProblems(index, subtasks.length),
      ...textProblems(outcome, 'The outcome'),
      ...(subtasks[index]?.state === 'done' ? [`Subtask ${label(subtasks, index)} is done already.`] : []),
      ...earlierProblems(subtasks, index),
    ]);
    const finished = changed(plan, index, { state: 'done', outcome, finishedAt: timestamp() });
    const next = finished.subtasks.findIndex(({ state }) => state === 'todo');
    const isBusy = finished.subtasks.some(({ state }) => state === 'in_progress');
    return { current: next < 0 || isBusy ? finished : changed(finished, next, { state: 'in_progress' }) };
  };
}

export function finishPlan(state: FinalState, outcome: string): PlanEdit {
  return (current) => {
    const plan = existing(current);
    refuseIf([...oneOf(state, FINAL, 'The state'), ...textProblems(outcome, 'The outcome')]);
    return { current: undefined, archived: plan.with({ state, outcome, finishedAt: timestamp() }) };
  };
}

/** The old plan can be worked on again. Its ids and outcomes are as they were. */
export function recoverPlan(old: Plan): PlanEdit {
  return (current) => ({ current: old.reopened(), archived: current && setAside(current, old) });
}

/** @throws PlanError if there is no plan. */
export function existing(current: Plan | undefined): Plan {
  if (current === undefined)
    throw new PlanError(['There is no current plan. Create one first (create_plan).']);
  return current;
}

/** An outcome that the plan had before it was recovered is not overwritten. */
function setAside(plan: Plan, other: Plan): Plan {
  const outcome = plan.outcome ?? `Set aside for the plan ${quoted(other)}.`;
  return plan.with({ state: 'abandoned', outcome, finishedAt: timestamp() });
}

function changed(plan: Plan, index: number, changes: Parameters<SubTask['with']>[0]): Plan {
  return plan.with({ subtasks: plan.subtasks.map((one, i) => (i === index ? one.with(changes) : one)) });
}

function wordsOf({ name, description, expectedOutcome }: WorkWords): WorkWords {
  return { name, description, expectedOutcome };
}

function given<T extends object>(changes: T): Partial<T> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function subtasksProblems(subtasks: unknown, maxSubtasks: number): readonly string[] {
  if (!Array.isArray(subtasks)) return [`The subtasks must be a list, not ${describe(subtasks)}.`];
  return [
    ...(subtasks.length === 0 ? [NO_SUBTASKS] : []),
    ...limitProblems(subtasks.length, maxSubtasks),
    ...subtasks.flatMap((one, i) => wordProblems(one, `subtasks[${i}]`)),
  ];
}

function limitProblems(count: number, maxSubtasks: number): readonly string[] {
  if (count <= maxSubtasks) return [];
  return [`A plan may have at most ${maxSubtasks} subtasks, and this would be ${count}.`];
}

function indexProblems(index: unknown, count: number): readonly string[] {
  if (Number.isInteger(index) && (index as number) >= 0 && (index as number) < count) return [];
  return [`Invalid subtask index ${typeof index === 'number' ? index : describe(index)}. ${rangeOf(count)}`];
}

/** What an index must be among so many. */
export function rangeOf(count: number): string {
  return `Must be between 0 and ${count - 1}.`;
}

function earlierProblems(subtasks: readonly SubTask[], index: number): readonly string[] {
  const open = subtasks.flatMap((one, i) => (i < index && !one.isFinished ? [i] : []));
  if (open.length === 0) return [];
  const shown = open.slice(0, MAX_SHOWN).map((i) => label(subtasks, i));
  if (open.length > MAX_SHOWN) shown.push(`and ${open.length - MAX_SHOWN} more`);
  return [`Subtasks are worked on in order. Finish or abandon these first: ${shown.join(', ')}.`];
}

function busyProblems(subtasks: readonly SubTask[], index: number): readonly string[] {
  const busy = subtasks.findIndex(({ state }, i) => i !== index && state === 'in_progress');
  return busy < 0 ? [] : [`Subtask ${label(subtasks, busy)} is in progress, and only one may be at a time.`];
}

function label(subtasks: readonly SubTask[], index: number): string {
  return `${index} ${quoted(subtasks[index])}`;
}

/** The name, on one line and not too long. */
export function quoted({ name }: Pick<WorkWords, 'name'> = { name: '' }): string {
  return `'${cutText(oneLine(name), 64)}'`;
}

function oneOf(value: unknown, allowed: readonly unknown[], what: string): readonly string[] {
  return allowed.includes(value) ? [] : [`${what} must be one of ${allowed.join(', ')}.`];
}
