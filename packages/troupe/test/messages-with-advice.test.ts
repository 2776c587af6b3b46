// Warnings and errors of a program, each with advice.
import {
  AgentBase,
  InMemorySession,
  Msg,
  ReActAgent,
  SessionManager,
  withRunConfig,
  type AgentEvent,
  type Turn,
} from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { describe, expect, test } from 'vitest';

/** Runs a program and returns its log lines. */
async function logOf(program: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  await withRunConfig({ logging: { log: (_level, text) => void lines.push(text) } }, program);
  return lines;
}

class Worker extends AgentBase {
  readonly #reply: (turn: Turn, agent: Worker) => Promise<string>;

  constructor(reply: (turn: Turn, agent: Worker) => Promise<string>) {
    super({ name: 'worker', console: false });
    this.#reply = reply;
  }

  override async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    return Msg.assistant(await this.#reply(turn, this), { name: this.name });
  }
}

const hang = (): Promise<never> => new Promise(() => {});

describe('the log says what to do', () => {
  test.each([
    [
      1,
      'worker left 1 message of steer() or followUp() unanswered, because the call ended first. Send it again by call().',
    ],
    [
      2,
      'worker left 2 messages of steer() or followUp() unanswered, because the call ended first. Send them again by call().',
    ],
  ])('when a failed call leaves %i messages unanswered', async (count, expected) => {
    const agent = new Worker(async (_turn, self) => {
      for (let i = 0; i < count; i++) self.followUp('And then?');
      throw new Error('Oh.');
    });
    const lines = await logOf(() => expect(agent.call('hi')).rejects.toThrow('Oh.'));
    expect(lines).toEqual([expected]);
  });

  test.each(['reply', 'postReply', 'postCall'] as const)('when a %s ignores an interrupt', async (where) => {
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    const stuck = (): Promise<never> => {
      resolve();
      return hang();
    };
    const hooked = new ReActAgent({ name: 'worker', model: new ScriptedModel(['Hello.']), console: false });
    if (where !== 'reply') hooked.registerInstanceHook(where, 'hangs', stuck);
    const agent = where === 'reply' ? new Worker(stuck) : hooked;
    const lines = await logOf(async () => {
      const call = agent.call('hi');
      await reached;
      await agent.interrupt();
      await call;
    });
    expect(lines).toEqual([
      'worker ignored an interrupt in its reply or in a hook around it, which was left behind without effect. ' +
        'Pass the signal to what waits, or wait by turn.step().',
    ]);
  });

  test('when handleInterrupt ignores a second interrupt', async () => {
    class Stubborn extends Worker {
      override handleInterrupt(): Promise<Msg> {
        return hang();
      }
    }
    const agent = new Stubborn((turn) => turn.step({ kind: 'other', name: 'nap' }, hang));
    const lines = await logOf(async () => {
      const call = agent.call('hi');
      const first = agent.interrupt();
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      expect(await agent.interrupt(), 'the second one finds the call interrupted').toBe(false);
      expect([await first, (await call).endReason]).toEqual([true, 'interrupted']);
    });
    expect(lines).toEqual([
      'worker ignored an interrupt in its handleInterrupt, which was left behind without effect. ' +
        'Pass interrupt.signal to what waits.',
    ]);
  });

  test('when an automatic save meets the save of another program, in the log, the event and onError', async () => {
    const store = new InMemorySession();
    const open = () => {
      const agent = new ReActAgent({
        name: 'Friday',
        model: new ScriptedModel(['One.', 'Two.']),
        console: false,
      });
      const manager = SessionManager.forSessionId('chat').withSession(store).addComponent(agent);
      return { agent, manager };
    };
    const [first, second] = [open(), open()];
    await first.manager.saveSession();
    await second.manager.loadIfExists();
    await second.manager.saveSession();
    const failures: unknown[] = [];
    const events: AgentEvent[] = [];
    first.manager.autoSave({ onError: (error) => void failures.push(error) });
    first.agent.on('error', (event) => void events.push(event));
    const lines = await logOf(() => first.agent.call('Hi.'));
    const advice =
      'Load the session (loadIfExists() at the start of a program) and repeat the change, or save once with { overwrite: true }, such as saveSession({ overwrite: true }). ' +
      'Until then every save fails, also an automatic one.';
    expect(lines).toEqual([expect.stringContaining(advice)]);
    expect(events).toMatchObject([{ error: { message: expect.stringContaining(advice) as string } }]);
    expect(failures).toMatchObject([{ message: expect.stringContaining(advice) as string }]);
    await logOf(() => first.manager.saveSession({ overwrite: true }));
    expect(await logOf(() => first.agent.call('Again.'))).toEqual([]); // the advice works
  });

  test('when a session was saved under another name', async () => {
    const store = new InMemorySession();
    const agent = (): ReActAgent =>
      new ReActAgent({ name: 'Friday', model: new ScriptedModel([]), console: false });
    await SessionManager.forSessionId('chat')
      .withSession(store)
      .addComponent('friday', agent())
      .saveSession();
    const renamed = SessionManager.forSessionId('chat').withSession(store).addComponent('monday', agent());
    const expected =
      "Session 'chat' has none of the components 'monday', but 'friday'. " +
      "If one was renamed, give it its saved name: addComponent('friday', …).";
    expect(await logOf(() => renamed.loadIfExists())).toEqual([expected]);
    await expect(renamed.loadOrThrow()).rejects.toThrow(expected);
  });
});

test('an agent without a name is told how to name it', () => {
  expect(() => new ReActAgent({ model: new ScriptedModel([]) } as never)).toThrow(
    "An agent needs a name: new ReActAgent({ name: 'assistant', … }), or super({ name: 'assistant' }) in a class of your own.",
  );
});
