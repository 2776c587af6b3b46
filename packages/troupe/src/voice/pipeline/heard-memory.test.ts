import { expect, it } from 'vitest';

import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { Msg } from '../../message/msg.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { keepHeard } from './heard-memory.ts';

/** A memory whose operations wait for `hold`, and whose next `add` may fail. */
class RemoteMemory extends InMemoryMemory {
  hold: Promise<void> | undefined;
  error: Error | undefined;
  override async add(...args: Parameters<InMemoryMemory['add']>): Promise<void> {
    await this.hold;
    const { error } = this;
    this.error = undefined;
    if (error !== undefined) throw error;
    return super.add(...args);
  }
  override async delete(ids: readonly string[]): Promise<number> {
    await this.hold;
    return super.delete(ids);
  }
  async lines(): Promise<string[]> {
    return (await this.getMemory()).map(({ name, text }) => `${name}: ${text}`);
  }
}

const LONG = 'One two three four.';

/** An agent that has said `LONG`. */
async function counted(answers: ConstructorParameters<typeof ScriptedModel>[0] = [LONG]) {
  const memory = new RemoteMemory();
  const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel(answers), memory, console: false });
  const { id } = await agent.call('Count.');
  return { memory, agent, heard: new Map([[id, 'One two']]) };
}

it('cuts the last answer, and keeps what came later in its order', async () => {
  const { memory, agent, heard } = await counted();
  await agent.observe(Msg.user('And?'));
  await keepHeard(agent, heard, false);
  expect(await memory.lines()).toEqual(['user: Count.', 'Friday: One two', 'user: And?']);
});

it('puts all messages back if the store fails to add the cut ones', async () => {
  const { memory, agent, heard } = await counted();
  await agent.observe(Msg.user('And?'));
  memory.error = new Error('the store is full');
  await expect(keepHeard(agent, heard, false)).rejects.toThrow('the store is full');
  expect(await memory.lines()).toEqual(['user: Count.', `Friday: ${LONG}`, 'user: And?']);
});

it('keeps its place when an agent call begins before the messages are cut', async () => {
  const { memory, agent, heard } = await counted([LONG, 'Yes.']);
  const { promise, resolve } = Promise.withResolvers<void>();
  memory.hold = promise;
  const cut = keepHeard(agent, heard, false);
  for (let i = 0; i < 50; i++) await undefined; // the messages are read, and their deletion has begun
  const answer = agent.call('And?');
  for (let i = 0; i < 50; i++) await undefined;
  resolve();
  await Promise.all([cut, answer]);
  expect(await memory.lines()).toEqual(['user: Count.', 'Friday: One two', 'user: And?', 'Friday: Yes.']);
});

it('cuts a message that an interrupted agent call stores late', async () => {
  const { memory, agent } = await counted([LONG, { text: 'Five six seven.', stall: true }]);
  const { promise: started, resolve: start } = Promise.withResolvers<string>();
  agent.on('text_delta', ({ msgId }) => start(msgId));
  const call = agent.call('And?');
  const msgId = await started;
  const { promise, resolve } = Promise.withResolvers<void>();
  memory.hold = promise;
  await agent.interrupt();
  await call; // ends before the slow memory has its message
  const cut = keepHeard(agent, new Map([[msgId, 'Five']]), true);
  for (let i = 0; i < 50; i++) await undefined;
  resolve();
  await cut;
  expect(await memory.lines()).toEqual(['user: Count.', `Friday: ${LONG}`, 'user: And?', 'Friday: Five']);
});
