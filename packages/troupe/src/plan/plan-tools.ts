import type { Tool, ToolContext } from '../toolkit/tool/tool.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';
import {
  createPlan,
  existing,
  finishPlan,
  finishSubtask,
  quoted,
  rangeOf,
  reviseCurrentPlan,
  updatePlanInfo,
  updateSubtaskState,
  type Edited,
  type FinalState,
  type PlanEdit,
  type ReviseAction,
  type SettableState,
} from './plan-edits.ts';
import type { Plan } from './plan.ts';
import type { WorkWords } from './work-item.ts';

/** Origin of an edit: the editing agent, and the signal that aborts the wait for the storage. */
export type EditContext = Pick<ToolContext, 'signal' | 'agentName'>;

/** Operations of a notebook that the tools use. */
export interface PlanEditor {
  readonly maxSubtasks: number;
  current(): Plan | undefined;
  edit(edit: PlanEdit, context: EditContext): Promise<Edited>;
  recover(id: string, context: EditContext): Promise<Edited>;
  getHistoricalPlans(): Promise<readonly Plan[]>;
}

/** Description of a plan or subtask as written by the model. */
interface WordsInput {
  readonly name: string;
  readonly description: string;
  readonly expected_outcome: string;
}

interface PlanInput extends WordsInput {
  readonly subtasks: readonly WordsInput[];
}

interface StateInput {
  readonly subtask_idx: number;
  readonly state: SettableState;
}

interface OutcomeInput {
  readonly subtask_idx: number;
  readonly outcome: string;
}

interface ReviseInput {
  readonly subtask_idx: number;
  readonly action: ReviseAction;
  readonly subtask?: WordsInput;
}

interface FinishInput {
  readonly state: FinalState;
  readonly outcome: string;
}

/** Tools with which a model creates and edits its plan. An invalid edit returns an error result. */
export function planTools(editor: PlanEditor): readonly Tool[] {
  const viewSubtasks: Tool<{ readonly subtask_idx: readonly number[] }> = {
    name: 'view_subtasks',
    description: 'Shows subtasks of the current plan with all details.',
    schema: objectOf({
      subtask_idx: { type: 'array', items: INDEX, description: 'Which subtasks, from 0.' },
    }),
    execute: ({ subtask_idx: indices }) => viewOf(existing(editor.current()), indices),
  };
  const updateState: Tool<StateInput> = {
    name: 'update_subtask_state',
    description:
      "Sets the state of a subtask. To start one, all before it must be done or abandoned, and no other may be in progress. To finish one, call 'finish_subtask' instead.",
    schema: objectOf({ subtask_idx: INDEX, state: { enum: ['todo', 'in_progress', 'abandoned'] } }),
    async execute({ subtask_idx: index, state }, context) {
      const { current } = await editor.edit(updateSubtaskState(index, state), context);
      return `Subtask ${nameAt(current, index)} is marked as '${state}'. The plan is '${current?.state}' now.`;
    },
  };
  const finishOne: Tool<OutcomeInput> = {
    name: 'finish_subtask',
    description:
      'Marks a subtask as done. All previous subtasks must be done or abandoned. The next subtask in state todo is started.',
    schema: objectOf({
      subtask_idx: INDEX,
      outcome: text('Result of the subtask: facts, results, paths of files.'),
    }),
    async execute({ subtask_idx: index, outcome }, context) {
      const { current } = await editor.edit(finishSubtask(index, outcome), context);
      const active = current?.subtasks.findIndex(({ state }) => state === 'in_progress') ?? -1;
      const next =
        active < 0 ? 'No subtask is in progress now.' : `In progress now: ${nameAt(current, active)}.`;
      return `Subtask ${nameAt(current, index)} is done. ${next}`;
    },
  };
  const create: Tool<PlanInput> = {
    name: 'create_plan',
    description:
      'Makes a plan of subtasks, which are worked on one after the other. It becomes the current plan; the one before it is archived.',
    schema: objectOf({ ...WORDS, subtasks: { type: 'array', items: objectOf(WORDS), minItems: 1 } }),
    async execute(input, context) {
      const plan = { ...wordsOf(input), subtasks: input.subtasks.map(wordsOf) };
      const { archived } = await editor.edit(createPlan(plan, editor.maxSubtasks), context);
      const made = `The plan ${quoted(plan)} is created.`;
      return archived === undefined
        ? made
        : `${made} It has replaced the plan ${quoted(archived)}, which is archived.`;
    },
  };
  const revise: Tool<ReviseInput> = {
    name: 'revise_current_plan',
    description: 'Adds a subtask to the current plan, revises a subtask, or deletes one.',
    schema: objectOf(
      {
        subtask_idx: {
          ...INDEX,
          description: 'Index of the subtask, from 0; the position of a new subtask.',
        },
        action: { enum: ['add', 'revise', 'delete'] },
        subtask: { ...objectOf(WORDS), description: "The new words. Not needed for 'delete'." },
      },
      ['subtask_idx', 'action'],
    ),
    async execute({ subtask_idx: index, action, subtask }, context) {
      const words = subtask && wordsOf(subtask);
      const { current } = await editor.edit(
        reviseCurrentPlan(index, action, words, editor.maxSubtasks),
        context,
      );
      const what = action === 'delete' ? `Subtask ${index}` : `Subtask ${nameAt(current, index)}`;
      return `${what} is ${PARTICIPLES[action]}. The plan has ${current?.subtasks.length} subtasks now.`;
    },
  };
  const finish: Tool<FinishInput> = {
    name: 'finish_plan',
    description: 'Ends the current plan and archives it.',
    schema: objectOf({
      state: { enum: ['done', 'abandoned'] },
      outcome: text('Result of the plan, or the reason for abandoning it.'),
    }),
    async execute({ state, outcome }, context) {
      const { archived } = await editor.edit(finishPlan(state, outcome), context);
      return `The plan ${quoted(archived)} is ${state} and archived. Tell the user what came of it.`;
    },
  };
  const viewHistory: Tool = {
    name: 'view_historical_plans',
    description: 'Lists the archived plans with their ids.',
    execute: async () => historyOf(await editor.getHistoricalPlans()),
  };
  const recover: Tool<{ readonly plan_id: string }> = {
    name: 'recover_historical_plan',
    description:
      "Makes an archived plan the current one again, to be worked on. The one that was current is archived. 'view_historical_plans' tells the ids.",
    schema: objectOf({ plan_id: text('The id of the plan.') }),
    async execute({ plan_id: id }, context) {
      const { current, archived } = await editor.recover(id, context);
      const back = `The plan ${quoted(current)} is the current plan again, and '${current?.state}'.`;
      return archived === undefined
        ? back
        : `${back} The plan ${quoted(archived)} is archived as '${archived.state}'.`;
    },
  };
  const updateInfo: Tool<Partial<WordsInput>> = {
    name: 'update_plan_info',
    description: 'Changes the name, the description or the expected outcome of the current plan.',
    schema: objectOf(WORDS, []),
    async execute({ name, description, expected_outcome: expectedOutcome }, context) {
      const words = { name, description, expectedOutcome } as Partial<WorkWords>;
      const { current } = await editor.edit(updatePlanInfo(words), context);
      return `The plan ${quoted(current)} is updated.`;
    },
  };
  const tools = [
    viewSubtasks,
    updateState,
    finishOne,
    create,
    revise,
    finish,
    viewHistory,
    recover,
    updateInfo,
  ];
  // Edits only the agent's own notebook.
  return Object.freeze(tools.map((one: Tool) => Object.freeze({ ...one, readOnly: true })));
}

