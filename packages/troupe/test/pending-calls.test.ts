// Calls that wait for somebody outside: asked about, run elsewhere, at any depth, across restarts, with every interruption.
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { agentTool } from '../src/subagent/agent-tool.ts';
import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import type { AgentEvent } from '../src/event/agent-event.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import type { CallOptions } from '../src/agent/agent-base.ts';
import { Msg, type MsgInput } from '../src/message/msg.ts';
import type { PendingCall } from '../src/message/pending-call.ts';
import type { PermissionPolicy } from '../src/permission/permission-policy.ts';
import {
  abortAtEvery,
  failAtEvery,
  InjectedFault,
  interruptAtEvery,
  leaveAtEvery,
} from '../src/testing/drivers.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { externalTool } from '../src/toolkit/tool/external-tool.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';
import { validateWith } from '../src/util/schema.ts';
import { strideOf } from './fair-sample.ts';

const EVERY = { stride: strideOf('ticks of a reply with pending tool calls at which it is stopped', 5) };

const schema = z.object({ path: z.string() });
const askAbout = (...names: string[]): PermissionPolicy => ({
  decide: ({ call }) =>
    names.includes(call.name) ? { behavior: 'ask', reason: 'it deletes' } : { behavior: 'allow' },
});

/** Tool calls that ran, in order. */
class Log {
  readonly ran: string[] = [];
  readonly remove = tool({
    name: 'remove',
    schema,
    sideEffect: true,
    execute: ({ path }) => {
      this.ran.push(`remove ${path}`);
      return `removed ${path}`;
    },
  });
  readonly look = tool({
    name: 'look',
    schema,
    execute: ({ path }) => {
      this.ran.push(`look ${path}`);
      return `seen ${path}`;
    },
  });
}

const remove = (id: string, path = '/a') => ({ name: 'remove', id, input: { path } });
const look = (id: string, path = '/a') => ({ name: 'look', id, input: { path } });
const THREE: ScriptedTurn = { toolCalls: [look('c1'), remove('c2'), look('c3', '/b')] };

function agentWith(
  script: readonly (string | ScriptedTurn)[],
  tools: readonly Tool[],
  options: Partial<ReActAgentOptions> = {},
): ReActAgent {
  const toolkit = new Toolkit();
  for (const one of tools) toolkit.registerToolFunction(one);
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    toolkit,
    permissionPolicy: askAbout('remove'),
    ...options,
  });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

/** The same agent in another process: nothing but the saved text has come along. */
function restarted(saved: ReActAgent, agent: ReActAgent): ReActAgent {
  agent.loadStateDict(parseJson(JSON.stringify(saved.stateDict())) as JsonObject);
  return agent;
}

const reasonOf = (msg: Msg): unknown => msg.endReason;
const onlyPending = (agent: ReActAgent): PendingCall => {
  const [pending, ...others] = agent.pendingCalls;
  expect(others).toEqual([]);
  if (pending === undefined) throw new Error('nothing is pending');
  return pending;
};
const resultsIn = async (agent: ReActAgent): Promise<unknown[]> =>
  (await agent.memory.getMemory()).flatMap((msg) =>
    msg.getContentBlocks('tool_result').map(({ id, output, status }) => [id, status, output]),
  );

beforeAll(async () => {
  await validateWith({ type: 'object' }, {}); // the validator is loaded when it is first needed
});

