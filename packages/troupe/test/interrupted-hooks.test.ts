// Interrupts while a hook after a tool call is about to change the result.
import { expect, test } from 'vitest';

import { ReActAgent, tool } from '../src/index.ts';
import { ScriptedModel } from '../src/testing/index.ts';

/** Pays, interrupts some ticks later, and has a hook that never ends. Returns the result stored, and whether the payment was complete in time. */
async function payAndInterrupt(ticks: number): Promise<{ output: unknown; isComplete: boolean }> {
  const agent = new ReActAgent({
    name: 'ann',
    model: new ScriptedModel([{ toolCalls: [{ id: 'c1', name: 'pay', input: {} }] }, 'Done.']),
    tools: [tool({ name: 'pay', execute: () => 'paid' })],
    console: false,
  });
  let isComplete = false;
  let interrupted: Promise<boolean> | undefined;
  agent.toolkit.registerMiddleware(async (call, next) => {
    const result = await next(call);
    void (async () => {
      for (let tick = 0; tick < ticks; tick++) await undefined;
      interrupted = agent.interrupt();
    })();
    return result;
  });
  agent.registerInstanceHook('postActing', 'redact', (_agent, _args, { status }) => {
    isComplete = status === 'ok';
    return new Promise<never>(() => {});
  });
  await agent.call('Pay.');
  await interrupted;
  const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
  expect(results).toHaveLength(1);
  return { output: results[0]?.output, isComplete };
}

test('a finished tool call whose hook an interrupt cuts off says that it was made, whenever the interrupt comes', async () => {
  let complete = 0;
  for (let ticks = 0; ticks < 60; ticks++) {
    const { output, isComplete } = await payAndInterrupt(ticks);
    expect(output).not.toContain('paid');
    if (!isComplete) continue;
    complete++;
    expect(output).toContain('The tool call was made, but its result is withheld');
  }
  expect(complete).toBeGreaterThan(5);
});
