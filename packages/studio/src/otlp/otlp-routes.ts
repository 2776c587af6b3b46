import { gunzip, inflate, type InputType } from 'node:zlib';
import { promisify } from 'node:util';

import { Hono, type Context } from 'hono';
import { redactKeys } from 'troupe/studio';

import type { Span } from '../protocol.ts';
import type { RunHub } from '../runs/run-hub.ts';
import { ApiFailure } from '../server/api-failure.ts';
import { readBytes } from '../server/request-body.ts';
import { BadJsonError, parseBoundedJson } from '../store/json-text.ts';
import { spansFromJson, spansFromProtobuf, type ReceivedSpan } from './otlp-spans.ts';
import { BadProtobufError } from './protobuf-reader.ts';

const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_UNPACKED_BYTES = 50 * 1024 * 1024;
/** Unpacked bytes for each packed byte. */
const MAX_RATIO = 100;

const UNPACK: Readonly<
  Record<string, (data: InputType, options: { maxOutputLength: number }) => Promise<Buffer>>
> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
};

/** `POST /v1/traces` as OTLP/HTTP has it: protobuf or JSON, plain or packed. */
export function otlpRoutes(hub: RunHub): Hono {
  const app = new Hono();
  app.post('/traces', async (c) => {
    const type = (c.req.header('content-type') ?? '').split(';', 1)[0]?.trim();
    const isProtobuf = type === 'application/x-protobuf';
    if (!isProtobuf && type !== 'application/json') return c.json({ message: 'Send protobuf or JSON.' }, 415);
    const encoding = c.req.header('content-encoding') ?? 'identity';
    if (encoding !== 'identity' && UNPACK[encoding] === undefined)
      return c.json({ message: 'Send plain, gzip or deflate.' }, 415);
    const data = await unpacked(c, encoding);
    if (data.byteLength === 0) return c.json({ message: 'The body is empty.' }, 400);
    storeSpans(hub, readSpans(data, isProtobuf));
    return isProtobuf ? c.body('', 200, { 'content-type': 'application/x-protobuf' }) : c.json({});
  });
  return app;
}

async function unpacked(c: Context, encoding: string): Promise<Uint8Array> {
  const data = await readBytes(c, MAX_BODY_BYTES);
  const unpack = UNPACK[encoding];
  if (unpack === undefined) return data;
  const maxOutputLength = Math.max(1024, Math.min(MAX_UNPACKED_BYTES, data.byteLength * MAX_RATIO));
  try {
    return await unpack(data, { maxOutputLength });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    if (isTooLarge) throw new ApiFailure('too_large', 'The unpacked body is too large.');
    throw new ApiFailure('invalid', 'The body can not be unpacked.');
  }
}

function readSpans(data: Uint8Array, isProtobuf: boolean): ReceivedSpan[] {
  try {
    return isProtobuf
      ? spansFromProtobuf(data)
      : spansFromJson(parseBoundedJson(new TextDecoder().decode(data)));
  } catch (error) {
    if (error instanceof BadProtobufError || error instanceof BadJsonError)
      throw new ApiFailure('invalid', error.message);
    throw error;
  }
}

/** Stores spans. A conversation that no program has announced becomes a run of its own. */
function storeSpans(hub: RunHub, received: readonly ReceivedSpan[]): void {
  hub.change(() => {
    for (const { span, service, runId } of received) {
      if (runId !== undefined && hub.run(runId) === undefined)
        hub.openRun({ id: runId, project: service || 'traces', name: span.name, source: 'otlp' });
      hub.store.putSpan(JSON.parse(redactKeys(JSON.stringify(span))) as Span, runId, service);
    }
  });
}