describe('a tool call that needs approval', () => {
  test('ends the reply, which says what is pending; nothing of it is in memory', async () => {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1')] }], [log.remove]);
    const events: AgentEvent[] = [];
    const stream = agent.stream('clean up');
    let step = await stream.next();
    for (; !step.done; step = await stream.next()) events.push(step.value);
    const answer = step.value;
    const pending = onlyPending(agent);
    expect(pending).toEqual({
      id: pending.id,
      agentPath: ['Friday'],
      kind: 'approval',
      call: { type: 'tool_use', id: 'c1', name: 'remove', input: { path: '/a' } },
      reason: 'it deletes',
    });
    expect(reasonOf(answer)).toBe('tool_suspended');
    expect(answer.pending).toEqual([pending]);
    expect(answer.text).toBe('May I call remove with {"path":"/a"}? (it deletes)');
    expect(events.filter(({ type }) => type === 'approval_needed')).toMatchObject([{ pending }]);
    expect(events.filter(({ type }) => type === 'text_delta')).toEqual([]); // the question is no answer
    expect(events.slice(-2)).toMatchObject([
      { type: 'reply_end', status: 'suspended', msgId: answer.id },
      { type: 'run_end', status: 'suspended', msg: answer },
    ]);
    expect((await agent.memory.getMemory()).map(({ text }) => text)).toEqual(['clean up']);
    expect(log.ran).toEqual([]);
  });

  test('runs exactly once after it is allowed, and the reply continues', async () => {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'Done.'], [log.remove]);
    await agent.call('clean up');
    const answer = await agent.call(undefined, {
      decisions: [{ id: onlyPending(agent).id, verdict: 'allow' }],
    });
    expect(answer.text).toBe('Done.');
    expect(log.ran).toEqual(['remove /a']);
    expect(await resultsIn(agent)).toEqual([['c1', 'ok', 'removed /a']]);
    expect(agent.pendingCalls).toEqual([]);
    expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
  });

  test('runs with the arguments of the decision in place of the model’s, and the model is told', async () => {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'Done.'], [log.remove]);
    await agent.call('clean up');
    await agent.call(undefined, {
      decisions: [{ id: onlyPending(agent).id, verdict: 'allow', input: { path: '/tmp/a' } }],
    });
    expect(log.ran).toEqual(['remove /tmp/a']);
    expect(await resultsIn(agent)).toEqual([
      [
        'c1',
        'ok',
        '<system-info>The user changed the arguments to {"path":"/tmp/a"}.</system-info>\nremoved /tmp/a',
      ],
    ]);
  });

  test('does not run when it is denied; the model reads the reason', async () => {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'I see.'], [log.remove]);
    await agent.call('clean up');
    const decisions = [{ id: onlyPending(agent).id, verdict: 'deny', reason: 'keep it' } as const];
    expect((await agent.call(undefined, { decisions })).text).toBe('I see.');
    expect(log.ran).toEqual([]);
    expect(await resultsIn(agent)).toEqual([
      [
        'c1',
        'denied',
        'PermissionDenied: The user did not allow the tool call, and the tool did not run: keep it',
      ],
    ]);
  });

  test('allowed for the run, its tool is not asked about again until the reply is there', async () => {
    const log = new Log();
    const agent = agentWith(
      [
        { toolCalls: [remove('c1')] },
        { toolCalls: [remove('c2', '/b')] },
        'Done.',
        { toolCalls: [remove('c3', '/c')] },
      ],
      [log.remove],
    );
    await agent.call('clean up');
    const decisions = [{ id: onlyPending(agent).id, verdict: 'allow', scope: 'run' } as const];
    expect((await agent.call(undefined, { decisions })).text).toBe('Done.');
    expect(log.ran).toEqual(['remove /a', 'remove /b']);
    expect(reasonOf(await agent.call('again'))).toBe('tool_suspended');
  });

  test('in turn, holds up the tool calls behind it; earlier ones are not repeated', async () => {
    const log = new Log();
    const agent = agentWith([THREE, 'Done.'], [log.remove, log.look]);
    await agent.call('go');
    expect(log.ran).toEqual(['look /a']);
    await agent.call(undefined, { decisions: [{ id: onlyPending(agent).id, verdict: 'allow' }] });
    expect(log.ran).toEqual(['look /a', 'remove /a', 'look /b']);
  });

  test('side by side, the others run at once, and are not repeated', async () => {
    const log = new Log();
    const agent = agentWith([THREE, 'Done.'], [log.remove, log.look], { parallelToolCalls: true });
    await agent.call('go');
    expect(log.ran).toEqual(['look /a', 'look /b']);
    await agent.call(undefined, { decisions: [{ id: onlyPending(agent).id, verdict: 'allow' }] });
    expect(log.ran).toEqual(['look /a', 'look /b', 'remove /a']);
    expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
  });

  test('stays pending when only others are decided', async () => {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1'), remove('c2', '/b')] }, 'Done.'], [log.remove], {
      parallelToolCalls: true,
    });
    await agent.call('go');
    const [first, second] = agent.pendingCalls;
    const id = String(first?.id);
    expect(reasonOf(await agent.call(undefined, { decisions: [{ id, verdict: 'allow' }] }))).toBe(
      'tool_suspended',
    );
    expect(agent.pendingCalls).toEqual([second]);
    const rest = [{ id: String(second?.id), verdict: 'deny' } as const];
    expect((await agent.call(undefined, { decisions: rest })).text).toBe('Done.');
    expect(log.ran).toEqual(['remove /a']);
  });

  test('is asked about as hooks and middleware leave it, and again when they have changed their mind', async () => {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'Done.'], [log.remove]);
    let target = '/x';
    agent.toolkit.registerMiddleware((call, next) => next({ ...call, input: { path: target } }));
    await agent.call('go');
    const first = onlyPending(agent);
    expect(first.call.input).toEqual({ path: '/x' });
    target = '/etc';
    await agent.call(undefined, { decisions: [{ id: first.id, verdict: 'allow' }] });
    const second = onlyPending(agent);
    expect(second.call.input).toEqual({ path: '/etc' });
    expect(second.id).not.toBe(first.id);
    expect(log.ran).toEqual([]);
    await agent.call(undefined, { decisions: [{ id: second.id, verdict: 'allow' }] });
    expect(log.ran).toEqual(['remove /etc']);
  });

  test('with wrong arguments needs no approval: the model is told at once', async () => {
    const log = new Log();
    const agent = agentWith(
      [{ toolCalls: [{ name: 'remove', id: 'c1', input: { path: 1 } }] }, 'Oh.'],
      [{ ...log.remove, coerce: false }],
    );
    expect((await agent.call('go')).text).toBe('Oh.');
  });
});

