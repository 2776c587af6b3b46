// The page by keyboard alone: every key of its help does what the help says.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { PermissionRules, ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

import { Studios, type StudioClient } from '../../test/studio-client.ts';
import { BrowserWindow, CHROMIUM } from './browser.ts';
import { buildPage } from './built-page.ts';

const fails = tool({
  name: 'fails',
  description: 'Fails.',
  schema: z.object({}),
  readOnly: true,
  execute: (): string => {
    throw new Error('broken');
  },
});
const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  schema: z.object({ to: z.string() }),
  execute: ({ to }) => `sent to ${to}`,
});
const callOf = (name: string, input = {}) => ({ toolCalls: [{ id: `${name}-1`, name, input }] });

function agentOf(script: ConstructorParameters<typeof ScriptedModel>[0]): () => ReActAgent {
  return () =>
    new ReActAgent({
      name: 'Ann',
      model: new ScriptedModel(script),
      tools: [fails, mail],
      permissionPolicy: new PermissionRules({ mode: 'default' }),
      console: false,
    });
}

describe.skipIf(CHROMIUM === undefined)('by keyboard', () => {
  const studios = new Studios();
  let client: StudioClient;
  let window: BrowserWindow;

  beforeAll(async () => {
    await buildPage();
    const mails = [callOf('send_mail', { to: 'bob' }), 'Sent.'];
    client = await studios.start({
      agents: {
        talks: { name: 'Talks', create: agentOf([callOf('fails'), 'First answer.', 'Second answer.']) },
        mails: { name: 'Mails', create: agentOf([...mails, ...mails, ...mails]) },
        stalls: { name: 'Stalls', create: agentOf([{ text: 'Once upon a time', stall: true }]) },
      },
    });
    window = await BrowserWindow.open(client.studio.loginUrl);
    await window.page.getByRole('heading', { name: 'Talk to' }).waitFor();
  }, 120_000);

  afterAll(async () => {
    await window[Symbol.asyncDispose]();
    await studios.closeAll();
  });

  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) await window.page.keyboard.press(key);
  };
  const hash = (): string => new URL(window.page.url()).hash;

  async function talkTo(key: string, ...texts: string[]): Promise<string> {
    const { page } = window;
    const { body } = await client.post('api/conversations', { agent: key });
    await page.evaluate(`location.hash = '#/runs/${body.id}'`);
    await page.locator('.status-idle').waitFor();
    for (const [index, text] of texts.entries()) {
      await press('i');
      await page.keyboard.type(text);
      await press('Enter', 'Escape');
      if (index < texts.length - 1)
        await page.locator('.message', { hasText: 'answer.' }).nth(index).waitFor();
    }
    return body.id;
  }

  test('views are opened by two letters, and the help and the finder by one key', async () => {
    const { page } = window;
    for (const [letter, view] of Object.entries({
      r: 'runs',
      s: 'sessions',
      t: 'traces',
      c: 'charts',
      n: 'now',
    })) {
      await press('g', letter);
      await page.locator(`.app[data-view="${view}"]`).waitFor();
    }
    await press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await press('Escape');
    await press('Control+k');
    await page.keyboard.type('chart');
    await page.getByRole('option', { name: 'Charts' }).waitFor();
    await press('Enter');
    await page.locator('.app[data-view="charts"]').waitFor();
  });

  test('rows are walked, opened, searched for failures and shown in the inspector', async () => {
    const { page } = window;
    await talkTo('talks', 'One', 'Two');
    await page.getByText('Second answer.').waitFor();
    const chosen = page.locator('.row[data-chosen="true"]');
    await press('k', 'k');
    expect(await chosen.textContent()).toContain('Two');
    await press('j');
    expect(await chosen.textContent()).toContain('Second answer.');
    await press('K');
    expect(await chosen.textContent()).toContain('First answer.');
    await press('k', 'k', 'k', '.');
    await page.locator('.row[data-chosen="true"] .tool[data-state="error"]').waitFor();
    await press('h');
    await page.locator('.row[data-chosen="true"] .tool[data-open="false"]').waitFor();
    await press('l');
    await page.locator('.row[data-chosen="true"] .tool[data-open="true"]').waitFor();
    await press('Escape');
    await page.locator('.run[data-inspecting="false"]').waitFor();
    await press('Enter');
    await page.locator('.inspector').getByText('broken').first().waitFor();
    await press('t');
    await page.locator('.inspector [role=tab][aria-selected=true]', { hasText: 'Trace' }).waitFor();
    expect(window.faults).toEqual([]);
  });

  test('time is walked by entries and by turns, and a branch is begun', async () => {
    const { page } = window;
    await talkTo('talks', 'One', 'Two');
    await page.getByText('Second answer.').waitFor();
    await page.locator('.status-idle').waitFor();
    const at = (): number => Number(/at=(\d+)/.exec(hash())?.[1]);
    await press('{');
    await page.getByText(/Looking at/).waitFor();
    const turn = at();
    await press('[');
    await page.waitForURL((url) => !url.hash.includes(`at=${turn}`));
    expect(at()).toBeLessThan(turn);
    await press(']');
    await page.waitForURL((url) => url.hash.includes(`at=${turn}`));
    await press('Escape');
    await page.getByText(/Looking at/).waitFor({ state: 'detached' });
    await press('b');
    await page.getByRole('dialog', { name: 'Branch from a turn' }).waitFor();
    await press('Escape');
  });

  test('a card is decided by its letters only while the focus is in it', async () => {
    const { page } = window;
    await talkTo('mails', 'Go!');
    const card = page.locator('.waiting-region .card');
    await card.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor();
    await press('a'); // no focus in the card
    await press('!', 'd');
    await card.getByLabel(/Reason/).waitFor();
    await card.getByRole('button', { name: 'Cancel' }).click();
    await press('!', 'e');
    await card.getByLabel('to', { exact: true }).waitFor();
    await card.getByRole('button', { name: 'Cancel' }).click();
    await press('g', 'r');
    await page.locator('.app[data-view="runs"][data-detail="false"]').waitFor(); // the view of one run has a card, too
    await press('!');
    const first = page.locator('.app[data-view="now"] .card');
    await first.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor();
    await press('a');
    await first.waitFor({ state: 'detached' });
  });

  test('an interrupt is asked for twice', async () => {
    const { page } = window;
    await talkTo('stalls', 'A story!');
    await page.getByText('Once upon a time').waitFor();
    await press('Shift+I');
    await page.getByRole('button', { name: 'Interrupt now?' }).waitFor();
    await press('Shift+I');
    await page.getByText('■ You interrupted').waitFor();
  });
});