const PARTICIPLES: Readonly<Record<ReviseAction, string>> = {
  add: 'added',
  revise: 'revised',
  delete: 'deleted',
};
/** Maximum archived plans shown; older plans are omitted. */
const MAX_SHOWN_PLANS = 50;
const INDEX: JsonObject = { type: 'integer', minimum: 0 };
const WORDS = {
  name: text('Short and clear, at most ten words.'),
  description: text('The work to do, with all necessary information.'),
  expected_outcome: text('Criterion for being done.'),
};

function text(description: string): JsonObject {
  return { type: 'string', description };
}

function objectOf(
  properties: { readonly [key: string]: JsonValue },
  required: readonly string[] = Object.keys(properties),
): JsonObject {
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

function wordsOf({ name, description, expected_outcome: expectedOutcome }: WordsInput): WorkWords {
  return { name, description, expectedOutcome };
}

function nameAt(plan: Plan | undefined, index: number): string {
  return `${index} ${quoted(plan?.subtasks[index])}`;
}

function viewOf({ subtasks }: Plan, indices: readonly number[]): string {
  const shown = indices.flatMap((index) => {
    const subtask = subtasks[index];
    return subtask === undefined ? [] : [`Subtask ${index}:\n\`\`\`\n${subtask.toMarkdown(true)}\n\`\`\``];
  });
  const wrong = indices.filter((index) => subtasks[index] === undefined);
  if (wrong.length > 0)
    shown.push(`Invalid subtask indices: ${wrong.join(', ')}. ${rangeOf(subtasks.length)}`);
  return shown.join('\n\n') || `No index was given. ${rangeOf(subtasks.length)}`;
}

function historyOf(plans: readonly Plan[]): string {
  const older = Math.max(0, plans.length - MAX_SHOWN_PLANS);
  const shown = plans.slice(older).map((plan) => {
    const { id, description, state, createdAt, finishedAt, outcome } = plan;
    const done = plan.subtasks.filter((one) => one.state === 'done').length;
    return [
      `Plan ${quoted(plan)}:`,
      `- ID: ${id}`,
      `- Created At: ${createdAt}`,
      ...(finishedAt === undefined ? [] : [`- Finished At: ${finishedAt}`]),
      `- Description: ${description}`,
      `- State: ${state} (${done}/${plan.subtasks.length} subtasks done)`,
      ...(outcome === undefined ? [] : [`- Outcome: ${outcome}`]),
    ].join('\n');
  });
  if (older > 0) shown.unshift(`(not shown: ${older} plans that are older)`);
  return shown.join('\n\n') || 'There are no archived plans.';
}
