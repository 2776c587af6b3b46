// One measured process of one peer: node --expose-gc --import ./guard.mjs child.mjs <peer> <port>
// Waits for { scenario, params } over IPC, takes one sample, answers with numbers. Never measures itself
// loading: by the time it answers 'ready' the adapter is imported.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { history, lookupTool, slowTool } from './fixtures.mjs';
import { sizeOf } from './installed.mjs';

const [peer, port] = process.argv.slice(2);
const adapter = await import(`./adapters/${peer}/adapter.mjs`);
const FINAL = 'done and out';
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const url = (run) => `http://127.0.0.1:${port}/r/${run}/v1`;
const kept = new Map(); // sessions that live across samples
const dirs = [];
const tmp = () => (dirs.push(mkdtempSync('/tmp/peer-bench-')), dirs.at(-1));
process.on('exit', () => dirs.forEach((d) => rmSync(d, { recursive: true, force: true })));

function check(ok, what) {
  if (!ok) throw new Error(`wrong result: ${what}`);
}

/** Wall time until fn settles; CPU time until 20 ms later, so that work deferred past the call counts.
    No forced GC before it: that throws away heap sizing and code, and doubled some peers' CPU time. */
async function measure(fn) {
  const c0 = process.cpuUsage(),
    t0 = performance.now();
  const value = await fn();
  const ms = performance.now() - t0;
  await sleep(20);
  const c = process.cpuUsage(c0);
  return { value, ms, cpuMs: (c.user + c.system) / 1000 };
}
/** Bytes this process has caused to be written to storage (Linux). */
const written = () => Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
const peakRss = () => process.resourceUsage().maxRSS / 1024; // MB

const scenarios = {
  // B: a fresh agent, `rounds` sequential tool rounds.
  async loop({ run, rounds, stream = true, store = 'none' }) {
    const tool = lookupTool();
    const agent = await adapter.create({
      baseURL: url(run),
      tools: [tool],
      maxRounds: rounds + 2,
      store,
      dir: store === 'disk' ? tmp() : undefined,
    });
    const { value, ms, cpuMs } = await measure(() => agent.run(`tools:${rounds}`, { stream }));
    check(value === FINAL && tool.calls === rounds, `${value} after ${tool.calls} calls`);
    return { ms, cpuMs, requests: rounds + 1 };
  },
  // C: one round of `calls` parallel tool calls; each tool takes 5 ms.
  async par({ run, calls }) {
    const tool = lookupTool({ ms: 5 });
    const agent = await adapter.create({ baseURL: url(run), tools: [tool], maxRounds: 5, store: 'none' });
    const { value, ms, cpuMs } = await measure(() => agent.run(`par:${calls}`));
    check(tool.calls === calls, `${tool.calls} of ${calls} parallel calls were executed`);
    check(value === FINAL, value);
    return { ms, cpuMs, overlap: tool.maxActive, requests: 2 };
  },
  // D: `deltas` text deltas through the streaming API to a consumer that only counts.
  async text({ run, deltas, kind = 'text' }) {
    const agent = await adapter.create({
      baseURL: url(run),
      tools: [lookupTool()],
      maxRounds: 5,
      store: 'none',
    });
    let n = 0,
      chars = 0;
    const { value, ms, cpuMs } = await measure(() =>
      agent.run(`${kind}:${deltas}`, {
        onDelta: (s) => {
          n++;
          chars += s.length;
        },
      }),
    );
    check(
      chars === 4 * deltas && value.length === chars,
      `${chars} chars in ${n} deltas, final ${value.length}`,
    );
    return { ms, cpuMs, deltas: n, peakRssMB: peakRss(), requests: 1 };
  },
  // D: one tool call whose arguments (4 × `deltas` chars, say a file to write) stream in `deltas` deltas.
  async args({ run, deltas }) {
    const tool = lookupTool();
    const agent = await adapter.create({ baseURL: url(run), tools: [tool], maxRounds: 5, store: 'none' });
    const { value, ms, cpuMs } = await measure(() => agent.run(`args:${deltas}`));
    check(value === FINAL && tool.calls === 1, `${value} after ${tool.calls} calls`);
    return { ms, cpuMs, requests: 2 };
  },
  // E: `agents` agents at once, 3 tool rounds each.
  async crowd({ run, agents }) {
    const tool = lookupTool();
    const all = [];
    for (let i = 0; i < agents; i++)
      all.push(await adapter.create({ baseURL: url(run), tools: [tool], maxRounds: 5, store: 'none' }));
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const { value, ms, cpuMs } = await measure(() => Promise.all(all.map((a) => a.run('tools:3'))));
    delay.disable();
    check(value.every((v) => v === FINAL) && tool.calls === 3 * agents, `${tool.calls} calls`);
    return { ms, cpuMs, blockedMs: delay.max / 1e6, peakRssMB: peakRss(), requests: 4 * agents };
  },
  // F and I: more turns on a session that already holds `messages` messages.
  async session({ run, messages, store, prompt, requestsPerTurn, turns = 1 }) {
    if (!kept.has(run)) {
      const dir = store === 'disk' ? tmp() : undefined;
      kept.set(run, {
        dir,
        agent: await adapter.create({
          baseURL: url(run),
          tools: [lookupTool()],
          maxRounds: 10,
          store,
          dir,
          history: history(messages),
        }),
      });
    }
    const { dir, agent } = kept.get(run);
    const before = dir && { size: sizeOf(dir), written: written() };
    const { ms, cpuMs } = await measure(async () => {
      for (let i = 0; i < turns; i++) check((await agent.run(prompt)) === FINAL, 'final text');
    });
    return {
      ms: ms / turns,
      cpuMs: cpuMs / turns,
      requests: requestsPerTurn * turns,
      atLeastMessages: messages + 1,
      ...(dir && {
        grownKB: (sizeOf(dir) - before.size) / 1024 / turns,
        writtenKB: (written() - before.written) / 1024 / turns,
      }),
    };
  },
  // G: abort in the middle of a paced text stream (kind pace, after 100 deltas) or of a tool call's
  // arguments (kind paceargs, after 200 ms), then use the same session again.
  async abortStream({ run, kind }) {
    const agent = await adapter.create({
      baseURL: url(run),
      tools: [lookupTool()],
      maxRounds: 5,
      store: memoryOrNone(),
      history: historyIfStored(4),
    });
    const ac = new AbortController();
    let n = 0,
      after = 0,
      t0 = 0,
      lateMs = 0;
    const due = performance.now() + 200;
    if (kind === 'paceargs')
      setTimeout(() => {
        t0 = performance.now();
        lateMs = t0 - due;
        ac.abort();
      }, 200);
    const outcome = await settle(
      agent.run(`${kind}:20000`, {
        signal: ac.signal,
        onDelta: () => {
          if (t0) after++;
          else if (++n === 100 && kind === 'pace') {
            t0 = performance.now();
            ac.abort();
          }
        },
      }),
    );
    const ms = performance.now() - t0;
    await sleep(60);
    return { ms, lateMs, deltasAfter: after, outcome, next: await next(agent) };
  },
  // H: abort while a tool that takes 10 s runs (deaf: it ignores its signal), then use the session again.
  async abortTool({ run, deaf, toolMs = 10_000 }) {
    const ac = new AbortController();
    let t0;
    const slow = slowTool({
      ms: toolMs,
      deaf,
      onStart: () =>
        setTimeout(() => {
          t0 = performance.now();
          ac.abort();
        }, 50),
    });
    const agent = await adapter.create({
      baseURL: url(run),
      tools: [lookupTool(), slow],
      maxRounds: 5,
      store: memoryOrNone(),
      history: historyIfStored(4),
    });
    const outcome = await settle(agent.run('slow:1', { signal: ac.signal }));
    const ms = performance.now() - t0;
    await sleep(60);
    return { ms, gotSignal: slow.gotSignal, outcome, next: await next(agent) };
  },
};

