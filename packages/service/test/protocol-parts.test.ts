import { HttpAgent, type Interrupt } from '@ag-ui/client';
import { HttpAgent as OldHttpAgent } from 'ag-ui-client-0';
import OpenAI from 'openai';
import { externalTool, PlanNotebook, ReActAgent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { createService, type Service } from '../src/index.ts';

/** Makes a plan, or has a browser read the place, by what it is told. */
function agent(): ReActAgent {
  const sees =
    (text: string) =>
    ({ messages }: { readonly messages: unknown }): boolean =>
      JSON.stringify(messages).includes(text);
  const subtask = { name: 'Pack', description: 'Pack a bag.', expected_outcome: 'A bag.' };
  return new ReActAgent({
    name: 'assistant',
    planNotebook: new PlanNotebook(),
    model: new ScriptedModel([
      { when: sees('Lisbon'), text: 'You are in Lisbon.' },
      { when: sees('Where'), toolCalls: [{ id: 'place_1', name: 'read_place', input: {} }] },
      { when: sees('Trip'), text: 'Planned.' },
      {
        when: () => true,
        toolCalls: [
          {
            id: 'plan_1',
            name: 'create_plan',
            input: { name: 'Trip', description: 'A trip.', expected_outcome: 'A trip.', subtasks: [subtask] },
          },
        ],
      },
    ]),
    tools: [
      externalTool({
        name: 'read_place',
        description: 'Reads the place of the user.',
        schema: { type: 'object', properties: {} },
      }),
    ],
  });
}

async function serve(): Promise<AsyncDisposable & { url: string; service: Service }> {
  const service = await createService({ agents: { assistant: agent }, shutdownMs: 0 });
  const url = await service.listen({ port: 0 });
  return { url, service, [Symbol.asyncDispose]: () => service.close() };
}

test.each([
  ['1.0', HttpAgent],
  ['0.0', OldHttpAgent],
] as const)(
  'the client of AG-UI %s has the plan as its state, and runs a tool call itself',
  async (_version, Client) => {
    await using serving = await serve();
    const client = new Client({ url: `${serving.url}/ag-ui/assistant`, threadId: 't1' });
    client.addMessage({ id: 'u1', role: 'user', content: 'Make a plan.' });
    await client.runAgent();
    expect(client.state).toMatchObject({ plan: { name: 'Trip', subtasks: [{ name: 'Pack' }] } });

    client.addMessage({ id: 'u2', role: 'user', content: 'Where am I?' });
    const interrupts: Interrupt[] = [];
    await client.runAgent(
      {},
      {
        onRunFinishedEvent: ({ event }) => {
          if (event.outcome?.type === 'interrupt')
            interrupts.push(...(event.outcome.interrupts as Interrupt[]));
        },
      },
    );
    expect(interrupts).toMatchObject([{ reason: 'tool_result', toolCallId: 'place_1' }]);
    const interruptId = interrupts[0]?.id ?? '';
    const last = await client.runAgent({
      resume: [{ interruptId, status: 'resolved' as const, payload: { output: 'Lisbon' } }],
    });
    expect(last.newMessages.at(-1)).toMatchObject({ role: 'assistant', content: 'You are in Lisbon.' });
  },
);

test('the client of OpenAI runs a function of its own as the tool call of a response', async () => {
  await using serving = await serve();
  const client = new OpenAI({ baseURL: `${serving.url}/v1`, apiKey: 'none' });
  const asked = await client.responses.stream({ model: 'assistant', input: 'Where am I?' }).finalResponse();
  const call = asked.output.find(({ type }) => type === 'function_call');
  expect(call).toMatchObject({ name: 'read_place', arguments: '{}', call_id: 'place_1' });
  const done = await client.responses.create({
    model: 'assistant',
    previous_response_id: asked.id,
    input: [{ type: 'function_call_output', call_id: 'place_1', output: 'Lisbon' }],
  });
  expect(done.output_text).toBe('You are in Lisbon.');
});
