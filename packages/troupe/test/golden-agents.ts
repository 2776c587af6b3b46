import { z } from 'zod';

import type { ModelDelta } from '../src/entries/provider.ts';

import {
  AutoContextMemory,
  agentTool,
  ChatModelBase,
  externalTool,
  makeSubagentTool,
  PermissionRules,
  PlanNotebook,
  ReActAgent,
  registerSubAgent,
  TaskSubAgent,
  tool,
  Toolkit,
  type ModelRequest,
  type Msg,
  type PendingDecision,
  type ReActAgentOptions,
  type SubAgentSpec,
  type Tool,
} from '../src/index.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/index.ts';

/**
 * The agents of `golden/session-v2`: how the state of each was made, and how it goes on. `ask` has run in the version that wrote the
 * states, `goOn` has run there as well, on an agent that had loaded the state.
 */
export interface GoldenAgent {
  readonly make: (when: 'before' | 'after') => Promise<ReActAgent>;
  readonly ask: (agent: ReActAgent) => Promise<unknown>;
  readonly goOn: (agent: ReActAgent) => Promise<Msg>;
}

type Script = readonly (string | ScriptedTurn)[];

const USAGE = { inputTokens: 12, outputTokens: 7, cachedTokens: 3 };
const CITY = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const;
const DAY = z.object({ day: z.string().transform((text) => new Date(text)) });
const PATH = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const;

const look = tool({ name: 'look', schema: PATH, execute: ({ path }) => `seen ${String(path)}` });
const remove = tool({
  name: 'remove',
  schema: PATH,
  sideEffect: true,
  execute: ({ path }) => `removed ${String(path)}`,
});
const hang = tool({ name: 'hang', execute: () => new Promise<never>(() => {}) });
const measure = externalTool({ name: 'measure', schema: PATH });
const read = tool({
  name: 'read',
  schema: { type: 'object', properties: { page: { type: 'number' } } },
  execute: ({ page }) => `Page ${String(page)}. `.padEnd(600, 'bla '),
});

const call = (name: string, id: string, input: ScriptedInput): ScriptedTurn => ({
  toolCalls: [{ name, id, input }],
});
type ScriptedInput = Readonly<Record<string, string | number>>;

const asksAboutRemoving = {
  decide: ({ call: { name } }: { readonly call: { readonly name: string } }) =>
    name === 'remove'
      ? ({ behavior: 'ask', reason: 'it deletes' } as const)
      : ({ behavior: 'allow' } as const),
};

