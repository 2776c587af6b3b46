// An agent that is called with nothing speaks first, as in AgentScope. Every wire is sent a request that strict servers take.
import { describe, expect, test } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import { ReActAgent } from '../../src/react/react-agent.ts';
import { MultiAgentFormatter } from '../../src/formatter/multi-agent-formatter.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { anthropicFaults } from './anthropic-rules.ts';
import { geminiFaults } from './gemini-rules.ts';
import { LOOPBACK_WIRES, serve } from './loopback-wires.ts';
import { ollamaFaults } from './ollama-rules.ts';
import { openAiChatFaults } from './openai-chat-rules.ts';
import { openAiResponsesFaults } from './openai-responses-rules.ts';

const FAULTS: Readonly<Record<string, (body: JsonObject) => string[]>> = {
  'openai-chat': openAiChatFaults,
  'openai-responses': openAiResponsesFaults,
  anthropic: anthropicFaults,
  gemini: (body) => geminiFaults(body, 'gemini-2.5-flash'),
  ollama: ollamaFaults,
};
const BEGIN = '(The conversation begins.)';

/** Input of each wire in place of a conversation. */
const OPENINGS: Readonly<Record<string, JsonObject>> = {
  'openai-chat': { messages: [{ role: 'user', content: BEGIN }] },
  'openai-responses': { input: [{ role: 'user', content: [{ type: 'input_text', text: BEGIN }] }] },
  anthropic: { messages: [{ role: 'user', content: [{ type: 'text', text: BEGIN }] }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: BEGIN }] }] },
  ollama: { messages: [{ role: 'user', content: BEGIN }] },
};

describe.each(LOOPBACK_WIRES)('$name', ({ name, make, answers, contentType }) => {
  const audio = { type: 'audio', source: { type: 'base64', mediaType: 'audio/wav', data: 'AAAA' } } as const;

  test.each<[string, object, () => Parameters<ReActAgent['call']>[0]]>([
    ['nothing', {}, () => undefined],
    ['an empty list', {}, () => []],
    ['an empty text', {}, () => ''],
    ['white space', {}, () => Msg.user(' \n')],
    ['no content', {}, () => Msg.user([])],
    ['nothing, by a formatter for several agents', { formatter: new MultiAgentFormatter() }, () => undefined],
    ['only what the wire can not send', {}, () => Msg.assistant([audio])],
  ])('%s as the first input is a request that is taken', async (what, options, input) => {
    const bodies: JsonObject[] = [];
    await using there = await serve((_request, response, body) => {
      bodies.push(JSON.parse(body) as JsonObject);
      response.writeHead(200, { 'content-type': contentType }).end(answers.get('plain'));
    });
    const model = make({ apiKey: 'k', baseUrl: `http://${there.host}`, onRepair() {} });
    const agent = new ReActAgent({ name: 'Friday', model, console: false, ...options });
    expect((await agent.call(input())).endReason).toBe('finished');
    expect(bodies).toHaveLength(1);
    expect(FAULTS[name]?.(bodies[0]!)).toEqual([]);
    if (!what.startsWith('only')) expect(bodies[0]).toMatchObject(OPENINGS[name]!);

    await agent.call('And now?');
    expect(FAULTS[name]?.(bodies[1]!)).toEqual([]);
    expect(JSON.stringify(await agent.memory.getMemory())).not.toContain(BEGIN);
  });

  test('with a system prompt, the model is asked to begin behind it', async () => {
    const bodies: JsonObject[] = [];
    await using there = await serve((_request, response, body) => {
      bodies.push(JSON.parse(body) as JsonObject);
      response.writeHead(200, { 'content-type': contentType }).end(answers.get('plain'));
    });
    const model = make({ apiKey: 'k', baseUrl: `http://${there.host}` });
    await new ReActAgent({ name: 'Friday', model, sysPrompt: 'Be kind.', console: false }).call();
    expect(FAULTS[name]?.(bodies[0]!)).toEqual([]);
    const text = JSON.stringify(bodies[0]);
    expect(text.match(/"user"/g)).toHaveLength(1);
    expect([text.includes('Be kind.'), text.includes(BEGIN)]).toEqual([true, true]);
  });
});
