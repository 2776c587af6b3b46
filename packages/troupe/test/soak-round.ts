/** One round of a soak: what agents do all day, so that whatever is left behind adds up. Used by a test and, for hours, by `bench/scenarios.ts`. */
import { ChatModelBase, Msg, ReActAgent, tool, type ModelRequest } from 'troupe';
import type { ModelDelta } from 'troupe/provider';

/** A model that makes two tool calls, then answers in a few deltas. */
class SoakModel extends ChatModelBase {
  constructor() {
    super('soak');
  }

  async *stream({ messages }: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    const isAnswer = messages.at(-1)?.hasContentBlocks('tool_result') === true;
    for (let index = 0; !isAnswer && index < 2; index++) {
      yield { type: 'tool_use_start', index, name: 'look' };
      yield { type: 'tool_input', index, json: '{}' };
      yield { type: 'tool_use_end', index };
    }
    for (let i = 0; isAnswer && i < 20; i++) yield { type: 'text', text: 'word ' };
    yield { type: 'finish', reason: isAnswer ? 'stop' : 'tool_calls' };
  }
}

/** Agents for `soakRound`. */
export function soakAgents(count: number): readonly ReActAgent[] {
  const model = new SoakModel();
  const look = tool({
    name: 'look',
    async execute(_, { signal, emit }) {
      emit('Looking.');
      await new Promise((resolve) => setImmediate(resolve));
      return signal.aborted ? 'Stopped.' : 'Seen.';
    },
  });
  return Array.from(
    { length: count },
    (_, i) =>
      new ReActAgent({ name: `agent_${i}`, model, tools: [look], parallelToolCalls: true, console: false }),
  );
}

/**
 * Each agent is called, read as a stream to its end, left early, interrupted, aborted, and forgets it all; one more agent is made for a
 * single call. Returns the number of agent calls.
 */
export async function soakRound(agents: readonly ReActAgent[], program: AbortSignal): Promise<number> {
  const ways: readonly ((agent: ReActAgent) => Promise<unknown>)[] = [
    (agent) => agent.call('Go.', { signal: program }),
    async (agent) => {
      for await (const _ of agent.stream('Go.', { signal: program }));
    },
    async (agent) => {
      for await (const _ of agent.stream('Go.', { signal: program })) break;
    },
    async (agent) => {
      const call = agent.call('Go.', { signal: program });
      await new Promise((resolve) => setImmediate(resolve));
      await agent.interrupt('Stop.');
      await call;
    },
    async (agent) => {
      const stop = new AbortController();
      const call = agent.call('Go.', { signal: AbortSignal.any([stop.signal, program]) });
      stop.abort();
      await call.catch(() => {});
    },
    (agent) => agent.observe(Msg.user('By the way.')),
  ];
  for (const way of ways) await Promise.all(agents.map(way));
  await Promise.all(agents.map((agent) => agent.memory.clear()));
  for (const agent of soakAgents(1)) await agent.call('Go.', { signal: program });
  return (ways.length - 1) * agents.length + 1;
}
