// A program with an agent on our server. It reports its address to its parent process, and saves
// conversations in the given folder.

import { serveA2A } from '../../src/a2a/index.ts';
import { ReActAgent, tool, Toolkit, type ModelRequest } from '../../src/index.ts';
import { JsonSession } from '../../src/stores/json/index.ts';
import { ScriptedModel } from '../../src/testing/scripted-model.ts';

const [, , folder] = process.argv;
const toolkit = new Toolkit();
toolkit.registerToolFunction(tool({ name: 'pay', execute: () => 'paid' }));
const permissionPolicy = { decide: () => ({ behavior: 'ask' }) as const };

const hears = (word: string) => (request: ModelRequest) => {
  const last = request.messages.findLast(({ role }) => role === 'user');
  return last?.text === word;
};
const isPaid = ({ messages }: ModelRequest): boolean =>
  messages.some((msg) => msg.hasContentBlocks('tool_result'));

const server = serveA2A(
  () => {
    const model = new ScriptedModel([
      { when: hears('Say hello'), text: 'Hello!' },
      { when: hears('Say it again'), text: 'Hello again, my friend!', chunkSize: 4 },
      { when: isPaid, text: 'It is paid.' },
      { when: hears('pay'), toolCalls: [{ name: 'pay', input: {} }] },
      { when: hears('hang'), text: 'Well', stall: true },
    ]);
    const agent = new ReActAgent({ name: 'own', sysPrompt: '', model, toolkit, permissionPolicy });
    agent.setConsoleOutputEnabled(false);
    return agent;
  },
  {
    card: { name: 'own', description: 'Our own.' },
    ...(folder !== undefined && { session: new JsonSession(folder) }),
  },
);
process.send?.({ url: await server.listen() });
process.on('disconnect', () => process.exit());
