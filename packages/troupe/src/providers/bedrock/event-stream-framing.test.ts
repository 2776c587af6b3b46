import { expect, test } from 'vitest';

import { awsFrame, bedrockChunk } from '../../../test/wire/aws-frames.ts';
import { toBytes } from '../../../test/wire/replay.ts';
import { crc32 } from './crc32.ts';
import { EventStreamFraming } from './event-stream-framing.ts';

const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

test('checksums are those of the standard', () => {
  expect(crc32(toBytes('123456789'))).toBe(0xcbf43926);
  expect(crc32(new Uint8Array())).toBe(0);
});

test('messages that others publish for tests are read', () => {
  const empty = bytesOf('000000100000000005c248eb7d98c8ff');
  const onlyPayload = bytesOf('0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936');
  const error = [{ data: '{"error":{"code":"error","message":""}}' }];
  expect(new EventStreamFraming().feed(empty)).toEqual(error); // neither an event nor an exception
  expect(new EventStreamFraming().feed(onlyPayload)).toEqual(error);
});

test('events come out whole, wherever the bytes are cut', () => {
  const all = new Uint8Array([...bedrockChunk('{"a":1}'), ...bedrockChunk('{"text":"世界 👋"}')]);
  const expected = [{ data: '{"a":1}' }, { data: '{"text":"世界 👋"}' }];
  for (let at = 0; at <= all.length; at++) {
    const framing = new EventStreamFraming();
    const events = [
      ...framing.feed(all.subarray(0, at)),
      ...framing.feed(all.subarray(at)),
      ...framing.end(),
    ];
    expect(events, `cut at ${at}`).toEqual(expected);
  }
});

test('headers of every type are passed over', () => {
  const frame = awsFrame({ ':message-type': 'event', ':event-type': 'chunk' }, '{"bytes":"e30="}');
  expect(new EventStreamFraming().feed(frame)).toEqual([{ data: '{}' }]);
  // Headers of all types: true, false, byte, short, integer, long, bytes, timestamp and UUID, each named 'x'.
  const types = [
    [0],
    [1],
    [2, 1],
    [3, 0, 1],
    [4, 0, 0, 0, 1],
    [5, ...Array<number>(8).fill(0)],
    [6, 0, 2, 9, 9],
  ];
  const others = [
    [8, ...Array<number>(8).fill(0)],
    [9, ...Array<number>(16).fill(0)],
  ];
  const raw = [...types, ...others].flatMap((type) => [1, 0x78, ...type]);
  const text = [...frame.subarray(12, 12 + new DataView(frame.buffer).getUint32(4))];
  const payload = [...toBytes('{"bytes":"e30="}')];
  const head = new DataView(new ArrayBuffer(12));
  head.setUint32(0, 12 + raw.length + text.length + payload.length + 4);
  head.setUint32(4, raw.length + text.length);
  head.setUint32(8, crc32(new Uint8Array(head.buffer, 0, 8)));
  const begun = [...new Uint8Array(head.buffer), ...raw, ...text, ...payload];
  const sum = new DataView(new ArrayBuffer(4));
  sum.setUint32(0, crc32(Uint8Array.from(begun)));
  expect(new EventStreamFraming().feed(Uint8Array.from([...begun, ...new Uint8Array(sum.buffer)]))).toEqual([
    { data: '{}' },
  ]);
});

test('a message in many pieces is joined once', () => {
  const frame = bedrockChunk(JSON.stringify({ text: 'x'.repeat(100_000) }));
  const framing = new EventStreamFraming();
  const events = Array.from(frame, (_, i) => framing.feed(frame.subarray(i, i + 1))).flat();
  expect(events).toHaveLength(1);
});

test('plain JSON of a proxy is read, too', () => {
  const framing = new EventStreamFraming();
  expect([...framing.feed(toBytes(' {"a"')), ...framing.feed(toBytes(':1}')), ...framing.end()]).toEqual([
    { data: '', whole: { a: 1 }, mayBeCutOff: true },
  ]);
});

test('a damaged byte anywhere is noticed', () => {
  const frame = bedrockChunk('{"a":1}');
  for (let at = 0; at < frame.length; at++) {
    const damaged = Uint8Array.from(frame);
    damaged[at]! ^= 0x01;
    expect(() => new EventStreamFraming().feed(damaged), `byte ${at}`).toThrow('The event stream is damaged');
  }
});

test('an exception is an error with its status', () => {
  const frame = awsFrame(
    {
      ':exception-type': 'throttlingException',
      ':content-type': 'application/json',
      ':message-type': 'exception',
    },
    '{"message":"Too many requests, please wait before trying again."}',
  );
  expect(new EventStreamFraming().feed(frame)).toEqual([
    {
      data: '{"error":{"code":"throttlingException","message":"Too many requests, please wait before trying again.","status_code":429}}',
    },
  ]);
});
