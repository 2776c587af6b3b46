// Writes messages of Amazon's event stream, independently of the decoder under test.
import { crc32 } from 'node:zlib';

/** One message with text headers. */
export function awsFrame(headers: Readonly<Record<string, string>>, payload: string): Uint8Array {
  const fields = Object.entries(headers).map(([name, value]) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(Buffer.byteLength(value));
    return Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7]),
      length,
      Buffer.from(value),
    ]);
  });
  const head = Buffer.concat(fields);
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(12 + head.length + body.length + 4, 0);
  prelude.writeUInt32BE(head.length, 4);
  const begun = Buffer.concat([prelude, checksum(prelude), head, body]);
  return new Uint8Array(Buffer.concat([begun, checksum(begun)]));
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}

/** An event of a model, as Bedrock wraps it. */
export function bedrockChunk(event: string): Uint8Array {
  const headers = {
    ':event-type': 'chunk',
    ':content-type': 'application/json',
    ':message-type': 'event',
  };
  return awsFrame(headers, JSON.stringify({ bytes: Buffer.from(event).toString('base64'), p: 'abcdefgh' }));
}

/** The events of a recorded stream of Anthropic as Bedrock sends them. */
export function asBedrockStream(recording: Uint8Array): Uint8Array {
  const events = Buffer.from(recording)
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line.endsWith('}')) // no event that was cut off
    .map((line) => bedrockChunk(line.slice('data: '.length)));
  return new Uint8Array(Buffer.concat(events));
}
