import { describe, expect, test } from 'vitest';

import { withRunConfig } from '../config/run-config.ts';
import type { AgentEvent, EventType } from '../event/agent-event.ts';
import { Msg } from '../message/msg.ts';
import { interruptAtEvery } from '../testing/drivers.ts';
import { AgentBase, type CallOptions } from './agent-base.ts';
import { currentTurn } from './turn/current-turn.ts';
import type { Turn } from './turn/turn.ts';

type Reply = (agent: Speaker, turn: Turn) => Promise<string>;

class Speaker extends AgentBase {
  readonly #reply: Reply;

  constructor(reply: Reply = async () => 'Hello!', name = 'speaker') {
    super({ name, console: false });
    this.#reply = reply;
  }

  async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const answer = Msg.assistant(await this.#reply(this, turn), { name: this.name });
    await this.print(answer);
    return answer;
  }
}

const ALL: readonly EventType[] = [
  'reply_start',
  'block_start',
  'text_delta',
  'block_end',
  'reply_end',
  'run_end',
];

async function eventsOf(agent: AgentBase, options: CallOptions = {}): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('hi', options)) events.push(event);
  return events;
}

describe('a listener', () => {
  test('gets the events of its type, of call() and of stream(), as the stream has them', async () => {
    const agent = new Speaker();
    const heard: AgentEvent[] = [];
    agent.on('text_delta', (event) => void heard.push(event));
    await agent.call('hi');
    expect(heard).toMatchObject([{ type: 'text_delta', text: 'Hello!', agentPath: ['speaker'] }]);
    const streamed = await eventsOf(agent);
    expect(heard.slice(1)).toEqual(streamed.filter(({ type }) => type === 'text_delta'));
  });

  test('for an unknown type is refused, with the types; custom events have one', async () => {
    const agent = new Speaker(async (_agent, turn) => {
      await turn.emit({ type: 'custom', name: 'progress', data: 3 });
      return 'Hello!';
    });
    expect(() => agent.on('textdelta' as never, () => {})).toThrow(
      /^No event has the type "textdelta"\. An event of your own has the type 'custom', and a name\. The types are: .*text_delta, /,
    );
    const heard: AgentEvent[] = [];
    agent.on('custom', (event) => void heard.push(event));
    await agent.call('hi');
    expect(heard).toMatchObject([{ type: 'custom', name: 'progress', data: 3 }]);
  });

  test("for '*' gets all events, in their order", async () => {
    const agent = new Speaker();
    const heard: AgentEvent[] = [];
    agent.on('*', (event) => void heard.push(event));
    await agent.call('hi');
    expect(heard.map(({ type }) => type)).toEqual(ALL);
    expect(heard.map(({ seq }) => seq)).toEqual(ALL.map((_, seq) => seq));
    const streamed = await eventsOf(agent);
    expect(heard.slice(ALL.length)).toEqual(streamed);
  });

  test('is removed by the returned function, and can be added while a run goes on', async () => {
    const heard: string[] = [];
    const agent = new Speaker(async () => {
      removeFirst();
      removeFirst();
      agent.on('run_end', () => void heard.push('late'));
      return 'Hello!';
    });
    const first = (): void => void heard.push('first');
    const removeFirst = agent.on('run_end', first);
    agent.on('run_end', first);
    await agent.call('hi');
    expect(heard).toEqual(['first', 'late']); // the same function was added twice and removed once
  });

  test.each([
    ['throws', (): never => fail()],
    ['rejects', async (): Promise<never> => fail()],
  ])('that %s is logged, and the run and other listeners go on', async (_, listener) => {
    const warnings: string[] = [];
    const agent = new Speaker();
    let others = 0;
    agent.on('reply_start', listener);
    agent.on('reply_start', () => void others++);
    const logger = { log: (_level: string, text: string) => void warnings.push(text) };
    await withRunConfig({ logging: logger }, async () => {
      expect((await agent.call('hi')).text).toBe('Hello!');
    });
    expect(others).toBe(1);
    expect(warnings).toEqual(["A listener of speaker for 'reply_start' failed: broken"]);
  });

  test('that never settles holds up nothing', async () => {
    const agent = new Speaker();
    let calls = 0;
    agent.on('*', () => {
      calls++;
      return new Promise<never>(() => {});
    });
    expect((await agent.call('hi')).text).toBe('Hello!');
    expect(calls).toBe(ALL.length);
  });

  test('is no part of the run: agent calls in it are runs of their own', async () => {
    const inner = new Speaker(async () => 'Noted.', 'inner');
    const outer = new Speaker();
    const calls: Promise<Msg>[] = [];
    const turns: (Turn | undefined)[] = [];
    const paths: (readonly string[])[] = [];
    inner.on('run_end', ({ agentPath }) => void paths.push(agentPath));
    outer.on('reply_start', () => {
      turns.push(currentTurn());
      calls.push(inner.call('note it'));
    });
    const nested: AgentEvent[] = [];
    for await (const event of outer.stream('hi', { nested: true })) nested.push(event);
    await Promise.all(calls);
    expect(turns).toEqual([undefined]);
    expect(paths).toEqual([['inner']]);
    expect(nested.map(({ type }) => type)).toEqual(ALL);
  });

  test('hears agents that are called inside only if it asks for them', async () => {
    const inner = new Speaker(async () => 'Sure.', 'inner');
    const outer = new Speaker(async () => (await inner.call('now')).text, 'outer');
    const heard: string[] = [];
    const note =
      (by: string) =>
      ({ agentPath, type }: AgentEvent) =>
        void heard.push(`${by}: ${agentPath.join('/')} ${type}`);
    outer.on('reply_start', note('own'));
    outer.on('reply_start', note('all'), { nested: true });
    outer.on('text_delta', note('all'), { nested: true });
    inner.on('reply_start', note('inner'));
    await outer.call('hi');
    expect(heard).toEqual([
      'own: outer reply_start',
      'all: outer reply_start',
      'inner: outer/inner reply_start',
      'all: outer/inner reply_start',
      'all: outer/inner text_delta',
      'all: outer text_delta',
    ]);
  });

  test('hears one run_end, and nothing after it, wherever the run is interrupted', async () => {
    const scenario = () => {
      const agent = new Speaker(async (self, turn) => {
        await self.print(Msg.assistant('Let me think.', { name: self.name }));
        await turn.step({ kind: 'other', name: 'wait' }, async () => undefined);
        return 'Hello!';
      });
      const heard: EventType[] = [];
      agent.on('*', ({ type }) => void heard.push(type));
      return {
        agent,
        input: 'hi',
        check: () => {
          expect(heard.filter((type) => type === 'run_end')).toHaveLength(1);
          expect(heard.at(-1)).toBe('run_end');
          expect(heard[0]).toBe('reply_start');
        },
      };
    };
    expect((await interruptAtEvery(scenario)).points).toBeGreaterThan(10);
  });

  test('of another type costs no comparison of printed messages', async () => {
    let reads = 0;
    class Watched extends Msg {
      override getContentBlocks(): never[] {
        reads++;
        return [];
      }
    }
    const watched = new Watched({ name: 'x', role: 'assistant', content: 'Hello!' });
    const printing = new Speaker(async (self) => {
      await self.print(watched);
      return 'Done.';
    });
    printing.on('run_end', () => {});
    await printing.call('hi');
    expect(reads).toBe(0);
    printing.on('block_end', () => {});
    await printing.call('hi');
    expect(reads).toBeGreaterThan(0);
  });
});

function fail(): never {
  throw new Error('broken');
}
