import { describe, expect, test } from 'vitest';
import { PNG } from '../../../test/wire/histories.ts';
import type { MediaBlock, PromptItem } from '../../formatter/prompt.ts';
import type { ContentBlock, ToolResultBlock } from '../../message/blocks.ts';
import { toBase64 } from '../../util/base64.ts';
import type { JsonObject } from '../../util/json.ts';
import { fetchesUrl, toMessages, toTool, withoutThinking } from './anthropic-to-wire.ts';

const assistant = (...content: ContentBlock[]): PromptItem =>
  ({ role: 'assistant', name: 'Friday', content }) as PromptItem;
const user = (...content: MediaBlock[]): PromptItem => ({ role: 'user', name: 'Ann', content });
const tool = (...results: Partial<ToolResultBlock>[]): PromptItem => ({
  role: 'tool',
  results: results.map((result) => ({
    type: 'tool_result',
    id: 'c1',
    name: 'look',
    output: 'Fine.',
    status: 'ok',
    ...result,
  })),
});
const signed = (thinking: string, signature: string): ContentBlock => ({
  type: 'thinking',
  thinking,
  providerMeta: { anthropic: { signature }, other: { signature: 'no' } },
});
const call: ContentBlock = {
  type: 'tool_use',
  id: 'c1',
  name: 'look',
  input: { at: 'it' },
  providerMeta: { gemini: { thoughtSignature: 'no' } },
};
const base64 = (mediaType: string, data: string) => ({ type: 'base64', mediaType, data }) as const;

describe('an assistant item', () => {
  test('keeps its order, its own signatures and nothing of others', () => {
    const item = assistant(
      signed('A', 'EA'),
      { type: 'text', text: 'Hm.' },
      { type: 'thinking', thinking: '', providerMeta: { anthropic: { redactedData: 'Edata' } } },
      signed('', 'EB'),
      call,
    );
    const content = [
      { type: 'thinking', thinking: 'A', signature: 'EA' },
      { type: 'text', text: 'Hm.' },
      { type: 'redacted_thinking', data: 'Edata' },
      { type: 'thinking', thinking: '', signature: 'EB' },
      { type: 'tool_use', id: 'c1', name: 'look', input: { at: 'it' } },
    ];
    expect(toMessages(item)).toEqual([{ role: 'assistant', content }]);
    expect(toMessages(withoutThinking(item))).toEqual([
      { role: 'assistant', content: [content[1], content[4]] },
    ]);
  });

  test.each<[string, ContentBlock]>([
    ['without a signature', { type: 'thinking', thinking: 'A' }],
    ['with an empty one', signed('A', '')],
    ['of another vendor', { type: 'thinking', thinking: 'A', providerMeta: { gemini: { signature: 'E' } } }],
    ['with something else', { type: 'thinking', thinking: 'A', providerMeta: { anthropic: 'E' } }],
  ])('loses thinking %s', (_, block) => {
    expect(toMessages(assistant(block, { type: 'text', text: 'Hm.' }))).toEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }] },
    ]);
  });

  test('does not end in thinking', () => {
    const item = assistant(signed('A', 'EA'), { type: 'text', text: 'Hm.' }, signed('B', 'EB'));
    expect(toMessages(item)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'A', signature: 'EA' },
          { type: 'text', text: 'Hm.' },
        ],
      },
    ]);
  });

  test('of which nothing can be sent is none', () => {
    const source = base64('audio/wav', 'UklGRg==');
    expect(toMessages(assistant(signed('A', 'EA'), { type: 'audio', source }))).toEqual([]);
  });
});

test.each([
  ['toolu_01-a', 'toolu_01-a'],
  ['functions.get_weather:0', expect.stringMatching(/^call_[0-9a-f]{16}$/)],
  ['x'.repeat(65), expect.stringMatching(/^call_[0-9a-f]{16}$/)],
])('the id %s of a call fits, and is that of its result', (id, expected) => {
  const [asked] = toMessages(assistant({ ...call, id }));
  const [answered] = toMessages(tool({ id }));
  expect(asked).toMatchObject({ content: [{ type: 'tool_use', id: expected }] });
  const [block] = asked!['content'] as JsonObject[];
  expect(answered).toMatchObject({ content: [{ type: 'tool_result', tool_use_id: block!['id'] }] });
});

