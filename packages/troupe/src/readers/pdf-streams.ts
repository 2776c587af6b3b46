import { createInflate } from 'node:zlib';

import { overLimit, type SettledLimits } from './read-options.ts';

const MIB = 1024 ** 2;
/** Layers of compression of one stream. */
const MAX_LAYERS = 4;
/** Bytes given to the decompressor at a time. */
const PIECE = 64 * 1024;
const [LINE_FEED, RETURN] = [0x0a, 0x0d];

/**
 * Unpacks the compressed streams of a PDF once to count them, before anything else reads the file. What a stream says about its length,
 * and where it seems to end, is not trusted: a stream is over where its compression is.
 * @throws TroupeError if they go beyond the limits
 */
export async function checkPdfStreams(bytes: Uint8Array, limits: SettledLimits): Promise<void> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let total = 0;
  for (let at = text.indexOf('stream'); at >= 0; at = text.indexOf('stream', at + 6)) {
    if (text.subarray(Math.max(0, at - 3), at).toString('latin1') === 'end') continue;
    const packed = text.subarray(nextLine(text, at + 6));
    if (!isCompressed(packed)) continue;
    // Text is not read from images, and a blank one is packed very well.
    const isImage = IMAGE.test(text.subarray(Math.max(0, at - HEAD), at).toString('latin1'));
    const ratio = isImage ? Infinity : limits.maxRatio;
    total += await unpackedSize(packed, { ...limits, maxRatio: ratio }, MAX_LAYERS);
    if (total > limits.maxUnpackedBytes) throw tooLarge(limits);
  }
}

/** Head of an object that is an image, up to its stream. */
const IMAGE = /\/Subtype\s*\/Image\b(?![\s\S]*endobj)/;
/** Bytes before a stream that are searched for its head. */
const HEAD = 1024;

/** Start of the line after a place. */
function nextLine(text: Uint8Array, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === LINE_FEED) return at + 1;
    if (text[at] === RETURN) return text[at + 1] === LINE_FEED ? at + 2 : at + 1;
  }
  return text.length;
}

/** Whether data may begin with the head of a zlib stream. */
function isCompressed(data: Uint8Array): boolean {
  const [first = 0, second = 0] = data;
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
}

/**
 * Size of a stream, with all layers of compression. Of a broken one, the size of what comes out before the fault, as readers of PDFs use it.
 */
async function unpackedSize(packed: Uint8Array, limits: SettledLimits, layers: number): Promise<number> {
  const engine = createInflate();
  const pieces: Buffer[] = [];
  let [size, isOver] = [0, false];
  let problem: Error | undefined;
  const over = new Promise<void>((resolve) => {
    engine.on('data', (piece: Buffer) => {
      size += piece.length;
      const ratio = Math.max(MIB, engine.bytesWritten * limits.maxRatio);
      if (size > limits.maxUnpackedBytes) problem ??= tooLarge(limits);
      else if (size > ratio) problem ??= tooDense(limits);
      if (problem !== undefined) return engine.destroy();
      const first = pieces[0] ?? piece;
      if (layers > 1 && isCompressed(first)) pieces.push(piece);
    });
    for (const event of ['end', 'error', 'close']) engine.on(event, resolve);
  }).then(() => void (isOver = true));
  for (let start = 0; start < packed.length && !isOver; start += PIECE) {
    const piece = packed.subarray(start, start + PIECE);
    if (!engine.write(piece))
      await Promise.race([over, new Promise((resolve) => engine.once('drain', resolve))]);
  }
  if (!isOver) engine.end();
  await over;
  engine.destroy();
  if (problem !== undefined) throw problem;
  if (pieces.length === 0) return size;
  return size + (await unpackedSize(Buffer.concat(pieces), limits, layers - 1));
}

function tooDense({ maxRatio }: SettledLimits): Error {
  return overLimit(`A stream of the PDF unpacks to more than ${maxRatio} times its size`, 'maxRatio');
}

function tooLarge({ maxUnpackedBytes }: SettledLimits): Error {
  return overLimit(`The PDF unpacks to more than ${maxUnpackedBytes} bytes`, 'maxUnpackedBytes');
}
