// Conversations saved in a session: the client's view after the server was stopped, killed, or full.

import { expect, test } from 'vitest';

import { serveA2A, type A2AServer, type A2AServerOptions } from '../../src/a2a/index.ts';
import {
  InMemorySession,
  ReActAgent,
  tool,
  Toolkit,
  type ModelRequest,
  type Session,
} from '../../src/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { remoteAgent, Speaker } from './a2a-agents.ts';
import { as, bearer, decides, rpc, says, type Rpc } from './rpc.ts';

const CARD = { name: 'bank', description: 'Pays.' };

/** Pays after an approval, and counts its messages. */
function bank(log: string[], hangs = false): ReActAgent {
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(
    tool({
      name: 'pay',
      sideEffect: true,
      async execute() {
        log.push('paid');
        if (hangs) await new Promise(() => {});
        return 'paid';
      },
    }),
  );
  const said = ({ messages }: ModelRequest): number => messages.filter(({ role }) => role === 'user').length;
  const isPaying = ({ messages }: ModelRequest): boolean => messages.at(-1)?.text === 'Pay';
  const model = new ScriptedModel([
    { when: isPaying, toolCalls: [{ name: 'pay', input: {} }] },
    ...[1, 2, 3].map((count) => ({
      when: (request: ModelRequest) => said(request) === count,
      text: `Heard ${count}.`,
    })),
  ]);
  const permissionPolicy = { decide: () => ({ behavior: 'ask' }) as const };
  const agent = new ReActAgent({ name: 'bank', sysPrompt: '', model, toolkit, permissionPolicy });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

function bankServer(
  session: Session | undefined,
  log: string[],
  options: Partial<A2AServerOptions> = {},
): A2AServer {
  return serveA2A(() => bank(log), { card: CARD, ...(session && { session }), ...options });
}

const textIn = (task: any): string => task.artifacts?.[0]?.parts?.[0]?.text;

test.each(['closed', 'killed'])(
  'a task that waits goes on exactly there after its server was %s',
  async (end) => {
    const log: string[] = [];
    const session = new InMemorySession();
    await using first = bankServer(session, log);
    const asked = (await rpc(first, 'SendMessage', says('Pay'))).body.result.task;
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    if (end === 'closed') await first.close();

    await using second = bankServer(session, log);
    expect((await rpc(second, 'GetTask', { id: asked.id })).body.result).toEqual(asked);
    const words = (await rpc(second, 'SendMessage', says('yes', { taskId: asked.id }))).body.result.task;
    expect([words.status.state, log]).toEqual(['TASK_STATE_INPUT_REQUIRED', []]);
    const done = (await rpc(second, 'SendMessage', decides(words, 'allow'))).body.result.task;
    expect([done.id, done.status.state, textIn(done), log]).toEqual([
      asked.id,
      'TASK_STATE_COMPLETED',
      'Heard 1.',
      ['paid'],
    ]);
    const again = await rpc(second, 'SendMessage', decides(words, 'allow'));
    expect([again.body.error.code, log]).toEqual([-32004, ['paid']]);
  },
);

test('finished tasks exist after a restart, and the conversation goes on', async () => {
  const session = new InMemorySession();
  const before = bankServer(session, []);
  const done = (await rpc(before, 'SendMessage', says('Hello'))).body.result.task;
  const { contextId } = done;
  await before.close();
  await using after = bankServer(session, []);
  expect((await rpc(after, 'ListTasks', { contextId, includeArtifacts: true })).body.result.tasks).toEqual([
    done,
  ]);
  expect((await rpc(after, 'GetTask', { id: done.id })).body.result).toEqual(done);
  const next = (await rpc(after, 'SendMessage', says('And again', { contextId }))).body.result.task;
  expect(textIn(next)).toBe('Heard 2.');
});

test('a task that was worked on when the server was killed has failed, and the next one is answered', async () => {
  const session = new InMemorySession();
  const speakers: Speaker[] = [];
  const serve = (): A2AServer =>
    serveA2A(
      () => {
        speakers.push(new Speaker());
        return speakers.at(-1) as Speaker;
      },
      { card: CARD, session },
    );
  await using killed = serve();
  const params = { ...says('Hi', { contextId: 'c' }), configuration: { returnImmediately: true } };
  const { id } = (await rpc(killed, 'SendMessage', params)).body.result.task;
  await speakers[0]?.started;
  await using server = serve();
  const { status } = (await rpc(server, 'GetTask', { id })).body.result;
  expect([status.state, status.message.parts[0].text]).toEqual([
    'TASK_STATE_FAILED',
    'The server was stopped while the agent worked on this.',
  ]);
  speakers[1]?.say('Here.');
  speakers[1]?.finish();
  expect(
    textIn((await rpc(server, 'SendMessage', says('Still there?', { contextId: 'c' }))).body.result.task),
  ).toBe('Here.');
});

test('a call that was being made when the server was killed is not made again', async () => {
  const log: string[] = [];
  const session = new InMemorySession();
  await using killed = serveA2A(() => bank(log, true), { card: CARD, session });
  const asked = (await rpc(killed, 'SendMessage', says('Pay'))).body.result.task;
  const params = { ...decides(asked, 'allow'), configuration: { returnImmediately: true } };
  await rpc(killed, 'SendMessage', params);
  while (log.length === 0) await new Promise(setImmediate);

  await using server = bankServer(session, log);
  const { id, contextId } = asked;
  expect((await rpc(server, 'GetTask', { id })).body.result.status.state).toBe('TASK_STATE_FAILED');
  const next = (await rpc(server, 'SendMessage', says('Well?', { contextId }))).body.result.task;
  expect([next.status.state, textIn(next), log]).toEqual(['TASK_STATE_COMPLETED', 'Heard 2.', ['paid']]);
});

test('a message that is sent again after a restart is not worked on again', async () => {
  const log: string[] = [];
  const session = new InMemorySession();
  await using killed = bankServer(session, log);
  const pay = says('Pay', { contextId: 'c' });
  const asked = (await rpc(killed, 'SendMessage', pay)).body.result.task;
  await using server = bankServer(session, log);
  expect((await rpc(server, 'SendMessage', pay)).body.result.task).toEqual(asked);
  const allow = decides(asked, 'allow');
  const done = (await rpc(server, 'SendMessage', allow)).body.result.task;
  expect(done.status.state).toBe('TASK_STATE_COMPLETED');
  await using third = bankServer(session, log);
  expect((await rpc(third, 'SendMessage', allow)).body.result.task).toEqual(done);
  expect(log).toEqual(['paid']);
});

test('saved tasks of one user do not exist for another user', async () => {
  const session = new InMemorySession();
  const options = { authenticate: bearer };
  const first = bankServer(session, [], options);
  const { id, contextId } = (await rpc(first, 'SendMessage', says('Pay'), as('ann'))).body.result.task;
  await first.close();
  let made = 0;
  await using second = serveA2A(
    () => {
      made++;
      return bank([]);
    },
    { card: CARD, session, ...options },
  );
  for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) {
    const foreign = await rpc(second, method, { id }, as('bob'));
    expect(foreign).toEqual(await rpc(second, method, { id: `${contextId}.never` }, as('bob')));
    expect(foreign.body.error.code).toBe(-32001);
  }
  expect((await rpc(second, 'ListTasks', { contextId }, as('bob'))).body.result.tasks).toEqual([]);
  expect(made).toBe(0); // guessed ids make no agents
  expect((await rpc(second, 'GetTask', { id }, as('ann'))).body.result.id).toBe(id);
  expect(made).toBe(1);
});

