// A real Chromium with a profile of its own, and the axe rules, for tests of the page.

import { accessSync, constants, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { chromium, type BrowserContext, type Page } from 'playwright-core';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Path of the Chromium of this machine; undefined if there is none. */
export const CHROMIUM = findChromium();

function findChromium(): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter))
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // another folder
      }
    }
  return undefined;
}

export interface WindowOptions {
  readonly width?: number;
  readonly height?: number;
  readonly isDark?: boolean;
}

/** A window of a browser. `faults` holds errors and refused requests of the page, so that a test can ask for none. */
export class BrowserWindow implements AsyncDisposable {
  readonly page: Page;
  readonly faults: string[] = [];
  /** Addresses that the page asked for. */
  readonly requests: string[] = [];
  readonly #context: BrowserContext;
  readonly #profile: string;

  private constructor(context: BrowserContext, page: Page, profile: string) {
    this.#context = context;
    this.page = page;
    this.#profile = profile;
    page.setDefaultTimeout(25_000); // a test tells what it waited for
    page.on('pageerror', (error) => this.faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') this.faults.push(message.text());
    });
    page.on('request', (request) => this.requests.push(request.url()));
  }

  static async open(
    url: string,
    { width = 1440, height = 900, isDark = false }: WindowOptions = {},
  ): Promise<BrowserWindow> {
    const profile = mkdtempSync(join(tmpdir(), 'troupe-page-'));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: CHROMIUM ?? '',
      args: FLAGS,
      viewport: { width, height },
      colorScheme: isDark ? 'dark' : 'light',
      locale: 'en-US',
      reducedMotion: 'reduce', // colours are measured: no part may be fading in
    });
    const page = context.pages()[0] ?? (await context.newPage());
    const window = new BrowserWindow(context, page, profile);
    await page.goto(url);
    return window;
  }

  /** Serious and critical accessibility violations of the page as it is now. */
  async violations(): Promise<string[]> {
    await this.page.evaluate(AXE);
    const found: { impact: string; id: string; nodes: { html: string }[] }[] = await this.page.evaluate(
      "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
    );
    return found
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 3 });
  }
}
