import { describe, expect, test } from 'vitest';

import { withRunConfig } from '../../config/run-config.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { ModelError } from '../../model/model-error.ts';
import type { SpecVersion } from './language-model.ts';
import { PartDecoder } from './part-decoder.ts';

const STOP = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} };
const finish = (unified: string, raw?: string): object => ({
  type: 'finish',
  finishReason: { unified, raw },
  usage: {},
});

function decode(parts: readonly unknown[], version: SpecVersion = 'v4'): ModelDelta[] {
  const decoder = new PartDecoder('acme.chat', version);
  return [...parts.flatMap((part) => [...decoder.read(part)]), ...decoder.end()];
}

/** Blocks of the decoded answer. */
function blocksOf(parts: readonly unknown[], version?: SpecVersion): unknown {
  const draft = new MsgDraft('acme');
  for (const delta of decode(parts, version)) draft.add(delta);
  return draft.finish().content;
}

const startCall = (id: string, toolName = 'look'): object => ({ type: 'tool-input-start', id, toolName });
const input = (id: string, delta: string): object => ({ type: 'tool-input-delta', id, delta });
const call = (toolCallId: string, input: string, more: object = {}): object => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'look',
  input,
  ...more,
});
const text = (id: string, delta: string, more: object = {}): object => ({
  type: 'text-delta',
  id,
  delta,
  ...more,
});
const thought = (id: string, delta: string, more: object = {}): object => ({
  type: 'reasoning-delta',
  id,
  delta,
  ...more,
});
const signed = (signature: string): { providerMetadata: object } => ({
  providerMetadata: { acme: { signature } },
});

describe('text and thinking', () => {
  test('keep their order, with what belongs to each part of them', () => {
    const parts = [
      { type: 'reasoning-start', id: 'r1' },
      thought('r1', 'One.'),
      thought('r1', '', signed('s1')),
      { type: 'reasoning-end', id: 'r1' },
      { type: 'reasoning-start', id: 'r2', ...signed('early') },
      thought('r2', 'T'),
      thought('r2', 'wo.'),
      { type: 'reasoning-end', id: 'r2', ...signed('s2') },
      { type: 'text-start', id: 't1' },
      text('t1', 'Hello '),
      { type: 'text-end', id: 't1' },
      { type: 'text-start', id: 't2', ...signed('t') },
      text('t2', 'you.'),
      { type: 'text-end', id: 't2' },
      { type: 'reasoning-start', id: 'r3' },
      thought('r3', 'Three.'),
      STOP,
    ];
    expect(blocksOf(parts)).toEqual([
      {
        type: 'thinking',
        thinking: 'One.\n\nTwo.',
        providerMeta: {
          aiSdk: {
            provider: 'acme.chat',
            pieces: [
              { start: 0, end: 4, metadata: { acme: { signature: 's1' } } },
              { start: 6, end: 10, metadata: { acme: { signature: 's2' } } },
            ],
          },
        },
      },
      {
        type: 'text',
        text: 'Hello you.',
        providerMeta: {
          aiSdk: {
            provider: 'acme.chat',
            pieces: [
              { start: 0, end: 6 },
              { start: 6, end: 10, metadata: { acme: { signature: 't' } } },
            ],
          },
        },
      },
      {
        type: 'thinking',
        thinking: 'Three.',
        providerMeta: { aiSdk: { provider: 'acme.chat', pieces: [{ start: 0, end: 6 }] } },
      },
    ]);
  });

  test('text without metadata is text and nothing else', () => {
    expect(blocksOf([{ type: 'text-start', id: '0' }, text('0', 'a'), text('0', 'b'), STOP])).toEqual([
      { type: 'text', text: 'ab' },
    ]);
  });

  test('thinking that can not be seen is kept for its metadata; empty parts are not', () => {
    expect(
      blocksOf([
        { type: 'reasoning-start', id: 'r', ...signed('s') },
        { type: 'reasoning-end', id: 'r' },
        { type: 'text-start', id: 't', ...signed('s') },
        text('t', ''),
        { type: 'reasoning-start', id: 'empty' },
        { type: 'reasoning-end', id: 'empty' },
        STOP,
      ]),
    ).toEqual([
      {
        type: 'thinking',
        thinking: '',
        providerMeta: {
          aiSdk: {
            provider: 'acme.chat',
            pieces: [{ start: 0, end: 0, metadata: { acme: { signature: 's' } } }],
          },
        },
      },
    ]);
  });

  test('the end of a part that something else has followed is too late to say anything', () => {
    const late = { type: 'reasoning-end', id: 'r', ...signed('s') };
    expect(blocksOf([thought('r', 'Hm.'), text('t', 'So.'), late, text('t', ' Yes.'), STOP])).toEqual([
      {
        type: 'thinking',
        thinking: 'Hm.',
        providerMeta: { aiSdk: { provider: 'acme.chat', pieces: [{ start: 0, end: 3 }] } },
      },
      { type: 'text', text: 'So. Yes.' },
    ]);
  });

  test('are not torn apart by a part in which there is nothing', () => {
    const nothing = [{ type: 'text-start', id: 't' }, text('t', ''), { type: 'text-end', id: 't' }];
    const end = { type: 'reasoning-end', id: 'r', ...signed('s') };
    expect(blocksOf([thought('r', 'One, '), ...nothing, thought('r', 'two.'), end, STOP])).toMatchObject([
      { thinking: 'One, two.', providerMeta: { aiSdk: { pieces: [{ start: 0, end: 9 }] } } },
    ]);
  });

  test('metadata that comes late finds its part', () => {
    const parts = [thought('a', 'A'), thought('b', 'B'), { type: 'reasoning-end', id: 'a', ...signed('s') }];
    expect(blocksOf([...parts, text('t', '!'), STOP])).toMatchObject([
      {
        thinking: 'A\n\nB',
        providerMeta: {
          aiSdk: {
            pieces: [
              { start: 0, end: 1, metadata: { acme: { signature: 's' } } },
              { start: 3, end: 4 },
            ],
          },
        },
      },
      {},
    ]);
  });

  test('metadata that is no JSON is left out', () => {
    const odd = { providerMetadata: { acme: { when: new Map(), cb: () => {} } } };
    const nothing = { type: 'reasoning-start', id: 'r', ...odd };
    expect(blocksOf([nothing, text('t', 'Hi.', odd), STOP])).toEqual([{ type: 'text', text: 'Hi.' }]);
  });
});

