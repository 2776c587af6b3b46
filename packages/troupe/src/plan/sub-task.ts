import { oneLine } from '../util/text.ts';
import { savedItem, WorkItem, type WorkItemInit, type WorkState } from './work-item.ts';

const CHECKBOXES: Readonly<Record<WorkState, string>> = {
  todo: '- [ ] ',
  in_progress: '- [ ] [WIP]',
  done: '- [x] ',
  abandoned: '- [ ] [Abandoned]',
};

/** One step of a plan. Immutable: a change creates a new subtask with the same id. */
export class SubTask extends WorkItem {
  /** @throws PlanError */
  constructor(init: WorkItemInit, what = 'The subtask') {
    super(init, what);
    Object.freeze(this);
  }

  /** Restores the JSON of `toJSON`. @throws PlanError */
  static from(json: unknown, what = 'The subtask'): SubTask {
    return new SubTask(savedItem(json, what), what);
  }

  /** Copy with changed fields; undefined removes a field. */
  with(changes: Partial<WorkItemInit>): SubTask {
    const { id = this.id, createdAt = this.createdAt } = changes;
    return new SubTask({ ...this.fields, ...changes, id, createdAt });
  }

  /** Line with a checkbox; `detailed` adds one line per field. */
  toMarkdown(detailed = false): string {
    const line = `${CHECKBOXES[this.state]}${oneLine(this.name)}`;
    if (!detailed) return line;
    const fields = [
      `Created At: ${this.createdAt}`,
      `Description: ${this.description}`,
      `Expected Outcome: ${this.expectedOutcome}`,
      `State: ${this.state}`,
      ...(this.state === 'done'
        ? [`Finished At: ${this.finishedAt ?? ''}`, `Actual Outcome: ${this.outcome ?? ''}`]
        : []),
    ];
    return [line, ...fields.map((field) => `\t- ${field}`)].join('\n');
  }
}
