/**
 * Cost of a model call on a long history and of a streamed answer: a model class against the same work
 * written by hand, in one process and one run. `npm run bench`
 */
import { Msg } from 'troupe';
import type { ToolSchema } from 'troupe/provider';
import { OpenAIChatModel } from 'troupe/openai';

import { fastest, row } from './measure.ts';

const TOOLS: readonly ToolSchema[] = [
  {
    name: 'look_up',
    description: 'Looks something up',
    parameters: { type: 'object', properties: { what: { type: 'string' } } },
  },
];
const DELTAS = 20_000;
const ARGUMENT_BYTES = 1_000_000;

/** History with `length` messages, most of them about tools. */
function history(length: number): Msg[] {
  return Array.from({ length: length / 4 }, (_, i) => [
    Msg.user(`Question ${i}: what is the height of mountain number ${i}? ${'Please. '.repeat(10)}`),
    Msg.assistant([
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: `call_${i}`, name: 'look_up', input: { what: `mountain ${i}` } },
    ]),
    Msg.system([
      {
        type: 'tool_result',
        id: `call_${i}`,
        name: 'look_up',
        output: `${i} metres. `.repeat(20),
        status: 'ok',
      },
    ]),
    Msg.assistant(`It is ${i} metres high.`),
  ]).flat();
}

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'r1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** Model whose server answers at once with `body`. */
function modelWith(body: string, onRequest: (body: string) => void = () => {}): OpenAIChatModel {
  const bytes = new TextEncoder().encode(body);
  return new OpenAIChatModel({
    vendor: 'openai',
    modelName: 'm',
    apiKey: 'k',
    async fetch(_url, init) {
      if (typeof init?.body === 'string') onRequest(init.body);
      const pieces = new ReadableStream({
        start(controller) {
          for (let i = 0; i < bytes.length; i += 65_536) controller.enqueue(bytes.subarray(i, i + 65_536));
          controller.close();
        },
      });
      return new Response(pieces);
    },
  });
}

/** Baseline for reading a stream: split the stream into events, parse each, and join the text. */
function readByHand(body: string): string {
  let text = '';
  for (const event of body.split('\n\n')) {
    if (!event.startsWith('data: {')) continue;
    const { choices } = JSON.parse(event.slice(6)) as { choices: { delta: { content?: string } }[] };
    text += choices[0]?.delta.content ?? '';
  }
  return text;
}

export async function measureHistory(): Promise<void> {
  const answer = chunk({ content: 'Ok' }) + chunk({}, 'stop');
  const json = JSON.stringify(history(2000));
  const fresh = (): Msg[] => (JSON.parse(json) as unknown[]).map((msg) => Msg.from(msg));

  let anew = Infinity;
  for (let i = 0; i < 7; i++) {
    const messages = [...fresh(), Msg.user('One more.')];
    const model = modelWith(answer);
    anew = Math.min(anew, await fastest(1, () => model.call({ messages, tools: TOOLS })));
  }
  const messages = fresh();
  let size = 0;
  const model = modelWith(answer, (body) => (size = body.length));
  await model.call({ messages, tools: TOOLS });
  const again = await fastest(15, () => {
    messages.push(Msg.assistant('Ok'), Msg.user('One more.'));
    return model.call({ messages, tools: TOOLS });
  });
  row(`a turn on 2 000 messages (${(size / 1e6).toFixed(1)} MB), against all anew`, again, anew, 'ms');
  console.log(`  ${(anew / again).toFixed(1)} x cheaper than formatting all of it again`);
}

export async function measureAnswers(): Promise<void> {
  const body = chunk({ content: 'word ' }).repeat(DELTAS) + chunk({}, 'stop') + 'data: [DONE]\n\n';
  const floor = await fastest(7, async () => readByHand(body));
  const ours = await fastest(7, () => modelWith(body).call({ messages: [Msg.user('Go.')] }));
  row('20 000 deltas of a model, folded', ours, floor, 'ms');

  const argumentsOf = (bytes: number): string =>
    chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look_up', arguments: '{"a":"' } }] }) +
    chunk({ tool_calls: [{ index: 0, function: { arguments: 'xxxx' } }] }).repeat(bytes / 4) +
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }) +
    chunk({}, 'tool_calls');
  const [half, whole] = [argumentsOf(ARGUMENT_BYTES / 2), argumentsOf(ARGUMENT_BYTES)];
  const halfTime = await fastest(3, () =>
    modelWith(half).call({ messages: [Msg.user('Go.')], tools: TOOLS }),
  );
  const wholeTime = await fastest(3, () =>
    modelWith(whole).call({ messages: [Msg.user('Go.')], tools: TOOLS }),
  );
  row('1 MB of arguments in pieces of 4, against 0.5 MB', wholeTime, halfTime, 'ms');
}