describe('a call', () => {
  test('is made when the next one follows, or at the end', () => {
    expect(
      decode([
        startCall('a'),
        input('a', '{"x":'),
        input('a', '1}'),
        { type: 'tool-input-end', id: 'a' },
        call('a', '{"x":1}', signed('s')),
        startCall('b'),
        call('b', '{}'),
        finish('tool-calls', 'tool_use'),
      ]),
    ).toEqual([
      { type: 'tool_use_start', index: 0, name: 'look', id: 'a' },
      { type: 'tool_input', index: 0, json: '{"x":' },
      { type: 'tool_input', index: 0, json: '1}' },
      { type: 'tool_use_start', index: 1, name: 'look', id: 'b' },
      {
        type: 'tool_use_end',
        index: 0,
        providerMeta: { aiSdk: { provider: 'acme.chat', metadata: { acme: { signature: 's' } } } },
      },
      { type: 'tool_input', index: 1, json: '{}' },
      { type: 'tool_use_end', index: 1 },
      { type: 'finish', reason: 'tool_calls' },
    ]);
  });

  test.each(['length', 'content-filter'])('is not made if the answer is cut off behind it: %s', (reason) => {
    const parts = [call('a', '{"n":1}'), call('b', '{"n":2}'), finish(reason, reason.toUpperCase())];
    expect(blocksOf(parts)).toEqual([{ type: 'tool_use', id: 'a', name: 'look', input: { n: 1 } }]);
    expect(decode(parts).at(-1)).toEqual({ type: 'finish', reason: reason.replace('-', '_') });
  });

  test('is not made without its own word, however whole it looks', () => {
    const parts = [startCall('a'), input('a', '{"n":1}'), { type: 'tool-input-end', id: 'a' }, STOP];
    expect(blocksOf(parts)).toEqual([]);
    expect(decode(parts).at(-1)).toEqual({ type: 'finish', reason: 'stop' });
  });

  test('stands as it was told in the end', () => {
    expect(
      blocksOf([
        startCall('a'),
        input('a', '{"n":'),
        call('a', '{"n":1}'), // continues after the received pieces
        startCall('b'),
        input('b', '{"n":99'),
        call('b', '{"n":2}'), // is not what the pieces were
        call('c', '{"n":3}'), // came without pieces
        { ...startCall('d'), inputEncoding: 'text' },
        input('d', 'n is 4'),
        call('d', '{"n":4}'), // its pieces belong to another input
        startCall('e', 'other'),
        call('e', '{"n":5}'), // has another name
        STOP,
      ]),
    ).toEqual([
      { type: 'tool_use', id: 'a', name: 'look', input: { n: 1 } },
      { type: 'tool_use', id: expect.any(String) as string, name: 'look', input: { n: 2 } },
      { type: 'tool_use', id: 'c', name: 'look', input: { n: 3 } },
      { type: 'tool_use', id: 'd', name: 'look', input: { n: 4 } },
      { type: 'tool_use', id: expect.any(String) as string, name: 'look', input: { n: 5 } },
    ]);
  });

  test('has an id that no other has', () => {
    const parts = [startCall('a'), startCall('a'), call('a', '{"n":1}'), call('a', '{"n":2}'), STOP];
    const blocks = blocksOf(parts) as readonly { id: string; input: unknown }[];
    expect(blocks.map((block) => block.input)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(new Set(blocks.map((block) => block.id)).size).toBe(2);
  });

  test('that the provider makes by itself is none of the program’s; a question about it is one', () => {
    const own = { providerExecuted: true };
    const parts = [
      { ...startCall('a'), ...own },
      input('a', '{}'),
      call('a', '{}', own),
      { type: 'tool-result', toolCallId: 'a', toolName: 'look', result: 'soon', preliminary: true },
      { type: 'tool-result', toolCallId: 'a', toolName: 'look', result: 'found' },
      text('t', 'Found.'),
    ];
    const meta = { provider: 'acme.chat', metadata: {} };
    const by = { id: 'a', name: 'look', executedBy: 'acme' };
    const done = [
      { type: 'provider_tool_use', ...by, input: {}, providerMeta: { aiSdk: meta } },
      {
        type: 'provider_tool_result',
        ...by,
        output: 'found',
        status: 'ok',
        providerMeta: { aiSdk: { ...meta, result: 'found' } },
      },
      { type: 'text', text: 'Found.' },
    ];
    expect(blocksOf([...parts, STOP])).toEqual(done);
    expect(decode([...parts, STOP]).at(-1)).toEqual({ type: 'finish', reason: 'stop' });
    const question = { type: 'tool-approval-request', approvalId: '1', toolCallId: 'a' };
    expect(blocksOf([...parts, question, STOP])).toEqual([
      ...done,
      {
        type: 'tool_use',
        id: '1',
        name: 'mcp_approval',
        input: { tool: 'look', arguments: {} },
        providerMeta: { aiSdk: { ...meta, isApproval: true } },
      },
    ]);
    expect(decode([...parts, question, STOP]).at(-1)).toEqual({ type: 'finish', reason: 'tool_calls' });
  });

  test('of an unknown kind, and sources without a text, are kept', () => {
    const custom = { type: 'custom', kind: 'acme.dream', providerMetadata: { acme: { depth: 3 } } };
    const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com/', title: 'A' };
    expect(blocksOf([custom, text('t', 'So.'), source, STOP])).toEqual([
      {
        type: 'provider_tool_result',
        id: 'acme.dream_0',
        name: 'acme.dream',
        output: '{"acme":{"depth":3}}',
        status: 'ok',
        executedBy: 'acme',
        providerMeta: {
          aiSdk: { provider: 'acme.chat', metadata: { acme: { depth: 3 } }, kind: 'acme.dream' },
        },
      },
      { type: 'text', text: 'So.', citations: [{ url: 'https://example.com/', title: 'A' }] },
    ]);
    expect(decode([source, STOP])).toContainEqual({
      type: 'provider_meta',
      providerMeta: {
        aiSdk: { provider: 'acme.chat', sources: [{ url: 'https://example.com/', title: 'A' }] },
      },
    });
  });

  test('ends the text before it, and text goes on behind it', () => {
    expect(blocksOf([text('t', 'a'), call('x', ''), text('t', 'b'), STOP])).toEqual([
      { type: 'text', text: 'a' },
      { type: 'tool_use', id: 'x', name: 'look', input: {} },
      { type: 'text', text: 'b' },
    ]);
  });

  test('of a megabyte in small pieces takes linear time', () => {
    const json = JSON.stringify({ data: 'x'.repeat(1_000_000) });
    const decoder = new PartDecoder('acme.chat', 'v4');
    let count = [...decoder.read(startCall('a'))].length;
    for (let i = 0; i < json.length; i += 4)
      count += [...decoder.read(input('a', json.slice(i, i + 4)))].length;
    count += [...decoder.read(call('a', json))].length;
    expect(count).toBe(1 + Math.ceil(json.length / 4));
    expect([...decoder.read(STOP), ...decoder.end()].map(({ type }) => type)).toEqual([
      'tool_use_end',
      'finish',
    ]);
  });
});

test('files that the model made become media', () => {
  const file = (mediaType: string, data: unknown): object => ({ type: 'file', mediaType, data });
  const source = (mediaType: string, data = 'AQID'): object => ({ type: 'base64', mediaType, data });
  const providerMeta = { aiSdk: { provider: 'acme.chat', metadata: {} } };
  expect(
    blocksOf([
      text('t', 'See:'),
      file('image/png', 'AQID'),
      file('audio/wav', new Uint8Array([1, 2, 3])),
      { ...file('video/mp4', { type: 'data', data: 'AQID' }), ...signed('s') },
      file('application/pdf', { type: 'url', url: new URL('https://example.com/a.pdf') }),
      file('text/plain', { type: 'url', url: 'https://example.com/b.txt' }),
      file('image/png', 42),
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
      STOP,
    ]),
  ).toEqual([
    { type: 'text', text: 'See:' },
    { type: 'image', source: source('image/png'), providerMeta },
    { type: 'audio', source: source('audio/wav'), providerMeta },
    {
      type: 'video',
      source: source('video/mp4'),
      providerMeta: { aiSdk: { provider: 'acme.chat', metadata: { acme: { signature: 's' } } } },
    },
    {
      type: 'file',
      source: { type: 'url', url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
      providerMeta,
    },
    {
      type: 'file',
      source: { type: 'url', url: 'https://example.com/b.txt', mediaType: 'text/plain' },
      providerMeta,
    },
  ]);
});

test('a file ends the text before it', () => {
  const file = { type: 'file', mediaType: 'image/png', data: 'AQID' };
  expect(blocksOf([text('t', 'See:', signed('s')), file, STOP])).toMatchObject([
    { type: 'text', text: 'See:', providerMeta: { aiSdk: { pieces: [{ start: 0, end: 4 }] } } },
    { type: 'image' },
  ]);
});

test('parts without use are skipped', () => {
  expect(
    decode([
      null,
      'text',
      {},
      { type: 'raw', rawValue: 1 },
      { type: 'ping' },
      { type: 'response-metadata', timestamp: new Date(0) },
      { type: 'response-metadata', id: 'r1' },
      { type: 'response-metadata', id: 'r2' },
      input('nobody', '{}'),
      STOP,
    ]),
  ).toEqual([
    { type: 'response_id', id: 'r1' },
    { type: 'finish', reason: 'stop' },
  ]);
});

describe('the end', () => {
  test.each([
    ['v2', 'stop', 'stop'],
    ['v2', 'length', 'length'],
    ['v2', 'tool-calls', 'tool_calls'],
    ['v2', 'content-filter', 'content_filter'],
    ['v2', 'other', 'other'],
    ['v3', { unified: 'stop', raw: undefined }, 'stop'],
    ['v3', { unified: 'other', raw: 'pause' }, 'other'],
    ['v3', { unified: 'content-filter', raw: 'SAFETY' }, 'content_filter'],
    ['v4', { unified: 'content-filter', raw: 'content_filter' }, 'content_filter'],
    ['v4', { unified: 'stop', raw: 'pause_turn' }, 'other'],
    ['v4', { unified: 'content-filter', raw: 'refusal' }, 'refusal'],
    ['v4', { unified: 'content-filter', raw: 'stop' }, 'refusal'],
    ['v4', { unified: 'content-filter', raw: undefined }, 'refusal'],
    ['v4', { unified: 'other', raw: undefined }, 'other'],
  ] as const)('%s: %j', (version, finishReason, reason) => {
    expect(decode([{ type: 'finish', finishReason }], version)).toEqual([{ type: 'finish', reason }]);
  });

  test('a call that is made is the reason to stop', () => {
    expect(decode([call('a', '{}'), STOP]).at(-1)).toEqual({ type: 'finish', reason: 'tool_calls' });
  });

  test.each([
    ['v2', 'unknown'],
    ['v3', { unified: 'other', raw: undefined }],
    ['v4', { unified: 'interrupted', raw: undefined }],
    ['v4', undefined],
  ] as const)('%s: %j is none', (version, finishReason) => {
    const decoder = new PartDecoder('acme.chat', version);
    const deltas = [...decoder.read(call('a', '{}')), ...decoder.read({ type: 'finish', finishReason })];
    expect(deltas.map(({ type }) => type)).toEqual(['tool_use_start', 'tool_input']);
    expect(() => [...decoder.end()]).toThrow(
      expect.objectContaining({ kind: 'network', isRetryable: true }) as Error,
    );
  });

  test('a stream that just ends is none', () => {
    expect(() => decode([text('t', 'Hi.')])).toThrow(
      new ModelError('The connection to acme.chat was lost: it ended before the answer did.', {
        vendor: 'acme.chat',
        kind: 'network',
        check: 'Check the network and the address.',
      }),
    );
  });

  test('an error is one, wherever it stands', () => {
    const part = { type: 'error', error: { type: 'overloaded_error', message: 'Busy.' } };
    expect(() => decode([text('t', 'Hi.'), part, STOP])).toThrow(
      expect.objectContaining({ kind: 'overloaded', providerCode: 'overloaded_error' }) as Error,
    );
    expect(() => decode([finish('error', 'BAD\nCALL')])).toThrow(
      'acme.chat failed during its answer: BAD CALL.',
    );
    expect(() => decode([finish('error')])).toThrow('acme.chat failed during its answer.');
  });

  test('of several, the last one stands', () => {
    const usage = (total: number): object => ({ inputTokens: { total }, outputTokens: { total: 1 } });
    const first = { type: 'finish', finishReason: { unified: 'length', raw: 'x' }, usage: usage(1) };
    expect(decode([first, text('t', 'More.'), { ...STOP, usage: usage(2) }])).toEqual([
      { type: 'text', text: 'More.' },
      { type: 'usage', usage: { inputTokens: 2, outputTokens: 1 } },
      { type: 'finish', reason: 'stop' },
    ]);
  });
});

describe('usage', () => {
  const usageOf = (usage: unknown): unknown => {
    const delta = decode([{ ...STOP, usage }]).find(({ type }) => type === 'usage');
    return delta?.type === 'usage' ? delta.usage : undefined;
  };

  test('flat, as in v2', () => {
    const counts = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
    expect(usageOf(counts)).toEqual({ inputTokens: 10, outputTokens: 5 });
    expect(usageOf({ ...counts, cachedInputTokens: 8, reasoningTokens: 2 })).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      cachedTokens: 8,
      reasoningTokens: 2,
    });
  });

  test('in groups, as since v3', () => {
    expect(
      usageOf({
        inputTokens: { total: 10, noCache: 1, cacheRead: 8, cacheWrite: 1 },
        outputTokens: { total: 5, text: 3, reasoning: 2 },
      }),
    ).toEqual({ inputTokens: 10, outputTokens: 5, cachedTokens: 8, cacheWriteTokens: 1, reasoningTokens: 2 });
  });

  test('a part that is more than its whole was counted apart', () => {
    const counts = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 90, reasoningTokens: 20 };
    expect(usageOf(counts)).toEqual({
      inputTokens: 100,
      outputTokens: 25,
      cachedTokens: 90,
      reasoningTokens: 20,
    });
  });

  test.each([
    undefined,
    {},
    { inputTokens: undefined, outputTokens: NaN },
    { inputTokens: { total: undefined }, outputTokens: { total: undefined } },
  ])('unknown: %j', (usage) => {
    expect(usageOf(usage)).toBeUndefined();
  });
});

