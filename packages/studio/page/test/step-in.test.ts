// A person in the page: steers, queues, attaches files, answers forms, looks inside, replays, compares, and carries sessions over.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  InMemorySession,
  MsgHub,
  ReActAgent,
  registerSubAgent,
  TaskSubAgent,
  tool,
  UserAgent,
  withRunConfig,
  type JsonObject,
  type Tool,
} from 'troupe';
import { askUserTool } from 'troupe/ask-user';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

import { Studios, type StudioClient } from '../../test/studio-client.ts';
import { BrowserWindow, CHROMIUM } from './browser.ts';
import { buildPage } from './built-page.ts';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

/** A WAV file of one millisecond of silence. */
function silence(): string {
  const samples = 8;
  const head = Buffer.alloc(44 + samples);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(8000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples, 40);
  head.fill(128, 44);
  return head.toString('base64');
}

/** A tool that goes on when the test says so. */
let release: () => void = () => {};
const work = tool({
  name: 'work',
  description: 'Works.',
  schema: z.object({}),
  execute: () => new Promise<string>((resolve) => (release = () => resolve('worked'))),
});
const sing = tool({
  name: 'sing',
  description: 'Sings.',
  schema: z.object({}),
  execute: () => [
    { type: 'text' as const, text: 'A song.' },
    { type: 'audio' as const, source: { type: 'base64' as const, mediaType: 'audio/wav', data: silence() } },
  ],
});
const BOOKING = z.object({
  name: z.string().min(2).describe('Name of the guest'),
  guests: z.number().int().min(1).max(9),
  day: z.enum(['Friday', 'Saturday']),
  isWindow: z.boolean(),
  wishes: z.array(z.string()),
  address: z.object({ city: z.string(), zip: z.string().optional() }),
  pay: z.union([z.object({ card: z.string() }), z.object({ cash: z.number() })]),
});
const book = tool({
  name: 'book',
  description: 'Books.',
  schema: z.object({}),
  execute: async () => {
    const person = new UserAgent({ name: 'person', console: false });
    const { metadata } = await person.call(undefined, { structuredModel: BOOKING });
    return JSON.stringify(metadata);
  },
});

const usage = { inputTokens: 1200, outputTokens: 80, cachedTokens: 900, cost: 0.0042 };
let models: ScriptedModel[] = [];
let sysPrompt = 'You are brief.';

function agentOf(
  name: string,
  script: ConstructorParameters<typeof ScriptedModel>[0],
  tools: readonly Tool[] = [work],
) {
  const model = new ScriptedModel(script, 'scripted-1');
  models.push(model);
  return new ReActAgent({ name, sysPrompt, model, tools, console: false });
}

const callOf = (name: string, input = {}) => ({ toolCalls: [{ id: `${name}-1`, name, input }], usage });

