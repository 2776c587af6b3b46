import { describe, expect, test } from 'vitest';
import { lineLogger } from '../config/logger.ts';
import { withRunConfig } from '../config/run-config.ts';
import { Msg } from '../message/msg.ts';
import { PLAIN_CAPABILITIES } from '../model/chat-model-base.ts';
import { ChatFormatter } from './chat-formatter.ts';
import { MediaLoader } from './media-loader.ts';
import { PromptMedia } from './prompt-media.ts';
import type { MediaBlock, Prompt } from './prompt.ts';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const dataUrl: MediaBlock = { type: 'image', source: { type: 'url', url: `data:image/png;base64,${PIXEL}` } };
const webUrl: MediaBlock = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
const here: MediaBlock = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: PIXEL } };
const audio: MediaBlock = {
  type: 'audio',
  source: { type: 'base64', mediaType: 'audio/wav', data: 'UklGRg==' },
};
const promptOf = (...blocks: MediaBlock[]): Prompt => new ChatFormatter().format([Msg.user(blocks)]);

const media = (takesUrl = false, vision = true): PromptMedia =>
  new PromptMedia({
    loader: new MediaLoader(),
    capabilities: { ...PLAIN_CAPABILITIES, vision },
    takesUrl: () => takesUrl,
  });
const contentOf = async (promptMedia: PromptMedia, prompt: Prompt): Promise<unknown> => {
  const [item] = (await promptMedia.prepare(prompt, undefined)).items;
  return item?.role === 'user' ? item.content : undefined;
};

describe('media in a prompt', () => {
  test('that are inline and fit are unchanged; without media the prompt is the same object', async () => {
    expect(await contentOf(media(), promptOf(here))).toEqual([here]);
    const prompt = new ChatFormatter().format([Msg.user('Hi.')]);
    expect(await media().prepare(prompt, undefined)).toBe(prompt);
  });

  test('are loaded where the provider does not fetch them', async () => {
    expect(await contentOf(media(), promptOf(dataUrl))).toEqual([here]);
  });

  test('on the web are left to a provider that fetches them', async () => {
    expect(await contentOf(media(true), promptOf(webUrl))).toEqual([webUrl]);
  });

  test('that the model can not take become a line of text, with a warning', async () => {
    const lines: string[] = [];
    await withRunConfig({ logging: lineLogger('warn', (line) => lines.push(line)) }, async () => {
      const promptMedia = media();
      const prompt = promptOf(audio);
      const content = [{ type: 'text', text: "[An audio was left out here: this model can't take it.]" }];
      expect(await contentOf(promptMedia, prompt)).toEqual(content);
      expect(await contentOf(promptMedia, prompt)).toEqual(content);
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("An audio was left out of a prompt: this model can't take it.");
  });

  test('that may not be loaded become a line with the reason', async () => {
    expect(await contentOf(media(), promptOf(webUrl))).toEqual([
      {
        type: 'text',
        text: expect.stringMatching(/^\[An image was left out here: .*downloads are off.*\]$/),
      },
    ]);
    const file: MediaBlock = { type: 'image', source: { type: 'url', url: '/etc/passwd' } };
    expect(await contentOf(media(true), promptOf(file))).toEqual([
      { type: 'text', text: expect.stringMatching(/^\[An image was left out here: /) },
    ]);
  });

  test('of tool results are treated alike, and every item only once', async () => {
    const prompt = new ChatFormatter().format([
      Msg.assistant([{ type: 'tool_use', id: 'a', name: 'draw', input: {} }]),
      Msg.system([{ type: 'tool_result', id: 'a', name: 'draw', output: [dataUrl, audio], status: 'ok' }]),
    ]);
    const promptMedia = media();
    const first = await promptMedia.prepare(prompt, undefined);
    expect(first.items[1]).toMatchObject({ results: [{ output: [here, { type: 'text' }] }] });
    expect((await promptMedia.prepare(prompt, undefined)).items[1]).toBe(first.items[1]);
  });

  test('are given up when the caller aborts', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(media().prepare(promptOf(dataUrl), signal)).rejects.toThrow('enough');
  });
});
