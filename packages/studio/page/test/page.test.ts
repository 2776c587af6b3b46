import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { agentTool, PermissionRules, ReActAgent, tool, UserAgent } from 'troupe';
import { ScriptedModel, type ScriptedTurn } from 'troupe/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { startStudio, type Studio } from '../../src/start-studio.ts';
import { BrowserWindow, CHROMIUM } from './browser.ts';
import { buildPage, PAGE } from './built-page.ts';
import { casesOf } from '../../../troupe/test/fair-sample.ts';

const MAX_FIRST_VIEW = 250 * 1024;

beforeAll(buildPage, 120_000);

/** Files that the page loads at its start: the scripts of `index.html`, with everything that these import at once. */
function firstViewFiles(): string[] {
  const html = readFileSync(join(PAGE, 'index.html'), 'utf8');
  const open = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, file = '']) => file);
  const found = new Set<string>();
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    const code = readFileSync(join(PAGE, file), 'utf8');
    for (const [, name = ''] of code.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g))
      open.push(`assets/${name}`);
  }
  return [...found];
}

describe('the built page', () => {
  test('loads less than 250 kB of compressed scripts for the first view', () => {
    const sizes = firstViewFiles().map((file) => gzipSync(readFileSync(join(PAGE, file))).length);
    expect(sizes.length).toBeGreaterThan(0);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_FIRST_VIEW);
  });

  test('has nothing inline, compiles no code, and names no other server', () => {
    const html = readFileSync(join(PAGE, 'index.html'), 'utf8');
    expect(html).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)|\son\w+=|https?:/);
    const scripts = readdirSync(join(PAGE, 'assets')).filter((name) => name.endsWith('.js'));
    for (const name of scripts)
      expect(readFileSync(join(PAGE, 'assets', name), 'utf8'), name).not.toMatch(
        /\bnew Function\b|[^.\w]eval\(|[^.\w]Function\(/,
      );
  });
});

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  schema: z.object({ to: z.string(), text: z.string() }),
  execute: ({ to, text }) => `sent to ${to}: ${text}`,
});

/** A lead with a sub-agent that asks before it sends mail. */
function lead(): ReActAgent {
  const call = { id: 'i1', name: 'send_mail', input: { to: 'bob', text: 'Hello.' } };
  const finance = new ReActAgent({
    name: 'Finance',
    model: new ScriptedModel([{ toolCalls: [call] }, 'The mail is sent.']),
    tools: [mail],
    permissionPolicy: new PermissionRules({ mode: 'default' }),
    console: false,
  });
  return new ReActAgent({
    name: 'Lead',
    model: new ScriptedModel([
      { toolCalls: [{ id: 'o1', name: 'finance', input: { query: 'Write to Bob.' } }] },
      'All done.',
    ]),
    tools: [agentTool(finance, { name: 'finance', description: 'Money.' })],
    console: false,
  });
}

/** An agent that asks a person by a form. */
function asker(): ReActAgent {
  const ask = tool({
    name: 'ask_person',
    description: 'Asks.',
    schema: z.object({}),
    execute: async () => {
      const structuredModel = z.object({
        guests: z.number().int().min(1),
        day: z.enum(['Friday', 'Saturday']),
      });
      const { metadata } = await new UserAgent({ name: 'person', console: false }).call('For which day?', {
        structuredModel,
      });
      return JSON.stringify(metadata);
    },
  });
  const model = new ScriptedModel([
    { toolCalls: [{ id: 'a1', name: 'ask_person', input: {} }] },
    'The table is booked.',
  ]);
  return new ReActAgent({ name: 'Host', model, tools: [ask], console: false });
}

