import { ServiceFailure } from '../service-failure.ts';

/** Reads the body of a request, at most `maxBytes` long. @throws ServiceFailure */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): ServiceFailure {
  return new ServiceFailure('too_large', `The body is larger than ${maxBytes} bytes.`);
}
