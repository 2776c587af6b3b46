import { afterEach, describe, expect, test } from 'vitest';

import {
  InMemorySession,
  MsgHub,
  PermissionRules,
  PlanNotebook,
  ReActAgent,
  tool,
  withRunConfig,
} from 'troupe';
import { ConversationView } from 'troupe/events';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

import type { AgentOffer } from '../src/conversations/offered-agent.ts';
import type { ApprovalWaiting, RunEntry } from '../src/protocol.ts';
import { Studios, type LiveClient } from './studio-client.ts';

const studios = new Studios();
afterEach(() => studios.closeAll());

type Script = ConstructorParameters<typeof ScriptedModel>[0];

/** An offer whose agents follow a script, with a tool that asks first. */
function offer(script: () => Script, onRun: (text: string) => void = () => {}): AgentOffer {
  return {
    name: 'Friday',
    create: () =>
      new ReActAgent({
        name: 'Friday',
        model: new ScriptedModel(script()),
        console: false,
        permissionPolicy: new PermissionRules({ mode: 'default' }),
        tools: [
          tool({
            name: 'send_mail',
            description: 'Sends a mail.',
            schema: z.object({ to: z.string(), text: z.string() }),
            execute: ({ to, text }) => {
              onRun(`${to}: ${text}`);
              return 'sent';
            },
          }),
        ],
      }),
  };
}

const isEnd = (entry: RunEntry): boolean => entry.kind === 'event' && entry.event.type === 'run_end';

/** The messages of a run, folded as the page folds them. */
function textsOf(client: LiveClient, runId: string): string[] {
  const view = new ConversationView();
  for (const entry of client.entries(runId)) {
    if (entry.kind === 'event') view.add(entry.event);
    else if (entry.kind === 'input' && entry.agentPath.length === 1)
      for (const msg of entry.messages) view.addMsg(msg);
  }
  return view.messages.map(({ name, content }) => `${name}: ${JSON.stringify(content)}`);
}