function speaker(...turns: (string | ScriptedTurn)[]): () => ReActAgent {
  return () => new ReActAgent({ name: 'Ann', model: new ScriptedModel(turns), console: false });
}

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  let studio: Studio;
  let dir: string;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'troupe-studio-page-'));
    studio = await startStudio({
      port: 0,
      dir,
      tokenDir: dir,
      log: () => {},
      agents: {
        lead: { name: 'Lead', create: lead },
        asker: { name: 'Host', create: asker },
        stalls: { name: 'Stalls', create: speaker({ text: 'Once upon a time', stall: true }) },
        talks: {
          name: 'Talks',
          suggestions: [{ label: { en: 'Talk', zh: '谈话' }, text: 'Say something.', shows: 'streaming' }],
          create: speaker('First answer.', 'Second answer.', 'Third answer.'),
        },
      },
    });
  });

  afterAll(async () => {
    await studio.close();
    rmSync(dir, { recursive: true, force: true });
  });

  async function talkTo(window: BrowserWindow, name: string, text: string): Promise<void> {
    const { page } = window;
    await page
      .locator('.offer', { has: page.locator(`strong:text-is("${name}")`) })
      .getByRole('button', { name: 'Start a conversation' })
      .click();
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.keyboard.press('Enter');
  }

  test('approves a nested tool call with edited arguments', async () => {
    await using window = await BrowserWindow.open(studio.loginUrl);
    const { page } = window;
    await talkTo(window, 'Lead', 'Go!');
    const card = page.locator('.waiting-region .card');
    await card.waitFor();
    expect(await card.locator('.card-path').textContent()).toBe('Lead › Finance');
    expect(await card.locator('.tool-name').textContent()).toBe('send_mail');
    expect(await window.violations()).toEqual([]);
    const composer = page.getByRole('textbox', { name: 'Message' });
    expect([await composer.isDisabled(), await composer.getAttribute('placeholder')]).toEqual([
      true,
      'Decide above first: the agent waits for you.',
    ]);
    await card.getByRole('button', { name: 'Edit' }).click();
    await card.getByLabel('text', { exact: true }).fill('Good morning.');
    expect(await card.locator('.tag.changed').count()).toBe(1);
    await card.getByRole('button', { name: 'Approve with these arguments' }).click();
    await page.getByText('All done.').waitFor();
    await page.locator('.tool-line', { hasText: 'finance' }).click();
    await page.locator('.row[data-depth="1"] .tool-line').click();
    await page.getByText('sent to bob: Good morning.').first().waitFor();
    expect(await window.violations()).toEqual([]);
    expect(window.faults).toEqual([]);
  });

  test('shows problems of a form beside their fields, and sends the corrected answer', async () => {
    await using window = await BrowserWindow.open(studio.loginUrl);
    const { page } = window;
    await talkTo(window, 'Host', 'Book a table.');
    const card = page.locator('.waiting-region .card');
    expect(await card.locator('.card-about').textContent()).toBe('For which day?');
    await card.getByLabel('guests').fill('0');
    await card.getByLabel('day').selectOption('Saturday');
    await card.getByRole('button', { name: 'Answer' }).click();
    await card.locator('.field-error').waitFor();
    expect(await window.violations()).toEqual([]);
    await card.getByLabel('guests').fill('4');
    await card.getByRole('button', { name: 'Answer' }).click();
    await page.getByText('The table is booked.').waitFor();
    await page.locator('.tool-line', { hasText: 'ask_person' }).click();
    await page.locator('.tool-output').getByText('Saturday').waitFor();
  });

  test('interrupts in mid-answer', async () => {
    await using window = await BrowserWindow.open(studio.loginUrl);
    const { page } = window;
    await talkTo(window, 'Stalls', 'A story!');
    await page.getByText('Once upon a time').waitFor();
    await page.getByRole('button', { name: 'Interrupt' }).click();
    await page.getByText('■ You interrupted').waitFor();
    await page.locator('.status-idle').waitFor();
    expect(window.faults).toEqual([]);
  });

  test('looks back and forward, branches with an edited message, and compares', async () => {
    await using window = await BrowserWindow.open(studio.loginUrl);
    const { page } = window;
    await talkTo(window, 'Talks', 'One');
    await page.getByText('First answer.').waitFor();
    await page.locator('.status-idle').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('Two');
    await page.keyboard.press('Enter');
    await page.getByText('Second answer.').waitFor();
    await page.locator('.status-idle').waitFor();
    await page.locator('.conversation-scroll').focus();
    await page.keyboard.press('{');
    await page.getByText(/Looking at #\d+ of \d+/).waitFor();
    expect(await page.getByText('Second answer.').count()).toBe(0);
    expect(await window.violations()).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByText('Second answer.').waitFor();
    await page.getByRole('button', { name: 'Branch', exact: true }).click();
    await page.locator('#branch-text').fill('Another two');
    await page.getByRole('button', { name: 'Branch, live' }).click();
    await page.locator('.message', { hasText: 'Another two' }).waitFor();
    await page.getByRole('link', { name: 'Compare with its parent' }).click();
    await page.getByText('The first difference is in turn 2.').waitFor();
    expect(await window.violations()).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator('.compare-head a').first().click();
    await page.getByLabel('Branches').waitFor();
    for (const part of ['.run', '.run-head'])
      expect(await page.locator(part).evaluate((one) => one.scrollWidth - one.clientWidth), part).toBe(0);
    expect(await window.violations()).toEqual([]);
  });

  const looks = [
    { name: 'wide and light', options: {} },
    { name: 'wide and dark', options: { isDark: true } },
    { name: 'on a phone', options: { width: 390, height: 844 } },
  ];
  test.each(casesOf('looks of the page with all views', looks, 1))(
    'has no serious accessibility violation in any view, $name',
    async ({ options }) => {
      await using window = await BrowserWindow.open(studio.loginUrl, options);
      const { page } = window;
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      for (const view of ['', 'runs', 'sessions', 'traces', 'charts', 'settings']) {
        await page.evaluate(`location.hash = '#/${view}'`);
        await page
          .locator(`.app[data-view="${view || 'now'}"] :is(.view, .state)`)
          .first()
          .waitFor();
        expect(await window.violations(), view).toEqual([]);
        const overflow = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
        expect(overflow, view).toBe(false);
      }
    },
  );

  test('speaks Chinese after a change of the language', async () => {
    await using window = await BrowserWindow.open(studio.loginUrl);
    const { page } = window;
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Language').selectOption('zh');
    await page.getByRole('heading', { name: '设置' }).waitFor();
    expect(await page.evaluate('document.documentElement.lang')).toBe('zh-Hans');
  });

  test('asks for the address again without a login', async () => {
    await using window = await BrowserWindow.open(studio.url);
    const { page } = window;
    await page.getByLabel('Address or token').fill(studio.loginUrl);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Talk to' }).waitFor();
    expect(page.url()).not.toContain('#t=');
  });

  test('says that the connection is lost, and goes on after a restart of the server', async () => {
    const own = mkdtempSync(join(tmpdir(), 'troupe-studio-page-'));
    const agents = { talks: { name: 'Talks', create: speaker('First answer.') } };
    const options = { dir: own, tokenDir: own, log: () => {}, agents };
    const first = await startStudio({ ...options, port: 0 });
    await using window = await BrowserWindow.open(first.loginUrl);
    const { page } = window;
    await talkTo(window, 'Talks', 'One');
    await page.getByText('First answer.').waitFor();
    await first.close();
    await page.getByText(/^Connection lost at/).waitFor();
    await using _second = await startStudio({ ...options, port: Number(new URL(first.url).port) });
    await page.getByText(/^Connected again/).waitFor();
    await page.getByText('First answer.').waitFor();
  });
});
