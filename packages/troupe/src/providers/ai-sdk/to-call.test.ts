import { describe, expect, test } from 'vitest';

import { ChatFormatter } from '../../formatter/chat-formatter.ts';
import type { Prompt } from '../../formatter/prompt.ts';
import { Msg } from '../../message/msg.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import type { SpecVersion } from './language-model.ts';
import { mediaTypeOf, mergedExtra, PromptWriter, toCallOptions } from './to-call.ts';

const write = (msgs: readonly Msg[], version: SpecVersion = 'v4'): readonly object[] =>
  new PromptWriter({ provider: 'acme.chat', version }).messages(new ChatFormatter().format(msgs).items);
const said = (content: string): object => ({ role: 'user', content: [{ type: 'text', text: content }] });
const meta = (kept: object, provider = 'acme.chat'): { providerMeta: never } =>
  ({ providerMeta: { aiSdk: { provider, ...kept } } }) as never;
const assistant = (...blocks: object[]): Msg => Msg.assistant(blocks as ContentBlock[]);

describe('instructions', () => {
  test('at the beginning are instructions, later they are told', () => {
    expect(
      write([Msg.system('Be short.'), Msg.system('Be kind.'), Msg.user('Hi.'), Msg.system('Now rhyme.')]),
    ).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'system', content: 'Be kind.' },
      said('Hi.'),
      said('<system-info>Now rhyme.</system-info>'),
    ]);
  });

  test('alone are told, for somebody has to say something', () => {
    expect(write([Msg.system('Greet me.')])).toEqual([said('<system-info>Greet me.</system-info>')]);
  });

  test('before an assistant get a user in between', () => {
    expect(write([Msg.system('Be short.'), Msg.assistant('Hello.'), Msg.user('Hi.')])).toEqual([
      { role: 'system', content: 'Be short.' },
      said('(The conversation begins.)'),
      { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
      said('Hi.'),
    ]);
  });
});

test('messages of the model in a row become one message, and the user has the last word', () => {
  const call = { type: 'tool_use', id: 'a', name: 'look', input: {} };
  const result = { type: 'tool_result', id: 'a', name: 'look', output: 'Found.', status: 'ok' } as const;
  const msgs = [
    Msg.user('Go.'),
    Msg.assistant('One.'),
    Msg.assistant('Two.'),
    assistant(call),
    Msg.system([result]),
  ];
  const written = write([...msgs, Msg.assistant('Done.')]);
  expect(written).toEqual([
    said('Go.'),
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'a', toolName: 'look', output: { type: 'text', value: 'Found.' } },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    said('(Go on.)'),
  ]);
});

describe('model messages', () => {
  const metadata = { acme: { signature: 's' } };
  const pieces = [
    { start: 0, end: 4, metadata },
    { start: 6, end: 10 },
    { start: 10, end: 10, metadata },
  ];
  const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AQID' } };
  const blocks = (provider: string): object[] => [
    { type: 'thinking', thinking: 'One.\n\nTwo.', ...meta({ pieces }, provider) },
    { type: 'text', text: 'So.', ...meta({ pieces: [{ start: 0, end: 3, metadata }] }, provider) },
    { ...image, ...meta({ metadata: {} }, provider) },
    { type: 'tool_use', id: 'a', name: 'look', input: { x: 1 }, ...meta({ metadata }, provider) },
  ];
  const call = { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: { x: 1 } };

  test('goes back to the same provider with all that belongs to it, part by part', () => {
    const providerOptions = metadata;
    expect(write([Msg.user('Go.'), assistant(...blocks('acme.chat'))])[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'One.', providerOptions },
        { type: 'reasoning', text: 'Two.' },
        { type: 'reasoning', text: '', providerOptions },
        { type: 'text', text: 'So.', providerOptions },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
        { ...call, providerOptions },
      ],
    });
  });

  test('goes to another provider without thinking and without what it does not know', () => {
    expect(write([Msg.user('Go.'), assistant(...blocks('acme.responses'))])[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'So.' }, call],
    });
  });

  test('that was changed since has lost what belonged to it', () => {
    const msg = assistant(
      { type: 'thinking', thinking: 'One.', ...meta({ pieces }) },
      { type: 'text', text: 'So, so.', ...meta({ pieces: [{ start: 0, end: 3, metadata }] }) },
    );
    expect(write([Msg.user('Go.'), msg])[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'So, so.' }],
    });
  });

  test.each([
    ['no list', { pieces: 'x' }],
    ['no places', { pieces: [{ start: '0', end: 3 }, null, 7] }],
    ['not all of them', { pieces: [null, { start: 0, end: 3 }] }],
    ['nothing', {}],
  ])('with metadata that is none: %s', (_what, kept) => {
    const msg = assistant({ type: 'text', text: 'So.', ...meta(kept) });
    expect(write([Msg.user('Go.'), msg])[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'So.' }],
    });
  });

  test('and of which nothing is left is left out', () => {
    expect(write([Msg.user('Go.'), assistant(image), Msg.user('And?')])).toEqual([said('Go.'), said('And?')]);
  });
});

