import { Hono } from 'hono';
import {
  PROGRAM_PROTOCOL,
  STUDIO_MARK,
  type CommandResult,
  type ProgramBatch,
  type ProgramIdentity,
  type ProgramWelcome,
} from 'troupe/studio';

import type { Programs } from '../runs/programs.ts';
import { isRecord } from '../store/json-text.ts';
import { ApiFailure } from './api-failure.ts';
import { isProgramItem } from './program-items.ts';
import { readJsonBody } from './request-body.ts';

export interface ProgramRoutesOptions {
  readonly programs: Programs;
  /** Id of this Studio, new at each start. */
  readonly instance: string;
  readonly version: string;
  readonly maxBatchBytes: number;
  readonly startTimer: (ms: number, callback: () => void) => () => void;
}

const MAX_RESULT_BYTES = 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;
/** Bytes of commands on their way to a program that does not read. Then its connection ends. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/** Routes for programs of troupe. The caller has checked the token. */
export function programRoutes({
  programs,
  instance,
  version,
  maxBatchBytes,
  startTimer,
}: ProgramRoutesOptions): Hono {
  const app = new Hono();
  app.get('/hello', (c) =>
    c.json({ studio: STUDIO_MARK, protocol: PROGRAM_PROTOCOL, version, instance } satisfies ProgramWelcome),
  );
  app.post('/batches', async (c) => {
    const { program, number, dropped, items } = readBatch(await readJsonBody(c, maxBatchBytes));
    return c.json({ isUnknown: programs.takeBatch(program, number, dropped, items) });
  });
  app.post('/results', async (c) => {
    const result = await readJsonBody(c, MAX_RESULT_BYTES);
    if (isRecord(result) && typeof result['id'] === 'string' && typeof result['ok'] === 'boolean')
      programs.takeResult(result as object as CommandResult);
    return c.body(null, 204);
  });
  app.get('/commands', (c) => {
    const programId = c.req.query('program') ?? '';
    if (programId === '' || programId.length > 100)
      throw new ApiFailure('invalid', 'The id of the program is missing.');
    return new Response(commandStream(programs, programId, startTimer, c.req.raw.signal), {
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
    });
  });
  return app;
}

function commandStream(
  programs: Programs,
  programId: string,
  startTimer: ProgramRoutesOptions['startTimer'],
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let end = (): void => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const write = (text: string): void => {
          try {
            controller.enqueue(encoder.encode(text));
            if ((controller.desiredSize ?? 0) >= 0) return;
            controller.error(new Error('The program does not read its commands.'));
          } catch {
            // the program has left
          }
          end();
        };
        const disconnect = programs.connect(programId, (command) =>
          write(`data: ${JSON.stringify(command)}\n\n`),
        );
        let stopTimer = (): void => {};
        const keepAlive = (): void => {
          write(': still here\n\n');
          stopTimer = startTimer(KEEP_ALIVE_MS, keepAlive);
        };
        end = () => {
          end = () => {};
          stopTimer();
          disconnect();
        };
        signal.addEventListener('abort', () => end(), { once: true });
        keepAlive();
      },
      cancel: () => end(),
    },
    { highWaterMark: MAX_UNREAD_BYTES, size: (chunk) => chunk.byteLength },
  );
}

/** @throws ApiFailure */
function readBatch(body: unknown): ProgramBatch {
  const { program, number, dropped, items } = isRecord(body) ? body : {};
  if (
    !isRecord(program) ||
    typeof program['id'] !== 'string' ||
    typeof number !== 'number' ||
    !Array.isArray(items)
  )
    throw new ApiFailure('invalid', 'The body is not a batch.');
  const taken = items.filter(isProgramItem);
  const lost = typeof dropped === 'number' && dropped > 0 ? Math.floor(dropped) : 0;
  return {
    program: program as object as ProgramIdentity,
    number,
    dropped: lost + items.length - taken.length,
    items: taken,
  };
}