test('one agent for all is kept as well', async () => {
  const session = new InMemorySession();
  const before = serveA2A(bank([]), { card: CARD, session });
  const asked = (await rpc(before, 'SendMessage', says('Pay'))).body.result.task;
  await before.close();
  const log: string[] = [];
  await using after = serveA2A(bank(log), { card: CARD, session });
  const done = (await rpc(after, 'SendMessage', decides(asked, 'allow'))).body.result.task;
  expect([done.status.state, log]).toEqual(['TASK_STATE_COMPLETED', ['paid']]);
  const other = (await rpc(after, 'SendMessage', says('Hello', { contextId: 'other' }))).body.result.task;
  expect(textIn(other)).toBe('Heard 2.'); // a shared agent
});

test('a conversation that was closed for another is opened again as it was', async () => {
  const log: string[] = [];
  await using server = bankServer(new InMemorySession(), log, { maxContexts: 1 });
  const asked = (await rpc(server, 'SendMessage', says('Pay', { contextId: 'a b/../c' }))).body.result.task;
  await rpc(server, 'SendMessage', says('Hello', { contextId: 'other' }));
  const done = (await rpc(server, 'SendMessage', decides(asked, 'allow'))).body.result.task;
  expect([done.status.state, log]).toEqual(['TASK_STATE_COMPLETED', ['paid']]);
});

