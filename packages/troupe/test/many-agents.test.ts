// Memory of many agents with running calls.
import { expect, test } from 'vitest';

import { AgentBase } from '../src/agent/agent-base.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import { Msg } from '../src/message/msg.ts';

/** Waits for a gate before it answers. */
class Waiter extends AgentBase {
  readonly #gate: Promise<void>;

  constructor(gate: Promise<void>) {
    super({ name: 'waiter' });
    this.#gate = gate;
    this.setConsoleOutputEnabled(false);
  }

  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    await turn.step({ kind: 'other', name: 'wait' }, () => this.#gate);
    return Msg.assistant(msgs.map((msg) => msg.text).join(), { name: this.name });
  }
}

test(
  '10 000 agents with 10 000 concurrent calls take at most 150 kB each, and give it back',
  { timeout: 120_000 },
  async () => {
    const count = 10_000;
    const warnings: string[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning.name);
    process.on('warning', onWarning);

    const shared = new AbortController();
    async function round(): Promise<number> {
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      globalThis.gc?.();
      const before = process.memoryUsage().heapUsed;
      const agents = Array.from({ length: count }, () => new Waiter(gate));
      const calls = agents.map((agent, i) => agent.call(`question ${i}`, { signal: shared.signal }));
      globalThis.gc?.();
      const live = process.memoryUsage().heapUsed;
      expect(agents.every((agent) => agent.isRunning)).toBe(true);
      open();
      const answers = await Promise.all(calls);
      expect(answers.filter((msg, i) => msg.text === `question ${i}`).length).toBe(count);
      return (live - before) / count;
    }

    await round(); // warm up
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    const perCall = await round();
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.gc?.();
    const after = process.memoryUsage().heapUsed;
    process.off('warning', onWarning);

    expect(globalThis.gc, 'run with --expose-gc').toBeTypeOf('function');
    expect(perCall).toBeLessThan(150_000);
    expect(after).toBeLessThan(before * 1.1);
    expect(warnings).toEqual([]);
  },
);