test('results come together, with media behind them and failures as such', () => {
  const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AQID' } } as const;
  const calls = ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'look', input: {} }));
  const results = Msg.system([
    {
      type: 'tool_result',
      id: 'a',
      name: 'look',
      output: [{ type: 'text', text: 'See:' }, image],
      status: 'ok',
    },
    { type: 'tool_result', id: 'b', name: 'look', output: 'No.', status: 'denied' },
  ]);
  expect(write([Msg.user('Go.'), assistant(...calls), results]).slice(2)).toEqual([
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'a',
          toolName: 'look',
          output: { type: 'text', value: '- See:\n- The image is shown below.' },
        },
        {
          type: 'tool-result',
          toolCallId: 'b',
          toolName: 'look',
          output: { type: 'error-text', value: 'No.' },
        },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: "<system-info>The tool 'look' returned:" },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
        { type: 'text', text: '</system-info>' },
      ],
    },
  ]);
});

describe('files', () => {
  const msg = Msg.user([
    { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AQID' } },
    { type: 'file', source: { type: 'url', url: 'https://example.com/a' }, filename: 'a.pdf' },
  ]);

  test.each(['v2', 'v3'] as const)('in %s', (version) => {
    expect(write([msg], version)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/png', data: 'AQID' },
          {
            type: 'file',
            mediaType: 'application/pdf',
            data: new URL('https://example.com/a'),
            filename: 'a.pdf',
          },
        ],
      },
    ]);
  });

  test('in v4', () => {
    expect(write([msg])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
          {
            type: 'file',
            mediaType: 'application/pdf',
            data: { type: 'url', url: new URL('https://example.com/a') },
            filename: 'a.pdf',
          },
        ],
      },
    ]);
  });

  test.each([
    ['image', 'https://example.com/a.jpg?size=2', undefined, 'image/jpeg'],
    ['image', 'https://example.com/a', undefined, 'image/*'],
    ['audio', 'https://example.com/a', 'audio/flac', 'audio/flac'],
    ['video', 'https://youtu.be/abc', undefined, 'video/*'],
    ['file', 'https://example.com/a', undefined, 'application/octet-stream'],
  ] as const)('of an address, the type is as exact as it can be: %s %s', (type, url, mediaType, expected) => {
    const source = { type: 'url', url, ...(mediaType && { mediaType }) } as const;
    expect(mediaTypeOf({ type, source })).toBe(expected);
  });
});

test('each item is written once', () => {
  const writer = new PromptWriter({ provider: 'acme.chat', version: 'v4' });
  const msgs = [Msg.user('Hi.'), Msg.assistant('Hello.')];
  const format = (): Prompt['items'] => new ChatFormatter().format(msgs).items;
  const before = writer.messages(format());
  msgs.push(Msg.user('Well?'));
  const after = writer.messages(format());
  expect(after).toHaveLength(3);
  expect(after[0]).toBe(before[0]);
  expect(after[1]).toBe(before[1]);
});