test('warnings of every version go into the log', () => {
  const lines: string[] = [];
  const logger = { log: (level: string, line: string) => void lines.push(`${level}: ${line}`) };
  const warnings = [
    { type: 'unsupported-setting', setting: 'topK', details: 'not\nhere' },
    { type: 'unsupported-tool', tool: { type: 'function', name: 'look' } },
    { type: 'unsupported', feature: 'seed' },
    { type: 'compatibility', feature: 'strict', details: 'left out' },
    { type: 'deprecated', setting: 'user', message: 'use safetyIdentifier' },
    { type: 'other', message: 'x'.repeat(1000) },
  ];
  const deltas = withRunConfig({ logging: logger }, () => decode([{ type: 'stream-start', warnings }, STOP]));
  expect(deltas).toEqual([{ type: 'finish', reason: 'stop' }]);
  expect(lines).toEqual([
    'warn: acme.chat warns: unsupported-setting, topK, not here',
    'warn: acme.chat warns: unsupported-tool, look',
    'warn: acme.chat warns: unsupported, seed',
    'warn: acme.chat warns: compatibility, strict, left out',
    'warn: acme.chat warns: deprecated, user, use safetyIdentifier',
    `warn: acme.chat warns: other, ${'x'.repeat(293)}`,
  ]);
});
