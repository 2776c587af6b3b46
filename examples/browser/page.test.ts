// The page in a real browser. Without Chromium the tests are skipped, and say so; in CI that is a failure.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';

import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { canRunExamples, EXAMPLE_ENV, EXAMPLE_FLAGS, EXAMPLES_ROOT } from '../run-example.ts';

const REQUIRED = 'TROUPE_REQUIRE_SERVERS';
const FLAGS = [
  '--no-sandbox', // CI runs as root, and the only page is our own
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Script of the page: notes all texts that the arguments of a tool call ever show. */
const NOTE_INPUTS = `
  window.inputsSeen = [];
  new MutationObserver(() => {
    const text = document.querySelector('.call dd')?.textContent;
    if (text && window.inputsSeen.at(-1) !== text) window.inputsSeen.push(text);
  }).observe(document, { subtree: true, childList: true, characterData: true });
`;

/** The path of Chromium, if it is installed. */
function findChromium(): string | undefined {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync);
  if (found !== undefined) return found;
  const problem = 'There is no Chromium on the PATH';
  if (process.env[REQUIRED] === '1') throw new Error(`${problem}, and ${REQUIRED}=1 needs it.`);
  console.warn(`SKIPPED: ${problem}: the example in a browser was not tested.`);
  return undefined;
}

const executablePath = findChromium();

describe.runIf(executablePath !== undefined && canRunExamples)('the page', { timeout: 60_000 }, () => {
  let server: ChildProcess;
  let url = '';
  let browser: Browser;
  let page: Page;
  /** Errors and warnings of the browser. */
  const complaints: string[] = [];

  beforeAll(async () => {
    server = spawn(
      process.execPath,
      [...EXAMPLE_FLAGS, 'examples/browser/main.ts', '--serve', '--port', '0', '--delay', '30'],
      {
        cwd: EXAMPLES_ROOT,
        stdio: ['ignore', 'pipe', 'inherit'],
        env: EXAMPLE_ENV,
      },
    );
    const lines = createInterface({ input: server.stdout! });
    const [first] = (await once(lines, 'line')) as [string];
    url = first.replace('Open ', '');
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: FLAGS });
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    const exit = once(server, 'exit');
    server.kill('SIGTERM');
    assert.deepEqual(await exit, [0, null]);
  });

  beforeEach(async () => {
    complaints.length = 0;
    page = await browser.newPage();
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    page.on('dialog', (dialog) => void complaints.push(dialog.message()));
    await page.addInitScript(NOTE_INPUTS);
    await page.goto(url);
    await page.waitForURL(/#[0-9a-f-]{36}$/);
  });

  afterEach(async () => {
    await page.close();
    assert.deepEqual(complaints, []);
  });

  const messages = () => page.locator('#messages > li');
  const call = () => page.locator('.call');

  async function say(text: string): Promise<void> {
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
  }

  /** Waits until no run is left. */
  async function rest(): Promise<void> {
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  }

  /** Every text that the arguments of a tool call ever showed. */
  async function inputsSeen(): Promise<readonly string[]> {
    return (await page.evaluate('window.inputsSeen')) as string[];
  }

  test('shows a tool call while it is written, its result, and the answer', async () => {
    await say('What is the weather in Lisbon?');
    await call().locator('.tool', { hasText: 'get_weather' }).waitFor();
    await rest();
    expect(await call().locator('dl').allInnerTexts()).toEqual(['city\nLisbon']);
    expect(await call().locator('.status').innerText()).toBe('done');
    expect(await call().locator('.output').innerText()).toBe('Lisbon: sunny, 24 °C.');
    expect(await messages().first().innerText()).toBe('What is the weather in Lisbon?');
    expect(await messages().last().innerText()).toMatch(/^get_weather says: Lisbon: sunny, 24 °C\./);
    expect(await page.locator('.grows').count()).toBe(0);
  });

  test('asks, and sends the postcard when that is allowed', async () => {
    await say('Send a postcard: "The sun is out, the sea is blue, and I wish you were here."');
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    const texts = await inputsSeen();
    expect(texts.length).toBeGreaterThan(5);
    const whole = 'The sun is out, the sea is blue, and I wish you were here.';
    expect(texts.at(-1)).toBe(whole);
    expect(texts.every((text) => whole.startsWith(text))).toBe(true);
    expect(await call().locator('.status').innerText()).toBe('waits for you');
    expect(await call().locator('.ask span').innerText()).toBe('It costs a stamp.');
    expect(await page.getByLabel('Message').isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Allow' }).dblclick();
    await call().locator('.status', { hasText: 'done' }).waitFor();
    await rest();
    expect(await page.locator('#notice').innerText()).toBe('');
    expect(await call().locator('.output').innerText()).toBe('A postcard with 14 words is on its way.');
    expect(await page.getByLabel('Message').isDisabled()).toBe(false);
  });

  test('asks again after a reload, and sends nothing when that is denied', async () => {
    await say('Send a postcard: "Wish you were here."');
    await page.getByRole('button', { name: 'Deny' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Deny' }).click();
    await call().locator('.status', { hasText: 'denied' }).waitFor();
    await rest();
    expect(await call().locator('dd').innerText()).toBe('Wish you were here.');
    expect(await call().count()).toBe(1);
    const before = await messages().allInnerTexts();
    expect(before).toHaveLength(3);
    await page.reload();
    await call().waitFor();
    const after = await messages().allInnerTexts();
    expect(after[1]?.endsWith(before[1] ?? '?')).toBe(true); // the thinking before the question is in memory now
    expect([after[0], after[2]]).toEqual([before[0], before[2]]);
  });

  test('stops, keeps what was written, and goes on', async () => {
    await say('Tell me a story.');
    await page.locator('.assistant .grows', { hasText: 'stand-in' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await rest();
    const texts = await messages().allInnerTexts();
    expect(texts).toHaveLength(3);
    expect(texts[1]).toMatch(/^I can't answer that\. .*stand-in/);
    expect(texts[1]).not.toContain('OPENAI_API_KEY'); // the end of the answer
    expect(texts[2]).toMatch(/interrupted/);
    await say('What is the weather in Bergen?');
    await call().locator('.status', { hasText: 'done' }).waitFor();
    await rest();
    expect(await messages().count()).toBe(6);
  });

  test('shows markup as text', async () => {
    const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>';
    await say(`Send a postcard: "${markup}"`);
    await page.getByRole('button', { name: 'Allow' }).click();
    await call().locator('.status', { hasText: 'done' }).waitFor();
    await rest();
    expect(await call().locator('dd').innerText()).toBe(markup);
    expect(await page.locator('main img, main script').count()).toBe(0);
  });

  test('begins with ideas, and begins anew', async () => {
    await page.getByRole('button', { name: 'What is the weather in Lisbon?' }).click();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await rest();
    const before = page.url();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await messages().first().waitFor({ state: 'detached' });
    expect(page.url()).not.toBe(before);
    await page.getByRole('button', { name: 'Tell me a story.' }).waitFor();
  });

  test('fits on a phone', async () => {
    await page.setViewportSize({ width: 360, height: 640 });
    await say(
      'Send a postcard: "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch is a long name."',
    );
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    const [width, scrollWidth] = (await page.evaluate(
      '[document.documentElement.clientWidth, document.documentElement.scrollWidth]',
    )) as number[];
    expect([width, scrollWidth]).toEqual([360, 360]);
    expect(await page.getByRole('button', { name: 'Allow' }).isVisible()).toBe(true);
  });
});
