// Agents that hear each other: a summary or a search query is written from the view of the agent itself.
import { describe, expect, test } from 'vitest';

import { AutoContextMemory } from '../src/compression/auto-context/auto-context-memory.ts';
import { ChatFormatter } from '../src/formatter/chat-formatter.ts';
import type { FormatterBase } from '../src/formatter/formatter-base.ts';
import { MultiAgentFormatter } from '../src/formatter/multi-agent-formatter.ts';
import type { PromptItem } from '../src/formatter/prompt.ts';
import { TruncatedFormatter } from '../src/formatter/truncated-formatter.ts';
import { InMemoryMemory } from '../src/memory/in-memory-memory.ts';
import { COMPRESSED_MARK, type MemoryBase } from '../src/memory/memory-base.ts';
import { Msg } from '../src/message/msg.ts';
import type { ModelRequest } from '../src/model/chat-model-base.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { EstimateTokenCounter } from '../src/token/estimate-token-counter.ts';

const FILLER = ' and so on'.repeat(60);
/** Bob, another agent, vouches for the bridge; Friday, the agent itself, doubts it. */
const talk = (): Msg[] => [
  Msg.assistant(`I, Bob, have checked the bridge myself.${FILLER}`, { name: 'Bob' }),
  Msg.assistant(`I doubt that it holds.${FILLER}`, { name: 'Friday' }),
  Msg.assistant(`I will pay for it.${FILLER}`, { name: 'Bob' }),
  Msg.assistant(`Noted.${FILLER}`, { name: 'Friday' }),
];

const SUMMARY = {
  task_overview: 'A bridge.',
  current_state: '',
  important_discoveries: '',
  next_steps: '',
  context_to_preserve: 'Bob pays.',
};
const structured = (input: ScriptedTurn['toolCalls']): ScriptedTurn => ({ toolCalls: input });

/** The prompt as the provider gets it. */
async function promptOf({
  formatter = new ChatFormatter(),
  messages,
  agentName,
}: ModelRequest): Promise<readonly PromptItem[]> {
  return (await formatter.format(messages, { agentName })).items;
}

const textsBy = (role: PromptItem['role'], items: readonly PromptItem[]): string =>
  JSON.stringify(items.filter((item) => item.role === role));

async function agentWith(
  memory: MemoryBase,
  model: ScriptedModel,
  options: Partial<ConstructorParameters<typeof ReActAgent>[0]> = {},
): Promise<ReActAgent> {
  await memory.add(talk());
  return new ReActAgent({ name: 'Friday', model, memory, console: false, ...options });
}

/** Bob's words are in what others said, with his name; the agent's own are its own. */
function expectSpeakers(items: readonly PromptItem[]): void {
  expect(textsBy('user', items)).toContain('Bob: I, Bob, have checked the bridge');
  expect(textsBy('user', items)).toContain('Bob: I will pay');
  expect(textsBy('assistant', items)).toContain('I doubt that it holds');
  expect(textsBy('assistant', items)).not.toContain('Bob');
  expect(textsBy('assistant', items)).not.toContain('I will pay');
}

describe.each<[string, FormatterBase]>([
  ['a formatter for several agents', new MultiAgentFormatter()],
  [
    'the same, truncated',
    new TruncatedFormatter({
      formatter: new MultiAgentFormatter(),
      tokenCounter: new EstimateTokenCounter('scripted'),
      maxTokens: 300,
    }),
  ],
])('%s', (_, formatter) => {
  test('the compressor: another agent is not summed up as the agent itself, and nothing is left out', async () => {
    const model = new ScriptedModel([
      structured([{ name: 'generate_response', input: SUMMARY }]),
      'It is fine.',
    ]);
    const compression = { triggerThreshold: 300, keepRecent: 1 };
    const memory = new InMemoryMemory();
    const agent = await agentWith(memory, model, { formatter, compression });
    await agent.call('And now?');
    const [request] = model.requests;
    expect(request?.agentName).toBe('Friday');
    expectSpeakers(await promptOf(request as ModelRequest));
    expect((await memory.getMemory({ mark: COMPRESSED_MARK, prependSummary: false })).length).toBe(4);
    model.assertUsedUp();
  });

  test('AutoContextMemory: the text to summarize says whose words it has, and who the agent is', async () => {
    const model = new ScriptedModel([
      {
        when: ({ tools = [] }) => tools.length === 0,
        text: 'Bob checked the bridge and pays. I have doubts.',
      },
      'It is fine.',
    ]);
    const memory = new AutoContextMemory({ maxToken: 1500, largePayloadThreshold: 5000 });
    const agent = await agentWith(memory, model, { formatter });
    await agent.call('And now?');
    const [request, answer] = model.requests;
    expect([request?.agentName, request?.formatter]).toEqual([
      'Friday',
      formatter instanceof TruncatedFormatter ? formatter.untruncated : formatter,
    ]);
    const text = request?.messages[1]?.text ?? '';
    expect(text).toContain('<message role="user" name="Bob">\nI, Bob, have checked the bridge');
    expect(text).toContain('<message role="assistant" name="Friday">\nI doubt that it holds.');
    expect(textsBy('user', await promptOf(request as ModelRequest))).toContain('your name is \\"Friday\\"');
    const shown = await promptOf({ ...(answer as ModelRequest), formatter: request?.formatter });
    expect(textsBy('assistant', shown), 'the summary is told by the agent').toContain(
      'Bob checked the bridge',
    );
    expect(memory.getCompressionEvents().map(({ eventType }) => eventType)).toEqual([
      'PREVIOUS_ROUND_CONVERSATION_SUMMARY',
    ]);
  });

  test('the query rewrite', async () => {
    const rewritten = { rewritten_query: 'Does the bridge hold that Bob checked?' };
    const model = new ScriptedModel([
      structured([{ name: 'generate_response', input: rewritten }]),
      'It is fine.',
    ]);
    const queries: string[] = [];
    const knowledge = {
      retrieve: async (query: string) => {
        queries.push(query);
        return [];
      },
    };
    const agent = await agentWith(new InMemoryMemory(), model, { formatter, knowledge });
    await agent.call('Does it hold?');
    const [request] = model.requests;
    expect([request?.agentName, request?.formatter, queries]).toEqual([
      'Friday',
      formatter,
      ['Does the bridge hold that Bob checked?'],
    ]);
    if (formatter instanceof MultiAgentFormatter) expectSpeakers(await promptOf(request as ModelRequest));
    else expect(textsBy('assistant', await promptOf(request as ModelRequest))).not.toContain('Bob');
  });
});

test('a formatter of the option compression comes before that of the agent', async () => {
  const own = new ChatFormatter();
  const model = new ScriptedModel([
    structured([{ name: 'generate_response', input: SUMMARY }]),
    'It is fine.',
  ]);
  const compression = { triggerThreshold: 300, keepRecent: 1, formatter: own };
  const agent = await agentWith(new InMemoryMemory(), model, {
    formatter: new MultiAgentFormatter(),
    compression,
  });
  await agent.call('And now?');
  expect(model.requests[0]?.formatter).toBe(own);
});
