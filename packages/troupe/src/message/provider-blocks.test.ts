import { describe, expect, test } from 'vitest';
import type { BlockChange } from './block-change.ts';
import type { ContentBlock } from './blocks.ts';
import { Exchange } from './exchange.ts';
import { findHistoryFaults } from './history.ts';
import type { ModelDelta } from './model-delta.ts';
import { MsgDraft, partialToolCalls } from './msg-draft.ts';
import { Msg } from './msg.ts';
import { sourceLines } from './citation.ts';

const CALL: ContentBlock = {
  type: 'provider_tool_use',
  id: 'srv_1',
  name: 'web_search',
  input: { query: 'weather' },
  executedBy: 'anthropic',
};
const RESULT: ContentBlock = {
  type: 'provider_tool_result',
  id: 'srv_1',
  name: 'web_search',
  output: 'Sunny',
  status: 'ok',
  executedBy: 'anthropic',
  providerMeta: { anthropic: { block: { type: 'web_search_tool_result' } } },
};

function draftOf(...deltas: ModelDelta[]): MsgDraft {
  const draft = new MsgDraft('Friday');
  for (const delta of deltas) draft.add(delta);
  return draft;
}

/** All changes of a finished draft, without the id of its message. */
function changesOf(draft: MsgDraft): object[] {
  const changes = draft.changesUpTo(draft.finish(), 0) ?? [];
  return changes.map(({ msgId: _, ...change }: BlockChange) => change);
}

describe('blocks of a provider’s tools', () => {
  test('are no tool calls of an exchange, and no fault of a history', () => {
    const msg = Msg.assistant([CALL, RESULT]);
    expect(new Exchange(msg).calls).toEqual([]);
    expect(findHistoryFaults([Msg.user('?'), Msg.assistant([CALL]), Msg.user('!')])).toEqual([]);
  });

  test('survive the way to JSON and back', () => {
    const msg = Msg.assistant([CALL, RESULT], { providerMeta: { anthropic: { service_tier: 'standard' } } });
    const back = Msg.from(JSON.parse(JSON.stringify(msg)));
    expect(back).toEqual(msg);
    expect(back.providerMeta).toEqual({ anthropic: { service_tier: 'standard' } });
  });

  test.each([
    [{ ...CALL, executedBy: undefined }, 'content[0].executedBy must be a string, not undefined.'],
    [{ ...CALL, input: 'x' }, 'content[0].input must be an object, not a string.'],
    [{ ...RESULT, status: 'denied' }, 'content[0].status must be one of ok, error.'],
    [
      { ...RESULT, output: [CALL] },
      'content[0].output[0].type must be one of text, image, audio, video, file.',
    ],
    [{ type: 'text', text: '', citations: 1 }, 'content[0].citations must be a list, not a number.'],
    [
      { type: 'text', text: '', citations: [{ url: 1 }] },
      'content[0].citations[0].url must be a string, not a number.',
    ],
    [
      { type: 'text', text: '', citations: [{ pages: [1] }] },
      'content[0].citations[0].pages must be two numbers, not an array.',
    ],
  ])('are checked: %j', (block, message) => {
    expect(() => Msg.assistant([block as ContentBlock])).toThrow(message);
  });
});

