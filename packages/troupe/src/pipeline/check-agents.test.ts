import { expect, test } from 'vitest';

import { AgentBase } from '../agent/agent-base.ts';
import { TroupeError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import { ChatRoom } from './chat-room.ts';
import { FanoutPipeline, fanoutPipeline } from './fanout-pipeline.ts';
import { MsgHub } from './msg-hub.ts';
import { SequentialPipeline, sequentialPipeline } from './sequential-pipeline.ts';

class Echo extends AgentBase {
  async reply(): Promise<Msg> {
    return Msg.assistant('Hello.', { name: this.name });
  }
}

const users: Readonly<Record<string, (agents: never) => unknown>> = {
  sequentialPipeline: (agents) => sequentialPipeline(agents, 'Hi.'),
  fanoutPipeline: (agents) => fanoutPipeline(agents, 'Hi.'),
  'new SequentialPipeline': (agents) => new SequentialPipeline(agents),
  'new FanoutPipeline': (agents) => new FanoutPipeline(agents),
  'MsgHub.open': (participants) => MsgHub.open({ participants }),
  'new ChatRoom': (agents) => new ChatRoom(agents),
};

test.each(Object.entries(users))('%s refuses what is no list of agents, with advice', async (_, use) => {
  const echo = new Echo({ name: 'echo', console: false });
  const problem = async (agents: unknown): Promise<unknown> => {
    try {
      return await use(agents as never);
    } catch (error) {
      return TroupeError.isInstance(error)
        ? `${error.code}: ${error.message.replace(/^.* needs/, 'needs')}`
        : error;
    }
  };
  expect([await problem(echo), await problem(undefined), await problem([echo, {}])]).toEqual([
    'invalid_config: needs a list of agents, such as [writer, editor].',
    'invalid_config: needs a list of agents, such as [writer, editor].',
    'invalid_config: needs a list of agents: number 1 is none.',
  ]);
});