test('a conversation that is closed for another just as it goes on is read again, or the client is told to wait', async () => {
  const outcomes = new Set<string>();
  for (let delay = -40; delay < 40; delay++) {
    const log: string[] = [];
    await using server = bankServer(new InMemorySession(), log, { maxContexts: 1 });
    const asked = (await rpc(server, 'SendMessage', says('Pay', { contextId: 'a' }))).body.result.task;
    const messages = [decides(asked, 'allow'), says('Hello', { contextId: 'b' })];
    const answers: Promise<Rpc>[] = [];
    for (const message of delay < 0 ? messages.toReversed() : messages) {
      for (let turn = 0; answers.length > 0 && turn < Math.abs(delay); turn++) await undefined;
      answers.push(rpc(server, 'SendMessage', message));
    }
    for (const { body } of await Promise.all(answers))
      outcomes.add(body.error?.message ?? body.result.task.status.state);
    expect(log.length).toBeLessThanOrEqual(1);
  }
  expect([...outcomes].toSorted()).toEqual(['TASK_STATE_COMPLETED', 'The server is busy. Try again later.']);
});

test('a conversation that went on in another process is not overwritten: it is read anew', async () => {
  const session = new InMemorySession();
  await using one = bankServer(session, []);
  await using two = bankServer(session, []);
  const { contextId } = (await rpc(one, 'SendMessage', says('Hello'))).body.result.task;
  const there = (await rpc(two, 'SendMessage', says('Hello', { contextId }))).body.result.task;
  expect(textIn(there)).toBe('Heard 2.');
  const refused = await rpc(one, 'SendMessage', says('Hello', { contextId }));
  expect(refused.body.error.message).toBe('The message was not taken. Try again later.');
  const again = (await rpc(one, 'SendMessage', says('Hello', { contextId }))).body.result.task;
  expect(textIn(again)).toBe('Heard 3.');
  expect((await rpc(one, 'GetTask', { id: there.id })).body.result).toEqual(there);
});

test('a task that can not be saved is not started', async () => {
  const session = new InMemorySession();
  const speakers: Speaker[] = [];
  await using server = serveA2A(
    () => {
      const speaker = new Speaker();
      speakers.push(speaker);
      speaker.finish();
      return speaker;
    },
    { card: CARD, session: failing(session, () => isFull) },
  );
  let isFull = true;
  const message = says('Hi', { contextId: 'c' });
  expect((await rpc(server, 'SendMessage', message)).body.error.message).toMatch(/not taken/);
  expect(speakers.map(({ heard }) => heard)).toEqual([[]]);
  isFull = false;
  expect((await rpc(server, 'SendMessage', message)).body.result.task.status.state).toBe(
    'TASK_STATE_COMPLETED',
  );
  expect(speakers.map(({ heard }) => heard)).toEqual([['Hi']]);
});

