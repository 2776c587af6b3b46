// A run with thousands of messages: only what is in sight is in the document, and every message can be reached.

import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { sampleOf } from '../../../troupe/test/fair-sample.ts';
import { Studios, type StudioClient } from '../../test/studio-client.ts';
import { BrowserWindow, CHROMIUM } from './browser.ts';
import { buildPage } from './built-page.ts';

const MESSAGES = sampleOf('messages of a long run in the page', 10_000, 1000);
const BATCH = 500;
/** Elements of the whole document; the messages alone would have more than ten times as many. */
const MAX_ELEMENTS = 1500;
/**
 * Processor time of the page from the click to the first painted message, and the longest task while scrolling. Both lengthen on a busy
 * machine: checked with `TROUPE_QUIET_MACHINE=1 npm test -- long-run`, and printed always.
 */
const MAX_PAINT_SECONDS = 1;
const MAX_TASK_MS = 100;

const textOf = (n: number): string =>
  `## Message ${n}\n\nA paragraph with **bold** words and \`code\`.\n\n| a | b |\n|---|---|\n| ${n} | ${n * 2} |\n\n` +
  `\`\`\`js\nconst n = ${n};\n\`\`\`\n\n- one\n- two\n`;

describe.skipIf(CHROMIUM === undefined)('a run with thousands of messages', () => {
  const studios = new Studios();
  let client: StudioClient;
  let window: BrowserWindow;

  beforeAll(async () => {
    await buildPage();
    client = await studios.start();
    await tell(0, [{ runId: 'long', kind: 'run', run: { project: 'p', name: 'Long', createdAt: TIME } }]);
    for (let from = 0; from < MESSAGES; from += BATCH)
      await tell(
        from / BATCH + 1,
        Array.from({ length: BATCH }, (_, i) => input(from + i)),
      );
    window = await BrowserWindow.open(client.studio.loginUrl);
    await window.page.locator('.view').first().waitFor();
  }, 180_000);

  afterAll(async () => {
    await window[Symbol.asyncDispose]();
    await studios.closeAll();
  });

  const TIME = '2026-01-31T09:30:00.000Z';

  function input(n: number): object {
    const role = n % 2 === 0 ? 'user' : 'assistant';
    const msg = { id: `m${n}`, name: role, role, content: textOf(n), timestamp: TIME };
    const call = { callId: `c${n}`, replyId: `r${n}`, agentId: 'a', agentPath: ['Ann'] };
    return { runId: 'long', kind: 'input', input: { ...call, messages: [msg] } };
  }

  async function tell(number: number, items: readonly object[]): Promise<void> {
    const { url, token } = client.studio;
    const program = { id: 'p1', library: 'x', protocol: 1 };
    const { status } = await fetch(`${url}/program/batches`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ program, number: number + 1, dropped: 0, items }),
    });
    assert.equal(status, 200);
  }

  test(
    'has few elements, and its first and its last message are a key away',
    { timeout: 180_000 },
    async () => {
      const { page } = window;
      const elements = (): Promise<number> => page.evaluate("document.querySelectorAll('*').length");
      const session = await page.context().newCDPSession(page);
      await session.send('Performance.enable');
      const seconds = async (): Promise<number> =>
        (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration')
          ?.value ?? 0;
      const before = await seconds();
      await page.evaluate("location.hash = '#/runs/long'");
      const last = page.getByRole('heading', { name: `Message ${MESSAGES - 1}`, exact: true });
      await last.waitFor();
      const painted = (await seconds()) - before;
      expect(await elements()).toBeLessThan(MAX_ELEMENTS);
      const scroller = page.locator('.conversation-scroll');
      await page.locator('.earlier').waitFor({ state: 'detached' });
      await page.evaluate(`window.longTasks = [];
      new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longTasks.push(duration); }).observe({ type: 'longtask' });`);
      await scroller.hover();
      for (let step = 0; step < 40; step++) await page.mouse.wheel(0, -800);
      expect(await elements()).toBeLessThan(MAX_ELEMENTS);
      await scroller.focus();
      await page.keyboard.press('Home');
      await page.getByRole('heading', { name: 'Message 0', exact: true }).waitFor();
      await page.keyboard.press('End');
      await last.waitFor();
      expect(await elements()).toBeLessThan(MAX_ELEMENTS);
      const tasks: number[] = await page.evaluate('window.longTasks');
      const longest = Math.max(0, ...tasks);
      console.log(
        `${MESSAGES} messages: painted in ${painted.toFixed(2)} s of processor time, longest task while scrolling ${longest.toFixed(0)} ms`,
      );
      if (process.env['TROUPE_QUIET_MACHINE'] === '1') {
        expect(painted).toBeLessThan(MAX_PAINT_SECONDS);
        expect(longest).toBeLessThan(MAX_TASK_MS);
      }
      expect(window.faults).toEqual([]);
    },
  );
});
