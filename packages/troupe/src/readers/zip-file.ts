import { promisify } from 'node:util';
import { crc32, inflateRaw } from 'node:zlib';

import { overLimit, unreadableFile, type SettledLimits } from './read-options.ts';

const inflate = promisify(inflateRaw);
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const MIB = 1024 ** 2;
const NOT_A_ZIP = 'The file is not a whole Office file';

interface Entry {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly packedSize: number;
  readonly size: number;
  readonly offset: number;
}

/**
 * Wanted entries of a ZIP file, unpacked within the limits. What an entry says about its size is compared with what comes
 * out, and never trusted. @throws TroupeError for a file that is broken, encrypted or too large
 */
export async function unzip(
  bytes: Uint8Array,
  limits: SettledLimits,
  isWanted: (name: string) => boolean = () => true,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const unpacked = new Map<string, Uint8Array>();
  let total = 0;
  for (const entry of readDirectory(bytes, view, limits)) {
    if (entry.name.endsWith('/') || !isWanted(entry.name)) continue;
    if (unpacked.has(entry.name)) throw unreadableFile(`${NOT_A_ZIP}: an entry is there twice.`);
    total += entry.size;
    if (total > limits.maxUnpackedBytes)
      throw overLimit(`The file unpacks to more than ${limits.maxUnpackedBytes} bytes`, 'maxUnpackedBytes');
    if (entry.size > MIB && entry.size > entry.packedSize * limits.maxRatio)
      throw overLimit(`An entry unpacks to more than ${limits.maxRatio} times its size`, 'maxRatio');
    unpacked.set(entry.name, await unpack(entry, bytes, view));
  }
  return unpacked;
}

/**
 * A ZIP file of the entries without compression. Readers of other packages get this in place of the original, so
 * that they can unpack nothing that was not counted.
 */
export function zipStored(entries: ReadonlyMap<string, Uint8Array>): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const [name, data] of entries) {
    const path = new TextEncoder().encode(name);
    // Version, flags (names are UTF-8), method 0, time and date, checksum, both sizes, length of the name.
    const fields = [20, 0x800, 0, 0, 0x21];
    const local = new DataView(new ArrayBuffer(30));
    local.setUint32(0, LOCAL, true);
    fields.forEach((value, index) => local.setUint16(4 + 2 * index, value, true));
    local.setUint32(14, crc32(data), true);
    local.setUint32(18, data.length, true);
    local.setUint32(22, data.length, true);
    local.setUint16(26, path.length, true);
    const central = new DataView(new ArrayBuffer(46));
    central.setUint32(0, CENTRAL, true);
    central.setUint16(4, 20, true);
    for (let at = 0; at < 24; at += 2) central.setUint16(6 + at, local.getUint16(4 + at, true), true);
    central.setUint32(42, offset, true);
    parts.push(new Uint8Array(local.buffer), path, data);
    directory.push(new Uint8Array(central.buffer), path);
    offset += 30 + path.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, END, true);
  end.setUint16(8, entries.size, true);
  end.setUint16(10, entries.size, true);
  end.setUint32(12, size, true);
  end.setUint32(16, offset, true);
  const whole = new Uint8Array(offset + size + 22);
  let at = 0;
  for (const part of [...parts, ...directory, new Uint8Array(end.buffer)]) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function readDirectory(bytes: Uint8Array, view: DataView, { maxEntries }: SettledLimits): readonly Entry[] {
  const end = endOfDirectory(view);
  const count = view.getUint16(end + 10, true);
  if (count > maxEntries) throw overLimit(`The file has ${count} entries`, 'maxEntries');
  const entries: Entry[] = [];
  let at = view.getUint32(end + 16, true);
  for (let index = 0; index < count; index++) {
    if (at + 46 > view.byteLength || view.getUint32(at, true) !== CENTRAL)
      throw unreadableFile(`${NOT_A_ZIP}: its directory is broken.`);
    const nameLength = view.getUint16(at + 28, true);
    entries.push({
      name: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength)),
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      packedSize: view.getUint32(at + 20, true),
      size: view.getUint32(at + 24, true),
      offset: view.getUint32(at + 42, true),
    });
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries;
}

function endOfDirectory(view: DataView): number {
  const last = view.byteLength - 22;
  for (let at = last; at >= Math.max(0, last - 0xffff); at--) if (view.getUint32(at, true) === END) return at;
  throw unreadableFile(`${NOT_A_ZIP}.`);
}

async function unpack(
  { flags, method, packedSize, size, offset }: Entry,
  bytes: Uint8Array,
  view: DataView,
): Promise<Uint8Array> {
  if ((flags & 1) !== 0)
    throw unreadableFile('The file is encrypted, and can only be read without a password.');
  if (offset + 30 > view.byteLength || view.getUint32(offset, true) !== LOCAL)
    throw unreadableFile(`${NOT_A_ZIP}: an entry is missing.`);
  const start = offset + 30 + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true);
  const packed = bytes.subarray(start, start + packedSize);
  if (packed.length !== packedSize) throw unreadableFile(`${NOT_A_ZIP}: an entry is cut off.`);
  if (method !== 0 && method !== 8) throw unreadableFile(`${NOT_A_ZIP}: it is packed in an unknown way.`);
  try {
    const data = method === 0 ? packed : await inflate(packed, { maxOutputLength: Math.max(1, size) });
    if (data.length === size) return data;
  } catch (cause) {
    throw unreadableFile(`${NOT_A_ZIP}: an entry can't be unpacked to the size that it names.`, cause);
  }
  throw unreadableFile(`${NOT_A_ZIP}: an entry does not have the size that it names.`);
}