describe('a policy', () => {
  test.each([
    ['that denies', () => ({ behavior: 'deny' as const, reason: 'never' })],
    [
      'that throws',
      (): never => {
        throw new Error('broken');
      },
    ],
    ['that says something else', () => ({ behavior: 'perhaps' }) as never],
    ['that says nothing', () => undefined as never],
    ['that says it with an object', () => ({ behavior: new String('allow') }) as never],
    ['that has no text for a reason', () => ({ behavior: 'ask', reason: { a: 1 } }) as never],
    ['that has a function for a reason', () => ({ behavior: 'ask', reason: () => '' }) as never],
    ['that suggests what is no list', () => ({ behavior: 'ask', suggestions: 'all' }) as never],
    ['that suggests a function', () => ({ behavior: 'ask', suggestions: [() => true] }) as never],
    ['that rejects', () => Promise.reject(new Error('broken')) as never],
  ])('%s keeps the tool call from running', async (_name, decide) => {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'I see.'], [log.remove], {
      permissionPolicy: { decide },
    });
    expect((await agent.call('go')).text).toBe('I see.');
    expect(await resultsIn(agent)).toMatchObject([
      ['c1', 'denied', expect.stringMatching(/^PermissionDenied/)],
    ]);
    expect(log.ran).toEqual([]);
  });

  test('that is asked until the agent call is stopped has no effect any more', async () => {
    const log = new Log();
    let allow = (): void => {};
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'Next.'], [log.remove], {
      permissionPolicy: { decide: () => asked() },
    });
    let asked = (): Promise<{ behavior: 'allow' }> => Promise.reject(new Error('not yet'));
    const isAsked = new Promise<void>((resolve) => {
      asked = () => {
        resolve();
        return new Promise((say) => (allow = () => say({ behavior: 'allow' })));
      };
    });
    const call = agent.call('go');
    await isAsked;
    await agent.interrupt();
    await call;
    allow();
    expect((await agent.call('again')).text).toBe('Next.');
    expect([log.ran, agent.pendingCalls]).toEqual([[], []]);
    expect(await resultsIn(agent)).toMatchObject([['c1', 'interrupted', expect.any(String)]]);
  });

  test('can change neither its own arguments nor those that run', async () => {
    const log = new Log();
    const decide = ({ call }: { call: { input: { path?: unknown } } }): { behavior: 'allow' } => {
      Reflect.set(call.input, 'path', '/evil');
      Reflect.set(call, 'input', { path: '/evil' });
      return { behavior: 'allow' };
    };
    const agent = agentWith([{ toolCalls: [remove('c1', '/a')] }, 'Done.'], [log.remove], {
      permissionPolicy: { decide },
    });
    let input = { path: '/a' };
    agent.toolkit.registerMiddleware((call, next) => {
      input = { path: '/a' };
      const running = next({ ...call, input });
      input.path = '/evil'; // too late
      return running;
    });
    await agent.call('go');
    expect(log.ran).toEqual(['remove /a']);
  });

  test('that denies by now is not overruled by a decision', async () => {
    const log = new Log();
    let behavior: 'ask' | 'deny' = 'ask';
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'I see.'], [log.remove], {
      permissionPolicy: { decide: () => ({ behavior }) },
    });
    await agent.call('go');
    behavior = 'deny';
    await agent.call(undefined, { decisions: [{ id: onlyPending(agent).id, verdict: 'allow' }] });
    expect(log.ran).toEqual([]);
  });

  test('gets the agent, the tool call and the user', async () => {
    const seen: unknown[] = [];
    const log = new Log();
    const agent = agentWith([{ toolCalls: [look('c1')] }, 'Done.'], [log.look], {
      toolContext: { user: 'ann' },
      permissionPolicy: {
        decide: ({ call, tool: { name }, agentPath, context }) => {
          seen.push({ input: call.input, name, agentPath, context });
          return { behavior: 'allow' };
        },
      },
    });
    await agent.call('go');
    expect(seen).toEqual([
      { input: { path: '/a' }, name: 'look', agentPath: ['Friday'], context: { user: 'ann' } },
    ]);
  });
});

