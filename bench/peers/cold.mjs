// A fresh process: import the adapter, construct one agent, get one answer; or construct many agents.
//   node --expose-gc --import ./guard.mjs cold.mjs <peer> <port> [agents]
import { lookupTool } from './fixtures.mjs';

const [peer, port, agents] = process.argv.slice(2);
const MB = 1024 * 1024;
const t0 = performance.now();
const adapter = await import(`./adapters/${peer}/adapter.mjs`);
const importMs = performance.now() - t0;
const make = () =>
  adapter.create({
    baseURL: `http://127.0.0.1:${port}/r/cold-${peer}/v1`,
    tools: [lookupTool()],
    maxRounds: 5,
    store: 'none',
  });

if (!agents) {
  const agent = await make();
  const readyMs = performance.now(); // since the process started
  const cpu = process.cpuUsage(),
    rss = process.memoryUsage().rss;
  const text = await agent.run('hello');
  const answerMs = performance.now();
  done({
    importMs,
    readyMs,
    answerMs,
    cpuMs: (cpu.user + cpu.system) / 1000,
    rssMB: rss / MB,
    ok: text === 'done and out',
  });
} else {
  const n = Number(agents),
    all = [await make()];
  const settle = async () => {
    for (let i = 0; i < 3; i++) {
      global.gc();
      await new Promise((r) => setTimeout(r, 20));
    }
    return process.memoryUsage();
  };
  const a = await settle();
  const c0 = process.cpuUsage();
  for (let i = 0; i < n; i++) all.push(await make());
  const c = process.cpuUsage(c0);
  const b = await settle();
  done({
    agents: all.length - 1,
    rssKB: (b.rss - a.rss) / n / 1024,
    heapKB: (b.heapUsed - a.heapUsed) / n / 1024,
    cpuUs: (c.user + c.system) / n,
  });
}
function done(m) {
  process.send({ ...m, info: adapter.info, refused: [...new Set(globalThis.__refused)] }, () =>
    process.exit(0),
  );
}