describe('options', () => {
  const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } };
  const go = { name: 'go', parameters: { type: 'object', properties: {} } };
  const messages = [Msg.user('Hi.')];
  const addressee = (version: SpecVersion, provider = 'acme.chat') => ({ version, provider });
  const toolsFor = (version: SpecVersion, provider: string): object[] => [
    ...(toCallOptions({ messages, generation: {}, tools: [go] }, addressee(version, provider)).tools ?? []),
  ];

  test('all of them', () => {
    const generation = {
      maxTokens: 1,
      temperature: 0,
      topP: 0.5,
      topK: 3,
      stop: ['END'],
      seed: 4,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      reasoningEffort: 'high',
      thinkingTokens: 100,
      parallelToolCalls: true,
      extra: { acme: { fast: true } },
    } as const;
    const structured = { schema: { type: 'object' } } as const;
    const request = { messages, generation, structured, tools: [look, go], toolChoice: 'required' } as const;
    const options = {
      maxOutputTokens: 1,
      temperature: 0,
      topP: 0.5,
      topK: 3,
      stopSequences: ['END'],
      seed: 4,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      responseFormat: { type: 'json', name: 'answer', schema: { type: 'object' } },
      tools: [
        { type: 'function', name: 'look', description: 'Looks.', inputSchema: look.parameters },
        { type: 'function', name: 'go', inputSchema: go.parameters },
      ],
      toolChoice: { type: 'required' },
      providerOptions: { acme: { fast: true } },
    };
    expect(toCallOptions(request, addressee('v4'))).toStrictEqual({ ...options, reasoning: 'high' });
    expect(toCallOptions(request, addressee('v3'))).toStrictEqual(options);
    expect(toCallOptions(request, addressee('v2'))).toStrictEqual(options);
  });

  test('none of them', () => {
    expect(toCallOptions({ messages, generation: {}, toolChoice: 'none' }, addressee('v4'))).toStrictEqual(
      {},
    );
  });

  test('no tokens to think are no thinking', () => {
    const options = toCallOptions({ messages, generation: { thinkingTokens: 0 } }, addressee('v4'));
    expect(options).toStrictEqual({ reasoning: 'none' });
  });

  test.each([
    ['auto', { type: 'auto' }, 2],
    ['none', { type: 'none' }, 2],
    ['required', { type: 'required' }, 2],
    [{ name: 'go' }, { type: 'tool', toolName: 'go' }, 2],
    [{ allowed: ['go'] }, { type: 'auto' }, 1],
    [{ allowed: ['go'], mode: 'required' }, { type: 'required' }, 1],
  ] as const)('the choice %j', (toolChoice, expected, count) => {
    const options = toCallOptions(
      { messages, generation: {}, tools: [look, go], toolChoice },
      addressee('v4'),
    );
    expect(options.toolChoice).toEqual(expected);
    expect(options.tools).toHaveLength(count);
  });

  test('tools are not strict, also where that has to be said', () => {
    const plain = { type: 'function', name: 'go', inputSchema: go.parameters };
    expect(toolsFor('v3', 'openai.responses')).toStrictEqual([{ ...plain, strict: false }]);
    expect(toolsFor('v3', 'azure.responses')).toStrictEqual([{ ...plain, strict: false }]);
    for (const version of ['v2', 'v4'] as const)
      expect(toolsFor(version, 'openai.responses')).toStrictEqual([plain]);
    expect(toolsFor('v3', 'openai.chat')).toStrictEqual([plain]);
  });

  test('of a call are added to those of the model, provider by provider', () => {
    expect(mergedExtra({ a: { x: 1, y: 1 }, b: { z: 1 } }, { a: { y: 2 }, c: { w: 2 } })).toEqual({
      a: { x: 1, y: 2 },
      b: { z: 1 },
      c: { w: 2 },
    });
    expect(mergedExtra({ a: 1 }, { a: { y: 2 } })).toEqual({ a: { y: 2 } });
    expect(mergedExtra(undefined, { a: 1 })).toEqual({ a: 1 });
    expect(mergedExtra({ a: 1 }, undefined)).toEqual({ a: 1 });
    expect(mergedExtra(undefined, undefined)).toBeUndefined();
  });
});
