import { promisify } from 'node:util';
import { inflate as inflateCallback } from 'node:zlib';

import { overLimit, type SettledLimits } from './read-options.ts';

const inflate = promisify(inflateCallback);
const MIB = 1024 ** 2;
/** Layers of compression of one stream. */
const MAX_LAYERS = 4;

/**
 * Unpacks the compressed streams of a PDF once to count them, before anything else reads the file.
 * @throws TroupeError if they go beyond the limits
 */
export async function checkPdfStreams(bytes: Uint8Array, limits: SettledLimits): Promise<void> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let total = 0;
  for (let at = text.indexOf('stream'); at >= 0; at = text.indexOf('stream', at + 6)) {
    if (text.subarray(at - 3, at).toString('latin1') === 'end') continue;
    let start = at + 6;
    if (text[start] === 0x0d) start++;
    if (text[start] === 0x0a) start++;
    if (((text[start] ?? 0) & 0x0f) !== 8) continue; // no zlib stream
    const end = text.indexOf('endstream', start);
    total += await unpackedSize(text.subarray(start, end < 0 ? text.length : end), limits);
    if (total > limits.maxUnpackedBytes) throw tooLarge(limits);
  }
}

/** Size of a stream, with all layers of compression; 0 if it is not compressed. */
async function unpackedSize(packed: Uint8Array, limits: SettledLimits): Promise<number> {
  let [data, total] = [packed, 0];
  for (let layer = 0; layer < MAX_LAYERS && ((data[0] ?? 0) & 0x0f) === 8; layer++) {
    const most = Math.min(limits.maxUnpackedBytes, Math.max(MIB, packed.length * limits.maxRatio));
    try {
      data = await inflate(data, { maxOutputLength: Math.ceil(most), finishFlush: 2 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') return total;
      throw most < limits.maxUnpackedBytes
        ? overLimit(`A stream of the PDF unpacks to more than ${limits.maxRatio} times its size`, 'maxRatio')
        : tooLarge(limits);
    }
    total += data.length;
  }
  return total;
}

function tooLarge({ maxUnpackedBytes }: SettledLimits): Error {
  return overLimit(`The PDF unpacks to more than ${maxUnpackedBytes} bytes`, 'maxUnpackedBytes');
}
