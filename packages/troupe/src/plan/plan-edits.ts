import { timestamp } from '../util/clock.ts';
import { describe } from '../util/json.ts';
import { cutText, oneLine } from '../util/text.ts';
import { PlanError, refuseIf } from './plan-error.ts';
import { NO_SUBTASKS, Plan } from './plan.ts';
import { SubTask } from './sub-task.ts';
import { textProblems, wordProblems, type WorkWords } from './work-item.ts';

/** An edit of the current plan: returns the new plans, or throws a `PlanError` with all problems. */
export type PlanEdit = (current: Plan | undefined) => Edited;

export interface Edited {
  /** The current plan after the edit. */
  readonly current: Plan | undefined;
  /** The previous plan, if it is no longer current. */
  readonly archived?: Plan | undefined;
}

/** Content of a new plan. */
export interface NewPlan extends WorkWords {
  readonly subtasks: readonly WorkWords[];
}

export type ReviseAction = 'add' | 'revise' | 'delete';
/** States that can be set directly; `done` requires an outcome. */
export type SettableState = 'todo' | 'in_progress' | 'abandoned';
export type FinalState = 'done' | 'abandoned';

const SETTABLE: readonly unknown[] = ['todo', 'in_progress', 'abandoned'] satisfies SettableState[];
const FINAL: readonly unknown[] = ['done', 'abandoned'] satisfies FinalState[];

/** Maximum subtasks named in an error. */
const MAX_SHOWN = 10;

export function createPlan(words: NewPlan, maxSubtasks: number): PlanEdit {
  return (current) => {
    refuseIf([...wordProblems(words, 'The plan'), ...subtasksProblems(words?.subtasks, maxSubtasks)]);
    const subtasks = words.subtasks.map((one) => new SubTask(wordsOf(one)));
    const plan = new Plan({ ...wordsOf(words), subtasks });
    return { current: plan, archived: current && abandon(current, plan) };
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

/**
 * Adds, changes or deletes one subtask of the current plan.
 * @param words all fields of an added subtask, or the changed fields of a revised one; not needed to delete
 */
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

/** Setting a state removes the outcome of the subtask. */
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

/** Starts the next subtask in state `todo`, unless another one is in progress. */
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

/** Reopens an archived plan with its ids and outcomes. */
export function recoverPlan(old: Plan): PlanEdit {
  return (current) => ({ current: old.reopened(), archived: current && abandon(current, old) });
}

/** @throws PlanError if there is no plan. */
export function existing(current: Plan | undefined): Plan {
  if (current === undefined)
    throw new PlanError(['There is no current plan. Create one first (create_plan).']);
  return current;
}

/** Keeps an outcome from before the plan was recovered. */
function abandon(plan: Plan, other: Plan): Plan {
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

/** Sentence about the valid indexes. */
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

/** Name on one line, cut to 64 characters. */
export function quoted({ name }: Pick<WorkWords, 'name'> = { name: '' }): string {
  return `'${cutText(oneLine(name), 64)}'`;
}

function oneOf(value: unknown, allowed: readonly unknown[], what: string): readonly string[] {
  return allowed.includes(value) ? [] : [`${what} must be one of ${allowed.join(', ')}.`];
}
