// A model is told where the media of a tool result are, so that it can pass the address on. Over real connections.
import { createOpenAI } from '@ai-sdk/openai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { withRunConfig } from '../../src/config/run-config.ts';
import { lineLogger } from '../../src/config/logger.ts';
import { MediaLoader } from '../../src/formatter/media-loader.ts';
import type { ToolOutputBlock } from '../../src/message/blocks.ts';
import { Msg } from '../../src/message/msg.ts';
import type { HttpModelOptions } from '../../src/model/http/http-chat-model.ts';
import { AiSdkModel } from '../../src/providers/ai-sdk/index.ts';
import { LOOPBACK_WIRES, serve, type LoopbackWire } from './loopback-wires.ts';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-media-'));
  await writeFile(join(folder, 'cat.png'), Buffer.from(PIXEL, 'base64'));
});
afterAll(() => rm(folder, { recursive: true }));

const AI_SDK: LoopbackWire = {
  ...LOOPBACK_WIRES[0]!,
  name: 'ai-sdk',
  make: ({ baseUrl, media }) =>
    new AiSdkModel(createOpenAI({ baseURL: String(baseUrl), apiKey: 'k' }).chat('gpt-4.1'), { media }),
};

const image = (url: string): ToolOutputBlock => ({ type: 'image', source: { type: 'url', url } });

/** The strings in a JSON value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe.each([...LOOPBACK_WIRES, AI_SDK])('$name', (wire) => {
  /** The strings of a request with a tool result, and the warnings. */
  async function sent(output: ToolOutputBlock, options: Partial<HttpModelOptions> = {}) {
    let texts: string[] = [];
    const warnings: string[] = [];
    await using there = await serve((_request, response, body) => {
      texts = textsIn(JSON.parse(body));
      response.writeHead(200, { 'content-type': wire.contentType }).end(wire.answers.get('plain'));
    });
    const model = wire.make({
      apiKey: 'k',
      baseUrl: `http://${there.host}`,
      capabilities: { vision: true },
      ...options,
    });
    const messages = [
      Msg.user('Draw a cat.'),
      Msg.assistant([{ type: 'tool_use', id: 'call_1', name: 'draw', input: {} }]),
      Msg.system([{ type: 'tool_result', id: 'call_1', name: 'draw', output: [output], status: 'ok' }]),
    ];
    await withRunConfig({ logging: lineLogger('warn', (line) => warnings.push(line)) }, () =>
      model.call({ messages }),
    );
    return { texts, warnings };
  }

  test('a local file that may be read is shown, and its path told', async () => {
    const path = join(folder, 'cat.png');
    const { texts, warnings } = await sent(image(path), {
      media: new MediaLoader({ allowedDirs: [folder] }),
    });
    expect(texts.some((text) => text.includes(`Image: ${path}`))).toBe(true);
    expect(texts.some((text) => text.includes(PIXEL))).toBe(true);
    expect(warnings).toEqual([]);
    for (const text of texts.filter((text) => text.includes(PIXEL)))
      expect(text.replace(/^data:image\/png;base64,/, '')).toBe(PIXEL);
  });

  test('a local file that may not be read is left out, its path told, and the option named to the developer', async () => {
    const path = join(folder, 'cat.png');
    const { texts, warnings } = await sent(image(path));
    const told = texts.filter((text) => text.includes('Image: '));
    expect(told.length).toBeGreaterThan(0);
    expect(told.join('\n')).toContain(`Image: ${path}`);
    expect(texts.join('\n')).toContain('[An image was left out here: local files are off.]');
    expect(texts.join('\n')).not.toMatch(/MediaLoader|allowedDirs/);
    expect(texts.some((text) => text.includes(PIXEL))).toBe(false);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(
      "local files are off. Give the model the option media: new MediaLoader({ allowedDirs: ['/path/to/folder'] }), or give the bytes as base64.",
    );
  });

  test('bytes are shown, and not told as text', async () => {
    const bytes: ToolOutputBlock = {
      type: 'image',
      source: { type: 'base64', mediaType: 'image/png', data: PIXEL },
    };
    const { texts } = await sent(bytes);
    for (const text of texts.filter((text) => text.includes(PIXEL)))
      expect(text.replace(/^data:image\/png;base64,/, '')).toBe(PIXEL);
    expect(texts.some((text) => text.includes('Image: '))).toBe(false);
  });
});
