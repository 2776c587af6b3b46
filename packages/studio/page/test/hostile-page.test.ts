// Reliability 66 and 67: hostile texts in every place of the page that shows text of a model, a tool, a program or a tracer. Nothing runs,
// and nothing is requested from elsewhere. (Open WebUI CVE-2026-109288, mastra c5ee5b28, EchoLeak CVE-2025-32711.)

import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { InMemorySession, ReActAgent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';

import { Studios, type StudioClient } from '../../test/studio-client.ts';
import { BrowserWindow, CHROMIUM } from './browser.ts';
import { buildPage } from './built-page.ts';
import { HOSTILE_TEXTS } from './hostile-texts.ts';
import { casesOf } from '../../../troupe/test/fair-sample.ts';

/** Texts for places that hold one text each. */
const SHORT = casesOf(
  'hostile texts in each place of the page',
  HOSTILE_TEXTS.filter((text) => text.length < 190),
  50,
);
/** Texts of messages. */
const SAID = casesOf('hostile texts in messages of the page', HOSTILE_TEXTS, 60);
const TIME = '2026-01-31T09:30:00.000Z';

/** Everything in the document that could run code or load from elsewhere, and events sent to each part of a message. */
const FIND_ACTIVE = `(() => {
  const found = [];
  for (const element of document.querySelectorAll('*')) {
    const name = element.localName;
    if (/^(?:iframe|object|embed|base|frame|applet|foreignobject|animate|set|math)$/.test(name)) found.push(name);
    for (const { name: attribute, value } of element.attributes) {
      if (/^on/i.test(attribute) || attribute === 'style' && /url|expression/i.test(value)) found.push(name + ' ' + attribute);
      if (/^(?:href|src|action|formaction|xlink:href|srcset|poster|data|ping)$/.test(attribute) &&
        !/^(?:https?:|mailto:|#|\\.\\/|\\/|data:image\\/(?:png|jpeg|gif|webp)|api\\/)/.test(value)) found.push(name + ' ' + attribute + '=' + value);
    }
  }
  for (const element of document.querySelectorAll('.md *:not(a), .tool-output *, .run-name *'))
    for (const type of ['mouseover', 'pointerenter', 'focus', 'toggle', 'error', 'load'])
      element.dispatchEvent(new Event(type, { bubbles: false }));
  return found;
})()`;

// Hundreds of texts are drawn and looked at in each test: long on a busy machine.
describe.skipIf(CHROMIUM === undefined)('hostile texts in a browser', { timeout: 180_000 }, () => {
  const studios = new Studios();
  let client: StudioClient;
  let window: BrowserWindow;
  const dialogs: string[] = [];
  let batch = 0;
  let signsOfLife: NodeJS.Timeout;

  beforeAll(async () => {
    await buildPage();
    client = await studios.start({
      session: new InMemorySession(),
      agents: {
        [SHORT[0] ?? '']: {
          name: SHORT[0] ?? '',
          create: () => new ReActAgent({ name: 'Ann', model: new ScriptedModel(['x']), console: false }),
        },
      },
    });
    window = await BrowserWindow.open(client.studio.loginUrl, { width: 1440, height: 30_000 });
    window.page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await window.page.locator('.view').first().waitFor();
    signsOfLife = setInterval(() => void tell([]), 1000); // questions of a program that is lost are withdrawn
  }, 120_000);

  afterAll(async () => {
    clearInterval(signsOfLife);
    await window[Symbol.asyncDispose]();
    await studios.closeAll();
  });

  /** Sends items as a program does. */
  async function tell(items: readonly object[]): Promise<void> {
    const { url, token } = client.studio;
    const program = { id: 'p1', library: '<img src=x onerror=window.hacked=1>', protocol: 1 };
    const { status } = await fetch(`${url}/program/batches`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ program, number: ++batch, dropped: 0, items }),
    });
    assert.equal(status, 200);
  }

  function event(runId: string, agentPath: readonly string[], body: object): object {
    const base = { runId: 'c', replyId: 'r', agentPath, seq: 1, id: `${runId}-${batch}`, timestamp: TIME };
    return { runId, kind: 'event', agentId: 'a', event: { ...base, ...body } };
  }

  const run = (runId: string, name = 'hostile'): object => ({
    runId,
    kind: 'run',
    run: { project: 'hostile', name, createdAt: TIME },
  });

  async function show(hash: string, selector: string): Promise<void> {
    await window.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await window.page.locator(selector).first().waitFor();
  }

  /** Looks for what ran, what is active in the document, and what was requested. */
  async function expectNothingRan(): Promise<void> {
    expect(await window.page.evaluate(FIND_ACTIVE)).toEqual([]);
    await window.page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))');
    expect(await window.page.evaluate('window.hacked')).toBe(undefined);
    expect(dialogs).toEqual([]);
    const { origin, host } = new URL(client.studio.url);
    const isOwn = (url: string): boolean =>
      url.startsWith(`${origin}/`) || url.startsWith(`ws://${host}/`) || url.startsWith('data:');
    expect(window.requests.filter((url) => !isOwn(url))).toEqual([]);
    expect(window.faults).toEqual([]);
    expect(new URL(window.page.url()).origin).toBe(origin);
  }

  test('there are 150 of them at least, and all differ', () => {
    expect(new Set(HOSTILE_TEXTS).size).toBe(HOSTILE_TEXTS.length);
    expect(HOSTILE_TEXTS.length).toBeGreaterThanOrEqual(150);
  });

  test.each(['user', 'assistant'] as const)('in messages of role %s are shown', async (role) => {
    const id = `messages-${role}`;
    await agentScope('registerRun', {
      id,
      project: 'x',
      name: 'x',
      timestamp: TIME,
      pid: 1,
      status: 'running',
    });
    for (const [index, text] of SAID.entries())
      await agentScope('pushMessage', {
        runId: id,
        replyId: `r${index}`,
        replyName: 'Ann',
        replyRole: role,
        msg: {
          id: `m${index}`,
          name: 'Ann',
          role,
          content: [{ type: 'text', text }],
          metadata: {},
          timestamp: TIME,
        },
      });
    await show(`#/runs/${id}`, '.md');
    // the list draws only what is in the window: it is moved until each message was drawn
    const drawn = new Set<string>();
    for (let move = 0; move < 100 && drawn.size < SAID.length; move++) {
      const keys: string[] = await window.page.evaluate(
        "[...document.querySelectorAll('.row[data-seq]')].map((row) => row.dataset.seq)",
      );
      for (const key of keys) drawn.add(key);
      await expectNothingRan();
      await window.page.evaluate(`(() => {
          const list = document.querySelector('.conversation-scroll');
          const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 2;
          list.scrollTop = isAtEnd ? 0 : list.scrollTop + list.clientHeight / 2;
          return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        })()`);
    }
    expect(drawn.size).toBeGreaterThanOrEqual(SAID.length);
    expect(await window.page.locator('.md script, .md img, .md svg:not(figcaption *)').count()).toBe(0);
  });

  test('in names and arguments of tools, and in their output', async () => {
    const id = 'tools';
    await agentScope('registerRun', {
      id,
      project: 'x',
      name: 'x',
      timestamp: TIME,
      pid: 1,
      status: 'running',
    });
    for (const [index, text] of SHORT.entries()) {
      const call = {
        type: 'tool_use',
        id: `call ${index}`,
        name: text,
        input: { [text]: text, list: [{ [text]: text }] },
      };
      const media = ['image', 'audio', 'video'].flatMap((type) => [
        { type, source: { type: 'url', url: text } },
        { type, source: { type: 'base64', media_type: text, data: text } },
      ]);
      const output = [{ type: 'text', text }, ...media];
      const result = { type: 'tool_result', id: `call ${index}`, name: text, output };
      const base = { name: text, metadata: {}, timestamp: TIME };
      const reply = { runId: id, replyId: `r${index}`, replyName: text, replyRole: 'assistant' };
      await agentScope('pushMessage', {
        ...reply,
        msg: { ...base, id: `m${index}`, role: 'assistant', content: [call] },
      });
      await agentScope('pushMessage', {
        ...reply,
        msg: { ...base, id: `n${index}`, role: 'system', content: [result] },
      });
    }
    await show(`#/runs/${id}`, '.tool-line');
    for (const line of (await window.page.locator('.tool-line').all()).slice(0, 30)) await line.click();
    expect(await window.page.locator('.tool-output').count()).toBeGreaterThan(20);
    await expectNothingRan();
  });

  test('in names of agents and hubs, in errors, and in what the inspector shows', async () => {
    const id = 'agents';
    await tell([
      run(id),
      ...SHORT.map((text, index) => ({
        runId: id,
        kind: 'agent',
        agent: { id: `a${index}`, name: text, className: text, path: [text], hubs: [text] },
      })),
      ...SHORT.flatMap((text, index) => {
        const base = { runId: `c${index}`, replyId: `r${index}` };
        const error = { name: text, message: text };
        return [
          event(id, [text], { ...base, type: 'reply_start', name: text }),
          event(id, [text], { ...base, type: 'run_end', status: 'failed', error, durationMs: 1 }),
        ];
      }),
    ]);
    const msgs = SHORT.map((text, index) => ({
      msg: { id: `m${index}`, name: text, role: 'user', content: text },
      marks: [text],
    }));
    const subtasks = SHORT.map((text) => ({ name: text, description: text, state: 'todo', outcome: text }));
    const tools = SHORT.map((text) => ({ name: text, description: text, schema: { [text]: text } }));
    const data = {
      memory: { className: SHORT[0], working: msgs, compressions: [] },
      plan: { name: SHORT[0], description: SHORT[1], state: 'todo', subtasks },
      toolGroups: [{ name: SHORT[0], description: SHORT[1], isActive: true, tools }],
      hooks: SHORT.map((text) => ({ type: text, name: text, level: 'class' })),
      state: Object.fromEntries(SHORT.map((text) => [text, text])),
      sysPrompt: SHORT[0],
    };
    await tell([{ runId: id, kind: 'inside', inside: { agentId: 'a0', data, leftOut: SHORT } }]);
    await show(`#/runs/${id}`, '.cast .hubs li');
    expect(await window.page.locator('.cast .hubs li').count()).toBe(SHORT.length);
    await window.page
      .getByText(`: ${SHORT[12] ?? ''}`, { exact: false })
      .first()
      .waitFor();
    await expectNothingRan();
    for (const tab of ['details', 'trace', 'prompts', 'memory', 'plan', 'tools', 'state']) {
      await show(`#/runs/${id}?tab=${tab}`, '.inspector .tab-panel');
      await expectNothingRan();
    }
  });

  test('in ids, names and projects of runs, in questions and their forms', async () => {
    await tell(
      SHORT.map((text, index) => ({
        ...run(`${index}/${text}`, text),
        run: { project: text, name: text, createdAt: text },
      })),
    );
    await show('#/runs', '.run-name');
    await expectNothingRan();
    const text = SHORT[0] ?? '';
    const asked = `0/${text}`;
    const schema = {
      type: 'object',
      title: text,
      properties: Object.fromEntries(
        SHORT.map((one, index) => [
          one,
          index % 2 ? { type: 'string', title: one, description: one } : { enum: [one], description: one },
        ]),
      ),
    };
    const question = { id: text, agentId: 'a', agentName: text, agentPath: [text], schema };
    const pending = SHORT.slice(0, 5).map((one) => ({
      id: one,
      kind: 'approval',
      agentPath: [one],
      reason: one,
      call: { type: 'tool_use', id: one, name: one, input: { [one]: one } },
    }));
    const questions = SHORT.slice(5, 10).flatMap((one) => {
      const call = { type: 'tool_use', id: one, name: one, input: {} };
      const forms = [{ choices: SHORT }, { choices: SHORT, multiple: true }, { schema }, { url: one }, {}];
      return forms.map((form, index) => ({
        id: `${index} ${one}`,
        kind: 'question',
        agentPath: [one],
        source: one,
        call,
        question: { message: one, ...form },
      }));
    });
    await tell([
      { runId: asked, kind: 'question', question },
      { runId: asked, kind: 'pending', agentId: 'a', pending: [...pending, ...questions], schemas: {} },
    ]);
    await show(`#/runs/${encodeURIComponent(asked)}`, '.waiting-region .card');
    await expectNothingRan();
    await show('#/', '.card .choices');
    expect(await window.page.locator('.card .choices').count()).toBe(10);
    await expectNothingRan();
  });

  test('in names, services, attributes and errors of spans, and in names of sessions', async () => {
    const { url, token } = client.studio;
    const spans = SHORT.map((text, index) => ({
      traceId: index.toString(16).padStart(32, '0'),
      spanId: (index + 1).toString(16).padStart(16, '0'),
      name: text,
      startTimeUnixNano: '1700000000000000000',
      endTimeUnixNano: '1700000001500000000',
      attributes: SHORT.map((key) => ({ key, value: { stringValue: text } })),
      events: [
        {
          name: text,
          timeUnixNano: '1700000000000000000',
          attributes: [{ key: text, value: { stringValue: text } }],
        },
      ],
      status: { code: 2, message: text },
    }));
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: SHORT[0] } }] };
    const { status } = await fetch(`${url}/v1/traces`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }),
    });
    expect(status).toBe(200);
    await show('#/traces', '.runs tbody tr');
    await expectNothingRan();
    await show(`#/traces/${spans[0]?.traceId}`, '.span-label');
    await window.page.locator('.span-label').first().click();
    await window.page.locator('.span-facts').waitFor();
    expect(await window.page.locator('.span-facts').textContent()).toContain(SHORT[3]);
    await expectNothingRan();
    const { body } = await client.get('api/info');
    const agentKey: string = body.agents[0].key;
    const { body: started } = await client.post('api/conversations', { agent: agentKey });
    const live = await client.live();
    live.send({ type: 'watch_run', runId: started.id, after: 0 });
    await client.act(started.id, { type: 'send', content: 'x' });
    await live.entry(started.id, (entry) => entry.kind === 'event' && entry.event.type === 'run_end');
    const { body: file } = await client.get(`api/sessions/${started.sessionId}/export`);
    for (const title of SHORT.slice(0, 40)) {
      const answer = await client.post('api/sessions/import', { ...file, title });
      expect(answer.status).toBe(200);
    }
    await show('#/sessions', '.session');
    expect(await window.page.locator('.session').count()).toBe(41);
    await expectNothingRan();
  });

  async function agentScope(procedure: string, input: object): Promise<void> {
    const { status } = await fetch(`${client.studio.agentscopeUrl}/trpc/${procedure}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
    assert.equal(status, 200);
  }
});
