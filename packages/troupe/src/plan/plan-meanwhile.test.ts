import { expect, test } from 'vitest';

import { ReActAgent } from '../react/react-agent.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import type { JsonObject } from '../util/json.ts';
import { PlanNotebook } from './plan-notebook.ts';

type Script = ConstructorParameters<typeof ScriptedModel>[0];

const words = (name: string) => ({ name, description: '', expectedOutcome: '' });
const input = (name: string) => ({ name, description: '', expected_outcome: '' });
const call = (name: string, args: JsonObject) => ({ name, input: args });
const finish = (index: number, outcome: string) => call('finish_subtask', { subtask_idx: index, outcome });
const REFUSED = ['error', expect.stringContaining('Somebody else has changed the plan since you saw it')];

async function tripOf(...subtasks: string[]): Promise<PlanNotebook> {
  const notebook = new PlanNotebook();
  await notebook.createPlan({ ...words('trip'), subtasks: subtasks.map(words) });
  return notebook;
}

/** An agent with a notebook. `meanwhile` runs after its first model message. */
function planner(planNotebook: PlanNotebook, script: Script, meanwhile?: () => Promise<unknown>): ReActAgent {
  const agent = new ReActAgent({ name: 'planner', model: new ScriptedModel(script), planNotebook });
  agent.setConsoleOutputEnabled(false);
  let isFirst = true;
  agent.registerInstanceHook('postReasoning', 'somebody else', async () => {
    if (isFirst) await meanwhile?.();
    isFirst = false;
  });
  return agent;
}

async function resultsOf(agent: ReActAgent): Promise<unknown> {
  const history = await agent.memory.getMemory();
  return history
    .flatMap((msg) => msg.getContentBlocks('tool_result'))
    .map(({ status, output }) => [status, output]);
}

const statesOf = ({ currentPlan }: PlanNotebook): unknown =>
  currentPlan?.subtasks.map(({ name, state }) => `${name} ${state}`);

test('a subtask inserted by the user is not mistaken for the one that the model has finished', async () => {
  const notebook = await tripOf('book', 'pack');
  const agent = planner(
    notebook,
    [
      { toolCalls: [finish(0, 'Night train.'), call('finish_plan', { state: 'done', outcome: '' })] },
      {
        toolCalls: [
          call('update_subtask_state', { subtask_idx: 0, state: 'abandoned' }),
          finish(1, 'By bus.'),
        ],
      },
      'Done.',
    ],
    () => notebook.addSubtask(0, words('insure')),
  );
  await agent.call('Go.');
  expect(await resultsOf(agent)).toEqual([
    REFUSED,
    REFUSED,
    ['ok', "Subtask 0 'insure' is marked as 'abandoned'. The plan is 'todo' now."],
    ['ok', "Subtask 1 'book' is done. In progress now: 2 'pack'."],
  ]);
  expect(statesOf(notebook)).toEqual(['insure abandoned', 'book done', 'pack in_progress']);
});

test('a new plan of the user is not replaced by a plan that the model wrote before', async () => {
  const notebook = new PlanNotebook();
  const agent = planner(
    notebook,
    [{ toolCalls: [call('create_plan', { ...input('mine'), subtasks: [input('x')] })] }, 'I see.'],
    () => notebook.createPlan({ ...words('yours'), subtasks: [words('a')] }),
  );
  await agent.call('Go.');
  expect(await resultsOf(agent)).toEqual([REFUSED]);
  expect([notebook.currentPlan?.name, await notebook.getHistoricalPlans()]).toEqual(['yours', []]);
});

test('edits of the model in the same model message are not refused', async () => {
  const notebook = await tripOf('book');
  const add = call('revise_current_plan', { subtask_idx: 0, action: 'add', subtask: input('insure') });
  const agent = planner(notebook, [{ toolCalls: [add, finish(0, 'a'), finish(1, 'b')] }, 'Done.']);
  await agent.call('Go.');
  expect(statesOf(notebook)).toEqual(['insure done', 'book done']);
});

