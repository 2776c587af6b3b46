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
 * What is to be done, in one step or more. Immutable: a change makes another one, with the same id. `toJSON` and
 * `Plan.from` are exact inverses.
 */
export class Plan extends WorkItem {
  readonly subtasks: readonly SubTask[];

  /** @throws PlanError */
  constructor(init: PlanInit) {
    super(init, 'The plan', init.subtasks.length === 0 ? [NO_SUBTASKS] : []);
    this.subtasks = Object.freeze([...init.subtasks]);
    Object.freeze(this);
  }

  /** The plan that `toJSON` made. @throws PlanError */
  static from(json: unknown): Plan {
    const { subtasks, ...fields } = savedItem(json, 'The plan') as WorkItemInit & { subtasks?: unknown };
    if (!Array.isArray(subtasks))
      throw new PlanError([`The subtasks must be a list, not ${describe(subtasks)}.`]);
    return new Plan({ ...fields, subtasks: subtasks.map((one, i) => SubTask.from(one, `subtasks[${i}]`)) });
  }

  /** A copy with some fields changed, or removed where they are undefined. */
  with(changes: Partial<PlanInit>): Plan {
    const { subtasks = this.subtasks, ...fields } = changes;
    return Plan.from({ ...this.toJSON(), ...fields, subtasks: subtasks.map((one) => one.toJSON()) });
  }

  /** A copy with other subtasks. One that is not finished is in progress for as long as one of them is. */
  withSubtasks(subtasks: readonly SubTask[]): Plan {
    return this.with({ subtasks, state: this.isFinished ? this.state : stateBy(subtasks) });
  }

  /** A copy that can be worked on again, whatever it was. */
  reopened(): Plan {
    return this.with({ state: stateBy(this.subtasks), finishedAt: undefined });
  }

  override toJSON(): JsonObject {
    return { ...super.toJSON(), subtasks: this.subtasks.map((one) => one.toJSON()) };
  }

  /** The plan and its subtasks; with details, all that is known of each subtask. */
  toMarkdown(detailed = false): string {
    return [
      `# ${oneLine(this.name)}`,
      `**Description**: ${this.description}`,
      `**Expected Outcome**: ${this.expectedOutcome}`,
      `**State**: ${this.state}`,
      `**Created At**: ${this.createdAt}`,
      '## Subtasks',
      ...this.subtasks.map((one) => one.toMarkdown(detailed)),
    ].join('\n');
  }
}

function stateBy(subtasks: readonly SubTask[]): WorkState {
  return subtasks.some(({ state }) => state === 'in_progress') ? 'in_progress' : 'todo';
}