describe('a decision', () => {
  async function suspended(): Promise<{ agent: ReActAgent; log: Log; id: string }> {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'Done.', 'Next.'], [log.remove]);
    await agent.call('go');
    return { agent, log, id: onlyPending(agent).id };
  }
  const refusal = (problem: string) =>
    expect.objectContaining({ code: 'decision_refused', message: expect.stringContaining(problem) });

  test('about something that is not pending is refused, and changes nothing', async () => {
    const { agent, log, id } = await suspended();
    const forged = agent.call(undefined, {
      decisions: [
        { id, verdict: 'allow' },
        { id: 'pending_forged', verdict: 'allow' },
      ],
    });
    await expect(forged).rejects.toEqual(refusal('was never asked for'));
    expect(log.ran).toEqual([]);
    expect(onlyPending(agent).id).toBe(id);
  });

  test('counts once', async () => {
    const { agent, log, id } = await suspended();
    const twice = agent.call(undefined, {
      decisions: [
        { id, verdict: 'allow' },
        { id, verdict: 'deny' },
      ],
    });
    await expect(twice).rejects.toEqual(refusal('has two decisions here: give one for each'));
    await agent.call(undefined, { decisions: [{ id, verdict: 'allow' }] });
    const again = agent.call(undefined, { decisions: [{ id, verdict: 'allow' }] });
    await expect(again).rejects.toEqual(refusal('There is no pending tool call'));
    expect(log.ran).toEqual(['remove /a']);
  });

  test.each([
    ['an unknown verdict', { verdict: 'maybe' }, 'needs a verdict'],
    ['arguments that are no object', { verdict: 'allow', input: 'x' }, 'input is a string, not an object'],
    [
      'arguments that are no JSON',
      { verdict: 'allow', input: { path: new Date(0) } },
      'decisions[0] is not readable',
    ],
    ['a result that is none', { verdict: 'result', output: 42 }, 'has a decision that is not valid'],
  ])('with %s is refused', async (_name, decision, problem) => {
    const { agent, id } = await suspended();
    const call = agent.call(undefined, { decisions: [{ id, ...decision } as never] });
    await expect(call).rejects.toEqual(refusal(problem));
    expect(onlyPending(agent).id).toBe(id);
  });

  test('may bring the result itself', async () => {
    const { agent, log, id } = await suspended();
    await agent.call(undefined, { decisions: [{ id, verdict: 'result', output: 'I did it by hand' }] });
    expect(await resultsIn(agent)).toEqual([['c1', 'ok', 'I did it by hand']]);
    expect(log.ran).toEqual([]);
  });
});

describe('while calls are pending, a call', () => {
  test('without anything new finds them still pending', async () => {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1')] }], [log.remove]);
    await agent.call('go');
    const before = agent.pendingCalls;
    expect(reasonOf(await agent.call())).toBe('tool_suspended');
    expect(agent.pendingCalls).toEqual(before);
  });

  test('with input is refused, names them, and changes nothing', async () => {
    const agent = agentWith([{ toolCalls: [remove('c1')] }], [new Log().remove]);
    await agent.call('go');
    const { id } = onlyPending(agent);
    await expect(agent.call('and now?')).rejects.toMatchObject({
      code: 'pending_calls',
      message: expect.stringContaining(`remove (${id})`),
    });
    expect((await agent.memory.getMemory()).map(({ text }) => text)).toEqual(['go']);
    expect(onlyPending(agent).id).toBe(id);
  });

  test('with input ends them if the agent is configured so', async () => {
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'Hello.'], [new Log().remove], {
      onPending: 'close',
    });
    await agent.call('go');
    expect((await agent.call('and now?')).text).toBe('Hello.');
    expect(await resultsIn(agent)).toMatchObject([['c1', 'interrupted', expect.any(String)]]);
    expect((await agent.memory.getMemory()).map(({ text }) => text)).toEqual([
      'go',
      '',
      '',
      'and now?',
      'Hello.',
    ]);
    expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
  });
});

