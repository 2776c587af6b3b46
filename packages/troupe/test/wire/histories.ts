import type { ContentBlock, ToolResultBlock, ToolUseBlock } from '../../src/message/blocks.ts';
import { Msg } from '../../src/message/msg.ts';
import type { ToolSchema } from '../../src/model/chat-model-base.ts';

/** One pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const image: ContentBlock = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: PNG } };
const webImage: ContentBlock = { type: 'image', source: { type: 'url', url: 'https://example.com/map.png' } };
const audio: ContentBlock = {
  type: 'audio',
  source: { type: 'base64', mediaType: 'audio/wav', data: 'UklGRg==' },
};
const text = (text: string): ContentBlock => ({ type: 'text', text });

export const TOOLS: readonly ToolSchema[] = [
  {
    name: 'get_capital',
    description: 'The capital of a country',
    parameters: { type: 'object', properties: { country: { type: 'string' } }, required: ['country'] },
  },
  { name: 'get_time', parameters: { type: 'object', properties: {} } },
];

const call = (
  id: string,
  name = 'get_capital',
  input: ToolUseBlock['input'] = { country: 'Japan' },
): ToolUseBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const result = (id: string, output: ToolResultBlock['output'] = 'Tokyo', name = 'get_capital'): Msg =>
  Msg.system([{ type: 'tool_result', id, name, output, status: 'ok' }]);
const calls = (...blocks: ContentBlock[]): Msg => Msg.assistant(blocks, { name: 'Friday' });
const friday = (content: string): Msg => Msg.assistant(content, { name: 'Friday' });
const ann = (content: string | ContentBlock[]): Msg => Msg.user(content, { name: 'Ann' });
const bob = (content: string): Msg => Msg.assistant(content, { name: 'Bob' });

/** A conversation of our own agents: needs no repair. */
export const TRAVEL: readonly Msg[] = [
  Msg.system('You are a helpful guide.'),
  ann([text('What is the capital of France?'), image]),
  friday('Paris.'),
  ann([text('And of Germany? Listen:'), audio]),
  friday('Berlin. 柏林 🐻'),
  ann('And of Japan?'),
  calls({ type: 'thinking', thinking: 'I look it up.' }, text('Let me see.'), call('c1')),
  result('c1', [text('Tokyo, see the map:'), image as never, audio as never] as never),
  friday('Tokyo.'),
  ann('And of Korea and of Peru, and what time is it?'),
  calls(
    call('c2', 'get_capital', { country: 'Korea' }),
    call('c3', 'get_capital', { country: 'Peru' }),
    call('c4', 'get_time', {}),
  ),
  result('c2', [text('Seoul'), webImage as never] as never),
  result('c3', 'Lima'),
  result('c4', '', 'get_time'),
  friday('Seoul and Lima.'),
  ann('Thanks.'),
];

/** Histories from other programs, or after a crash. Every provider must accept our prompts for these. */
export const HISTORIES: Readonly<Record<string, readonly Msg[]>> = {
  'a question': [ann('Hi.')],
  'a system prompt and a question': [Msg.system('Be short.'), ann('Hi.')],
  'nothing but a system prompt': [Msg.system('Be short.')],
  'our own conversation': TRAVEL,
  'a greeting by the assistant': [friday('Hello, how can I help?'), ann('Hi.')],
  'several agents': [
    Msg.system('Debate.'),
    ann('Start.'),
    bob('I say A.'),
    friday('I say B.'),
    bob('No: </history> A!'),
    ann('Go on.'),
  ],
  'hints in between': [
    Msg.system('Be short.'),
    ann('Hi.'),
    friday('Hello.'),
    Msg.system('Hint: be kind.'),
    ann('Well?'),
  ],
  'a call at the end without a result': [ann('Go.'), calls(call('a'))],
  'calls in the middle without results': [
    ann('Go.'),
    calls(call('a'), call('b')),
    ann('Never mind.'),
    friday('Fine.'),
    ann('Hi.'),
  ],
  'one result missing of two': [ann('Go.'), calls(call('a'), call('b')), result('b'), ann('And?')],
  'a result without a call': [ann('Go.'), result('ghost'), ann('Hi.')],
  'results out of order': [
    ann('Go.'),
    calls(call('a'), call('b')),
    result('b', 'B'),
    result('a', 'A'),
    ann('And?'),
  ],
  'a hint between a call and its result': [
    ann('Go.'),
    calls(call('a')),
    Msg.system('Hint.'),
    ann('Quick!'),
    result('a'),
    ann('And?'),
  ],
  'the same id in two turns': [
    ann('Go.'),
    calls(call('0_get')),
    result('0_get', 'one'),
    calls(call('0_get')),
    result('0_get', 'two'),
    ann('And?'),
  ],
  'the same id twice in one turn': [
    ann('Go.'),
    calls(call('a'), call('a')),
    result('a', 'one'),
    result('a', 'two'),
    ann('And?'),
  ],
  'a result given twice': [ann('Go.'), calls(call('a')), result('a', 'one'), result('a', 'two'), ann('And?')],
  'ids and names that no provider accepts': [
    ann('Go.'),
    calls(
      call('call:1/ü'.repeat(40), 'my tool\n!'),
      call('', ''),
      call('x'.repeat(900), 'n'.repeat(1_000_000)),
    ),
    result('call:1/ü'.repeat(40), 'one', 'my tool\n!'),
    result('', 'two', ''),
    ann('And?'),
  ],
  'empty messages': [ann(''), ann(' \n'), friday(''), ann([]), ann('Hi.'), friday('   '), ann('Hello?')],
  'nothing but thinking': [ann('Hi.'), calls({ type: 'thinking', thinking: 'Hm.' }), ann('Hello?')],
  'foreign thinking': [
    ann('Hi.'),
    calls(
      { type: 'thinking', thinking: 'Hm.', providerMeta: { elsewhere: { signature: 'zzz' } } },
      text('Well.'),
      call('a'),
    ),
    result('a'),
    ann('And?'),
  ],
  'results inside of a user message': [
    ann('Go.'),
    calls(call('a')),
    Msg.user([
      { type: 'tool_result', id: 'a', name: 'get_capital', output: 'Tokyo', status: 'ok' },
      text('Is that right?'),
    ]),
  ],
  'arguments that could not be read': [
    ann('Go.'),
    calls({ ...call('a', 'get_capital', {}), rawInput: '{"country":' }),
    result('a', 'Error: no JSON'),
    ann('And?'),
  ],
  'half a character': [
    ann('a\ud800b'),
    friday('\udfff'),
    calls(call('a')),
    result('a', 'x\ud83d'),
    ann('Hi.'),
  ],
  'a failed call': [
    ann('Go.'),
    calls(call('a')),
    Msg.system([{ type: 'tool_result', id: 'a', name: 'get_capital', output: 'No.', status: 'error' }]),
    ann('And?'),
  ],
  'calls right after each other': [
    ann('Go.'),
    calls(call('a')),
    result('a'),
    calls(call('b')),
    result('b'),
    calls(text('Done.')),
  ],
};
