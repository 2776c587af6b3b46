import { TroupeError } from '../errors.ts';
import { escapeTags } from '../util/escape-tags.ts';
import { isJsonObject } from '../util/json.ts';
import type { Plan } from './plan.ts';

/** Options of the notebook that hints mention. */
export interface PlanRules {
  readonly maxSubtasks: number;
  readonly needUserConfirm: boolean;
}

/** Creates the hint for the model before each model call; undefined for none. */
export type PlanToHint = (
  plan: Plan | undefined,
  rules: PlanRules,
) => string | undefined | Promise<string | undefined>;

/** Creates a hint about the current plan; undefined for none. */
export type PlanHint = (plan: Plan, rules: PlanRules) => string | undefined;

/** Hints by progress of the plan. */
export interface PlanHintsByState {
  readonly noPlan: (rules: PlanRules) => string | undefined;
  /** No subtask was started. */
  readonly notStarted: PlanHint;
  readonly inProgress: PlanHint;
  /** Some subtasks are finished, none is in progress. */
  readonly betweenSubtasks: PlanHint;
  /** All subtasks are done or abandoned. */
  readonly allFinished: PlanHint;
}

/** Maximum subtasks shown in a hint. */
const MAX_SHOWN = 100;
const REVISE = "- If the plan does not fit any more: change it by 'revise_current_plan'.";
const ABANDON =
  "- If the user wants something else: call 'finish_plan' with the state 'abandoned' and say why.";

export const DEFAULT_PLAN_HINTS: PlanHintsByState = {
  noPlan: (rules) =>
    [
      "A request that takes several steps (a program, a paper, research) needs a plan: call 'create_plan' before you begin with it.",
      'A simple request needs none: just answer it.',
      ...limits(rules),
      ...confirmation(rules),
    ].join(' '),

  notStarted: (plan, rules) =>
    withOptions(plan, 'None of its subtasks has been started.', [
      startNext(plan),
      ...confirmation(rules).map((rule) => `- ${rule}`),
      REVISE,
      ABANDON,
      ...limits(rules).map((rule) => `- ${rule}`),
    ]),

  inProgress: (plan) => {
    const index = plan.subtasks.findIndex(({ state }) => state === 'in_progress');
    const details = plan.subtasks[index]?.toMarkdown(true) ?? '';
    return withOptions(plan, `Subtask ${index} is in progress:\n\`\`\`\n${details}\n\`\`\``, [
      '- Work on it.',
      `- When it is done: call 'finish_subtask' with subtask_idx=${index} and the outcome.`,
      '- If something is missing that only the user can tell: ask.',
      REVISE,
      ABANDON,
    ]);
  },

  betweenSubtasks: (plan) =>
    withOptions(plan, 'No subtask is in progress.', [startNext(plan), REVISE, ABANDON]),

  allFinished: (plan) =>
    withOptions(plan, 'All subtasks are done or abandoned.', [
      "- Call 'finish_plan' with the state 'done' and what came of the plan; then tell the user about it.",
      "- If something is left to do: add a subtask by 'revise_current_plan'.",
      ABANDON,
    ]),
};

/** Selects the hint for the progress of the plan. */
function hintFor(plan: Plan | undefined, hints: PlanHintsByState, rules: PlanRules): string | undefined {
  if (plan === undefined) return hints.noPlan(rules);
  const { subtasks } = plan;
  if (subtasks.some(({ state }) => state === 'in_progress')) return hints.inProgress(plan, rules);
  if (subtasks.every(({ state }) => state === 'todo')) return hints.notStarted(plan, rules);
  return subtasks.every(({ isFinished }) => isFinished)
    ? hints.allFinished(plan, rules)
    : hints.betweenSubtasks(plan, rules);
}

/** Default hints with some replaced. @throws TroupeError if a replacement is not a function. */
export function hintsByState(changes: Partial<PlanHintsByState>): PlanToHint {
  const given = Object.entries(isJsonObject(changes) ? changes : { changes }).filter(
    ([, hint]) => hint !== undefined,
  );
  if (given.some(([, hint]) => typeof hint !== 'function'))
    throw new TroupeError('invalid_config', 'planToHint must be a function, or an object of functions.');
  const hints: PlanHintsByState = { ...DEFAULT_PLAN_HINTS, ...Object.fromEntries(given) };
  return (plan, rules) => hintFor(plan, hints, rules);
}

/** Summary of the plan for compression, so that important messages for the plan are kept. */
export function compressionHint({ description, expectedOutcome, subtasks }: Plan): string {
  const names = subtasks.filter(({ state }) => state === 'in_progress').map(({ name }) => name);
  const done = subtasks.filter(({ state }) => state === 'done').length;
  const lines = [
    ...(description === '' ? [] : [`Goal: ${description}`]),
    ...(names.length === 0 ? [] : [`Current Progress: ${names.join(', ')}`]),
    `Progress: ${done}/${subtasks.length} subtasks completed`,
    ...(expectedOutcome === '' ? [] : [`Expected Outcome: ${expectedOutcome}`]),
  ];
  return ['<plan_aware_hint>', ...lines.map((line) => escapeTags(line)), '</plan_aware_hint>'].join('\n');
}

function withOptions(plan: Plan, where: string, options: readonly string[]): string {
  return `The current plan:\n\`\`\`\n${plan.toMarkdown(false, MAX_SHOWN)}\n\`\`\`\n${where}\nWhat you can do:\n${options.join('\n')}`;
}

function startNext({ subtasks }: Plan): string {
  const next = subtasks.findIndex(({ state }) => state === 'todo');
  return `- Go on: call 'update_subtask_state' with subtask_idx=${next} and the state 'in_progress', and work on it.`;
}

function limits({ maxSubtasks }: PlanRules): readonly string[] {
  return maxSubtasks === Infinity ? [] : [`A plan has at most ${maxSubtasks} subtasks.`];
}

function confirmation({ needUserConfirm }: PlanRules): readonly string[] {
  return needUserConfirm ? ['Show the plan to the user, and begin with it only when the user agrees.'] : [];
}
