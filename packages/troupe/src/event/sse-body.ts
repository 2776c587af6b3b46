import { startTimer, timestamp } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import type { AgentEvent } from './agent-event.ts';
import { toEventError } from './event-error.ts';

/** Headers of a response of server-sent events: no proxy may buffer, compress or store the response. */
export const SSE_HEADERS: readonly (readonly [string, string])[] = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-cache, no-transform'],
  ['x-accel-buffering', 'no'],
];

const HEARTBEAT_MS = 15_000;
/** A comment of server-sent events: ignored by clients, keeps the connection alive for proxies. */
const COMMENT = ':\n\n';

/**
 * Events as the body of a response. The body begins with a comment, so that headers and first byte leave at once, and has a comment after
 * each `heartbeatMs` of silence. The body reads an event after the client has taken the previous event, and ends regularly, also when the
 * run fails: a run refused before its first event gets a `run_end` with the error.
 */
export function sseBody(
  events: AsyncGenerator<AgentEvent, void, void>,
  heartbeatMs = HEARTBEAT_MS,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let waiting: Promise<IteratorResult<AgentEvent, void>> | undefined;
  let depth: number | undefined;
  let hasEnded = false;
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start: (controller) => controller.enqueue(encoder.encode(COMMENT)),
      pull: async (controller) => {
        waiting ??= events.next();
        try {
          const item = await within(waiting, heartbeatMs);
          if (item === undefined) return controller.enqueue(encoder.encode(COMMENT));
          waiting = undefined;
          if (item.done === true) return controller.close();
          depth ??= item.value.agentPath.length;
          hasEnded = item.value.type === 'run_end' && item.value.agentPath.length === depth;
          controller.enqueue(encoder.encode(frame(item.value)));
        } catch (error) {
          if (!hasEnded) controller.enqueue(encoder.encode(frame(refusal(error))));
          controller.close();
        }
      },
      cancel: async () => void (await events.return()),
    },
    { highWaterMark: 0 },
  );
}

/** One event as text. JSON has no line breaks, so `data` is one line. */
function frame(event: AgentEvent): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function refusal(error: unknown): AgentEvent {
  const origin = { id: newId(), runId: '', replyId: '', agentPath: [], seq: 0, timestamp: timestamp() };
  return { type: 'run_end', status: 'failed', error: toEventError(error), durationMs: 0, ...origin };
}

/** The value of a promise, or undefined after `ms`. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  if (ms === Infinity) return promise;
  let stop = (): void => {};
  const silence = new Promise<undefined>((resolve) => {
    stop = startTimer(ms, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    stop();
  }
}
