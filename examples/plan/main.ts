// An agent that makes a plan and works through it, while a user follows: the plan is shown whenever it
// changes, and the user adds a subtask during the work. Then the state is saved, and another agent continues.
// The model is a ScriptedModel.

import assert from 'node:assert/strict';

import { findHistoryFaults, PlanNotebook, ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

const call = (name: string, input: Record<string, unknown>) => ({
  toolCalls: [{ name, input: JSON.stringify(input) }],
});
const step = (name: string, outcome: string) => ({
  name,
  description: `Take care of the ${name}.`,
  expected_outcome: outcome,
});

function makeAgent(script: ConstructorParameters<typeof ScriptedModel>[0]) {
  const planNotebook = new PlanNotebook({ maxSubtasks: 4 });
  planNotebook.registerPlanChangeHook('show', (_, plan) => {
    const lines = plan?.subtasks.map((subtask) => `  ${subtask.toMarkdown()}`) ?? ['  (archived)'];
    console.log(`${plan?.name ?? 'The plan'}:\n${lines.join('\n')}\n`);
  });
  const book = tool({
    name: 'book',
    description: 'Books something.',
    schema: z.object({ what: z.string() }),
    sideEffect: true,
    async execute({ what }) {
      if (what === 'train') {
        const insurance = {
          name: 'insurance',
          description: 'Insure the trip.',
          expectedOutcome: 'A policy.',
        };
        await planNotebook.addSubtask(1, insurance); // added by the user
      }
      return `The ${what} is booked.`;
    },
  });
  const model = new ScriptedModel(script);
  const agent = new ReActAgent({ name: 'planner', model, tools: [book], planNotebook, console: false });
  return { agent, model, planNotebook };
}

const first = makeAgent([
  call('create_plan', {
    ...step('trip to Bergen', 'Everything is booked.'),
    subtasks: [
      step('train', 'Two seats.'),
      step('hotel', 'A room.'),
      step('boat', 'A cabin.'),
      step('bike', 'Two bikes.'),
      step('car', 'None.'),
    ],
  }), // too many: the whole tool call fails
  call('create_plan', {
    ...step('trip to Bergen', 'Everything is booked.'),
    subtasks: [step('train', 'Two seats.'), step('hotel', 'A room.')],
  }),
  call('update_subtask_state', { subtask_idx: 0, state: 'in_progress' }),
  call('book', { what: 'train' }),
  call('finish_subtask', { subtask_idx: 0, outcome: 'Seats 11 and 12.' }),
  'The train is booked. Shall I go on with the insurance?',
]);
await first.agent.call('Plan a trip to Bergen for two.');

const second = makeAgent([
  call('finish_subtask', { subtask_idx: '1', outcome: 'Policy 7.' }),
  call('book', { what: 'hotel' }),
  call('finish_subtask', { subtask_idx: 2, outcome: 'A room with a view.' }),
  call('finish_plan', { state: 'done', outcome: 'Train, insurance and hotel are booked.' }),
  'Train, insurance and hotel are booked.',
]);
second.agent.loadStateDict(first.agent.stateDict()); // for example in another process
const answer = await second.agent.call('Yes, go on.');
console.log(answer.text);

const results = (await second.agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
assert.deepEqual(
  results.map(({ status }) => status),
  ['error', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok'],
);
assert.match(JSON.stringify(results[0]?.output), /at most 4 subtasks, and this would be 5/);
assert.equal(second.planNotebook.currentPlan, undefined);
const [trip] = await second.planNotebook.getHistoricalPlans();
assert.equal(trip?.state, 'done');
assert.deepEqual(
  trip.subtasks.map(({ name, state, outcome }) => [name, state, outcome]),
  [
    ['train', 'done', 'Seats 11 and 12.'],
    ['insurance', 'done', 'Policy 7.'],
    ['hotel', 'done', 'A room with a view.'],
  ],
);
const told = first.model.requests.map(({ messages }) => messages.at(-1)?.text ?? '');
// a hint is part of every model call, and not added to the memory
assert.match(told[0] ?? '', /^<system-hint>.*create_plan/s);
assert.match(told.at(-1) ?? '', /Subtask 1 is in progress/);
const memory = await second.agent.memory.getMemory();
assert.ok(!memory.some((msg) => msg.text.includes('<system-hint>')));
assert.deepEqual(findHistoryFaults(memory), []);