async function agentOf(
  script: Script,
  tools: readonly Tool[] = [],
  options: Partial<ReActAgentOptions> = {},
): Promise<ReActAgent> {
  const agent = new ReActAgent({
    name: 'Friday',
    sysPrompt: 'Be brief.',
    model: new ScriptedModel(script),
    toolkit: new Toolkit({ tools }),
    permissionPolicy: asksAboutRemoving,
    ...options,
  });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

/** Allows all pending tool calls; tool calls that run outside get a result. */
export const decisionsFor = (agent: ReActAgent): readonly PendingDecision[] =>
  agent.pendingCalls.map(({ id, kind }) =>
    kind === 'approval' ? { id, verdict: 'allow' } : { id, verdict: 'result', output: '12 cm' },
  );
const decide = (agent: ReActAgent): Promise<Msg> => agent.call(undefined, { decisions: decisionsFor(agent) });

/** Two levels of agents that were made by hand and are tools. */
async function nested(when: 'before' | 'after'): Promise<ReActAgent> {
  const script = (before: Script, after: Script): Script => (when === 'before' ? before : after);
  const leaf = await agentOf(
    script([{ toolCalls: [callOf('look', 'l1', '/first'), callOf('remove', 'l2', '/a')] }], ['Leaf done.']),
    [look, remove],
    { name: 'leaf' },
  );
  return agentOf(
    script([call('leaf', 'r1', { query: 'Clean up.' })], ['Root done.']),
    [agentTool(leaf, { description: 'Cleans up.' })],
    { name: 'root' },
  );
}

const callOf = (name: string, id: string, path: string) => ({ name, id, input: { path } });

/** Sub-agents on two levels, created for each task. */
async function subAgents(when: 'before' | 'after'): Promise<ReActAgent> {
  const spec = (name: string, before: Script, after: Script): SubAgentSpec => ({
    name,
    description: `Does ${name}.`,
    modelOverride: new ScriptedModel(when === 'before' ? before : after),
  });
  const delegate = (name: string, id: string): ScriptedTurn => call(`agent_${name}`, id, { task: 'go' });
  const root = await agentOf(when === 'before' ? [delegate('outer', 'r1')] : ['Root done.'], [], {
    name: 'root',
  });
  const options = { host: root, safetyLimits: { maxDepth: 3 } };
  const asking = { toolCalls: [callOf('look', 'i1', '/first'), callOf('remove', 'i2', '/a')] };
  const inner = await makeSubagentTool(
    TaskSubAgent,
    { ...spec('inner', [asking], ['Inner done.']), tools: [look, remove] },
    options,
  );
  const outer = spec('outer', [delegate('inner', 'o1')], ['Outer done.']);
  await registerSubAgent(root, TaskSubAgent, { ...outer, tools: [inner] }, options);
  return root;
}

/** Reads page after page, then answers; sums up when it is offered no tools. */
class Reader extends ChatModelBase {
  #page: number;

  constructor(page: number) {
    super('reader');
    this.#page = page;
  }

  override async *stream({ tools = [] }: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    if (tools.length === 0) return yield { type: 'text', text: 'I have read some pages.' };
    const page = ++this.#page;
    if (page % 6 === 0) return yield { type: 'text', text: 'That is all.' };
    yield { type: 'tool_use_start', index: 0, name: 'read', id: `call_${page}` };
    yield { type: 'tool_input', index: 0, json: JSON.stringify({ page }) };
    yield { type: 'tool_use_end', index: 0 };
  }
}

const simple = (
  before: Script,
  after: Script,
  tools: readonly Tool[] = [],
  ...asked: string[]
): GoldenAgent => ({
  make: (when) => agentOf(when === 'before' ? before : after, tools),
  ask: async (agent) => {
    for (const text of asked) await agent.call(text);
  },
  goOn: (agent) => agent.call('And now?'),
});

const pending = (before: Script, tools: readonly Tool[]): GoldenAgent => ({
  ...simple(before, ['Done.'], tools, 'Go.'),
  goOn: decide,
});

export const goldenAgents: Readonly<Record<string, GoldenAgent>> = {
  plain: simple(
    ['Hi!', { thinking: 'Hm.', text: 'Fine.', usage: USAGE }],
    ['Bye.'],
    [],
    'Hello.',
    'How are you?',
  ),
  tools: simple(
    [
      { text: 'I look.', toolCalls: [callOf('look', 'c1', '/a'), callOf('lock', 'c2', '/b')], usage: USAGE },
      'Seen.',
    ],
    [call('look', 'c3', { path: '/c' }), 'Seen again.'],
    [look],
    'Look.',
  ),
  structured: {
    make: (when) =>
      agentOf(
        when === 'before'
          ? [
              call('generate_response', 's1', { name: 'Lima' }),
              call('generate_response', 's2', { value: 'Cusco' }),
              call('generate_response', 's4', { day: '2026-11-16' }),
            ]
          : [call('generate_response', 's3', { name: 'Quito' })],
      ),
    ask: async (agent) => {
      await agent.call('Which city?', { structuredModel: CITY });
      await agent.call('And as a text?', { structuredModel: { type: 'string' } });
      await agent.call('And when?', { structuredModel: DAY });
    },
    goOn: (agent) => agent.call('Another one?', { structuredModel: CITY }),
  },
  interrupted: {
    ...simple([{ text: 'I wait.', toolCalls: [{ name: 'hang', id: 'h1', input: {} }] }], ['Go on.'], [hang]),
    ask: async (agent) => {
      for await (const { type } of agent.stream('Wait.'))
        if (type === 'tool_start') void agent.interrupt('Stop!');
    },
  },
  'end-reasons': {
    make: (when) =>
      agentOf(
        when === 'before'
          ? [...['e1', 'e2', 'e3'].map((id) => call('look', id, { path: '/a' })), 'To sum up.', '', '', '']
          : ['Yes.'],
        [look],
        { maxIters: 3 },
      ),
    ask: async (agent) => {
      await agent.call('Look again and again.');
      await agent.call('Say something.');
    },
    goOn: (agent) => agent.call('And now?'),
  },
  'model-message': {
    ...simple([], ['I see.']),
    ask: async (agent) => {
      const deltas: readonly ModelDelta[] = [
        { type: 'response_id', id: 'resp_1' },
        { type: 'text', text: 'Said by a bare model.' },
        { type: 'finish', reason: 'length' },
      ];
      await agent.observe(await new ScriptedModel([{ deltas }]).call({ messages: [] }));
    },
  },
  observed: {
    ...simple([], ['I heard it.']),
    ask: async (agent) => {
      const asking = await agentOf([call('remove', 'o1', { path: '/a' })], [remove], { name: 'Asking' });
      await agent.observe(await asking.call('Go.'));
    },
  },
  approval: pending(
    [{ toolCalls: [callOf('look', 'c1', '/a'), callOf('remove', 'c2', '/b')], usage: USAGE }],
    [look, remove],
  ),
  external: pending([call('measure', 'c1', { path: '/a' })], [measure]),
  'nested-agent': { make: nested, ask: (agent) => agent.call('Go.'), goOn: decide },
  'sub-agents': { make: subAgents, ask: (agent) => agent.call('Go.'), goOn: decide },
  'auto-context': {
    make: (when) =>
      agentOf([], [read], {
        model: new Reader(when === 'before' ? 0 : 6),
        memory: new AutoContextMemory({ maxToken: 1800, largePayloadThreshold: 5000 }),
      }),
    ask: (agent) => agent.call('Read all of it.'),
    goOn: (agent) => agent.call('Go on.'),
  },
  plan: {
    make: (when) =>
      agentOf(
        when === 'before'
          ? [
              {
                toolCalls: [
                  {
                    name: 'create_plan',
                    id: 'p1',
                    input: {
                      name: 'A trip',
                      description: 'Go there.',
                      expected_outcome: 'We are there.',
                      subtasks: ['Pack', 'Leave'].map((name) => ({
                        name,
                        description: `${name} now.`,
                        expected_outcome: 'Done.',
                      })),
                    },
                  },
                ],
              },
              'Planned.',
            ]
          : [
              {
                toolCalls: [
                  { name: 'finish_subtask', id: 'p2', input: { subtask_idx: 0, outcome: 'Packed.' } },
                ],
              },
              'Packed.',
            ],
        [],
        { planNotebook: new PlanNotebook() },
      ),
    ask: (agent) => agent.call('Plan it.'),
    goOn: (agent) => agent.call('Begin.'),
  },
  permission: {
    make: (when) =>
      agentOf(when === 'before' ? [] : [call('remove', 'c1', { path: '/a' }), 'Removed.'], [remove], {
        permissionPolicy: new PermissionRules(),
      }),
    ask: async ({ permissionPolicy: permission }) => {
      if (!(permission instanceof PermissionRules)) throw new Error('no rules');
      permission.addRule({ tool: 'remove', behavior: 'allow', when: { path: { glob: '/**' } } });
      permission.addRule({ tool: 'look', behavior: 'deny' });
      permission.mode = 'accept_edits';
    },
    goOn: (agent) => agent.call('Remove it.'),
  },
};
