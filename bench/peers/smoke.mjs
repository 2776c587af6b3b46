// One quick functional pass over an adapter, with the server's view printed: node smoke.mjs <peer> [...]
import { fork } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { history, lookupTool, slowTool } from './fixtures.mjs';

if (process.argv[2] === '--child') await child(process.argv[3], process.argv[4]);
else {
  const server = fork(new URL('./fake-openai.mjs', import.meta.url).pathname, {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const port = await new Promise((res) => server.stdout.once('data', (d) => res(JSON.parse(d).port)));
  for (const peer of process.argv.slice(2)) {
    const p = fork(new URL(import.meta.url).pathname, ['--child', peer, String(port)], {
      execArgv: ['--expose-gc', '--import', new URL('./guard.mjs', import.meta.url).pathname],
    });
    await new Promise((res) => p.once('exit', res));
  }
  server.kill();
}

async function child(peer, port) {
  const adapter = await import(`./adapters/${peer}/adapter.mjs`);
  console.log(`\n=== ${peer}`, JSON.stringify(adapter.info));
  const stats = async (run) => {
    const s = await (await fetch(`http://127.0.0.1:${port}/stats/${run}`)).json();
    return `req ${s.requests} streamed ${s.streamed} usage ${s.withUsage} bad ${s.bad} cut ${s.cutStreams} sockets ${s.sockets} maxMsgs ${s.maxMessages} roles [${s.lastRoles}] ${s.errors.join('|')} ${s.other.join('|')}`;
  };
  const step = async (label, opts, fn) => {
    const run = `${peer}-${label.replace(/\W/g, '')}`;
    const cfg = { baseURL: `http://127.0.0.1:${port}/r/${run}/v1`, maxRounds: 20, store: 'none', ...opts };
    let out;
    try {
      const t = performance.now();
      out = await Promise.race([
        fn(await adapter.create(cfg), cfg),
        new Promise((_, rej) => setTimeout(() => rej(new Error('timeout 15 s')), 15_000).unref()),
      ]);
      out = `${out}  (${(performance.now() - t).toFixed(0)} ms)`;
    } catch (e) {
      out = `THREW ${e?.name}: ${String(e?.message).slice(0, 300)}`;
      if (process.env.STACK) console.log(e);
    }
    console.log(label.padEnd(16), String(out).slice(0, 400), '|', await stats(run));
  };
  const lookup = lookupTool();
  const count = () => {
    let n = 0,
      chars = 0;
    return {
      onDelta: (s) => {
        n++;
        chars += s.length;
      },
      get: () => `deltas ${n} chars ${chars}`,
    };
  };
  await step('tools:3', { tools: [lookup] }, async (a) => {
    const c = count();
    const r = await a.run('tools:3', { onDelta: c.onDelta });
    return `${r} calls ${lookup.calls} ${c.get()}`;
  });
  if (adapter.info.modes.includes('generate'))
    await step(
      'generate tools:3',
      { tools: [lookup] },
      async (a) => `${await a.run('tools:3', { stream: false })} calls ${lookup.calls}`,
    );
  await step('par:8', { tools: [lookup] }, async (a) => `${await a.run('par:8')} calls ${lookup.calls}`);
  await step('text:500', { tools: [lookup] }, async (a) => {
    const c = count();
    const r = await a.run('text:500', { onDelta: c.onDelta });
    return `len ${r.length} ${c.get()}`;
  });
  for (const store of Object.keys(adapter.info.stores)) {
    const dir = () => mkdtempSync('/tmp/peer-bench-smoke-');
    await step(
      `two turns ${store}`,
      { tools: [lookup], store, dir: dir() },
      async (a) => `${await a.run('tools:1')} / ${await a.run('tools:1')}`,
    );
    await step(
      `history ${store}`,
      { tools: [lookup], store, dir: dir(), history: history(40) },
      async (a) => `${await a.run('hello')}`,
    );
  }
  const store = adapter.info.stores.memory ? 'memory' : 'none';
  await step('abort stream', { tools: [lookup], store }, async (a) => {
    const ac = new AbortController();
    let n = 0,
      t0;
    const r = await a
      .run('pace:20000', {
        signal: ac.signal,
        onDelta: () => {
          if (++n === 100) {
            t0 = performance.now();
            ac.abort();
          }
        },
      })
      .then(
        (x) => `resolved ${String(x).length}`,
        (e) => `rejected ${e?.name}: ${String(e?.message).slice(0, 80)}`,
      );
    const ms = (performance.now() - t0).toFixed(1);
    return `${r} after ${ms} ms, deltas ${n}; next: ${await a.run('tools:1').catch((e) => `FAILED ${e.message}`)}`;
  });
  await step('abort args', { tools: [lookup], store }, async (a) => {
    const ac = new AbortController();
    let t0;
    setTimeout(() => {
      t0 = performance.now();
      ac.abort();
    }, 200);
    const r = await a.run('paceargs:20000', { signal: ac.signal }).then(
      (x) => `resolved ${String(x).length}`,
      (e) => `rejected ${e?.name}: ${String(e?.message).slice(0, 80)}`,
    );
    return `${r} after ${(performance.now() - t0).toFixed(1)} ms; next: ${await a.run('tools:1').catch((e) => `FAILED ${e.message}`)}`;
  });
  for (const deaf of [false, true]) {
    const ac = new AbortController();
    let t0;
    const slow = slowTool({
      ms: 3000,
      deaf,
      onStart: () =>
        setTimeout(() => {
          t0 = performance.now();
          ac.abort();
        }, 50),
    });
    await step(deaf ? 'abort deaf tool' : 'abort tool', { tools: [lookup, slow], store }, async (a) => {
      const r = await a.run('slow:1', { signal: ac.signal }).then(
        (x) => `resolved ${String(x).length}`,
        (e) => `rejected ${e?.name}: ${String(e?.message).slice(0, 80)}`,
      );
      return `${r} after ${(performance.now() - t0).toFixed(1)} ms, signal ${slow.gotSignal}; next: ${await a.run('tools:1').catch((e) => `FAILED ${e.message}`)}`;
    });
  }
  console.log('refused connections:', JSON.stringify([...new Set(globalThis.__refused)]));
  process.exit(0);
}