describe('a conversation from the page', () => {
  test('streams the answer to everybody who watches, in numbered entries without gaps', async () => {
    const page = await studios.start({ agents: { friday: offer(() => ['Hello, Ann.']) } });
    const { body: run } = await page.post('api/conversations', { agent: 'friday' });
    expect(run.name).toBe('Friday');
    const live = await page.live();
    live.send({ type: 'watch_run', runId: run.id, after: 0 });
    expect(await page.act(run.id, { type: 'send', content: 'Hi!' })).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    await live.entry(run.id, isEnd);
    expect((await page.get(`api/runs/${run.id}`)).body.run.name).toBe('Hi!');
    expect(textsOf(live, run.id)).toEqual([
      'user: [{"type":"text","text":"Hi!"}]',
      'Friday: [{"type":"text","text":"Hello, Ann."}]',
    ]);
    const numbers = live.entries(run.id).map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.map((_, i) => i + 1));
    const late = await page.live();
    late.send({ type: 'watch_run', runId: run.id, after: 3 });
    const last = await late.until(({ messages }) => messages.find(({ type }) => type === 'caught_up'));
    expect(last).toMatchObject({ runId: run.id });
    expect(late.entries(run.id)).toEqual(
      live.entries(run.id).filter(({ seq }) => seq > 3 && seq <= (last as { lastSeq: number }).lastSeq),
    );
  });

  test('asks for approval, refuses arguments that nobody saw, and runs the tool with edited ones', async () => {
    const ran: string[] = [];
    const call = { id: 'c1', name: 'send_mail', input: { to: 'bob', text: 'Hi' } };
    const page = await studios.start({
      agents: {
        friday: offer(
          () => [{ toolCalls: [call] }, 'Sent.'],
          (text) => ran.push(text),
        ),
      },
    });
    const { body: run } = await page.post('api/conversations', { agent: 'friday' });
    const live = await page.live();
    live.send({ type: 'watch_run', runId: run.id, after: 0 });
    await page.act(run.id, { type: 'send', content: 'Write to Bob.' });
    const waiting = (await live.until(({ messages }) =>
      messages
        .flatMap((one) => (one.type === 'waiting' ? one.waiting : []))
        .find(({ state }) => state === 'waiting'),
    )) as ApprovalWaiting;
    expect(waiting).toMatchObject({
      kind: 'approval',
      agentPath: ['Friday'],
      pending: { call: { name: 'send_mail', input: call.input } },
      schema: { type: 'object', required: ['to', 'text'] },
    });
    const { body: detail } = await page.get(`api/runs/${run.id}`);
    expect(detail.run.status).toBe('waiting');
    const decide = (argsHash: string, decision: object) =>
      page.act(run.id, { type: 'decide', id: waiting.id, argsHash, decision });
    expect(await decide('other', { verdict: 'allow' })).toMatchObject({
      status: 409,
      body: { code: 'changed' },
    });
    expect(await decide(waiting.argsHash, { verdict: 'allow', input: { to: 7, text: 'x' } })).toMatchObject({
      status: 400,
      body: { code: 'invalid', problems: [{ path: ['to'] }] },
    });
    expect(ran).toEqual([]);
    const edited = { to: 'eve', text: 'Hi' };
    expect(await decide(waiting.argsHash, { verdict: 'allow', input: edited })).toMatchObject({
      status: 200,
    });
    await live.entry(
      run.id,
      (entry) => isEnd(entry) && textsOf(live, run.id).some((text) => text.includes('Sent.')),
    );
    expect(ran).toEqual(['eve: Hi']);
    expect(await decide(waiting.argsHash, { verdict: 'allow' })).toMatchObject({
      status: 409,
      body: { code: 'decided' },
    });
    const states = live
      .entries(run.id)
      .flatMap((entry) => (entry.kind === 'waiting' ? [[entry.waiting.state, entry.waiting.outcome]] : []));
    expect(states).toEqual([
      ['waiting', undefined],
      ['sent', 'edited'],
      ['decided', 'edited'],
    ]);
  });

  test('is interrupted in mid-answer', async () => {
    const page = await studios.start({
      agents: { friday: offer(() => [{ text: 'Once upon', stall: true }]) },
    });
    const { body: run } = await page.post('api/conversations', { agent: 'friday' });
    const live = await page.live();
    live.send({ type: 'watch_run', runId: run.id, after: 0 });
    await page.act(run.id, { type: 'send', content: 'A story!' });
    await live.entry(run.id, (entry) => entry.kind === 'event' && entry.event.type === 'text_delta');
    expect(await page.act(run.id, { type: 'send', content: 'More!' })).toMatchObject({
      status: 409,
      body: { code: 'busy' },
    });
    expect(await page.act(run.id, { type: 'interrupt' })).toMatchObject({ status: 200 });
    const end = await live.entry(run.id, isEnd);
    expect(end).toMatchObject({ event: { status: 'interrupted' } });
    expect(textsOf(live, run.id)[1]).toContain('Once upon');
  });

  test('goes on after a restart of the Studio, with its memory and its pending tool call', async () => {
    const ran: string[] = [];
    const call = { id: 'c1', name: 'send_mail', input: { to: 'bob', text: 'Hi' } };
    const session = new InMemorySession();
    const dir = studios.folder();
    const first = await studios.start({
      dir,
      session,
      agents: { friday: offer(() => [{ toolCalls: [call] }]) },
    });
    const { body: run } = await first.post('api/conversations', { agent: 'friday' });
    const live = await first.live();
    live.send({ type: 'watch_run', runId: run.id, after: 0 });
    await first.act(run.id, { type: 'send', content: 'Write to Bob.' });
    await live.until(({ messages }) =>
      messages.find((one) => one.type === 'waiting' && one.waiting.length === 1),
    );
    await first.studio.close();
    expect(await live.closed).toBe(4013);

    const agents = {
      friday: offer(
        () => ['It is sent.'],
        (text) => ran.push(text),
      ),
    };
    const second = await studios.start({ dir, session, agents });
    const again = await second.live();
    const waiting = (await again.until(({ messages }) =>
      messages.flatMap((one) => (one.type === 'waiting' ? one.waiting : [])).at(0),
    )) as ApprovalWaiting;
    again.send({ type: 'watch_run', runId: run.id, after: 0 });
    const decision = {
      type: 'decide',
      id: waiting.id,
      argsHash: waiting.argsHash,
      decision: { verdict: 'allow' },
    };
    expect(await second.act(run.id, decision)).toMatchObject({ status: 200 });
    await again.entry(
      run.id,
      (entry) => isEnd(entry) && textsOf(again, run.id).some((text) => text.includes('It is sent.')),
    );
    expect(ran).toEqual(['bob: Hi']);
  });
});