describe('a draft', () => {
  test('streams a call of the provider like a tool call, under the provider’s id', () => {
    const start = { type: 'tool_use_start', index: 0, id: 'srv_1', name: 'web_search' } as const;
    const draft = draftOf(
      { ...start, executedBy: 'anthropic' },
      { type: 'tool_input', index: 0, json: '{"query":"weather"}' },
      { type: 'tool_use_end', index: 0 },
      { type: 'block', block: RESULT },
    );
    expect(draft.snapshot().content).toEqual([CALL, RESULT]);
    expect(changesOf(draft)).toEqual([
      {
        type: 'block_start',
        index: 0,
        blockType: 'provider_tool_use',
        toolCallId: 'srv_1',
        name: 'web_search',
        executedBy: 'anthropic',
      },
      { type: 'tool_input_delta', index: 0, json: '{"query":"weather"}' },
      { type: 'block_end', index: 0, block: CALL },
      { type: 'block_start', index: 1, blockType: 'provider_tool_result' },
      { type: 'block_end', index: 1, block: RESULT },
    ]);
  });

  test('drops an unfinished call of the provider', () => {
    const draft = draftOf(
      { type: 'text', text: 'Hm.' },
      { type: 'tool_use_start', index: 0, id: 'srv_1', name: 'web_search', executedBy: 'anthropic' },
    );
    expect(draft.cutShort()?.content).toEqual([{ type: 'text', text: 'Hm.' }]);
  });

  test('adds citations to the text that is being written', () => {
    const url = 'https://example.com/';
    const draft = draftOf(
      { type: 'citations', citations: [{ url }] }, // no text yet
      { type: 'text', text: 'It is ' },
      { type: 'text', text: 'sunny.' },
      { type: 'citations', citations: [{ start: 6, end: 12, url }] },
      { type: 'text', text: ' Bye.' },
    );
    const block = { type: 'text', text: 'It is sunny. Bye.', citations: [{ start: 6, end: 12, url }] };
    expect(changesOf(draft)).toEqual([
      { type: 'block_start', index: 0, blockType: 'text' },
      { type: 'text_delta', index: 0, text: 'It is ' },
      { type: 'text_delta', index: 0, text: 'sunny.' },
      { type: 'citations_delta', index: 0, citations: [{ start: 6, end: 12, url }] },
      { type: 'text_delta', index: 0, text: ' Bye.' },
      { type: 'block_end', index: 0, block },
    ]);
    expect(draft.final?.content).toEqual([block]);
  });

  test('streams a numbered sound beside its text, each as one block', () => {
    const audio = { type: 'audio', mediaType: 'audio/wav', index: 0 } as const;
    const draft = draftOf(
      { type: 'text', text: 'Hel' },
      { ...audio, data: 'AAAA' },
      { type: 'text', text: 'lo' },
      { ...audio, data: 'BBBB' },
    );
    const sound = { type: 'audio', source: { type: 'base64', mediaType: 'audio/wav', data: 'AAAABBBB' } };
    expect(changesOf(draft)).toEqual([
      { type: 'block_start', index: 0, blockType: 'text' },
      { type: 'text_delta', index: 0, text: 'Hel' },
      { type: 'block_start', index: 1, blockType: 'audio' },
      { type: 'audio_delta', index: 1, data: 'AAAA' },
      { type: 'text_delta', index: 0, text: 'lo' },
      { type: 'audio_delta', index: 1, data: 'BBBB' },
      { type: 'block_end', index: 0 },
      { type: 'block_end', index: 1, block: sound },
    ]);
    expect(draft.final?.content).toEqual([{ type: 'text', text: 'Hello' }, sound]);
  });

  test('shows an image while it is made, and keeps only the whole one', () => {
    const image: ContentBlock = {
      type: 'image',
      source: { type: 'base64', mediaType: 'image/png', data: 'CCCC' },
    };
    const draft = draftOf(
      { type: 'partial_image', data: 'AAAA', mediaType: 'image/png' },
      { type: 'partial_image', data: 'BBBB', mediaType: 'image/png' },
    );
    expect(draft.snapshot().content).toEqual([]);
    draft.add({ type: 'block', block: image });
    expect(changesOf(draft)).toEqual([
      { type: 'block_start', index: 0, blockType: 'image' },
      { type: 'image_delta', index: 0, data: 'AAAA', mediaType: 'image/png' },
      { type: 'image_delta', index: 0, data: 'BBBB', mediaType: 'image/png' },
      { type: 'block_end', index: 0, block: image },
    ]);
    expect(draft.final?.content).toEqual([image]);
    const unfinished = draftOf({ type: 'partial_image', data: 'AAAA', mediaType: 'image/png' });
    expect(changesOf(unfinished).at(-1)).toEqual({ type: 'block_end', index: 0 });
    expect(unfinished.final?.content).toEqual([]);
  });

  test('has the arguments of unfinished tool calls in its snapshots, as they were then', () => {
    const draft = draftOf(
      { type: 'tool_use_start', index: 0, id: 'a', name: 'search' },
      { type: 'tool_input', index: 0, json: '{"city":"Ro' },
    );
    const early = draft.snapshot();
    draft.add({ type: 'tool_input', index: 0, json: 'me","n":1' });
    const later = draft.snapshot();
    draft.add({ type: 'tool_input', index: 0, json: '}' });
    draft.add({ type: 'tool_use_end', index: 0 });
    const call = { type: 'tool_use', id: 'a', name: 'search' };
    expect(partialToolCalls(early)).toEqual([{ ...call, input: { city: 'Ro' } }]);
    expect(partialToolCalls(later)).toEqual([{ ...call, input: { city: 'Rome' } }]);
    expect(partialToolCalls(draft.snapshot())).toEqual([]);
    expect(partialToolCalls(Msg.user('Hi'))).toEqual([]);
  });

  test('merges what the provider says about the answer, key by key', () => {
    const draft = draftOf(
      {
        type: 'provider_meta',
        providerMeta: { anthropic: { service_tier: 'standard', container: { id: 'a' } } },
      },
      { type: 'provider_meta', providerMeta: { anthropic: { container: { id: 'b' } } } },
    );
    expect(draft.finish().providerMeta).toEqual({
      anthropic: { service_tier: 'standard', container: { id: 'b' } },
    });
    const reset = draftOf(
      { type: 'provider_meta', providerMeta: { anthropic: { service_tier: 'standard' } } },
      { type: 'reset', reason: 'Another model.' },
    );
    expect(reset.finish().providerMeta).toBe(undefined);
  });
});

test('sources are listed once each, with pages and addresses', () => {
  expect(
    sourceLines([
      { url: 'https://a.example/', title: 'A\npage', start: 0, end: 3 },
      { url: 'https://a.example/', title: 'A\npage', start: 9, end: 12 },
      { url: 'https://b.example/' },
      { title: 'Report', document: 0, pages: [2, 4] },
      { filename: 'notes.pdf', pages: [7, 7] },
      { document: 1 },
    ]),
  ).toEqual([
    '[1] A page <https://a.example/>',
    '[2] https://b.example/',
    '[3] Report, pages 2–4',
    '[4] notes.pdf, page 7',
    '[5] document 2',
  ]);
});
