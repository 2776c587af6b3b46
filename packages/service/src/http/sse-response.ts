import { getLogger } from 'troupe';
import { redactKeys } from 'troupe/studio';

import type { StoredEvent } from '../store/event-table.ts';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};
const HEARTBEAT_MS = 15_000;
const COMMENT = ':\n\n';

/** Makes text of batches of events. */
export type FrameBatch = (events: readonly StoredEvent[]) => string;

/** Frames with the number of the event as `id`, its type as `event` and the event itself as `data`. */
export const nativeFrames: FrameBatch = (events) =>
  events.map(({ n, data }) => `id: ${n}\nevent: ${typeOf(data)}\ndata: ${data}\n\n`).join('');

function typeOf(data: string): string {
  return /"type":"(\w+)"/.exec(data)?.[1] ?? 'message';
}

/**
 * Server-sent events of a run. The first byte leaves at once; a comment follows each silence of 15 s. A client that reads slowly is
 * waited for, and a client that is gone ends the reading. The run notices neither.
 */
export function sseResponse(
  follow: (signal: AbortSignal) => AsyncGenerator<readonly StoredEvent[], void, void>,
  frames: FrameBatch = nativeFrames,
): Response {
  const left = new AbortController();
  const batches = follow(left.signal);
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<readonly StoredEvent[], void>> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(COMMENT)),
      pull: async (controller) => {
        next ??= batches.next();
        const item = await within(next, HEARTBEAT_MS).catch(cutOff);
        if (item === undefined) return controller.enqueue(encoder.encode(COMMENT));
        next = undefined;
        if (item.done === true) return controller.close();
        controller.enqueue(encoder.encode(frames(item.value)));
      },
      cancel: async () => {
        left.abort();
        await batches.return();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: HEADERS });
}

/** Ends a connection whose events can't be read, such as while the database restarts: its client connects again. */
function cutOff(error: unknown): never {
  getLogger().log('warn', `The events of a run could not be read: ${redactKeys(String(error))}`);
  throw new Error('The events of a run could not be read. The client connects again.');
}

/** The value of a promise, or undefined after `ms`. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
    timer.unref();
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}
