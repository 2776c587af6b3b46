// Turns the raw numbers into tables. node report.mjs results.json  prints them again.
import { readFileSync } from 'node:fs';

const sorted = (xs) => [...xs].sort((a, b) => a - b);
const median = (xs) => {
  const s = sorted(xs),
    m = s.length >> 1;
  return s.length % 2 ? s[m] : (s[m - 1] + s[m]) / 2;
};
const p90 = (xs) => sorted(xs)[Math.ceil(0.9 * xs.length) - 1];
const f = (x) =>
  x === undefined || Number.isNaN(x)
    ? '–'
    : Math.abs(x) >= 100
      ? x.toFixed(0)
      : Math.abs(x) >= 10
        ? x.toFixed(1)
        : x.toFixed(2);
const table = (head, rows) =>
  [
    `| ${head.join(' | ')} |`,
    `|${head.map((_, i) => (i ? '--:' : '---')).join('|')}|`,
    ...rows.map((r) => `| ${r.join(' | ')} |`),
    '',
  ].join('\n');
const short = (s) => s.replace(/^FAILED:.*must be followed by tool messages.*/, 'HTTP 400, orphan tool call');
const modes = (all, xs = all.map(short)) =>
  [...xs.reduce((m, x) => m.set(x, (m.get(x) ?? 0) + 1), new Map())]
    .map(([x, n]) => (xs.length > 1 && n < xs.length ? `${x} (${n}/${xs.length})` : x))
    .join('; ');

