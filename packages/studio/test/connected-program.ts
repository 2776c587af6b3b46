// A program of its own process: connects to a Studio by `init` and does what its first argument says. Run by connected-program.test.ts.

import { agentTool, init, PermissionRules, ReActAgent, tool, UserAgent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

const [what = '', studioUrl = '', studioToken = ''] = process.argv.slice(2);
init({ project: 'tests', name: what, runId: `run-${what}`, studioUrl, studioToken, logging: 'silent' });
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Keeps the process running until it is killed. */
const stay = (): Promise<never> => new Promise(() => void setInterval(() => {}, 1000));

switch (what) {
  case 'ends': {
    const agent = new ReActAgent({ name: 'Ann', model: new ScriptedModel(['Done.']), console: false });
    say((await agent.call('Work!')).text);
    break;
  }
  case 'hangs': {
    const staying = stay(); // a stalled model of a test holds no connection that would keep the process running
    const agent = new ReActAgent({
      name: 'Ann',
      model: new ScriptedModel([{ text: 'Once', stall: true }, 'Good bye.']),
      console: false,
    });
    say((await agent.call('A story!')).text);
    await staying;
    break;
  }
  case 'asks': {
    const user = new UserAgent({ name: 'ann', console: false });
    const answer = await user.call(undefined, { structuredModel: z.object({ age: z.number().int() }) });
    say(`${answer.text} ${JSON.stringify(answer.metadata)}`);
    break;
  }
  case 'nested': {
    const mail = tool({
      name: 'send_mail',
      description: 'Sends a mail.',
      schema: z.object({ to: z.string() }),
      execute: ({ to }) => `sent to ${to}`,
    });
    const inner = new ReActAgent({
      name: 'Finance',
      model: new ScriptedModel([
        { toolCalls: [{ id: 'i1', name: 'send_mail', input: { to: 'bob' } }] },
        'Finance is done.',
      ]),
      tools: [mail],
      permissionPolicy: new PermissionRules({ mode: 'default' }),
      console: false,
    });
    const outer = new ReActAgent({
      name: 'Lead',
      model: new ScriptedModel([
        { toolCalls: [{ id: 'o1', name: 'finance', input: { query: 'Write to Bob.' } }] },
        'All done.',
      ]),
      tools: [agentTool(inner, { name: 'finance', description: 'Money.' })],
      console: false,
    });
    await outer.call('Go!');
    await stay();
    break;
  }
  default:
    throw new Error(`There is no ${what}.`);
}
