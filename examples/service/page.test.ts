// The page in a real browser. Without Chromium the tests are skipped, and say so; in CI that is a failure.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { createService, type Service } from '@troupe/service';
import { chromium, type Browser, type Page } from 'playwright-core';
import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { canRunExamples } from '../run-example.ts';
import { servePage, type PageServer } from './page-server.ts';

const REQUIRED = 'TROUPE_REQUIRE_SERVERS';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking']; // CI runs as root

function findChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders
    .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
    .find(existsSync);
  if (found === undefined && process.env[REQUIRED] === '1')
    throw new Error(`There is no Chromium on the PATH, and ${REQUIRED}=1 needs it.`);
  if (found === undefined) console.warn('SKIPPED: no Chromium on the PATH: the page was not tested.');
  return found;
}

const executablePath = findChromium();
const TEXT = 'A long answer that is read by a page, loaded again in the middle, and continued.';
const opened = Promise.withResolvers<void>();
let removals = 0;

/** Stops in the middle of the long answer until the gate is opened. */
class GatedModel extends ScriptedModel {
  override async *stream(...args: Parameters<ScriptedModel['stream']>): ReturnType<ScriptedModel['stream']> {
    let length = 0;
    for await (const delta of super.stream(...args)) {
      if (length > TEXT.length / 2) await opened.promise;
      if (delta.type === 'text') length += delta.text.length;
      yield delta;
    }
  }
}

function assistant(): ReActAgent {
  const sees =
    (text: string) =>
    ({ messages }: { readonly messages: unknown }): boolean =>
      JSON.stringify(messages).includes(text);
  return new ReActAgent({
    name: 'assistant',
    model: new GatedModel([
      { when: sees('Removed it.'), text: 'It is gone.' },
      { when: sees('remove'), toolCalls: [{ id: 'call_1', name: 'remove', input: { path: '/a' } }] },
      { when: () => true, text: TEXT, chunkSize: 4 },
    ]),
    tools: [
      tool({
        name: 'remove',
        sideEffect: true,
        schema: { type: 'object', properties: { path: { type: 'string' } } },
        execute: () => {
          removals++;
          return 'Removed it.';
        },
      }),
    ],
    permissionPolicy: { decide: () => ({ behavior: 'ask', reason: 'it deletes' }) },
  });
}

describe.runIf(executablePath !== undefined && canRunExamples)(
  'the page of the service',
  { timeout: 90_000 },
  () => {
    let service: Service;
    let server: PageServer;
    let browser: Browser;
    const complaints: string[] = [];

    const open = async (url: string): Promise<Page> => {
      const page = await browser.newPage();
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      await page.goto(url);
      return page;
    };
    const say = async (page: Page, text: string): Promise<void> => {
      await page.getByLabel('Message').fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    };

    beforeAll(async () => {
      service = await createService({ agents: { assistant }, shutdownMs: 0 });
      server = await servePage(service, 0);
      browser = await chromium.launch({ executablePath: executablePath ?? '', args: FLAGS });
    }, 90_000);

    afterAll(async () => {
      await browser?.close();
      await server.close();
      await service.close();
      assert.deepEqual(complaints, []);
    });

    test('loaded again in the middle of an answer, it shows the answer so far and goes on', async () => {
      const page = await open(server.url);
      await say(page, 'Hello.');
      const half = TEXT.slice(0, TEXT.length / 2);
      await page.getByText(half).waitFor();
      await page.reload();
      await page.getByText(half).waitFor();
      expect(await page.getByText(TEXT).count()).toBe(0);
      opened.resolve();
      await page.getByText(TEXT).waitFor();
      expect(await page.getByText(half).count()).toBe(1);
      await page.close();
    });

    test('a tool call is allowed in a second window, and the first one shows the answer', async () => {
      opened.resolve();
      const first = await open(server.url);
      await say(first, 'Please remove /a.');
      await first.getByText('it deletes').waitFor();
      const second = await open(first.url());
      await second.getByRole('button', { name: 'Allow' }).click();
      for (const page of [first, second]) await page.getByText('It is gone.').waitFor();
      expect(await first.getByRole('button', { name: 'Allow' }).count()).toBe(0);
      expect(removals).toBe(1);
      await first.close();
      await second.close();
    });
  },
);