describe('results', () => {
  test('of one turn are in one message, with what they hold', () => {
    const item = tool(
      {
        output: [
          { type: 'text', text: 'See:' },
          { type: 'image', source: base64('image/png', PNG) },
          { type: 'file', source: base64('application/pdf', 'JVBERi0='), filename: 'a.pdf' },
        ],
      },
      { id: 'c2', output: 'No.', status: 'denied' },
    );
    expect(toMessages(item)).toEqual([
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'c1',
            content: [
              { type: 'text', text: 'See:' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
                title: 'a.pdf',
              },
            ],
          },
          {
            type: 'tool_result',
            tool_use_id: 'c2',
            content: [{ type: 'text', text: 'No.' }],
            is_error: true,
          },
        ],
      },
    ]);
  });

  test.each<[string, Partial<ToolResultBlock>, object]>([
    ['nothing', { output: '' }, {}],
    ['blank text', { output: [{ type: 'text', text: ' \n' }] }, {}],
    [
      'nothing, after a failure',
      { output: ' ', status: 'interrupted' },
      { content: [{ type: 'text', text: "The call ended as 'interrupted'." }], is_error: true },
    ],
  ])('that hold %s', (_, result, sent) => {
    expect(toMessages(tool(result))).toEqual([
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', ...sent }] },
    ]);
  });
});

describe('media', () => {
  const csv = toBase64(new TextEncoder().encode('a,ü\n1,2'));
  test.each<[string, MediaBlock, object]>([
    [
      'an image on the web',
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png', mediaType: 'image/png' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    ],
    [
      'a document on the web',
      { type: 'file', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    ],
    [
      'a text',
      { type: 'file', source: base64('text/csv', csv), filename: 'a.csv' },
      {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'a,ü\n1,2' },
        title: 'a.csv',
      },
    ],
    [
      'half characters in names and addresses',
      {
        type: 'file',
        source: { type: 'url', url: 'https://example.com/\ud83d.pdf' },
        filename: `${'x'.repeat(499)}🗾.pdf`,
      },
      {
        type: 'document',
        source: { type: 'url', url: 'https://example.com/\ufffd.pdf' },
        title: `${'x'.repeat(499)}\ufffd`,
      },
    ],
    [
      'an empty name',
      { type: 'file', source: { type: 'url', url: 'https://example.com/a.pdf' }, filename: ' ' },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    ],
    [
      'an image that it does not know',
      { type: 'image', source: base64('image/tiff', 'SUkqAA==') },
      { type: 'text', text: "[There was an image here, but image/tiff can't be seen.]" },
    ],
    [
      'a file that it does not know',
      { type: 'file', source: base64('application/zip', 'UEsDBA==') },
      { type: 'text', text: "[There was a file here, but application/zip can't be read.]" },
    ],
    [
      'an empty text',
      { type: 'file', source: base64('text/plain', 'IA==') },
      { type: 'text', text: "[There was a file here, but text/plain can't be read.]" },
    ],
  ])('%s', (_, block, part) => {
    expect(toMessages(user(block))).toEqual([{ role: 'user', content: [part] }]);
  });

  test.each<[boolean, MediaBlock['type'], string, string | undefined]>([
    [true, 'image', 'https://example.com/a', undefined],
    [false, 'image', 'http://example.com/a.png', undefined],
    [true, 'file', 'https://example.com/a.pdf?x=1', undefined],
    [true, 'file', 'https://example.com/a', 'application/pdf'],
    [false, 'file', 'https://example.com/a.pdf', 'text/html'],
    [false, 'file', 'https://example.com/a.doc', undefined],
    [false, 'audio', 'https://example.com/a.wav', undefined],
  ])('is fetched by Anthropic: %s (%s %s)', (fetches, type, url, mediaType) => {
    expect(fetchesUrl({ type, source: { type: 'url', url, ...(mediaType && { mediaType }) } })).toBe(fetches);
  });
});

test('a hint in the middle is the user’s', () => {
  expect(toMessages({ role: 'system', text: 'Be kind.' })).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Be kind.' }] },
  ]);
});

test('a tool that does not say so takes an object all the same', () => {
  expect(toTool({ name: 'look', parameters: { properties: {} } })).toEqual({
    name: 'look',
    input_schema: { type: 'object', properties: {} },
  });
});
