// Counts promises in place of time: a busy machine changes no count. A test that imports this needs its own process.
import { createHook } from 'node:async_hooks';

/** Number of promises that are made while the work runs. */
export async function promisesIn(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const hook = createHook({ init: (_id, type) => void (type === 'PROMISE' && count++) }).enable();
  try {
    await work();
  } finally {
    hook.disable();
  }
  return count;
}
