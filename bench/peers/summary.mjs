// One table and one picture for a whole run: Troupe and the best peer in each scenario, as a ratio to the floor.
const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const samplesOf = (result, id, peer) => result.cases[id]?.peers[peer]?.samples ?? [];
/** Median of a number of some samples; undefined without samples. */
const medianOf = (samples, key) => {
  const numbers = (samples ?? []).map((sample) => sample[key]).filter((number) => number !== undefined);
  return numbers.length === 0 ? undefined : median(numbers);
};

const cpu = (id) => ({
  of: (result, peer) => medianOf(samplesOf(result, id, peer), 'cpuMs'),
  floor: (result) => medianOf(samplesOf(result, id === 'Idisk' ? 'Imemory' : id, 'floor'), 'cpuMs'),
});
const cold = (key) => ({
  of: (result, peer) => medianOf(result.cold[peer], key),
  floor: (result) => medianOf(result.cold.floor, key),
});
const idle = (key) => ({ of: (result, peer) => medianOf(result.idle[peer], key) });

/** Rows: title, wanted value, and the number of a peer. With `floor`, the value is the ratio to it. */
const ROWS = [
  { title: 'tool loop, 50 rounds', goal: 1.3, ...cpu('B50') },
  { title: 'tool loop, 200 rounds', goal: 1.1, ...cpu('B200') },
  { title: '20 000 deltas in large writes', goal: 1.5, ...cpu('D') },
  { title: '5 000 deltas, one write each', goal: 1, ...cpu('Deach') },
  { title: '16 KB of tool arguments in small deltas', goal: 1, ...cpu('Dargs4') },
  { title: '64 parallel tool calls', goal: 1.5, ...cpu('C') },
  { title: '500 agents at once', goal: 1.2, ...cpu('E') },
  { title: 'one more turn on 2 000 messages', goal: 1, ...cpu('F') },
  { title: 'a turn saved to disk at 500 messages', goal: 1.5, ...cpu('Idisk') },
  { title: 'agent ready in a fresh process', goal: 2.5, ...cold('readyMs') },
  { title: 'first answer in a fresh process', goal: 1.5, ...cold('answerMs') },
  { title: 'heap of an idle agent', goal: 2, unit: 'kB', ...idle('heapKB') },
  { title: 'CPU of construction', goal: 10, unit: 'µs', ...idle('cpuUs') },
  {
    title: 'abort in a deaf tool of 10 s',
    goal: 50,
    unit: 'ms',
    of: (result, peer) => medianOf(samplesOf(result, 'Hdeaf', peer), 'ms'),
  },
  {
    title: 'installed, with a schema library',
    goal: 10,
    unit: 'MB',
    of: (result, peer) => result.install[peer]?.MB,
  },
];

const isPeer = (peer) => peer !== 'troupe' && !peer.startsWith('floor');

/** The rows that were measured: the value of Troupe and of the best peer, most of them as a ratio to the floor. */
export function rowsOf(result) {
  const rows = [];
  for (const { title, goal, unit = '×', of, floor } of ROWS) {
    const unitValue = floor === undefined ? 1 : floor(result);
    const ours = of(result, 'troupe');
    if (unitValue === undefined || ours === undefined) continue;
    const others = result.peers
      .filter(isPeer)
      .map((peer) => ({ name: result.info[peer]?.name ?? peer, value: of(result, peer) }))
      .filter(({ value }) => value !== undefined)
      .sort((a, b) => a.value - b.value);
    const [best] = others;
    rows.push({
      title,
      goal,
      unit,
      ours: ours / unitValue,
      best: best && { name: best.name, value: best.value / unitValue },
    });
  }
  return rows;
}

const shown = (value, unit) => `${value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${unit}`;

/** Markdown of the summary. */
export function summary(result) {
  const lines = rowsOf(result).map(
    ({ title, unit, ours, goal, best }) =>
      `| ${title} | ${shown(ours, unit)} | ${best ? `${best.name} ${shown(best.value, unit)}` : '–'} | ${goal} ${unit} |`,
  );
  return [
    '### Summary: medians; × is CPU time (for a fresh process: wall time) against the loop written by hand on fetch\n',
    '| scenario | Troupe | best peer | goal |',
    '|---|--:|--:|--:|',
    ...lines,
    '',
  ].join('\n');
}

const WIDTH = 820;
const LEFT = 300;
const ROW = 46;
const MOST = 8;

/** Picture of the summary: two bars for each scenario, and a line at the floor. */
export function picture(result) {
  const rows = rowsOf(result).filter(({ unit }) => unit === '×');
  const height = rows.length * ROW + 70;
  const x = (ratio) => LEFT + ((WIDTH - LEFT - 150) * Math.min(ratio, MOST)) / MOST;
  const bar = (y, ratio, color, label) =>
    `<rect x="${LEFT}" y="${y}" width="${(x(ratio) - LEFT).toFixed(1)}" height="14" rx="2" fill="${color}"/>` +
    `<text x="${(x(ratio) + 6).toFixed(1)}" y="${y + 11}" font-size="11" fill="#555">${label} ${shown(ratio, '×')}</text>`;
  const drawn = rows.map(({ title, ours, best }, i) => {
    const y = 40 + i * ROW;
    return (
      `<text x="${LEFT - 10}" y="${y + 19}" font-size="13" text-anchor="end" fill="#222">${title}</text>` +
      bar(y, ours, '#2f6fde', 'Troupe') +
      (best ? bar(y + 17, best.value, '#b9bec8', best.name) : '')
    );
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="16" y="22" font-size="13" fill="#222">CPU time of the framework; the line is the same loop written by hand (Node ${result.node})</text>`,
    `<line x1="${x(1)}" x2="${x(1)}" y1="34" y2="${height - 26}" stroke="#d33" stroke-dasharray="4 3"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}
