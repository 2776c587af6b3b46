// Recorded answers that end at the limit of tokens, read by an agent over real connections.
import { expect, test } from 'vitest';

import { ReActAgent } from '../../src/react/react-agent.ts';
import { toText } from './replay.ts';
import { LOOPBACK_WIRES, serve, type LoopbackWire } from './loopback-wires.ts';

/** The recorded answers of OpenAI were cut off inside of a tool call; these inside of a text. */
const CUT_TEXTS: Readonly<Record<string, (plain: string) => string>> = {
  'openai-chat': (plain) => plain.replace('"finish_reason":"stop"', '"finish_reason":"length"'),
  'openai-responses': (plain) => {
    const end = plain.lastIndexOf('event: ');
    const last = plain
      .slice(end)
      .replaceAll('response.completed', 'response.incomplete')
      .replace('"incomplete_details":null', '"incomplete_details":{"reason":"max_output_tokens"}');
    return plain.slice(0, end) + last;
  },
};

const recorded = ({ answers }: LoopbackWire, name: string): string => toText(answers.get(name)!);

async function agentReading(wire: LoopbackWire, answers: string[]): Promise<ReActAgent & AsyncDisposable> {
  const there = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': wire.contentType }).end(answers.shift());
  });
  const model = wire.make({ apiKey: 'k', baseUrl: `http://${there.host}` });
  const agent = new ReActAgent({ name: 'Friday', model, console: false });
  return Object.assign(agent, { [Symbol.asyncDispose]: () => there[Symbol.asyncDispose]() });
}

test.each(LOOPBACK_WIRES)('$name: a text that was cut off is told apart', async (wire) => {
  const plain = recorded(wire, 'plain');
  const cutText = CUT_TEXTS[wire.name]?.(plain) ?? recorded(wire, 'length-stop');
  await using agent = await agentReading(wire, [cutText, plain]);
  const [cut, whole] = [await agent.call('Tell me all.'), await agent.call('Hi.')];
  expect([cut.endReason, cut.finishReason]).toEqual(['length', 'length']);
  expect(cut.text).not.toBe('');
  expect([whole.endReason, whole.finishReason]).toEqual(['finished', 'stop']);
});

test.each(LOOPBACK_WIRES.filter(({ name }) => name in CUT_TEXTS))(
  '$name: a tool call that was cut off again and again is an error that says what to raise',
  async (wire) => {
    await using agent = await agentReading(wire, Array<string>(3).fill(recorded(wire, 'length-stop')));
    const { endReason, finishReason, text } = await agent.call('Tell me all.');
    expect({ endReason, finishReason, text }).toEqual({
      endReason: 'error',
      finishReason: 'length',
      text: 'The model gave no answer: each was cut off at its limit of tokens. Raise maxTokens in the generation options.',
    });
  },
);