const QUESTIONS = [
  { question: 'Which colour?', choices: ['red', 'blue'] },
  { question: 'Which days?', choices: ['Friday', 'Saturday', 'Sunday'], multiple: true },
  { question: 'Why?' },
  {
    question: 'Where to?',
    schema: {
      type: 'object',
      properties: { city: { type: 'string' }, from: { type: 'string', format: 'date-time' } },
      required: ['city'],
    },
  },
  { question: 'How old are you?' },
];
const questionCall = (input: JsonObject, index: number) => ({
  toolCalls: [{ id: `q${index}`, name: 'ask_user', input }],
  usage,
});

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  const studios = new Studios();
  let client: StudioClient;
  let window: BrowserWindow;

  beforeAll(async () => {
    await buildPage();
    client = await studios.start({
      session: new InMemorySession(),
      agents: {
        worker: {
          name: 'Worker',
          create: () => agentOf('Worker', [callOf('work'), 'First done.', 'Second done.']),
        },
        talks: {
          name: 'Talks',
          create: () =>
            agentOf(
              'Talks',
              ['One.', 'Two.', 'Three.'].map((text) => ({ text, usage })),
            ),
        },
        sings: { name: 'Sings', create: () => agentOf('Sings', [callOf('sing'), 'Sung.'], [sing]) },
        asks: {
          name: 'Asks',
          create: () => agentOf('Asks', [...QUESTIONS.map(questionCall), 'Thank you.'], [askUserTool()]),
        },
        books: { name: 'Books', create: () => agentOf('Books', [callOf('book'), 'Booked.'], [book]) },
        host: { name: 'Host', create: hostWithBudget },
      },
    });
    window = await BrowserWindow.open(client.studio.loginUrl);
    await window.page.getByRole('heading', { name: 'Talk to' }).waitFor();
  }, 120_000);

  afterAll(async () => {
    await window[Symbol.asyncDispose]();
    await studios.closeAll();
  });

  beforeEach(() => {
    models = [];
    sysPrompt = 'You are brief.';
  });

  async function hostWithBudget(): Promise<ReActAgent> {
    const host = agentOf('Host', [callOf('agent_helper', { task: 'Help.' }), 'Helped.'], []);
    await registerSubAgent(
      host,
      TaskSubAgent,
      { name: 'helper', description: 'Helps.', modelOverride: new ScriptedModel([{ text: 'Here.', usage }]) },
      { safetyLimits: { maxTokens: 5000, maxModelCalls: 4 } },
    );
    return host;
  }

  /** Starts a conversation, and sends its first message. @returns the id of the run */
  async function talkTo(key: string, text: string): Promise<string> {
    const { page } = window;
    const { body } = await client.post('api/conversations', { agent: key });
    await page.evaluate(`location.hash = '#/runs/${body.id}'`);
    await page.locator('.status-idle').waitFor();
    await say(text);
    return body.id;
  }

  async function say(text: string): Promise<void> {
    await window.page.getByRole('textbox', { name: 'Message' }).fill(text);
    await window.page.keyboard.press('Enter');
  }

  const texts = (model: ScriptedModel | undefined, request: number): string =>
    JSON.stringify(model?.requests[request]?.messages ?? []);

  test('a message steers a running agent, and another one waits for the end of the reply', async () => {
    const { page } = window;
    await talkTo('worker', 'Work!');
    await page.getByText('Steer', { exact: true }).click();
    await say('Only in red.');
    await page.getByText('Only in red.').first().waitFor();
    await page.getByText('Follow up', { exact: true }).click();
    await say('And then?');
    await page.getByText('And then?').first().waitFor();
    expect(await window.violations()).toEqual([]);
    release();
    await page.getByText('First done.').waitFor();
    await page.getByText('Second done.').waitFor();
    const [model] = models;
    expect(model?.requests.length).toBe(3);
    expect([texts(model, 1).includes('Only in red.'), texts(model, 1).includes('And then?')]).toEqual([
      true,
      false,
    ]);
    expect(texts(model, 2)).toContain('And then?');
  });

  test('images and files are attached, shown, and reach the model', async () => {
    const { page } = window;
    await talkTo('talks', 'Hello.');
    await page.getByText('One.', { exact: true }).waitFor();
    await page.locator('.composer input[type=file]').setInputFiles([
      { name: 'red.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Buy milk.') },
      { name: 'extra.txt', mimeType: 'text/plain', buffer: Buffer.from('x') },
    ]);
    await page.getByRole('button', { name: 'Remove extra.txt' }).click();
    await say('What is this?');
    await page.getByText('Two.', { exact: true }).waitFor();
    const image = page.locator('.media-image img');
    await image.waitFor();
    const width = "document.querySelector('.media-image img')";
    expect(await page.evaluate(`${width}.decode().then(() => ${width}.naturalWidth)`)).toBe(1);
    expect(await page.locator('a.media-file').getAttribute('download')).toBe('notes.txt');
    const blocks = models[0]?.requests[1]?.messages.at(-1)?.content;
    expect(blocks).toMatchObject([
      { type: 'text', text: 'What is this?' },
      { type: 'image', source: { mediaType: 'image/png', data: PIXEL } },
      { type: 'file', filename: 'notes.txt', source: { data: Buffer.from('Buy milk.').toString('base64') } },
    ]);
    expect(await window.violations()).toEqual([]);
  });

  test('a sound of a tool is played', async () => {
    const { page } = window;
    await talkTo('sings', 'Sing!');
    await page.getByText('Sung.').waitFor();
    await page.locator('.tool-line', { hasText: 'sing' }).click();
    const audio = page.locator('audio.media-audio').first();
    await audio.waitFor();
    const play = `new Promise((resolve, reject) => {
      const audio = document.querySelector('audio.media-audio');
      audio.addEventListener('ended', () => resolve('ended'));
      audio.play().catch(reject);
    })`;
    expect(await page.evaluate(play)).toBe('ended');
  });

  test('a form has a field for each part of its schema, and its answer reaches the tool', async () => {
    const { page } = window;
    const runId = await talkTo('books', 'Book!');
    const card = page.locator('.waiting-region .card');
    await card.getByLabel(/^name/).fill('Ann');
    await card.getByLabel(/^guests/).fill('4');
    await card.getByLabel(/^day/).selectOption('Saturday');
    await card
      .getByLabel(/^isWindow/)
      .selectOption('true')
      .catch(() => card.getByLabel(/^isWindow/).check());
    expect(await window.violations()).toEqual([]);
    await card.getByRole('button', { name: /Add/ }).first().click();
    await card.locator('input[id*="wishes"]').last().fill('quiet');
    await card.getByLabel(/^city/).fill('Bonn');
    await card.locator('input[id*="card"]').fill('1234');
    await card.getByRole('button', { name: 'Answer' }).click();
    await page.getByText('Booked.').waitFor();
    const { body } = await client.get(`api/runs/${runId}/entries`);
    expect(JSON.stringify(body.entries)).toContain(
      JSON.stringify(
        JSON.stringify({
          name: 'Ann',
          guests: 4,
          day: 'Saturday',
          isWindow: true,
          wishes: ['quiet'],
          address: { city: 'Bonn' },
          pay: { card: '1234' },
        }),
      ).slice(1, -1),
    );
  });

  test('questions of a tool are answered by a choice, by several, in words and by a form, or declined', async () => {
    const { page } = window;
    await talkTo('asks', 'Ask me!');
    const card = page.locator('.waiting-region .card');
    const asked = (question: string) => card.locator('.card-about', { hasText: question }).waitFor();
    const button = (name: string) => card.getByRole('button', { name });
    await asked('Which colour?');
    expect(await window.violations()).toEqual([]);
    await button('blue').click();
    await asked('Which days?');
    await card.getByLabel('Friday').check();
    await card.getByLabel('Sunday').check();
    await button('Answer').click();
    await asked('Why?');
    await card.getByLabel('Your answer').fill('Because.');
    await page.keyboard.press('Enter');
    await asked('Where to?');
    await button('Answer').and(page.locator(':enabled')).click();
    await card.locator('.field-error', { hasText: 'A value is missing.' }).waitFor();
    expect(await window.violations()).toEqual([]);
    await card.getByLabel('city').fill('Rome');
    await card.getByLabel('from').fill('2026-07-01T10:00');
    await button('Answer').click();
    await asked('How old are you?');
    await button('Decline…').and(page.locator(':enabled')).click();
    await card.getByLabel(/Reason/).fill('Not your business.');
    await button('Decline').click();
    await page.getByText('Thank you.').waitFor();
    await page.getByText('You denied a tool call: Not your business.').waitFor();
    const results = JSON.stringify(models[0]?.requests.at(-1)?.messages);
    const from = new Date(2026, 6, 1, 10).toISOString();
    for (const text of ['blue', 'Friday, Sunday', 'Because.', `- from: ${from}`, 'Not your business.'])
      expect(results).toContain(text);
  });

  test('agents of a hub are shown together as a room, each with its own colour', async () => {
    const { page } = window;
    const [ann, bob] = [agentOf('Ann', ['I like tea.']), agentOf('Bob', ['I like milk.'])];
    await withRunConfig({ runId: 'party', name: 'party' }, async () => {
      await using hub = new MsgHub({ participants: [ann, bob], name: 'kitchen' });
      await hub.open();
      await ann.call('What do you like?');
      await bob.call();
    });
    await page.evaluate("location.hash = '#/runs/party'");
    await page.getByText('I like milk.').waitFor();
    const hub = page.locator('.hubs li', { hasText: 'kitchen' });
    await hub.getByText('Ann, Bob', { exact: true }).waitFor();
    await page.locator('.cast-bar').nth(1).waitFor();
    const colours: string[] = await page.evaluate(
      "[...document.querySelectorAll('.cast-bar')].map((bar) => getComputedStyle(bar).backgroundColor)",
    );
    expect(new Set(colours).size).toBe(2);
    await page.locator('.cast button', { hasText: 'Bob' }).click();
    await page.getByText('I like tea.').waitFor({ state: 'detached' });
    await page.getByText('I like milk.').waitFor();
  });

  test('the budgets of a sub-agent are shown, with what was spent of each limit', async () => {
    const { page } = window;
    await talkTo('host', 'Help!');
    await page.getByText('Helped.').waitFor();
    await page.getByRole('tab', { name: 'Tools' }).click();
    await page.locator('.inspector select').selectOption({ label: 'Host › helper' });
    await page.getByRole('heading', { name: 'Budget' }).waitFor();
    const lines = await page.locator('.meters li').allTextContents();
    expect(lines).toContain('maxTokens2,560 / 5,000');
    expect(lines).toContain('maxModelCalls1 / 4');
    expect(await page.getByText('The host with its sub-agents').count()).toBe(1);
    expect(await window.violations()).toEqual([]);
  });

  test('a replay is the same with the same code, and shows the first difference with another prompt', async () => {
    const { page } = window;
    await talkTo('talks', 'Hello.');
    await page.getByText('One.', { exact: true }).waitFor();
    await page.locator('.status-idle').waitFor();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByText('✓ The same.').waitFor();
    sysPrompt = 'You are long-winded.';
    await page.getByRole('button', { name: 'Replay again' }).click();
    await page.getByText('✕ Different.').waitFor();
    await page.getByText('The prompt of model call 1 differs.').waitFor();
    const shown = await page.locator('.replay').textContent();
    expect([shown?.includes('brief'), shown?.includes('long-winded')]).toEqual([true, true]);
    expect(await window.violations()).toEqual([]);
    await page.keyboard.press('Escape');
  });

  test('two runs are chosen in the list and compared turn by turn', async () => {
    const { page } = window;
    for (const text of ['Hello.', 'Good day.']) {
      await talkTo('talks', text);
      await page.getByText('One.', { exact: true }).waitFor();
      await page.locator('.status-idle').waitFor();
    }
    await page.evaluate("location.hash = '#/runs'");
    const boxes = page.locator('.runs tbody tr', { hasText: 'Talks' }).locator('input[type=checkbox]');
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page.getByRole('link', { name: 'Compare' }).click();
    await page.getByText('The first difference is in turn 1.').waitFor();
    expect(await page.locator('.turn-side').count()).toBe(2);
  });

  test('charts show tokens, cost, latency, cache and errors, by model, agent and tool', async () => {
    const { page } = window;
    await talkTo('talks', 'Hello.');
    await page.getByText('One.', { exact: true }).waitFor();
    for (const [by, name] of [
      ['model', 'scripted-1'],
      ['agent', 'Talks'],
      ['tool', 'sing'],
    ] as const) {
      await page.evaluate(`location.hash = '#/charts?by=${by}'`);
      await page
        .getByRole('row', { name: new RegExp(`^${name}`) })
        .first()
        .waitFor();
      expect(await page.locator('.charts canvas').count()).toBeGreaterThan(1);
      expect(await window.violations()).toEqual([]);
    }
    await page.evaluate("location.hash = '#/charts?by=model'");
    const row = page.getByRole('region', { name: 'Totals' }).getByRole('row', { name: /^scripted-1/ });
    expect(await row.textContent()).toMatch(/75\s?%/);
  });

  test('a session is exported, imported under a new id, and resumed with its memory', async () => {
    const { page } = window;
    await talkTo('talks', 'My name is Ann.');
    await page.getByText('One.', { exact: true }).waitFor();
    await page.locator('.status-idle').waitFor();
    await page.evaluate("location.hash = '#/sessions'");
    await page.locator('.session').first().waitFor();
    const count = await page.locator('.session').count();
    const download = page.waitForEvent('download');
    await page
      .locator('.session', { hasText: 'talks' })
      .first()
      .getByRole('link', { name: 'Export' })
      .click();
    const path = join(studios.folder(), 'session.json');
    await (await download).saveAs(path);
    const file = JSON.parse(readFileSync(path, 'utf8')) as { title?: string };
    writeFileSync(path, JSON.stringify({ ...file, title: 'carried over' }));
    await page.locator('input[type=file]').setInputFiles(path);
    const carried = page.locator('.session', { hasText: 'carried over' });
    await carried.waitFor();
    expect(await page.locator('.session').count()).toBe(count + 1);
    await carried.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.status-idle').waitFor();
    await say('What is my name?');
    await page.getByText('One.', { exact: true }).waitFor();
    expect(texts(models.at(-1), 0)).toContain('My name is Ann.');
  });
});
