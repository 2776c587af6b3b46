// The page in a real browser, with a microphone that plays a WAV file. Without Chromium the test is skipped, and says so; in CI that is a failure.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { createService } from '@troupe/service';
import { chromium, type Page } from 'playwright-core';
import { toWav } from 'troupe/speech';
import { ToneTtsModel } from 'troupe/testing';
import { describe, expect, test } from 'vitest';

import { canRunExamples } from '../run-example.ts';
import { standIns } from './agents.ts';
import { servePage } from './server.ts';

const REQUIRED = 'TROUPE_REQUIRE_SERVERS';
const RATE = 44_100;

function findChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders
    .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
    .find(existsSync);
  if (found === undefined && process.env[REQUIRED] === '1')
    throw new Error(`There is no Chromium on the PATH, and ${REQUIRED}=1 needs it.`);
  if (found === undefined) console.warn('SKIPPED: no Chromium on the PATH: the talking page was not tested.');
  return found;
}

/** Tone that swells like syllables: noise suppression of the browser passes speech only. */
function speech(seconds: number): Int16Array {
  return Int16Array.from({ length: seconds * RATE }, (_, i) => {
    const swell = Math.sin((2 * Math.PI * 4 * i) / RATE) ** 2;
    const voice = [1, 2, 3, 4, 5].reduce(
      (sum, n) => sum + Math.sin((2 * Math.PI * 140 * n * i) / RATE) / n,
      0,
    );
    return 12_000 * swell * voice * 0.5;
  });
}

/** Sound of the microphone: a turn of the person, silence in which the agent answers, and a second turn over the answer. */
function microphone(): Uint8Array {
  const silence = (seconds: number): Int16Array => new Int16Array(seconds * RATE);
  const parts = [silence(1), speech(1.2), silence(5), speech(1.2), silence(120)];
  const samples = Int16Array.from(parts.flatMap((part) => [...part]));
  return toWav({ data: new Uint8Array(samples.buffer), rate: RATE });
}

const executablePath = findChromium();

describe.runIf(executablePath !== undefined && canRunExamples)(
  'the talking page',
  { timeout: 120_000 },
  () => {
    test('hears a microphone, is heard, is interrupted by voice, and goes on after it is loaded again', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'troupe-talk-'));
      const wav = join(folder, 'microphone.wav');
      writeFileSync(wav, microphone());
      const ttsModel = new ToneTtsModel({ msPerCharacter: 150 }); // an answer of half a minute
      const words = ['What is the weather in Lisbon?', 'What is the weather in Oslo?'];
      await using service = await createService({ agents: standIns(words, ttsModel), shutdownMs: 0 });
      await using server = await servePage(service, 0);
      const browser = await chromium.launch({
        executablePath: executablePath ?? '',
        args: [
          '--no-sandbox', // CI runs as root, and the only page is our own
          '--disable-gpu',
          '--no-first-run',
          '--disable-background-networking',
          '--autoplay-policy=no-user-gesture-required',
          '--use-fake-ui-for-media-stream',
          '--use-fake-device-for-media-stream',
          `--use-file-for-fake-audio-capture=${wav}%noloop`,
        ],
      });
      try {
        const complaints: string[] = [];
        const page: Page = await browser.newPage();
        page.on('console', (message) => {
          if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
        });
        page.on('pageerror', (error) => complaints.push(error.message));
        await page.goto(server.url);
        await page.getByRole('button', { name: 'Talk' }).click();
        await page.getByText('Connected with Friday.').waitFor();
        await page.getByText('What is the weather in Lisbon?').waitFor(); // spoken by the microphone
        await page.getByText('get_weather(').first().waitFor(); // a tool call
        await expect
          .poll(() => page.evaluate('window.playedSamples'), { timeout: 30_000 })
          .toBeGreaterThan(12_000); // half a second
        await page.getByText('What is the weather in Oslo?').waitFor(); // over the answer
        const cut = page.locator('.assistant.cut');
        await cut.waitFor();
        const heard = (await cut.textContent()) ?? '';
        expect('get_weather says: It is sunny in Lisbon'.startsWith(heard.slice(0, 20).trim())).toBe(true);
        expect(heard).not.toContain('cooler'); // its end
        await page.getByText('sunny in Oslo').first().waitFor();

        await page.reload();
        await page.getByText('What is the weather in Lisbon?').waitFor();
        await page.getByRole('button', { name: 'Talk' }).click();
        await page.getByText('Connected with Friday.').waitFor();
        await page.getByLabel('Message').fill('What is the weather in Rome?');
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByText('sunny in Rome').first().waitFor();
        const shown = await page.locator('#transcript').textContent();
        expect(shown).toContain('What is the weather in Oslo?');
        expect(await page.locator('.assistant').first().textContent()).toBe(heard); // the saved words are the heard words
        assert.deepEqual(complaints, []);
      } finally {
        await browser.close();
        rmSync(folder, { recursive: true });
      }
    });
  },
);
