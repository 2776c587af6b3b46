// A gateway or a worker for the measurement of times between processes. Arguments: address of a PostgreSQL, and the maximum number of runs.

import { createService, postgresStorage } from '@troupe/service';
import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';

const [database = '', maxRuns = '0'] = process.argv.slice(2);
const DELTAS = 100;
const PAUSE_MS = 20;

/** Says the time, again and again. */
class ClockModel extends ScriptedModel {
  override async *stream(): ReturnType<ScriptedModel['stream']> {
    for (let n = 0; n < DELTAS; n++) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      yield { type: 'text', text: `${Date.now()} ` };
    }
    yield { type: 'finish', reason: 'stop' };
  }
}

const service = await createService({
  store: postgresStorage(database, { approvalKey: 'a key of sixteen bytes or more' }),
  maxRuns: Number(maxRuns),
  limits: { openRuns: Infinity, requestsPerMinute: Infinity },
  shutdownMs: 0,
  agents: {
    clock: () => new ReActAgent({ name: 'clock', model: new ClockModel(['']), console: false }),
    waiter: () =>
      new ReActAgent({
        name: 'waiter',
        model: new ScriptedModel([{ toolCalls: [{ name: 'wait', input: {} }] }]),
        tools: [
          tool({
            name: 'wait',
            execute: (_input: object, { signal }) =>
              new Promise<string>((resolve) => {
                process.send?.({ waits: true });
                signal.addEventListener('abort', () => {
                  process.send?.({ stopped: Date.now() });
                  resolve('Stopped.');
                });
              }),
          }),
        ],
        console: false,
      }),
  },
});
process.send?.({ url: await service.listen({ port: 0 }) });
