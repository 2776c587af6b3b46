import { describe, type JsonObject } from '../util/json.ts';
import { oneLine } from '../util/text.ts';
import { PlanError } from './plan-error.ts';
import { SubTask } from './sub-task.ts';
import { savedItem, WorkItem, type WorkItemInit, type WorkState } from './work-item.ts';

export const NO_SUBTASKS = 'A plan needs at least one subtask.';

export interface PlanInit extends WorkItemInit {
  readonly subtasks: readonly SubTask[];
}

/**
 * A plan with one or more subtasks. Immutable: a change creates a new plan with the same id. `toJSON` and
 * `Plan.from` are exact inverses. An unfinished plan is `in_progress` while one of its subtasks is.
 */
export class Plan extends WorkItem {
  readonly subtasks: readonly SubTask[];

  /** @throws PlanError */
  constructor(init: PlanInit) {
    const { subtasks, state } = init;
    const isFinished = state !== undefined && state !== 'todo' && state !== 'in_progress';
    super(isFinished ? init : { ...init, state: stateBy(subtasks) }, 'The plan', subtasksProblems(subtasks));
    this.subtasks = Object.freeze([...init.subtasks]);
    Object.freeze(this);
  }

  /** Restores the JSON of `toJSON`. @throws PlanError */
  static from(json: unknown): Plan {
    const { subtasks, ...fields } = savedItem(json, 'The plan') as WorkItemInit & { subtasks?: unknown };
    if (!Array.isArray(subtasks))
      throw new PlanError([`The subtasks must be a list, not ${describe(subtasks)}.`]);
    return new Plan({ ...fields, subtasks: subtasks.map((one, i) => SubTask.from(one, `subtasks[${i}]`)) });
  }

  /** Copy with changed fields; undefined removes a field. */
  with(changes: Partial<PlanInit>): Plan {
    const { id = this.id, createdAt = this.createdAt, subtasks = this.subtasks } = changes;
    return new Plan({ ...this.fields, ...changes, id, createdAt, subtasks });
  }

  /** Copy in an unfinished state. */
  reopened(): Plan {
    return this.with({ state: undefined, finishedAt: undefined });
  }

  override toJSON(): JsonObject {
    return { ...super.toJSON(), subtasks: this.subtasks.map((one) => one.toJSON()) };
  }

  /**
   * Plan and subtasks as Markdown; `detailed` adds all fields of each subtask.
   * @param maxSubtasks limits the list to subtasks around the next unfinished one
   */
  toMarkdown(detailed = false, maxSubtasks = Infinity): string {
    const { subtasks } = this;
    const next = subtasks.findIndex(({ isFinished }) => !isFinished);
    const before = Math.max(0, next < 0 ? subtasks.length : next - Math.floor(maxSubtasks / 4));
    const start = Math.max(0, Math.min(before, subtasks.length - maxSubtasks));
    const end = Math.min(subtasks.length, start + maxSubtasks);
    return [
      `# ${oneLine(this.name)}`,
      `**Description**: ${this.description}`,
      `**Expected Outcome**: ${this.expectedOutcome}`,
      `**State**: ${this.state}`,
      `**Created At**: ${this.createdAt}`,
      '## Subtasks',
      ...omitted(0, start),
      ...subtasks.slice(start, end).map((one) => one.toMarkdown(detailed)),
      ...omitted(end, subtasks.length),
    ].join('\n');
  }
}

function omitted(start: number, end: number): readonly string[] {
  return start === end ? [] : [`(not shown: subtasks ${start} to ${end - 1})`];
}

function subtasksProblems(subtasks: readonly SubTask[]): readonly string[] {
  if (!subtasks.every((one) => one instanceof SubTask)) return ['Every subtask must be a SubTask.'];
  const busy = subtasks.filter(({ state }) => state === 'in_progress').length;
  const ids = new Set(subtasks.map(({ id }) => id));
  return [
    ...(subtasks.length === 0 ? [NO_SUBTASKS] : []),
    ...(busy > 1 ? [`${busy} subtasks are in progress, and only one may be at a time.`] : []),
    ...(ids.size < subtasks.length ? ['Two subtasks have the same id.'] : []),
  ];
}

function stateBy(subtasks: readonly SubTask[]): WorkState {
  return subtasks.some(({ state }) => state === 'in_progress') ? 'in_progress' : 'todo';
}