const memoryOrNone = () => (adapter.info.stores.memory ? 'memory' : 'none');
const historyIfStored = (n) => (adapter.info.stores.memory ? history(n) : []);
const settle = (p) =>
  Promise.race([
    p.then(
      (v) => (v === undefined || v === '' ? 'resolved' : `resolved with ${String(v).length} chars`),
      (e) => `rejected ${e?.name ?? 'Error'}`,
    ),
    sleep(30_000).then(() => 'never settled'),
  ]);
const next = (agent) =>
  Promise.race([
    agent.run('tools:1').then(
      (v) => (v === FINAL ? 'ok' : `wrong answer (${String(v).slice(0, 40)})`),
      (e) =>
        `FAILED: ${String(e?.message ?? e)
          .split('\n')[0]
          .slice(0, 160)}`,
    ),
    sleep(10_000).then(() => 'FAILED: hangs'),
  ]);

async function answerRequest({ scenario, params }) {
  let out;
  try {
    out = await Promise.race([
      scenarios[scenario](params),
      sleep(params.timeout ?? 90_000).then(() => {
        throw new Error('timeout');
      }),
    ]);
  } catch (e) {
    out = {
      error: String(e?.message ?? e)
        .split('\n')[0]
        .slice(0, 200),
    };
  }
  process.send({ ...out, refused: [...new Set(globalThis.__refused)], unhandled });
}

process.on('message', (request) => void answerRequest(request));
process.on('disconnect', () => process.exit(0));
// Without this handler such a rejection would end an application's process; it is counted and reported.
let unhandled = 0;
process.on('unhandledRejection', (e) => {
  unhandled++;
  if (process.env.BENCH_DEBUG) console.error(e);
});
process.send({ ready: true, info: adapter.info });