describe('a tool that runs outside', () => {
  const deploy = externalTool({ name: 'deploy', schema });
  const result = (id: string, output: string): Msg =>
    Msg.system([{ type: 'tool_result', id, name: 'deploy', output, status: 'ok' }]);
  const twice: ScriptedTurn = {
    toolCalls: [
      { name: 'deploy', id: 'c1', input: { path: '/a' } },
      { name: 'deploy', id: 'c2', input: { path: '/b' } },
    ],
  };
  const side = { parallelToolCalls: true, permissionPolicy: undefined };

  test('waits for its result, which a message brings', async () => {
    const agent = agentWith(
      [{ toolCalls: [{ name: 'deploy', id: 'c1', input: { path: '/a' } }] }, 'Done.'],
      [deploy],
    );
    await agent.call('go');
    expect(onlyPending(agent)).toMatchObject({ kind: 'external', call: { name: 'deploy' } });
    expect((await agent.call(result('c1', 'deployed'))).text).toBe('Done.');
    expect(await resultsIn(agent)).toEqual([['c1', 'ok', 'deployed']]);
  });

  test('can’t be allowed to run', async () => {
    const agent = agentWith([{ toolCalls: [{ name: 'deploy', id: 'c1', input: { path: '/a' } }] }], [deploy]);
    await agent.call('go');
    const call = agent.call(undefined, { decisions: [{ id: onlyPending(agent).id, verdict: 'allow' }] });
    await expect(call).rejects.toMatchObject({ code: 'decision_refused' });
  });

  test('accepts some results, and the rest stays pending', async () => {
    const agent = agentWith([twice, 'Done.'], [deploy], side);
    await agent.call('go');
    expect(reasonOf(await agent.call(result('c2', 'two')))).toBe('tool_suspended');
    expect(onlyPending(agent).call.id).toBe('c1');
    expect((await agent.call(result('c1', 'one'))).text).toBe('Done.');
    expect(await resultsIn(agent)).toEqual([
      ['c1', 'ok', 'one'],
      ['c2', 'ok', 'two'],
    ]);
  });

  test('all results may come with input, some may not', async () => {
    const agent = agentWith([twice, 'Done.'], [deploy], side);
    await agent.call('go');
    await expect(agent.call([result('c1', 'one'), Msg.user('hurry')])).rejects.toMatchObject({
      code: 'pending_calls',
    });
    expect(agent.pendingCalls).toHaveLength(2);
    const all = [result('c1', 'one'), result('c2', 'two'), Msg.user('hurry')];
    expect((await agent.call(all)).text).toBe('Done.');
    expect((await agent.memory.getMemory()).map(({ role, text }) => `${role} ${text}`.trim())).toEqual([
      'user go',
      'assistant',
      'system',
      'system',
      'user hurry',
      'assistant Done.',
    ]);
  });

  test.each([
    ['of a call that was not made', [result('c9', 'x')]],
    ['that come twice', [result('c1', 'x'), result('c1', 'y')]],
  ])('results %s are refused', async (_name, results) => {
    const agent = agentWith([twice], [deploy], side);
    await agent.call('go');
    await expect(agent.call(results)).rejects.toMatchObject({ code: 'decision_refused' });
    expect(agent.pendingCalls).toHaveLength(2);
  });

  test('without an agent, the toolkit says that there is no result yet', async () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(deploy);
    const call = { type: 'tool_use', id: 'c1', name: 'deploy', input: { path: '/a' } } as const;
    expect(await toolkit.callToolFunction(call)).toEqual({
      type: 'tool_result',
      id: 'c1',
      name: 'deploy',
      output: '[Awaiting external execution]',
      status: 'unavailable',
    });
  });
});

