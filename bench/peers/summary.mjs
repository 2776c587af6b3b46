// One table and one picture for a whole run: Troupe and the best peer in each scenario, as a ratio to the floor.
const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** Scenarios: title, case, and the ratio to the floor that is wanted. */
const CASES = [
  ['tool loop, 50 rounds', 'B50', 1.3],
  ['tool loop, 200 rounds', 'B200', 1.1],
  ['20 000 deltas in large writes', 'D', 1.5],
  ['5 000 deltas, one write each', 'Deach', 1],
  ['16 KB of tool arguments in small deltas', 'Dargs4', 1],
  ['64 parallel tool calls', 'C', 1.5],
  ['500 agents at once', 'E', 1.2],
  ['one more turn on 2 000 messages', 'F', 1],
  ['a turn saved to disk at 500 messages', 'Idisk', 1.5],
];

/** CPU time of a peer in a case: the median, or undefined if it has none. */
function cpuOf(result, id, peer) {
  const samples = result.cases[id]?.peers[peer]?.samples ?? [];
  return samples.length === 0 ? undefined : median(samples.map(({ cpuMs }) => cpuMs));
}

const isPeer = (peer) => peer !== 'troupe' && !peer.startsWith('floor');

/** The scenarios that were run: the ratio of Troupe and of the best peer to the floor. */
export function rowsOf(result) {
  const rows = [];
  for (const [title, id, goal] of CASES) {
    const floor = cpuOf(result, id === 'Idisk' ? 'Imemory' : id, 'floor');
    const ours = cpuOf(result, id, 'troupe');
    if (floor === undefined || ours === undefined) continue;
    const others = result.peers
      .filter(isPeer)
      .map((peer) => ({ name: result.info[peer]?.name ?? peer, cpu: cpuOf(result, id, peer) }))
      .filter(({ cpu }) => cpu !== undefined)
      .sort((a, b) => a.cpu - b.cpu);
    const [best] = others;
    rows.push({
      title,
      goal,
      ours: ours / floor,
      best: best && { name: best.name, ratio: best.cpu / floor },
    });
  }
  return rows;
}

const times = (ratio) => `${ratio.toFixed(ratio >= 10 ? 0 : 2)} ×`;

/** Markdown of the summary. */
export function summary(result) {
  const lines = rowsOf(result).map(
    ({ title, ours, goal, best }) =>
      `| ${title} | ${times(ours)} | ${best ? `${best.name} ${times(best.ratio)}` : '–'} | ${times(goal)} |`,
  );
  return [
    '### Summary: CPU time as a ratio to the loop written by hand on fetch\n',
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
  const rows = rowsOf(result);
  const height = rows.length * ROW + 70;
  const x = (ratio) => LEFT + ((WIDTH - LEFT - 150) * Math.min(ratio, MOST)) / MOST;
  const bar = (y, ratio, color, label) =>
    `<rect x="${LEFT}" y="${y}" width="${(x(ratio) - LEFT).toFixed(1)}" height="14" rx="2" fill="${color}"/>` +
    `<text x="${(x(ratio) + 6).toFixed(1)}" y="${y + 11}" font-size="11" fill="#555">${label} ${times(ratio)}</text>`;
  const drawn = rows.map(({ title, ours, best }, i) => {
    const y = 40 + i * ROW;
    return (
      `<text x="${LEFT - 10}" y="${y + 19}" font-size="13" text-anchor="end" fill="#222">${title}</text>` +
      bar(y, ours, '#2f6fde', 'Troupe') +
      (best ? bar(y + 17, best.ratio, '#b9bec8', best.name) : '')
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
