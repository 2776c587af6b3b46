import type { Context } from 'hono';

import { BadJsonError, parseBoundedJson } from '../store/json-text.ts';
import { ApiFailure } from './api-failure.ts';

/** Reads the bytes of a body, up to a limit. @throws ApiFailure */
export async function readBytes(c: Context, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = (): ApiFailure => new ApiFailure('too_large', `A body has ${maxBytes} bytes at most.`);
  if (Number(c.req.header('content-length') ?? 0) > maxBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of c.req.raw.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** Reads a JSON body, up to a limit. @throws ApiFailure */
export async function readJsonBody(c: Context, maxBytes: number): Promise<unknown> {
  const text = new TextDecoder().decode(await readBytes(c, maxBytes));
  try {
    return parseBoundedJson(text === '' ? '{}' : text);
  } catch (error) {
    if (error instanceof BadJsonError) throw new ApiFailure('invalid', error.message);
    throw error;
  }
}
