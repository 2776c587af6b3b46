/** Data that is not protobuf, or beyond a limit. */
export class BadProtobufError extends Error {
  override readonly name = 'BadProtobufError';
}

/** One field of a message: its number, and its value by wire type. */
export interface Field {
  readonly number: number;
  /** Varints and fixed 64-bit numbers. */
  readonly bits: bigint;
  /** Length-delimited data. */
  readonly bytes: Uint8Array;
}

const NO_BYTES = new Uint8Array();

/** Reads the fields of a protobuf message one after the other. Every read is checked against the end. @throws BadProtobufError */
export function* readFields(data: Uint8Array): Generator<Field, void, void> {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = data[at++];
      if (byte === undefined) throw new BadProtobufError('The data ends in a number.');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new BadProtobufError('A number is too long.');
  };
  const skip = (length: number): number => {
    const start = at;
    if (length > data.byteLength - at) throw new BadProtobufError('A field is longer than the data.');
    at += length;
    return start;
  };
  while (at < data.byteLength) {
    const tag = varint();
    const number = Number(tag >> 3n);
    switch (Number(tag & 7n)) {
      case 0:
        yield { number, bits: varint(), bytes: NO_BYTES };
        break;
      case 1:
        yield { number, bits: view.getBigUint64(skip(8), true), bytes: NO_BYTES };
        break;
      case 2: {
        const length = varint();
        if (length > BigInt(data.byteLength)) throw new BadProtobufError('A field is longer than the data.');
        const start = skip(Number(length));
        yield { number, bits: 0n, bytes: data.subarray(start, at) };
        break;
      }
      case 5:
        yield { number, bits: BigInt(view.getUint32(skip(4), true)), bytes: NO_BYTES };
        break;
      default:
        throw new BadProtobufError('A field has an unknown form.');
    }
  }
}
