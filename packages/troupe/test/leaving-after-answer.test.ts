// A reader that leaves a stream after the answer is stored: the agent call ends as promptly as by an interrupt, whatever still hangs.
import { expect, test } from 'vitest';

import {
  AgentBase,
  findHistoryFaults,
  LongTermMemoryBase,
  Msg,
  ReActAgent,
  withRunConfig,
  type ReActAgentOptions,
} from '../src/index.ts';
import { FakeClock, ScriptedModel } from '../src/testing/index.ts';
import { timeUntilSettled } from './time-until-settled.ts';

/** Hangs, and tells when it does. */
class Hanging {
  readonly #reached = Promise.withResolvers<void>();
  readonly reached: Promise<void> = this.#reached.promise;
  isOn = true;

  readonly run = (): Promise<void> => {
    this.#reached.resolve();
    return this.isOn ? new Promise(() => {}) : Promise.resolve();
  };
}

class Notes extends LongTermMemoryBase {
  readonly #hanging: Hanging;

  constructor(hanging: Hanging) {
    super();
    this.#hanging = hanging;
  }

  override async record(): Promise<void> {
    await this.#hanging.run();
  }

  override async retrieve(): Promise<string> {
    return '';
  }
}

class Listener extends AgentBase {
  readonly #hanging: Hanging;

  constructor(hanging: Hanging) {
    super({ name: 'listener', console: false });
    this.#hanging = hanging;
  }

  override async reply(): Promise<Msg> {
    return Msg.assistant('Yes.', { name: this.name });
  }

  override async observe(): Promise<void> {
    await this.#hanging.run();
  }
}

type Prepare = (make: (options?: Partial<ReActAgentOptions>) => ReActAgent, hanging: Hanging) => ReActAgent;

const HANGING: readonly [string, Prepare][] = [
  [
    'the record of a long-term memory',
    (make, hanging) =>
      make({
        longTermMemory: new Notes(hanging),
        longTermMemoryMode: 'static_control',
        enableRewriteQuery: false,
      }),
  ],
  [
    'an observer',
    (make, hanging) => {
      const agent = make({ observeTimeoutMs: 1000 });
      agent.resetSubscribers('hub', [new Listener(hanging)]);
      return agent;
    },
  ],
  [
    'a save',
    (make, hanging) => {
      const agent = make();
      agent.onOutcome(hanging.run);
      return agent;
    },
  ],
  [
    'a hook of the answer',
    (make, hanging) => {
      const agent = make();
      agent.registerInstanceHook('postCall', 'hang', hanging.run);
      return agent;
    },
  ],
  [
    'a hook after the print of the answer',
    (make, hanging) => {
      const agent = make();
      agent.registerInstanceHook('postPrint', 'hang', async (_, { last }) => {
        if (last) await hanging.run();
      });
      return agent;
    },
  ],
];

test.each(HANGING)('while %s hangs', async (_, prepare) => {
  using clock = new FakeClock().install();
  const hanging = new Hanging();
  const model = new ScriptedModel(['Hello.', 'Hello again.']);
  const agent = prepare(
    (options) => new ReActAgent({ name: 'Friday', model, console: false, ...options }),
    hanging,
  );
  await withRunConfig({ logging: { log: () => {} } }, async () => {
    const stream = agent.stream('Hi.');
    const reading = (async () => {
      for await (const { type } of stream) if (type === 'run_end') return type;
      return undefined;
    })();
    await hanging.reached;
    expect(agent.isRunning).toBe(true);
    expect(await timeUntilSettled(clock, stream.return())).toBeLessThan(50);
    await reading;
    expect(agent.isRunning).toBe(false);
    const history = await agent.memory.getMemory();
    expect([history.slice(0, 2).map(({ text }) => text), findHistoryFaults(history)]).toEqual([
      ['Hi.', 'Hello.'],
      [],
    ]);
    hanging.isOn = false;
    const next = agent.call('And now?');
    expect(await timeUntilSettled(clock, next)).toBeLessThan(1100); // the observer has not taken in the first answer
    expect((await next).text).toBe('Hello again.');
  });
});
