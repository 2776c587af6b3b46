// A Studio of its own process whose memory is measured. Prints its address, and after each line of input the bytes of live objects.

import { createInterface } from 'node:readline';

import { startStudio } from '../src/start-studio.ts';

const [dir = '', token = ''] = process.argv.slice(2);
const studio = await startStudio({ dir, tokenDir: dir, port: 0, token, log: () => {} });
process.stdout.write(`${studio.url}\n`);
for await (const _line of createInterface(process.stdin)) {
  // buffers of the last requests are freed by a second and third round
  for (let round = 0; round < 3; round++) await globalThis.gc?.({ execution: 'async', type: 'major' });
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${heapUsed + external}\n`);
}
await studio.close();
