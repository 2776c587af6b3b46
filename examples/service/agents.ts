// The agents of the demo service: `npx troupe serve examples/service/agents.ts` serves the same.

import { ReActAgent, tool } from 'troupe';

import { chooseModel } from '../chat/choose-model.ts';

const { model } = await chooseModel(process.env, 10);

const getTime = tool({
  name: 'get_time',
  description: 'Tells the time.',
  readOnly: true,
  execute: () => new Date().toISOString(),
});

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  sideEffect: true,
  schema: {
    type: 'object',
    properties: { to: { type: 'string' }, text: { type: 'string' } },
    required: ['to', 'text'],
  },
  execute: () => 'The demo sends no mail, but it was allowed to.',
});

/** One agent for each run; the service loads the session into it. */
export function assistant(): ReActAgent {
  return new ReActAgent({
    name: 'assistant',
    model,
    tools: [getTime, sendMail],
    permissionPolicy: {
      decide: ({ call }) => ({ behavior: call.name === 'send_mail' ? 'ask' : 'allow' }),
    },
  });
}
