import { beforeEach, describe, expect, test, vi } from 'vitest';

import type { Msg } from '../message/msg.ts';
import { AgentBase } from '../agent/agent-base.ts';
import { interruptOnCtrlC } from './interrupt-key.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { UserAgent } from './user-agent.ts';
import { ProgrammaticUserInput } from './user-input.ts';

/** The key, and how the program was left. */
const keyboard = vi.hoisted(() => ({ handlers: new Set<() => void>(), exits: [] as number[] }));

vi.mock('#platform', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  onInterruptKey(handler: () => void) {
    keyboard.handlers.add(handler);
    return () => void keyboard.handlers.delete(handler);
  },
  exitProgram: (code: number) => void keyboard.exits.push(code),
}));

function pressCtrlC(): void {
  expect(keyboard.handlers.size).toBe(1);
  for (const handler of keyboard.handlers) handler();
}

beforeEach(() => {
  keyboard.handlers.clear();
  keyboard.exits.length = 0;
});

class Worker extends AgentBase {
  constructor(name = 'worker') {
    super({ name });
    this.setConsoleOutputEnabled(false);
  }

  async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const [msg] = msgs;
    return msg ?? turn.step({ kind: 'other', name: 'hang' }, () => new Promise<never>(() => {}));
  }
}

/** A user who answers when told to, and who has been asked once `asked` resolves. */
function slowUser(): { user: UserAgent; asked: Promise<void>; answer: (content: string) => void } {
  let answer = (_content: string): void => {};
  let tellAsked = (): void => {};
  const asked = new Promise<void>((resolve) => (tellAsked = resolve));
  const input = new ProgrammaticUserInput(() => {
    tellAsked();
    return new Promise((resolve) => (answer = resolve));
  });
  const user = new UserAgent({ name: 'user', input });
  user.setConsoleOutputEnabled(false);
  return { user, asked, answer: (content) => answer(content) };
}

const isInterrupted = (msg: Msg): boolean => msg.metadata['_is_interrupted'] === true;

describe('Ctrl-C', () => {
  test('interrupts all running agents, and ends the program only if none is running', async () => {
    const agents = [new Worker('a'), new Worker('b'), new Worker('idle')];
    interruptOnCtrlC(() => agents);
    const calls = agents.slice(0, 2).map((agent) => agent.call());
    pressCtrlC();
    expect((await Promise.all(calls)).map(isInterrupted)).toEqual([true, true]);
    expect(keyboard.exits).toEqual([]);
    pressCtrlC();
    expect(keyboard.exits).toEqual([130]);
  });

  test('pressed again does not wait for an agent that stops slowly', async () => {
    const worker = new Worker();
    worker.handleInterrupt = () => new Promise(() => {});
    interruptOnCtrlC(() => [worker]);
    const call = worker.call();
    pressCtrlC();
    await Promise.resolve();
    pressCtrlC();
    expect(isInterrupted(await call)).toBe(true);
    expect(keyboard.exits).toEqual([]);
  });

  test('ends the program while a user is asked', async () => {
    const { user, asked, answer } = slowUser();
    const left: string[] = [];
    interruptOnCtrlC(() => [user], { exit: () => left.push('left') });
    const call = user.call();
    await asked;
    pressCtrlC();
    expect(left).toEqual(['left']);
    expect(keyboard.exits).toEqual([]);
    answer('still here');
    expect((await call).text).toBe('still here');
  });

  test('interrupts another running agent while a user is asked', async () => {
    const { user, asked } = slowUser();
    const worker = new Worker();
    interruptOnCtrlC(() => [user, worker]);
    const question = user.call();
    const work = worker.call();
    await asked;
    pressCtrlC();
    expect(isInterrupted(await work)).toBe(true);
    expect([user.isWaitingForInput, keyboard.exits]).toEqual([true, []]);
    await user.interrupt();
    await question;
  });

  test('asks for the agents each time', async () => {
    const agents: AgentBase[] = [];
    interruptOnCtrlC(() => agents);
    agents.push(new Worker());
    const call = agents[0]?.call();
    pressCtrlC();
    expect(isInterrupted((await call)!)).toBe(true);
  });

  test('is ignored after the returned function was called', () => {
    const stop = interruptOnCtrlC(() => []);
    expect(keyboard.handlers.size).toBe(1);
    stop();
    expect(keyboard.handlers.size).toBe(0);
  });
});