/** An agent with a pending approval to finish the first subtask. */
function asking(notebook: PlanNotebook, script: Script = [{ toolCalls: [finish(0, 'ok')] }]): ReActAgent {
  const permissionPolicy: PermissionPolicy = { decide: () => ({ behavior: 'ask' }) };
  const model = new ScriptedModel(script);
  const agent = new ReActAgent({ name: 'planner', model, planNotebook: notebook, permissionPolicy });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

test.each(['saved', 'loaded'])(
  'an edit that waits for permission applies to the plan that the model has seen, also when the plan was changed before it was %s',
  async (moment) => {
    const before = await tripOf('book', 'pack');
    const first = asking(before);
    await first.call('Go.');
    if (moment === 'saved') await before.addSubtask(0, words('insure'));
    const after = new PlanNotebook();
    const agent = asking(after, ['I will look again.']);
    agent.loadStateDict(JSON.parse(JSON.stringify(first.stateDict())) as JsonObject);
    if (moment === 'loaded') await after.addSubtask(0, words('insure'));
    const decisions = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }) as const);
    await agent.call(undefined, { decisions });
    expect(await resultsOf(agent)).toEqual([REFUSED]);
    expect(statesOf(after)).toEqual(['insure todo', 'book todo', 'pack todo']);
  },
);

test('an edit with a pending approval runs in another program if the plan is unchanged', async () => {
  const first = asking(await tripOf('book', 'pack'));
  await first.call('Go.');
  const after = new PlanNotebook();
  const agent = asking(after, ['Done.']);
  agent.loadStateDict(JSON.parse(JSON.stringify(first.stateDict())) as JsonObject);
  const decisions = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }) as const);
  await agent.call(undefined, { decisions });
  expect(statesOf(after)).toEqual(['book done', 'pack in_progress']);
});

test('a state of the first version has no plans seen by agents', async () => {
  const { currentPlan = null } = (await tripOf('book')).stateDict();
  const notebook = new PlanNotebook();
  notebook.loadStateDict({ storage: { plans: [] }, currentPlan });
  expect(statesOf(notebook)).toEqual(['book todo']);
  expect(notebook.stateDict()).toMatchObject({ told: {} });
});

test('of two agents with one plan, the later edit is refused', async () => {
  const notebook = await tripOf('book', 'pack');
  const make = (name: string, script: ConstructorParameters<typeof ScriptedModel>[0]): ReActAgent => {
    const agent = new ReActAgent({ name, model: new ScriptedModel(script), planNotebook: notebook });
    agent.setConsoleOutputEnabled(false);
    return agent;
  };
  const remove = call('revise_current_plan', { subtask_idx: 0, action: 'delete' });
  const quick = make('quick', [{ toolCalls: [remove] }, 'Deleted.']);
  const late = make('late', [{ toolCalls: [finish(0, 'Booked.')] }, 'I see.']);
  late.registerInstanceHook('postReasoning', 'the other one', async () => {
    if (notebook.currentPlan?.subtasks.length === 2) await quick.call('Go.');
  });
  await late.call('Go.');
  expect([await resultsOf(quick), await resultsOf(late)]).toEqual([
    [['ok', 'Subtask 0 is deleted. The plan has 1 subtasks now.']],
    [REFUSED],
  ]);
  expect(statesOf(notebook)).toEqual(['pack todo']);
});

test('the reader of the events may edit the plan between two events', async () => {
  const notebook = await tripOf('book', 'pack');
  const agent = planner(notebook, ['Hello.']);
  const types: string[] = [];
  for await (const { type } of agent.stream('Go.', { capacity: 1 })) {
    types.push(type);
    if (types.length === 1) await notebook.updatePlanInfo({ name: 'one' });
    if (types.length === 1) await notebook.updatePlanInfo({ name: 'two' });
  }
  expect(types.filter((type) => type === 'plan_change')).toHaveLength(2);
  expect(types.at(-1)).toBe('run_end');
});
