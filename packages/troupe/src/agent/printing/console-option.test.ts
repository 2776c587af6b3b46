import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TroupeError } from '../../errors.ts';
import { Msg } from '../../message/msg.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { ProgrammaticUserInput } from '../../user/user-input.ts';
import { UserAgent } from '../../user/user-agent.ts';
import { AgentBase, type AgentOptions } from '../agent-base.ts';
import { ConsoleView } from './console-view.ts';

class Speaker extends AgentBase {
  override async reply(): Promise<Msg> {
    const msg = Msg.assistant('Hello.', { name: this.name });
    await this.print(msg);
    return msg;
  }
}

const kinds: Readonly<Record<string, (options: AgentOptions) => AgentBase>> = {
  'a class of your own': (options) => new Speaker(options),
  ReActAgent: (options) => new ReActAgent({ ...options, model: new ScriptedModel(['Hello.']) }),
  UserAgent: (options) => new UserAgent({ ...options, input: new ProgrammaticUserInput(['Hello.']) }),
};

/** Text that an agent call writes to standard output, and to the view. */
async function written(make: (options: AgentOptions) => AgentBase, option: 'default' | 'view' | boolean) {
  const [stdout, viewed]: [string[], string[]] = [[], []];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => stdout.push(String(text)) > 0);
  const view = new ConsoleView((text) => viewed.push(text));
  const console = option === 'view' ? view : option === 'default' ? undefined : option;
  await make({ name: 'ann', console }).call('Hi.');
  spy.mockRestore();
  return [stdout.join(''), viewed.join('')];
}

beforeEach(() => void vi.stubEnv('FORCE_COLOR', '0'));
afterEach(() => vi.unstubAllEnvs());

test.each(Object.entries(kinds))('%s prints, is silent, or prints to a view', async (_, make) => {
  expect(await written(make, 'default')).toEqual(['ann: Hello.\n', '']);
  expect(await written(make, true)).toEqual(['ann: Hello.\n', '']);
  expect(await written(make, false)).toEqual(['', '']);
  expect(await written(make, 'view')).toEqual(['', 'ann: Hello.\n']);
});

test('the environment variable silences all of them', async () => {
  vi.stubEnv('TROUPE_DISABLE_CONSOLE_OUTPUT', 'true');
  for (const make of Object.values(kinds)) {
    for (const option of ['default', true, 'view'] as const)
      expect(await written(make, option)).toEqual(['', '']);
  }
});

test('setConsoleOutputEnabled changes the console later', async () => {
  let output = '';
  const agent = new Speaker({ name: 'ann', console: false });
  agent.setConsoleOutputEnabled(true, new ConsoleView((text) => (output += text)));
  await agent.call();
  agent.setConsoleOutputEnabled(false);
  await agent.call();
  expect(output).toBe('ann: Hello.\n');
});

test.each([null, 'no', 1, {}])('%j is refused', (console) => {
  expect(() => new Speaker({ name: 'ann', console: console as never })).toThrow(
    new TroupeError('invalid_config', 'console must be true, false or a ConsoleView.'),
  );
});
