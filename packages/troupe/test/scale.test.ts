/** Cost that must not grow with the length of a stream: counted steps and bytes, never seconds. */
import { expectLinear } from './counted-work.ts';
import { describe, expect, test } from 'vitest';

import { AgentBase } from '../src/agent/agent-base.ts';
import { ConsoleView } from '../src/agent/printing/console-view.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import type { EventBody } from '../src/event/agent-event.ts';
import { ConversationView } from '../src/event/conversation-view.ts';
import { MsgDraft } from '../src/message/msg-draft.ts';
import type { Msg } from '../src/message/msg.ts';

/** Says `count` words, one delta each. */
class Talker extends AgentBase {
  constructor(
    readonly count: number,
    readonly wordsPerThought = Infinity,
  ) {
    super({ name: 'talker' });
    this.setConsoleOutputEnabled(false);
  }

  override async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const draft = new MsgDraft(this.name);
    for (let i = 0; i < this.count; i++) {
      turn.signal.throwIfAborted();
      if (i > 0 && i % this.wordsPerThought === 0) draft.add({ type: 'thinking', thinking: 'Hm.' });
      draft.add({ type: 'text', text: 'word ' });
      await this.print(draft.snapshot(), false);
    }
    const msg = draft.finish();
    await this.print(msg, true);
    return msg;
  }
}

/** Deltas of the small run. The large run has four times as many. */
const SIZE = 5_000;

const ORIGIN = {
  runId: 'run',
  replyId: 'reply',
  agentPath: ['talker'],
  timestamp: '2026-01-31T09:30:00.000Z',
};

/** Adds events of one run to a view, each with the next number. */
function feeder(view: ConversationView): (body: EventBody) => void {
  let seq = 0;
  return (body) => view.add({ ...body, ...ORIGIN, id: `run-${seq}`, seq: seq++ });
}

/** A check without the cost of `expect`. */
function expectPartial({ messages }: ConversationView): void {
  if (messages[0]?.content[0]?.isPartial !== true) throw new Error('nothing grows');
}

describe('20 000 deltas cost four times as much as 5 000', () => {
  test('through stream(), with a consumer', async () => {
    await expectLinear(SIZE, async (deltas) => {
      let text = 0;
      for await (const event of new Talker(deltas).stream('go'))
        if (event.type === 'text_delta') text += event.text.length;
      expect(text).toBe(deltas * 5);
    });
  });

  test('through stream(), in a message of as many blocks', async () => {
    await expectLinear(SIZE, async (deltas) => {
      let blocks = 0;
      for await (const event of new Talker(deltas / 2, 1).stream('go'))
        if (event.type === 'block_end') blocks++;
      expect(blocks).toBe(deltas - 1);
    });
  });

  test('through stream(), with hooks on every print', async () => {
    await expectLinear(SIZE, async (deltas) => {
      const agent = new Talker(deltas);
      let hooks = 0;
      agent.registerInstanceHook('prePrint', 'count', () => void hooks++);
      agent.registerInstanceHook('postPrint', 'count', () => void hooks++);
      for await (const event of agent.stream('go')) expect(event.seq).toBeTypeOf('number');
      expect(hooks).toBe(2 * (deltas + 1));
    });
  });

  test('through print, to the console', async () => {
    await expectLinear(SIZE, async (deltas) => {
      const agent = new Talker(deltas);
      let written = 0;
      agent.setConsoleOutputEnabled(true, new ConsoleView((text) => (written += text.length)));
      await agent.call('go');
      expect(written).toBe('talker: '.length + deltas * 5 + '\n'.length);
    });
  });

  test('through print, to a terminal, where lines break between words', async () => {
    await expectLinear(SIZE, async (deltas) => {
      const agent = new Talker(deltas);
      let letters = 0;
      const write = (text: string): void => void (letters += text.replaceAll('\n', '').length);
      agent.setConsoleOutputEnabled(true, new ConsoleView({ write, columns: () => 80 }));
      await agent.call('go');
      expect(letters).toBeGreaterThan(deltas * 4);
    });
  });

  test('through print, to the message queue', async () => {
    await expectLinear(SIZE, async (deltas) => {
      const agent = new Talker(deltas);
      agent.setMsgQueueEnabled(true);
      const call = agent.call('go').finally(() => agent.msgQueue?.close());
      let printed = 0;
      for await (const { last } of agent.msgQueue ?? []) if (!last) printed++;
      await call;
      expect(printed).toBe(deltas);
    });
  });

  test.each(['text', 'tool_use'] as const)(
    'folded, and looked at after each delta: %s',
    async (blockType) => {
      await expectLinear(SIZE, async (deltas) => {
        const view = new ConversationView();
        const add = feeder(view);
        const at = { msgId: 'm', index: 0 };
        const call = blockType === 'tool_use' && { toolCallId: 'c', name: 'write' };
        add({ type: 'block_start', ...at, blockType, ...call });
        add({ type: 'tool_input_delta', ...at, json: '{"path": "a.txt", "content": "' });
        const piece = 'x'.repeat(8);
        for (let i = 0; i < deltas; i++) {
          if (call) add({ type: 'tool_input_delta', ...at, json: piece });
          else add({ type: 'text_delta', ...at, text: piece });
          expectPartial(view);
        }
        expect(JSON.stringify(view.messages).length).toBeGreaterThan(8 * deltas);
      });
    },
  );

  test('folded into as many messages', async () => {
    await expectLinear(SIZE, async (deltas) => {
      const view = new ConversationView();
      const add = feeder(view);
      for (let i = 0; i < deltas; i++) add({ type: 'text_delta', msgId: `${i}`, index: 0, text: 'word' });
      expect(view.messages).toHaveLength(deltas);
    });
  });
});

test('a consumer that reads slowly holds the agent back: never more than 64 events wait', async () => {
  const agent = new Talker(20_000);
  let said = 0;
  agent.registerInstanceHook('prePrint', 'count', () => void said++);
  let read = 0;
  let most = 0;
  for await (const event of agent.stream('go')) {
    if (event.type !== 'text_delta') continue;
    read++;
    for (let i = 0; i < 3; i++) await undefined;
    most = Math.max(most, said - read);
  }
  expect(read).toBe(20_000);
  expect(most).toBeLessThanOrEqual(66); // 64 in the queue, one on its way in and one in the hook
});