test.each(['before', 'after'])(
  'killed just %s any save, a server forgets nothing that a client was told, and pays once',
  async (moment) => {
    let deaths = 0;
    for (let saves = 0; saves < 8; saves++) {
      const log: string[] = [];
      const session = new InMemorySession();
      const { promise: died, resolve: die } = Promise.withResolvers<'died'>();
      const first = bankServer(mortal(new InMemorySession(), session, saves, moment, die), log);
      const told = new Map<string, string>();
      const say = async (params: object): Promise<any> => {
        const answer = await Promise.race([rpc(first, 'SendMessage', params), died]);
        if (answer === 'died') return undefined;
        const { task } = answer.body.result;
        told.set(task.id, task.status.state);
        return task;
      };
      const contextId = 'c';
      const asked = await say(says('Pay', { contextId }));
      const allow = asked && decides(asked, 'allow');
      if (asked && (await say(allow))) await say(says('Hello', { contextId }));
      if (told.size < 2) deaths++;

      await using second = bankServer(session, log);
      for (const [id, state] of told) {
        const now = (await rpc(second, 'GetTask', { id })).body.result.status.state;
        const hasGoneOn = state === 'TASK_STATE_INPUT_REQUIRED';
        expect(hasGoneOn ? [state, 'TASK_STATE_FAILED', 'TASK_STATE_COMPLETED'] : [state]).toContain(now);
      }
      if (allow) await rpc(second, 'SendMessage', allow); // the client repeats its request
      expect(log.length).toBeLessThanOrEqual(1);
      const next = (await rpc(second, 'SendMessage', says('Then', { contextId }))).body.result.task;
      const { tasks } = (await rpc(second, 'ListTasks', { contextId })).body.result;
      const waits = tasks.some(({ status }: any) => status.state === 'TASK_STATE_INPUT_REQUIRED');
      expect(next.status.state).toBe(waits ? 'TASK_STATE_REJECTED' : 'TASK_STATE_COMPLETED');
    }
    expect(deaths).toBeGreaterThanOrEqual(4);
  },
);

/** Session of a process that is killed: after a number of saves nothing more is written, without an error. */
function mortal(
  shell: Session,
  session: Session,
  saves: number,
  moment: string,
  die: (word: 'died') => void,
): Session {
  let count = 0;
  shell.scoped = (prefix) => {
    const scoped = session.scoped(prefix);
    const { save } = scoped;
    scoped.save = async (...args) => {
      const isLast = count++ === saves;
      if (count > saves + 1 || (isLast && moment === 'before')) return dead();
      const info = await save.apply(scoped, args);
      return isLast ? dead() : info;
    };
    return scoped;
  };
  const dead = async (): Promise<never> => {
    // a client with a reply that came too early reads the task now
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    die('died');
    return new Promise(() => {});
  };
  return shell;
}

/** Session on a full disk. */
function failing(session: Session, isFull: () => boolean): Session {
  const { save } = session;
  session.scoped = () => session;
  session.save = async (...args) => {
    if (isFull()) throw new Error('the disk is full');
    return save.apply(session, args);
  };
  return session;
}

test('without a session a client hears after a restart that the task is gone, and can begin anew', async () => {
  const before = bankServer(undefined, []);
  const agent = remoteAgent(await before.listen());
  await agent.call('Pay');
  await before.close();
  await using after = bankServer(undefined, []);
  const later = remoteAgent(await after.listen());
  later.loadStateDict(agent.stateDict());
  await expect(later.call('yes')).rejects.toMatchObject({
    failure: 'refused',
    message: 'The remote agent refused the request (TASK_NOT_FOUND).',
  });
  expect((await later.call('Hello')).text).toBe('Heard 1.');
});
