// 50 runs that stream at once into a Studio whose page is open: every word is shown, and the page stays responsive.

import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { RUNS_IN_FULL, sampleOf } from '../../../troupe/test/fair-sample.ts';
import { MIB, RUNS, startLoaded, Streams, TOKEN, type LoadedStudio } from '../../test/load-streams.ts';
import { Studios } from '../../test/studio-client.ts';
import { BrowserWindow, CHROMIUM } from './browser.ts';
import { buildPage } from './built-page.ts';

/** Deltas for each run. In full: 20 in a second for each of 50 runs, for 60 s. */
const ROUNDS = sampleOf('rounds of deltas of 50 runs with the page open', 1200, 60);
const ROUND_MS = 50;
/**
 * Longest task of the page that a person does not feel. It is wall time, which other programs lengthen: checked with
 * `TROUPE_QUIET_MACHINE=1 TROUPE_TEST_LONG=1 npm test -- streaming-page`, and printed otherwise.
 */
const MAX_TASK_MS = 100;

const OBSERVE = `window.longTasks = [];
  new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longTasks.push(duration); }).observe({ type: 'longtask', buffered: true });`;

describe.skipIf(CHROMIUM === undefined)('a page while 50 runs stream', () => {
  const studios = new Studios();
  let loaded: LoadedStudio;
  let window: BrowserWindow;

  beforeAll(async () => {
    await buildPage();
    loaded = await startLoaded(studios.folder());
    window = await BrowserWindow.open(`${loaded.url}/#t=${TOKEN}`);
    await window.page.locator('.view').first().waitFor();
  }, 120_000);

  afterAll(async () => {
    await window[Symbol.asyncDispose]();
    await loaded.close();
    await studios.closeAll();
  });

  test('shows every word of the run that is open, and counts the others', { timeout: 200_000 }, async () => {
    const { page } = window;
    const streams = new Streams(loaded.page);
    await streams.open();
    await page.evaluate(`location.hash = '#/runs/${RUNS[0]}'`);
    await streams.deltas('Begin. ');
    await page.getByText('Begin.').waitFor();
    await page.evaluate(OBSERVE);
    const sizes: number[] = [];
    let words = 'Begin. ';
    const start = performance.now();
    for (let round = 1; round <= ROUNDS; round++) {
      const word = round % 20 === 0 ? `word ${round}.\n\n` : `word ${round} `;
      words += word;
      await streams.deltas(word);
      if (round === ROUNDS / 2) await page.evaluate("location.hash = '#/runs'");
      if (round === Math.floor(ROUNDS / 4) || round === ROUNDS) sizes.push(await loaded.memory());
      if (RUNS_IN_FULL) await wait(Math.max(0, start + round * ROUND_MS - performance.now())); // at its rate
    }
    const seconds = (performance.now() - start) / 1000;
    await page.locator('.runs tbody tr').first().waitFor();
    expect(await page.locator('.runs tbody tr').count()).toBe(RUNS.length);
    await page.evaluate(`location.hash = '#/runs/${RUNS[0]}'`);
    await page.getByText(`word ${ROUNDS}`).waitFor();
    const shown = await page.locator('.md').textContent();
    expect(shown?.replaceAll(/\s+/g, '')).toBe(words.replaceAll(/\s+/g, ''));
    const [early = 0, late = Infinity] = sizes;
    expect(late - early).toBeLessThan(4 * MIB);
    expect(window.faults).toEqual([]);
    if (!RUNS_IN_FULL) return;
    const tasks: number[] = await page.evaluate('window.longTasks');
    const longest = Math.max(0, ...tasks);
    console.log(
      `${Math.round((ROUNDS * RUNS.length) / seconds)} deltas/s for ${seconds.toFixed(1)} s, ${tasks.length} long tasks, ` +
        `the longest ${longest.toFixed(0)} ms; live objects of the server ${(early / MIB).toFixed(1)} to ${(late / MIB).toFixed(1)} MiB`,
    );
    if (process.env['TROUPE_QUIET_MACHINE'] === '1') expect(longest).toBeLessThan(MAX_TASK_MS);
  });
});
