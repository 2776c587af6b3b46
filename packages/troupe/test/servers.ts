/** The servers that some tests need. A test that can't reach one is skipped and says so, or fails if they are required. */
import { connect } from 'node:net';

import { POSTGRES } from './addresses.ts';

export { POSTGRES, REDIS_URL } from './addresses.ts';

/** Set in CI, where a missing server is a failure. */
const REQUIRED = 'TROUPE_REQUIRE_SERVERS';

export const hasPostgres = await isThere('PostgreSQL', POSTGRES.port);
export const hasRedis = await isThere('Redis', 6379);

async function isThere(name: string, port: number): Promise<boolean> {
  const answers = await new Promise<boolean>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 2_000 })
      .on('connect', () => resolve(true))
      .on('error', () => resolve(false))
      .on('timeout', () => resolve(false))
      .on('close', () => socket.destroy());
    socket.on('connect', () => socket.destroy());
  });
  if (answers) return true;
  const problem = `No ${name} answers at 127.0.0.1:${port}`;
  if (process.env[REQUIRED] === '1') throw new Error(`${problem}, and ${REQUIRED}=1 needs it.`);
  console.warn(`SKIPPED: ${problem}: its tests did not run.`);
  return false;
}