describe('a history that another program has left with open tool calls', () => {
  const thought = Msg.assistant(
    [
      { type: 'tool_use', id: 'f1', name: 'look', input: { path: '/a' } },
      { type: 'tool_use', id: 'f2', name: 'look', input: { path: '/b' } },
    ],
    { name: 'Friday' },
  );
  const first = Msg.system([{ type: 'tool_result', id: 'f1', name: 'look', output: 'old', status: 'ok' }]);

  test('and results for some of them with a message: the refusal names the others', async () => {
    const agent = agentWith([], [new Log().look]);
    await agent.observe([Msg.user('go'), thought]);
    await expect(agent.call([first, Msg.user('hurry')])).rejects.toMatchObject({
      code: 'pending_calls',
      message:
        'Tool calls have no result yet: look (f2). Supply their results too, or call without a message first, so that they run.',
    });
    expect((await agent.memory.getMemory()).map(({ role }) => role)).toEqual(['user', 'assistant']);
  });

  test('is resumed by an agent call without input: only missing tool calls run', async () => {
    const log = new Log();
    const agent = agentWith(['Done.'], [log.look]);
    await agent.observe([Msg.user('go'), thought, first]);
    expect((await agent.call()).text).toBe('Done.');
    expect(log.ran).toEqual(['look /b']);
    expect(await resultsIn(agent)).toEqual([
      ['f1', 'ok', 'old'],
      ['f2', 'ok', 'seen /b'],
    ]);
    expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
  });

  test('is closed by an agent call with input', async () => {
    const agent = agentWith(['Hello.'], [new Log().look]);
    await agent.observe([Msg.user('go'), thought, first]);
    expect((await agent.call('hi')).text).toBe('Hello.');
    expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
  });

  test('takes the missing results', async () => {
    const agent = agentWith(['Done.'], [new Log().look]);
    await agent.observe([Msg.user('go'), thought, first]);
    const rest = Msg.system([{ type: 'tool_result', id: 'f2', name: 'look', output: 'new', status: 'ok' }]);
    expect((await agent.call(rest)).text).toBe('Done.');
    expect(await resultsIn(agent)).toEqual([
      ['f1', 'ok', 'old'],
      ['f2', 'ok', 'new'],
    ]);
  });
});

describe('after a restart', () => {
  test('a pending tool call is decided there, and siblings are not repeated', async () => {
    const log = new Log();
    const before = agentWith([THREE], [log.remove, log.look], { parallelToolCalls: true });
    await before.call('go');
    const { id } = onlyPending(before);
    const after = restarted(
      before,
      agentWith(['Done.'], [log.remove, log.look], { parallelToolCalls: true }),
    );
    expect(after.pendingCalls).toEqual(before.pendingCalls);
    const decisions = [{ id, verdict: 'allow', input: { path: '/edited' } } as const];
    expect((await after.call(undefined, { decisions })).text).toBe('Done.');
    expect(log.ran).toEqual(['look /a', 'look /b', 'remove /edited']);
    expect((await resultsIn(after)).map((one) => (one as string[])[0])).toEqual(['c1', 'c2', 'c3']);
    await expect(after.call(undefined, { decisions })).rejects.toMatchObject({ code: 'decision_refused' });
  });

  test('a started tool call with a side effect reads "outcome unknown", and is not run again', async () => {
    const log = new Log();
    let saved: JsonObject | undefined;
    const dies = tool({ name: 'pay', schema, sideEffect: true, execute: () => new Promise<never>(() => {}) });
    const script: ScriptedTurn = {
      toolCalls: [look('c1'), { name: 'pay', id: 'c2', input: { path: '/a' } }, look('c3', '/b')],
    };
    const before = agentWith([script], [dies, log.look], { permissionPolicy: undefined });
    const noted = Promise.withResolvers<void>();
    before.onCheckpoint(async () => {
      saved = parseJson(JSON.stringify(before.stateDict())) as JsonObject;
      noted.resolve();
    });
    const call = before.call('go');
    await noted.promise;
    await before.interrupt();
    await call;

    const after = agentWith(['Let me check.'], [dies, log.look], { permissionPolicy: undefined });
    after.loadStateDict(saved ?? {});
    expect((await after.call()).text).toBe('Let me check.');
    expect(log.ran).toEqual(['look /a', 'look /b']);
    expect(await resultsIn(after)).toEqual([
      ['c1', 'ok', 'seen /a'],
      ['c2', 'interrupted', expect.stringContaining('outcome is unknown')],
      ['c3', 'ok', 'seen /b'],
    ]);
    expect(findHistoryFaults(await after.memory.getMemory())).toEqual([]);
  });

  test('new input closes open tool calls, without running anything', async () => {
    const log = new Log();
    let saved: JsonObject = {};
    const before = agentWith([THREE, 'Done.'], [log.remove, log.look], { permissionPolicy: undefined });
    before.onCheckpoint(async () => void (saved = before.stateDict()));
    await before.call('go');
    log.ran.length = 0;
    const after = agentWith(['Hello.'], [log.remove, log.look]);
    after.loadStateDict(saved);
    expect((await after.call('hi')).text).toBe('Hello.');
    expect(log.ran).toEqual([]);
    expect(await resultsIn(after)).toMatchObject([
      ['c1', 'ok', 'seen /a'],
      ['c2', 'interrupted', expect.stringContaining('outcome is unknown')],
      ['c3', 'interrupted', expect.any(String)],
    ]);
  });

  test('a state that was saved just before its tool calls were dropped does not bring them back', async () => {
    const log = new Log();
    let saved: JsonObject = {};
    const before = agentWith([THREE, 'Done.'], [log.remove, log.look], { permissionPolicy: undefined });
    before.onCheckpoint(async () => void (saved = before.stateDict()));
    await before.call('go');
    log.ran.length = 0;
    const after = agentWith(['Next.'], [log.remove, log.look]);
    after.loadStateDict({ ...before.stateDict(), openExchange: saved['openExchange'] ?? null });
    expect((await after.call()).text).toBe('Next.');
    expect(log.ran).toEqual([]);
    expect((await resultsIn(after)).map((one) => (one as string[])[1])).toEqual(['ok', 'ok', 'ok']);
    expect(findHistoryFaults(await after.memory.getMemory())).toEqual([]);
  });

  test('a note that can’t be written keeps the tool from running', async () => {
    const log = new Log();
    const agent = agentWith([{ toolCalls: [remove('c1')] }, 'Hm.'], [log.remove], {
      permissionPolicy: undefined,
    });
    agent.onCheckpoint(async () => {
      throw new Error('disk full');
    });
    expect((await agent.call('go')).text).toBe('Hm.');
    expect(log.ran).toEqual([]);
    expect(await resultsIn(agent)).toMatchObject([
      ['c1', 'denied', expect.stringContaining('its start could not be saved')],
    ]);
  });
});