describe('other agents of the program in which the Studio runs', () => {
  test('are shown in their own run, with the hub that they share', async () => {
    const page = await studios.start();
    const live = await page.live();
    live.send({ type: 'watch_runs' });
    const agentOf = (name: string) =>
      new ReActAgent({ name, model: new ScriptedModel(['Hi.']), console: false });
    const [ann, bob] = [agentOf('Ann'), agentOf('Bob')];
    await withRunConfig({ runId: 'party', name: 'party' }, async () => {
      await using hub = new MsgHub({ participants: [ann, bob], name: 'kitchen' });
      await hub.open();
      await ann.call('Hello?');
      await bob.call();
    });
    await live.until(({ messages }) =>
      messages.find((one) => one.type === 'run' && one.run.id === 'party' && one.run.preview === 'Hi.'),
    );
    const { body } = await page.get('api/runs/party');
    const found = new Map(body.agents.map(({ name, hubs }: any) => [name, hubs]));
    expect(new Set(found.keys())).toEqual(new Set(['Ann', 'Bob']));
    expect(found.get('Ann')).toEqual([expect.stringMatching(/^hub_/)]);
    expect(found.get('Bob')).toEqual(found.get('Ann'));
  });
});

describe('the tape of a conversation', () => {
  async function talked() {
    const page = await studios.start({ agents: { friday: offer(() => ['Hello.', 'It is sunny.']) } });
    const { body: run } = await page.post('api/conversations', { agent: 'friday' });
    const live = await page.live();
    live.send({ type: 'watch_run', runId: run.id, after: 0 });
    for (const [n, content] of ['Hi!', 'The weather?'].entries()) {
      await page.act(run.id, { type: 'send', content });
      await live.until((client) => client.entries(run.id).filter(isEnd)[n]);
    }
    const turns = async (id: string) => (await page.get(`api/runs/${id}/turns`)).body.turns;
    return { page, run, live, turns };
  }

  test('is replayed against the present code, and shows the first difference', async () => {
    const { page, run, turns } = await talked();
    const [first, second] = await turns(run.id);
    expect([first, second].map(({ canReplay, answer }) => [canReplay, answer])).toEqual([
      [true, 'Hello.'],
      [true, 'It is sunny.'],
    ]);
    const { body: same } = await page.post(`api/runs/${run.id}/replay`, { callId: second.callId });
    expect(same).toMatchObject({ result: 'same' });
    expect(same.steps).toBeGreaterThan(0);
  });

  test('is replayed with a plan that its tools changed, whose hints are in the prompts', async () => {
    const subtasks = ['Choose a meadow', 'Write a list'].map((name) => ({
      name,
      description: name,
      expected_outcome: 'Done.',
    }));
    const plan = { name: 'Picnic', description: 'A picnic.', expected_outcome: 'Fun.', subtasks };
    const create = () =>
      new ReActAgent({
        name: 'Friday',
        model: new ScriptedModel([
          { toolCalls: [{ id: 'c1', name: 'create_plan', input: plan }] },
          { toolCalls: [{ id: 'c2', name: 'finish_subtask', input: { subtask_idx: 0, outcome: 'Found.' } }] },
          'One is left.',
        ]),
        planNotebook: new PlanNotebook(),
        console: false,
      });
    const page = await studios.start({ agents: { friday: { create } } });
    const { body: run } = await page.post('api/conversations', { agent: 'friday', name: 'My picnic' });
    const live = await page.live();
    live.send({ type: 'watch_run', runId: run.id, after: 0 });
    await page.act(run.id, { type: 'send', content: 'Plan a picnic.' });
    await live.entry(run.id, isEnd);
    const { turns } = (await page.get(`api/runs/${run.id}/turns`)).body;
    expect(turns).toMatchObject([{ tools: { create_plan: 1, finish_subtask: 1 }, answer: 'One is left.' }]);
    const { body } = await page.post(`api/runs/${run.id}/replay`, { callId: turns[0].callId });
    expect((await page.get(`api/runs/${run.id}`)).body.run.name).toBe('My picnic');
    expect(body).toEqual({ callId: turns[0].callId, steps: expect.any(Number), result: 'same' });
  });

  test('is branched from a turn with another message, and the parent stays as it is', async () => {
    const { page, run, live, turns } = await talked();
    const [, second] = await turns(run.id);
    const { body: branch } = await page.post(`api/runs/${run.id}/branch`, {
      callId: second.callId,
      content: 'And tomorrow?',
      tools: 'run',
    });
    expect(branch).toMatchObject({ forkOf: { runId: run.id, seq: second.seq }, source: 'conversation' });
    live.send({ type: 'watch_run', runId: branch.id, after: 0 });
    await live.until((client) => client.entries(branch.id).filter(isEnd)[1]);
    expect((await turns(branch.id)).map(({ input, answer }: any) => [input[0].content, answer])).toEqual([
      ['Hi!', 'Hello.'],
      ['And tomorrow?', 'Hello.'],
    ]);
    const { body: compared } = await page.get(`api/compare?a=${run.id}&b=${branch.id}`);
    expect(compared.rows.map(({ isSame, isShared }: any) => [isSame, isShared])).toEqual([
      [true, true],
      [false, false],
    ]);
    expect((await page.get(`api/runs/${run.id}`)).body.branches.map(({ id }: any) => id)).toEqual([
      branch.id,
    ]);
  });

  test('a decision is replayed as it was decided, and asked again in a branch of its own', async () => {
    const ran: string[] = [];
    const call = { id: 'c1', name: 'send_mail', input: { to: 'bob', text: 'Hi' } };
    const scripts: Script[] = [[{ toolCalls: [call] }, 'Sent.'], [], ['Not sent.']];
    const agents = {
      friday: offer(
        () => scripts.shift() ?? [],
        (text) => ran.push(text),
      ),
    };
    const page = await studios.start({ agents });
    const { body: run } = await page.post('api/conversations', { agent: 'friday' });
    const live = await page.live();
    live.send({ type: 'watch_run', runId: run.id, after: 0 });
    const askedIn = (runId: string) =>
      live.until(({ messages }) =>
        messages
          .flatMap((one) => (one.type === 'waiting' ? one.waiting : []))
          .find((one) => one.runId === runId && one.state === 'waiting'),
      ) as Promise<ApprovalWaiting>;
    const decide = async (runId: string, decision: object): Promise<void> => {
      const { id, argsHash } = await askedIn(runId);
      expect(await page.act(runId, { type: 'decide', id, argsHash, decision })).toMatchObject({
        status: 200,
      });
    };
    const said = (runId: string, text: string) =>
      live.entry(runId, (entry) => isEnd(entry) && JSON.stringify(entry).includes(text));
    await page.act(run.id, { type: 'send', content: 'Write to Bob.' });
    await decide(run.id, { verdict: 'allow' });
    await said(run.id, 'Sent.');

    const [, decided] = (await page.get(`api/runs/${run.id}/turns`)).body.turns;
    expect(decided).toMatchObject({ input: [], canBranch: true, canReplay: true, tools: { send_mail: 1 } });
    const { callId } = decided;
    const { body: replay } = await page.post(`api/runs/${run.id}/replay`, { callId });
    expect(replay).toEqual({ callId, steps: 2, result: 'same' }); // the tool call and the model call
    const refused = await page.post(`api/runs/${run.id}/branch`, { callId, content: 'Hello?' });
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid' } });
    const { body: branch } = await page.post(`api/runs/${run.id}/branch`, { callId });
    live.send({ type: 'watch_run', runId: branch.id, after: 0 });
    await decide(branch.id, { verdict: 'deny', reason: 'No.' });
    await said(branch.id, 'Not sent.');
    expect(ran).toEqual(['bob: Hi']);
  });
});
