import { expect, test } from 'vitest';

import { ProgrammaticUserInput, UserAgent, type AgentEvent, type ReActAgent } from 'troupe';

import { demoAgent } from './demo-agents.ts';
import { DemoModel } from './demo-model.ts';
import { DEMO_STORIES } from './demo-script.ts';

const agentOf = async (): Promise<ReActAgent> =>
  (await demoAgent(new DemoModel({ delayMs: 0 }), import.meta.dirname).create({})) as ReActAgent;

/** The tools that ran, and the answer. */
async function told(
  text: string,
): Promise<{ tools: string[]; answer: string; nested: boolean; agent: ReActAgent }> {
  const agent = await agentOf();
  const events: AgentEvent[] = [];
  for await (const event of agent.stream(text, { nested: true })) events.push(event);
  const results = events.flatMap((event) =>
    event.type === 'tool_result' && event.agentPath.length === 1
      ? [`${event.call.name} ${event.result.status}`]
      : [],
  );
  const last = events.at(-1);
  const answer = last?.type === 'run_end' ? (last.msg?.text ?? '') : '';
  return { tools: results, answer, nested: events.some(({ agentPath }) => agentPath.length > 1), agent };
}

const storyOf = (shows: string): string =>
  DEMO_STORIES.find(({ suggestion }) => suggestion.shows === shows)?.suggestion.text ?? '';

test('the suggestion for streaming is answered with text', async () => {
  expect(await told(storyOf('streaming'))).toMatchObject({
    tools: [],
    answer: expect.stringContaining('Friday'),
  });
});

test('the suggestion for a tool runs the tool', async () => {
  expect(await told(storyOf('tool'))).toMatchObject({
    tools: ['calculate ok'],
    answer: expect.stringContaining('84'),
  });
});

test('the suggestion for an approval asks before the tool runs, and goes on after the decision', async () => {
  const { tools, agent } = await told(storyOf('approval'));
  expect(tools).toEqual([]);
  const [pending] = agent.pendingCalls;
  expect(pending?.call).toMatchObject({ name: 'send_note', input: { to: 'Ann' } });
  const answer = await agent.call(undefined, { decisions: [{ id: pending?.id ?? '', verdict: 'allow' }] });
  expect(answer.text).toContain('Done');
});

test('the suggestion for a sub-agent shows events of the sub-agent', async () => {
  expect(await told(storyOf('sub_agent'))).toMatchObject({ tools: ['ask_researcher ok'], nested: true });
});

test('the suggestion for a plan makes a plan and finishes two subtasks', async () => {
  const { tools, agent } = await told(storyOf('plan'));
  expect(tools).toEqual([
    'create_plan ok',
    'update_subtask_state ok',
    'finish_subtask ok',
    'finish_subtask ok',
  ]);
  expect(agent.planNotebook?.currentPlan?.subtasks.map(({ state }) => state)).toEqual([
    'done',
    'done',
    'in_progress',
  ]);
});

test('the suggestion for a question ends with a question, and goes on after the answer', async () => {
  const { agent } = await told(storyOf('question'));
  const [pending] = agent.pendingCalls;
  expect(pending?.question).toEqual({
    message: 'Which colour shall your door have?',
    choices: ['red', 'green', 'blue'],
  });
  const decisions = [{ id: pending?.id ?? '', verdict: 'answer', answer: 'red' }] as const;
  expect((await agent.call(undefined, { decisions })).text).toContain('Thank you');
});

test('usage is an estimate: what began an earlier prompt counts as cached', async () => {
  const agent = await agentOf();
  const first = (await agent.call('Hello!')).usage;
  const second = (await agent.call('Hello again!')).usage;
  expect(first).toMatchObject({ cachedTokens: 0 });
  expect(first?.outputTokens).toBeGreaterThan(0);
  expect(second?.cachedTokens).toBeGreaterThan(1000); // the tools and the first messages, up to the hint about plans
  expect(second?.inputTokens).toBeGreaterThan(second?.cachedTokens ?? Infinity);
});

test('the suggestion for a form asks for structured data', async () => {
  const restore = UserAgent.overrideClassInputMethod(
    new ProgrammaticUserInput([{ content: '', structured: { guests: 2, day: 'today' } }]),
  );
  try {
    const { tools } = await told(storyOf('form'));
    expect(tools).toEqual(['ask_for_details ok']);
  } finally {
    restore();
  }
});

test('anything else is answered by the rules of the offline model', async () => {
  expect((await told('What is 3 + 4?')).tools).toEqual(['calculate ok']);
});