describe('agents in tools', () => {
  /** Root asks mid, mid asks leaf, leaf wants to remove something, having looked. */
  function family(log: Log, answers: boolean): { root: ReActAgent; leaf: ReActAgent } {
    const ask = (name: string, id: string) => ({ toolCalls: [{ name, id, input: { query: 'go' } }] });
    const script = (first: ScriptedTurn, last: string) => (answers ? [last] : [first]);
    const leaf = agentWith(script(THREE, 'leaf done'), [log.remove, log.look], { name: 'leaf' });
    const mid = agentWith(script(ask('leaf', 'm1'), 'mid done'), [agentTool(leaf, { description: 'l' })], {
      name: 'mid',
    });
    const root = agentWith(
      script({ toolCalls: [look('r0', '/root'), ...ask('mid', 'r1').toolCalls] }, 'root done'),
      [agentTool(mid, { description: 'm' }), log.look],
      { name: 'root' },
    );
    return { root, leaf };
  }

  test('three deep, a tool call needs approval at the root, is decided after a restart, and runs once', async () => {
    const log = new Log();
    const { root } = family(log, false);
    const events: AgentEvent[] = [];
    for await (const event of root.stream('go')) events.push(event);
    const pending = onlyPending(root);
    expect(pending).toMatchObject({ agentPath: ['root', 'mid', 'leaf'], call: { id: 'c2', name: 'remove' } });
    expect(events.filter(({ type }) => type === 'approval_needed')).toMatchObject([
      { pending, agentPath: ['root'] },
    ]);
    expect(log.ran).toEqual(['look /root', 'look /a']);

    const { root: again, leaf } = family(log, true);
    restarted(root, again);
    await expect(
      again.call(undefined, { decisions: [{ id: 'pending_other', verdict: 'allow' }] }),
    ).rejects.toMatchObject({ code: 'decision_refused' });
    const decisions = [{ id: pending.id, verdict: 'allow', input: { path: '/edited' } } as const];
    expect((await again.call(undefined, { decisions })).text).toBe('root done');
    expect(log.ran).toEqual(['look /root', 'look /a', 'remove /edited', 'look /b']);
    expect(await resultsIn(again)).toMatchObject([
      ['r0', 'ok', 'seen /root'],
      ['r1', 'ok', 'mid done'],
    ]);
    for (const agent of [again, leaf]) expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
    await expect(again.call(undefined, { decisions })).rejects.toMatchObject({ code: 'decision_refused' });
  });

  test('in the same process, the agents that are there go on', async () => {
    const log = new Log();
    const ask = { toolCalls: [{ name: 'leaf', id: 'r1', input: { query: 'go' } }] };
    const leaf = agentWith([{ toolCalls: [remove('c1')] }, 'leaf done'], [log.remove], { name: 'leaf' });
    const root = agentWith([ask, 'root done'], [agentTool(leaf, { description: 'l' })], { name: 'root' });
    await root.call('go');
    const decisions = [{ id: onlyPending(root).id, verdict: 'allow' } as const];
    expect((await root.call(undefined, { decisions })).text).toBe('root done');
    expect(log.ran).toEqual(['remove /a']);
    expect((await leaf.memory.getMemory()).map(({ text }) => text).filter(Boolean)).toEqual([
      'go',
      'leaf done',
    ]);
  });

  test('a side effect of a nested agent is recorded at the root: the tool call around it is not repeated', async () => {
    const log = new Log();
    let saved: JsonObject = {};
    const ask = { toolCalls: [{ name: 'leaf', id: 'r1', input: { query: 'go' } }] };
    const make = (first: ScriptedTurn | string, second: ScriptedTurn | string) => {
      const leaf = agentWith([first, 'leaf done'], [log.remove], {
        name: 'leaf',
        permissionPolicy: undefined,
      });
      return agentWith([second, 'root done'], [agentTool(leaf, { description: 'l' })], { name: 'root' });
    };
    const root = make({ toolCalls: [remove('c1')] }, ask);
    root.onCheckpoint(async () => void (saved = parseJson(JSON.stringify(root.stateDict())) as JsonObject));
    await root.call('go');
    expect(log.ran).toEqual(['remove /a']);
    const after = make('', 'root done');
    after.loadStateDict(saved);
    await after.call();
    expect(log.ran).toEqual(['remove /a']);
    expect(await resultsIn(after)).toMatchObject([['r1', 'interrupted', expect.stringContaining('unknown')]]);
  });
});

