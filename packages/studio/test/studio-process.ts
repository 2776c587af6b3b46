// A Studio of its own process, to be killed. Prints its address with the token. Run by killed-studio.test.ts.

import { startStudio } from '../src/start-studio.ts';

const [dir = '', port = '0', token = ''] = process.argv.slice(2);
const studio = await startStudio({ dir, tokenDir: dir, port: Number(port), token, log: () => {} });
process.stdout.write(`${studio.url}\n`);