export function report(r) {
  const out = [];
  const name = (p) => r.info[p]?.name ?? p;
  const slot = (id, p) => r.cases[id]?.peers[p];
  const col = (id, p, key) =>
    slot(id, p)
      ?.samples?.map((s) => s[key])
      .filter((x) => x !== undefined) ?? [];
  const med = (id, p, key) => {
    const xs = col(id, p, key);
    return xs.length ? median(xs) : undefined;
  };
  const high = (id, p, key) => {
    const xs = col(id, p, key);
    return xs.length ? p90(xs) : undefined;
  };
  const low = (id, p, key) => {
    const xs = col(id, p, key);
    return xs.length ? Math.min(...xs) : undefined;
  };
  const why = (id, p) =>
    slot(id, p)?.skipped ?? (slot(id, p)?.error ? `fails: ${slot(id, p).error}` : undefined);
  const ratio = (id, p, key) => {
    const a = med(id, p, key),
      b = med(id, 'floor', key);
    return a && b ? `${f(a / b)}×` : '–';
  };
  const rowsOf = (id, make) =>
    r.peers
      .filter((p) => slot(id, p))
      .map((p) => [name(p), ...(why(id, p) && !slot(id, p).samples?.length ? [why(id, p)] : make(p))]);
  // Messages that an aborted turn left in the session: the roles between the 4 seeded messages and the next turn's own.
  const kept = (id, p) =>
    modes(
      col(id, p, 'server').map((v) => {
        const roles = v.lastRoles.split(' ').filter((x) => x !== 's');
        return roles.slice(4, roles.at(-1) === 'u' ? -1 : -3).join(' ') || 'nothing';
      }),
    );
  const pad = (rows, n) => rows.map((x) => [...x, ...Array(Math.max(0, n - x.length)).fill('')]);

  out.push(
    `Node ${r.node}, ${r.cpu}, ${r.when}${r.quick ? ', --quick' : ''}; ${f(r.took.all)} s in all (${Object.entries(
      r.took,
    )
      .filter(([k]) => k !== 'all')
      .map(([k, v]) => `${k} ${v.toFixed(0)} s`)
      .join(
        ', ',
      )}); load average ${f(Math.min(...Object.values(r.load)))} to ${f(Math.max(...Object.values(r.load)))}.`,
  );
  out.push(
    'Ratios are to `floor (fetch)`. CPU is the client process (user + system, all threads). p90 of fewer than ten samples is the largest; best is the smallest (least disturbed, most warmed up).\n',
  );
  out.push(
    `Samples: ${Object.entries(r.cases)
      .map(([id, c]) => `${id} ${Math.max(0, ...Object.values(c.peers).map((p) => p.samples?.length ?? 0))}`)
      .join(', ')}.\n`,
  );
  out.push(
    '### Versions\n',
    table(
      ['peer', 'pinned'],
      r.peers
        .filter((p) => r.versions[p])
        .map((p) => [
          name(p),
          Object.entries(r.versions[p])
            .map(([k, v]) => `${k} ${v}`)
            .join(', '),
        ]),
    ),
  );

  if (Object.keys(r.cold).length) {
    const c = (p, k) => r.cold[p].map((s) => s[k]).filter((x) => x !== undefined);
    const m = (p, k) => (c(p, k).length ? median(c(p, k)) : undefined);
    out.push(
      '### A. cold start\n',
      table(
        [
          'peer',
          'agent ready ms',
          'p90',
          '× floor',
          'CPU ms',
          'first answer ms',
          '× floor',
          'RSS MB',
          'install MB',
          'packages',
          'with disk store MB',
          'packages',
        ],
        r.peers.map((p) => [
          name(p),
          f(m(p, 'readyMs')),
          f(c(p, 'readyMs').length ? p90(c(p, 'readyMs')) : undefined),
          `${f(m(p, 'readyMs') / m('floor', 'readyMs'))}×`,
          f(m(p, 'cpuMs')),
          f(m(p, 'answerMs')),
          `${f(m(p, 'answerMs') / m('floor', 'answerMs'))}×`,
          f(m(p, 'rssMB')),
          f(r.install[p].MB),
          r.install[p].packages,
          f(r.install[p].withExtras?.MB),
          r.install[p].withExtras?.packages,
        ]),
      ),
    );
  }
  if (r.cases.B50) {
    const n = (id) => r.cases[id].params.rounds,
      big = n('B200');
    const per = (id, p, k, of = med) => {
      const x = of(id, p, k);
      return x === undefined ? '–' : f(x / n(id));
    };
    out.push(
      '### B. tool loop, per round (streaming, no session store)\n',
      table(
        [
          'peer',
          '50: ms',
          'p90',
          '× floor',
          '50: CPU ms',
          'p90',
          'best',
          '× floor',
          '10: CPU ms',
          `${big}: CPU ms`,
          '× floor',
          `growth ${big} ÷ 50`,
          'CPU µs per message of history',
          `${big}: ms`,
          `${big}: total s`,
        ],
        rowsOf('B50', (p) => [
          per('B50', p, 'ms'),
          per('B50', p, 'ms', high),
          ratio('B50', p, 'ms'),
          per('B50', p, 'cpuMs'),
          per('B50', p, 'cpuMs', high),
          per('B50', p, 'cpuMs', low),
          ratio('B50', p, 'cpuMs'),
          per('B10', p, 'cpuMs'),
          per('B200', p, 'cpuMs'),
          ratio('B200', p, 'cpuMs'),
          `${f(med('B200', p, 'cpuMs') / big / (med('B50', p, 'cpuMs') / 50))}×`,
          f(((med('B200', p, 'cpuMs') / big - med('B50', p, 'cpuMs') / 50) * 1000) / (big - 50)),
          per('B200', p, 'ms'),
          f(med('B200', p, 'ms') / 1000),
        ]),
      ),
    );
    out.push(
      'Per round, 50 rounds, in the other two modes:\n',
      table(
        [
          'peer',
          'non-streaming: ms',
          'CPU ms',
          '× floor CPU',
          'with memory session: ms',
          'CPU ms',
          '× floor CPU',
          `${big} rounds: CPU ms`,
          'growth',
          'session store',
        ],
        r.peers.map((p) => [
          name(p),
          why('B50gen', p) ?? per('B50gen', p, 'ms'),
          per('B50gen', p, 'cpuMs'),
          ratio('B50gen', p, 'cpuMs'),
          why('B50mem', p) ?? per('B50mem', p, 'ms'),
          per('B50mem', p, 'cpuMs'),
          ratio('B50mem', p, 'cpuMs'),
          per('B200mem', p, 'cpuMs'),
          `${f(med('B200mem', p, 'cpuMs') / big / (med('B50mem', p, 'cpuMs') / 50))}×`,
          r.info[p]?.stores.memory ?? '–',
        ]),
      ),
    );
  }
  if (r.cases.C)
    out.push(
      '### C. 64 parallel tool calls of 5 ms each, one round\n',
      table(
        ['peer', 'ms', 'p90', '× floor', 'CPU ms', 'p90', 'best', '× floor', 'ran at once'],
        pad(
          rowsOf('C', (p) => [
            f(med('C', p, 'ms')),
            f(high('C', p, 'ms')),
            ratio('C', p, 'ms'),
            f(med('C', p, 'cpuMs')),
            f(high('C', p, 'cpuMs')),
            f(low('C', p, 'cpuMs')),
            ratio('C', p, 'cpuMs'),
            Math.max(...col('C', p, 'overlap')),
          ]),
          9,
        ),
      ),
    );
  if (r.cases.D) {
    const n = r.cases.D.params.deltas,
      e = r.cases.Deach.params.deltas;
    out.push(
      `### D. streaming, ${n} deltas in large writes (and ${e} deltas, one write each)\n`,
      table(
        [
          'peer',
          'deltas/s',
          'ms',
          'p90',
          '× floor',
          'CPU µs/delta',
          'p90',
          'best',
          '× floor',
          'peak RSS MB',
          'each: CPU µs/delta',
          '× floor',
          'deltas seen',
        ],
        pad(
          rowsOf('D', (p) => [
            f((n / med('D', p, 'ms')) * 1000),
            f(med('D', p, 'ms')),
            f(high('D', p, 'ms')),
            ratio('D', p, 'ms'),
            f((med('D', p, 'cpuMs') * 1000) / n),
            f((high('D', p, 'cpuMs') * 1000) / n),
            f((low('D', p, 'cpuMs') * 1000) / n),
            ratio('D', p, 'cpuMs'),
            f(Math.max(...col('D', p, 'peakRssMB'))),
            why('Deach', p) ?? f((med('Deach', p, 'cpuMs') * 1000) / e),
            ratio('Deach', p, 'cpuMs'),
            med('D', p, 'deltas'),
          ]),
          13,
        ),
      ),
    );
    out.push(
      'A tool call with long arguments (4 chars per delta), then its round: CPU\n',
      table(
        ['peer', '4 KB: CPU ms', '× floor', '16 KB: CPU ms', '× floor', 'growth (4 = linear)', '16 KB: ms'],
        pad(
          rowsOf('Dargs4', (p) => [
            f(med('Dargs1', p, 'cpuMs')),
            ratio('Dargs1', p, 'cpuMs'),
            f(med('Dargs4', p, 'cpuMs')),
            ratio('Dargs4', p, 'cpuMs'),
            f(med('Dargs4', p, 'cpuMs') / med('Dargs1', p, 'cpuMs')),
            f(med('Dargs4', p, 'ms')),
          ]),
          7,
        ),
      ),
    );
  }
  if (r.cases.E) {
    const i = (p, k) => {
      const xs = (r.idle[p] ?? []).map((s) => s[k]).filter((x) => x !== undefined);
      return xs.length ? median(xs) : undefined;
    };
    out.push(
      `### E. ${r.cases.E.params.agents} agents at once, 3 tool rounds each; ${r.idle.floor?.[0]?.agents} idle agents\n`,
      table(
        [
          'peer',
          'wall ms',
          'p90',
          '× floor',
          'CPU ms',
          'p90',
          '× floor',
          'loop blocked for up to ms',
          'peak RSS MB',
          'idle: RSS KB/agent',
          'heap KB/agent',
          'construct CPU µs',
        ],
        pad(
          rowsOf('E', (p) => [
            f(med('E', p, 'ms')),
            f(high('E', p, 'ms')),
            ratio('E', p, 'ms'),
            f(med('E', p, 'cpuMs')),
            f(high('E', p, 'cpuMs')),
            ratio('E', p, 'cpuMs'),
            f(med('E', p, 'blockedMs')),
            f(Math.max(...col('E', p, 'peakRssMB'))),
            f(i(p, 'rssKB')),
            f(i(p, 'heapKB')),
            f(i(p, 'cpuUs')),
          ]),
          12,
        ),
      ),
    );
  }
  if (r.cases.F)
    out.push(
      `### F. one more turn on a session of ${r.cases.F.params.messages} messages\n`,
      table(
        ['peer', 'CPU ms', 'p90', 'best', '× floor', 'ms', 'p90', '× floor', 'messages sent', 'store'],
        pad(
          rowsOf('F', (p) => [
            f(med('F', p, 'cpuMs')),
            f(high('F', p, 'cpuMs')),
            f(low('F', p, 'cpuMs')),
            ratio('F', p, 'cpuMs'),
            f(med('F', p, 'ms')),
            f(high('F', p, 'ms')),
            ratio('F', p, 'ms'),
            slot('F', p).samples[0]?.server.lastMessages,
            r.info[p].stores.memory,
          ]),
          10,
        ),
      ),
    );
  if (r.cases.G) {
    out.push(
      '### G. abort a stream\n',
      table(
        [
          'peer',
          'settles after ms',
          'p90',
          'outcome',
          'server saw the cut',
          'deltas after abort',
          'kept',
          'next call',
          'in tool-call args: settles after ms',
          'kept',
          'next call',
        ],
        pad(
          rowsOf('G', (p) => [
            f(med('G', p, 'ms')),
            f(high('G', p, 'ms')),
            modes(col('G', p, 'outcome')),
            `${col('G', p, 'server').filter((s) => s.cutStreams).length}/${col('G', p, 'ms').length}`,
            f(med('G', p, 'deltasAfter')),
            kept('G', p),
            modes(col('G', p, 'next')),
            f(med('Gargs', p, 'ms')),
            kept('Gargs', p),
            modes(col('Gargs', p, 'next')),
          ]),
          11,
        ),
      ),
    );
  }
  if (r.cases.H)
    out.push(
      `### H. abort while a tool of 10 s runs (deaf: ${r.cases.Hdeaf.params.toolMs / 1000} s, ignores its signal)\n`,
      table(
        [
          'peer',
          'settles after ms',
          'p90',
          'outcome',
          'tool got a signal',
          'kept',
          'next call',
          'deaf tool: settles after ms',
          'kept',
          'next call',
          'unhandled rejections',
        ],
        pad(
          rowsOf('H', (p) => [
            f(med('H', p, 'ms')),
            f(high('H', p, 'ms')),
            modes(col('H', p, 'outcome')),
            modes(col('H', p, 'gotSignal').map(String)),
            kept('H', p),
            modes(col('H', p, 'next')),
            f(med('Hdeaf', p, 'ms')),
            kept('Hdeaf', p),
            modes(col('Hdeaf', p, 'next')),
            Math.max(0, ...col('H', p, 'unhandled'), ...col('Hdeaf', p, 'unhandled')),
          ]),
          11,
        ),
      ),
    );
  if (r.cases.Imemory) {
    out.push(
      `### I. persistence: a turn of 3 tool rounds on a session of ${r.cases.Imemory.params.messages} messages\n`,
      table(
        [
          'peer',
          'memory: CPU ms',
          'best',
          'ms',
          'disk: CPU ms',
          'p90',
          'best',
          '× floor (memory)',
          'disk: ms',
          'p90',
          'KB written/turn',
          'store grows KB/turn',
          'disk store',
        ],
        r.peers
          .filter((p) => slot('Imemory', p))
          .map((p) => [
            name(p),
            why('Imemory', p) ?? f(med('Imemory', p, 'cpuMs')),
            f(low('Imemory', p, 'cpuMs')),
            f(med('Imemory', p, 'ms')),
            why('Idisk', p) ?? f(med('Idisk', p, 'cpuMs')),
            f(high('Idisk', p, 'cpuMs')),
            f(low('Idisk', p, 'cpuMs')),
            why('Idisk', p) ? '–' : `${f(med('Idisk', p, 'cpuMs') / med('Imemory', 'floor', 'cpuMs'))}×`,
            f(med('Idisk', p, 'ms')),
            f(high('Idisk', p, 'ms')),
            f(med('Idisk', p, 'writtenKB')),
            f(med('Idisk', p, 'grownKB') ?? med('Idisk', p, 'diskKB')),
            r.info[p].stores.disk ?? '–',
          ]),
      ),
    );
  }

  // Deviations: samples with unexpected requests, errors or connections.
  const odd = [];
  for (const [id, c] of Object.entries(r.cases))
    for (const [p, s] of Object.entries(c.peers)) {
      if (s.error)
        odd.push(
          `${id} ${name(p)}: ${s.error}${s.server?.errors?.[0] ? ` (server: ${s.server.errors[0]})` : ''}`,
        );
      for (const [i, x] of (s.samples ?? []).entries()) {
        const v = x.server,
          at = `${id} ${name(p)} sample ${i}`;
        if (x.requests !== undefined && v.requests !== x.requests)
          odd.push(`${at}: ${v.requests} requests, expected ${x.requests}`);
        if (x.atLeastMessages && v.maxMessages < x.atLeastMessages)
          odd.push(`${at}: sent ${v.maxMessages} messages, expected at least ${x.atLeastMessages}`);
        if (x.requests !== undefined && v.streamed !== (id === 'B50gen' ? 0 : v.requests))
          odd.push(`${at}: ${v.streamed} of ${v.requests} requests streamed`);
        if (x.requests !== undefined && v.bad) odd.push(`${at}: ${v.bad} × HTTP 400: ${v.errors[0]}`);
        if (v.other.length) odd.push(`${at}: other requests: ${v.other.slice(0, 3).join(', ')}`);
        if (x.unhandled && i === s.samples.length - 1)
          odd.push(`${at}: ${x.unhandled} unhandled rejections in this process so far`);
      }
    }
  const refused = r.peers
    .map((p) => [
      p,
      new Set(
        Object.values(r.cases)
          .flatMap((c) => c.peers[p]?.samples ?? [])
          .concat(r.cold[p] ?? [])
          .flatMap((s) => s.refused ?? []),
      ),
    ])
    .filter(([, s]) => s.size);
  for (const [p, s] of refused)
    odd.push(`${name(p)} tried to connect to ${[...s].join(', ')} (refused by guard.mjs)`);
  const checked = Object.values(r.cases)
    .flatMap((c) => Object.values(c.peers))
    .flatMap((s) => s.samples ?? [])
    .filter((x) => x.requests !== undefined);
  out.push(
    '### Sanity\n',
    `${checked.length} samples had their number of server requests checked. ${odd.length ? 'Deviations:\n\n' + [...new Set(odd)].map((o) => `- ${o}`).join('\n') : 'No deviations.'}\n`,
  );
  if (r.cases.B50)
    out.push(
      'Requests per sample, connections opened, request bytes (one sample of 50 rounds), server CPU during it:\n',
      table(
        ['peer', 'requests', 'connections', 'KB sent', 'usage asked for', 'server CPU ms'],
        r.peers
          .filter((p) => slot('B50', p)?.samples?.length)
          .map((p) => {
            const v = slot('B50', p).samples.at(-1).server;
            return [name(p), v.requests, v.sockets, f(v.bodyBytes / 1024), v.withUsage, f(v.serverCpuMs)];
          }),
      ),
    );
  return out.join('\n');
}

if (process.argv[1] === new URL(import.meta.url).pathname)
  console.log(report(JSON.parse(readFileSync(process.argv[2]))));