describe('disturbed at every point', () => {
  const scenarioOf = (parallelToolCalls: boolean, resumes: boolean) => async () => {
    const log = new Log();
    const agent = agentWith([THREE, 'Done.', 'Next.', 'Next.'], [log.remove, log.look], {
      parallelToolCalls,
      onPending: 'close',
    });
    if (resumes) {
      await agent.call('go');
      const [pending] = agent.pendingCalls;
      const call = agent.call.bind(agent);
      const stream = agent.stream.bind(agent);
      const decisions = [{ id: String(pending?.id), verdict: 'allow' } as const];
      Object.assign(agent, {
        call: (input: MsgInput, options?: CallOptions) =>
          agent.pendingCalls.length > 0 && input === undefined
            ? call(input, { ...options, decisions })
            : call(input, options),
        stream: (input: MsgInput, options?: CallOptions) => stream(input, { ...options, decisions }),
      });
    }
    return {
      agent,
      input: resumes ? undefined : 'go',
      check: async () => {
        expect(agent.isRunning).toBe(false);
        expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
        expect(log.ran.filter((one) => one.startsWith('remove')).length).toBeLessThanOrEqual(1);
        expect(new Set(log.ran).size).toBe(log.ran.length); // nothing ran twice
        expect(JSON.stringify(await resultsIn(agent))).not.toContain('it deletes'); // a shown snapshot is no result
        await agent.call('and now?');
        expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
      },
    };
  };

  for (const parallel of [false, true]) {
    for (const resumes of [false, true]) {
      const name = `${parallel ? 'side by side' : 'in turn'}, ${resumes ? 'resumed' : 'until it waits'}`;
      test(`${name}: by an interrupt`, async () => {
        expect((await interruptAtEvery(scenarioOf(parallel, resumes), EVERY)).points).toBeGreaterThan(20);
      });
      test(`${name}: by the caller`, async () => {
        expect((await abortAtEvery(scenarioOf(parallel, resumes), EVERY)).points).toBeGreaterThan(20);
      });
      test(`${name}: by a consumer that leaves`, async () => {
        expect((await leaveAtEvery(scenarioOf(parallel, resumes))).points).toBeGreaterThan(5);
      });
      test(`${name}: by a fault in every step`, async () => {
        const scenario = scenarioOf(parallel, resumes);
        const report = await failAtEvery(async () => {
          const made = await scenario();
          return {
            ...made,
            check: async ({ error }) => {
              if (error !== undefined) expect(error).toBeInstanceOf(InjectedFault);
              await made.check();
            },
          };
        });
        expect(report.points).toBeGreaterThan(3);
      });
    }
  }
});
