import { timestamp } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import { describe, isJsonObject, type JsonObject } from '../util/json.ts';
import { PlanError, refuseIf } from './plan-error.ts';

export type WorkState = 'todo' | 'in_progress' | 'done' | 'abandoned';

/** Description of a plan or subtask. */
export interface WorkWords {
  readonly name: string;
  /** Work to do, with all necessary information. */
  readonly description: string;
  /** Criterion for being done. */
  readonly expectedOutcome: string;
}

export interface WorkItemInit extends WorkWords {
  readonly id?: string | undefined;
  readonly state?: WorkState | undefined;
  readonly createdAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  readonly outcome?: string | undefined;
}

const STATES: readonly unknown[] = ['todo', 'in_progress', 'done', 'abandoned'] satisfies WorkState[];
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Common fields of plans and subtasks. Immutable; `toJSON` contains all fields. */
export abstract class WorkItem {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly expectedOutcome: string;
  readonly state: WorkState;
  readonly createdAt: string;
  readonly finishedAt: string | undefined;
  /** Result of the work, or the reason for abandoning. */
  readonly outcome: string | undefined;

  /** @param problems further problems to report @throws PlanError */
  constructor(init: WorkItemInit, what: string, problems: readonly string[] = []) {
    refuseIf([...wordProblems(init, what), ...recordProblems(init, what), ...problems]);
    this.id = init.id ?? newId();
    this.name = init.name;
    this.description = init.description;
    this.expectedOutcome = init.expectedOutcome;
    this.state = init.state ?? 'todo';
    this.createdAt = init.createdAt ?? timestamp();
    this.finishedAt = init.finishedAt;
    this.outcome = init.outcome;
  }

  /** True if done or abandoned. */
  get isFinished(): boolean {
    return this.state === 'done' || this.state === 'abandoned';
  }

  /** All fields, for copies. */
  protected get fields(): WorkItemInit & {
    readonly id: string;
    readonly state: WorkState;
    readonly createdAt: string;
  } {
    const { id, name, description, expectedOutcome, state, createdAt, finishedAt, outcome } = this;
    return { id, name, description, expectedOutcome, state, createdAt, finishedAt, outcome };
  }

  toJSON(): JsonObject {
    const { finishedAt, outcome, ...others } = this.fields;
    return {
      ...others,
      ...(finishedAt !== undefined && { finishedAt }),
      ...(outcome !== undefined && { outcome }),
    };
  }
}

/** True for valid plan ids. Only these reach a storage, which may use them as file names. */
export function isPlanId(id: unknown): id is string {
  return typeof id === 'string' && ID.test(id);
}

/** Checks that saved JSON has an id and a creation time. @throws PlanError */
export function savedItem(json: unknown, what: string): JsonObject & WorkItemInit {
  if (!isJsonObject(json)) throw new PlanError([`${what} must be an object, not ${describe(json)}.`]);
  refuseIf(
    ['id', 'createdAt'].filter((key) => json[key] === undefined).map((key) => `${what} has no ${key}.`),
  );
  return json as JsonObject & WorkItemInit;
}

/** Problems with the description of a plan or subtask. */
export function wordProblems(words: unknown, what: string): readonly string[] {
  if (!isJsonObject(words)) {
    return [`${what} must have a name, a description and an expected outcome; it is ${describe(words)}.`];
  }
  const { name, description, expectedOutcome } = words;
  return [
    ...textProblems(name, `The name of ${lower(what)}`),
    ...textProblems(description, `The description of ${lower(what)}`),
    ...textProblems(expectedOutcome, `The expected outcome of ${lower(what)}`),
    ...(typeof name === 'string' && name.trim() === '' ? [`The name of ${lower(what)} is blank.`] : []),
  ];
}

export function textProblems(value: unknown, what: string): readonly string[] {
  return typeof value === 'string' ? [] : [`${what} must be a text, not ${describe(value)}.`];
}

function recordProblems(init: unknown, what: string): readonly string[] {
  if (!isJsonObject(init)) return [];
  const { id, state, createdAt, finishedAt, outcome } = init;
  const texts = Object.entries({ createdAt, finishedAt, outcome }).filter(([, value]) => value !== undefined);
  return [
    ...(id === undefined || isPlanId(id)
      ? []
      : [`The id of ${lower(what)} must be 1 to 64 letters, digits, _ and -.`]),
    ...(state === undefined || STATES.includes(state)
      ? []
      : [`The state of ${lower(what)} must be one of ${STATES.join(', ')}.`]),
    ...texts.flatMap(([key, value]) => textProblems(value, `${key} of ${lower(what)}`)),
  ];
}

function lower(what: string): string {
  return what.replace(/^The /, 'the ');
}
