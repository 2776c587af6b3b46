/** The cost of importing the library, and the places where it can be imported. Uses the built entry, which `npm test` makes. */
import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';

import { build } from 'vite';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const entry = here('../dist/index.js');

const PROBE = `
  import { Session } from 'node:inspector/promises';
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const before = new Set(process.moduleLoadList);
  await import(process.argv[1]);
  const builtins = process.moduleLoadList.filter((name) => !before.has(name));
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const scripts = result.filter(({ url }) => url.endsWith('.js'));
  const ranges = scripts.flatMap(({ functions }) => functions.flatMap((one) => one.ranges));
  const steps = ranges.reduce((sum, { count }) => sum + count, 0);
  session.disconnect();
  const files = scripts.map(({ url }) => url);
  console.log(JSON.stringify({ files, steps, builtins, resources: process.getActiveResourcesInfo() }));
`;

interface ImportCost {
  /** Files that were loaded, as URLs. */
  readonly files: readonly string[];
  /** Executed blocks of JavaScript. */
  readonly steps: number;
  readonly builtins: readonly string[];
  readonly resources: readonly string[];
}

async function costOfImport(url: string): Promise<ImportCost> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', PROBE, url]);
  return JSON.parse(stdout) as ImportCost;
}

test('importing the root entry loads little and touches neither network nor files', async () => {
  expect(existsSync(entry), 'npm run build makes dist/').toBe(true);
  const { files, steps, builtins, resources } = await costOfImport(pathToFileURL(entry).href);
  const zod = await costOfImport(import.meta.resolve('zod')); // a schema library, which most programs import anyway
  const own = files.filter((url) => !zod.files.includes(url));
  const size = (urls: readonly string[]): number =>
    urls.reduce((sum, url) => sum + statSync(fileURLToPath(url)).size, 0);
  expect(own.length).toBeLessThan(zod.files.length / 4);
  expect(size(own)).toBeLessThan(1.75 * size(zod.files));
  expect(steps).toBeLessThan(1.75 * zod.steps);

  const touched = builtins.filter((name) => name.startsWith('NativeModule'));
  const outside =
    /^NativeModule (?:net|dgram|dns|tls|http|https|http2|child_process|worker_threads|readline|fs\/promises|undici|internal\/deps\/undici)/;
  expect(touched.filter((name) => outside.test(name))).toEqual([]);
  const open = /TCP|UDP|TLS|DNS|GetAddr|Timeout|Immediate|FSEvent|Worker|Process/;
  expect(resources.filter((name) => open.test(name))).toEqual([]);
});

/** One entry as a script for browsers, which sets the global `troupe`. */
async function bundleForBrowsers(source: string): Promise<string> {
  const result = await build({
    logLevel: 'silent',
    configFile: false,
    root: here('..'),
    resolve: { conditions: ['troupe:source', 'browser'] },
    build: {
      write: false,
      minify: false,
      lib: { entry: here(source), formats: ['iife'], name: 'troupe' },
    },
  });
  const [bundle] = [result].flat() as { output: { code: string }[] }[];
  const code = bundle?.output[0]?.code ?? '';
  expect(code).not.toMatch(/["']node:|\brequire\(|\bprocess\.\w/);
  return code;
}

test('the root entry bundles for browsers, and an agent works there', async () => {
  const code = await bundleForBrowsers('../src/index.ts');
  expect(code).toContain('AgentBase');

  const lines: string[] = [];
  const browser = createContext({
    AbortController,
    TextDecoder,
    TextEncoder,
    crypto,
    URL,
    setTimeout,
    clearTimeout,
    performance,
    console: { log: (line: string) => lines.push(line) },
  });
  const answer = (await runInContext(
    `${code}
    class Echo extends troupe.AgentBase {
      constructor() { super({ name: 'echo' }); }
      async reply(msgs) {
        const answer = troupe.Msg.assistant('You said: ' + msgs[0].text, { name: this.name });
        await this.print(answer);
        return answer;
      }
    }
    new Echo().call('hi').then((msg) => msg.text);`,
    browser,
  )) as string;
  expect(answer).toBe('You said: hi');
  expect(lines).toEqual(['echo: You said: hi']);
});

test('the entry for events bundles for browsers, is small, and folds there', async () => {
  const code = await bundleForBrowsers('../src/entries/events.ts');
  expect(code).not.toContain('AgentBase');
  expect(code.length).toBeLessThan(80_000); // not minified
  const origin = { runId: 'run', replyId: 'reply', agentPath: ['Friday'] };
  const events = [
    { type: 'block_start', msgId: 'm', index: 0, blockType: 'tool_use', toolCallId: 'c', name: 'weather' },
    { type: 'tool_input_delta', msgId: 'm', index: 0, json: '{"city": "Lis' },
    { type: 'run_end', status: 'interrupted' },
  ].map((event, seq) => `data: ${JSON.stringify({ ...event, ...origin, seq })}\n\n`);
  const response = new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } });
  const browser = createContext({ TextDecoder, crypto, response });
  const messages = (await runInContext(
    `${code}
    (async () => {
      const view = new troupe.ConversationView();
      for await (const _ of troupe.foldEvents(troupe.readEvents(response), view));
      return JSON.stringify(view.messages);
    })();`,
    browser,
  )) as string;
  expect(JSON.parse(messages)).toMatchObject([
    { name: 'Friday', content: [{ name: 'weather', input: { city: 'Lis' }, isPartial: true }] },
  ]);
});
