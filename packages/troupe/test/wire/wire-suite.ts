import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ChatFormatter } from '../../src/formatter/chat-formatter.ts';
import type { FormatterBase } from '../../src/formatter/formatter-base.ts';
import { MultiAgentFormatter } from '../../src/formatter/multi-agent-formatter.ts';
import { Msg } from '../../src/message/msg.ts';
import type { ChatModelBase, ModelRequest, ToolSchema } from '../../src/model/chat-model-base.ts';
import type { HttpModelOptions } from '../../src/model/http/http-chat-model.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { anyMsgJson, anyText } from '../arbitraries.ts';
import { HISTORIES, TOOLS, TRAVEL } from './histories.ts';
import {
  fetchOf,
  outcomeOf,
  readFixtures,
  toBytes,
  toText,
  type Delivery,
  type Outcome,
  type SentRequest,
} from './replay.ts';
import { pointsOf, sampleOf, strideOf } from '../fair-sample.ts';

/** A wire format under test, and the parts that the suite needs. */
export interface Wire {
  /** Also the folder of its fixtures. */
  readonly name: string;
  readonly makeModel: (options: Omit<HttpModelOptions, 'modelName'>) => ChatModelBase;
  readonly contentType: string;
  /** The field of the body that holds the history. */
  readonly historyField: string;
  /** Whether a request must end with a user's turn: one that doesn't gets something at its end, for this time only. */
  readonly endsWithUser?: boolean;
  /** Faults of a request by the rules of the real API; empty if none. */
  readonly faultsIn: (body: JsonObject, path: string, headers: Readonly<Record<string, unknown>>) => string[];
  /** The error that the real API answers with. */
  readonly errorBody: (problem: string) => JsonObject;
  /** Whether the format is a vendor's variant of another under test. `npm test` runs a smaller sample of it. */
  readonly isVariant?: boolean;
  /** Whether the API has no tools. Then no recording is named 'parallel-tools'. */
  readonly hasNoTools?: boolean;
  /** Recordings whose end is known by [DONE] alone. */
  readonly endByMark?: readonly string[];
  /** Outcome of each recorded answer. One recording is named 'plain', one 'parallel-tools'. */
  readonly outcomes: Readonly<Record<string, Outcome>>;
}

const ASK: ModelRequest = { messages: [Msg.user('Hi.')], tools: TOOLS };
const FORMATTERS: Readonly<Record<string, () => FormatterBase>> = {
  chat: () => new ChatFormatter(),
  'multi-agent': () => new MultiAgentFormatter(),
};

const anyId = fc.constantFrom('a', 'b', 'c', '', 'x y');

/** Any message, most often one that has to do with tools. */
const anyTurn: fc.Arbitrary<Msg> = fc.oneof(
  anyMsgJson.map((json) => Msg.from(json)),
  fc.array(anyId, { minLength: 1, maxLength: 3 }).map((ids) =>
    Msg.assistant(
      ids.map((id) => ({ type: 'tool_use', id, name: 'get_time', input: {} })),
      { name: 'Friday' },
    ),
  ),
  fc
    .array(fc.tuple(anyId, anyText), { minLength: 1, maxLength: 3 })
    .map((results) =>
      Msg.system(
        results.map(([id, output]) => ({ type: 'tool_result', id, name: 'get_time', output, status: 'ok' })),
      ),
    ),
);

export function describeWire(wire: Wire): void {
  const fixtures = readFixtures(wire.name);
  const deliver = (pieces: readonly Uint8Array[], more: Partial<Delivery> = {}): ChatModelBase =>
    wire.makeModel({ fetch: fetchOf({ pieces, headers: { 'content-type': wire.contentType }, ...more }) });
  const fixture = (name: string): Uint8Array => {
    const bytes = fixtures.get(name);
    if (bytes === undefined) throw new Error(`There is no fixture named ${name}.`);
    return bytes;
  };

  describe(`${wire.name}: recorded answers`, () => {
    test('are all told what they come to', () => {
      expect([...fixtures.keys()].sort()).toEqual(Object.keys(wire.outcomes).sort());
    });

    test.each(Object.entries(wire.outcomes))('%s', async (name, outcome) => {
      expect(await outcomeOf(deliver([fixture(name)]), ASK)).toEqual(outcome);
    });

    test.each(Object.entries(wire.outcomes))('%s, cut in two anywhere', async (name, outcome) => {
      const bytes = fixture(name);
      expect(bytes.length).toBeGreaterThan(100);
      const cuts = pointsOf(
        `cuts in two of each ${wire.name} answer`,
        bytes.length - 1,
        wire.isVariant ? 20 : 40,
      );
      for (const at of cuts.map((cut) => cut + 1)) {
        const pieces = [bytes.subarray(0, at), bytes.subarray(at)];
        expect(await outcomeOf(deliver(pieces), ASK), `cut at ${at}`).toEqual(outcome);
      }
    });

    test.each(Object.entries(wire.outcomes))('%s, byte by byte', async (name, outcome) => {
      const bytes = fixture(name);
      const pieces = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
      expect(await outcomeOf(deliver(pieces), ASK)).toEqual(outcome);
    });

    const framings: Readonly<Record<string, (text: string) => string>> = {
      'with CRLF': (body) => body.replaceAll('\n', '\r\n'),
      'with a BOM': (body) => `\uFEFF${body}`,
      'without the last line feeds': (body) => body.trimEnd(),
    };
    const sseFramings: typeof framings = {
      'with CR': (body) => body.replaceAll('\n', '\r'),
      'with comments': (body) => `: hello\n\n${body.replaceAll('\n\n', '\n\n: ping\n\n')}`,
      'without a space behind the colon': (body) => body.replaceAll(/^(data|event): /gm, '$1:'),
      'without [DONE]': (body) => body.replace('data: [DONE]\n\n', ''),
    };
    const all = wire.contentType === 'text/event-stream' ? { ...framings, ...sseFramings } : framings;
    test.each(Object.entries(all))('%s', async (framing, change) => {
      const stride = strideOf(`recordings of ${wire.name} in each framing, byte by byte`, 3);
      for (const [i, [name, outcome]] of Object.entries(wire.outcomes).entries()) {
        if (framing === 'without [DONE]' && wire.endByMark?.includes(name)) continue;
        const bytes = toBytes(change(toText(fixture(name))));
        const pieces = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
        expect(await outcomeOf(deliver([bytes]), ASK), name).toEqual(outcome);
        if (i % stride === 0)
          expect(await outcomeOf(deliver(pieces), ASK), `${name} byte by byte`).toEqual(outcome);
      }
    });

    const endings: readonly (readonly [string, Pick<Delivery, 'breaks'>])[] = [
      ['ends', {}],
      ['breaks', { breaks: true }],
    ];
    test.each(wire.hasNoTools ? [] : endings)(
      'of a call make none unless it was closed, wherever the connection %s',
      async (_, more) => {
        const bytes = fixture('parallel-tools');
        const whole = wire.outcomes['parallel-tools'];
        const callsOf = ({ content }: Outcome): unknown[] =>
          content.filter(({ type }) => type === 'tool_use');
        let cutOff = 0;
        const points = pointsOf(
          `points where a connection of ${wire.name} is lost`,
          bytes.length,
          wire.isVariant ? 60 : 150,
        );
        for (const at of points) {
          const outcome = await outcomeOf(deliver([bytes.subarray(0, at)], more), ASK);
          const calls = callsOf(outcome);
          if (outcome.error === undefined) expect(calls).toEqual(callsOf(whole!));
          else cutOff++;
          for (const call of calls) expect(callsOf(whole!)).toContainEqual(call); // never one with less in it
        }
        expect(cutOff).toBeGreaterThan(points.length / 4);
      },
    );
  });

  describe(`${wire.name}: requests`, () => {
    const faults: string[] = [];
    let requests = 0;
    let server: Server;
    let baseUrl = '';

    beforeAll(async () => {
      server = createServer((request, response) => {
        const pieces: Buffer[] = [];
        request.on('data', (piece: Buffer) => pieces.push(piece));
        request.on('end', () => {
          requests++;
          const body = JSON.parse(Buffer.concat(pieces).toString()) as JsonObject;
          const found = wire.faultsIn(body, request.url ?? '', request.headers);
          faults.push(...found);
          response.writeHead(found.length > 0 ? 400 : 200, {
            'content-type': found.length > 0 ? 'application/json' : wire.contentType,
          });
          response.end(
            found.length > 0 ? JSON.stringify(wire.errorBody(found.join('; '))) : fixture('plain'),
          );
        });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });

    afterAll(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });

    const ask = async (request: ModelRequest): Promise<Outcome> =>
      outcomeOf(wire.makeModel({ baseUrl }), request);

    test('that are wrong are rejected by the server that the others are tested with', async () => {
      const before = faults.length;
      const tools = [TOOLS[0]!, TOOLS[0]!]; // the same name twice
      const generation = wire.hasNoTools ? { extra: { nonsense: true } } : {};
      const wrong = { messages: [Msg.user('Hi.')], tools, generation };
      expect(await ask(wrong)).toMatchObject({ error: 'bad_request' });
      expect(faults.splice(before)).not.toEqual([]);
    });

    for (const [kind, make] of Object.entries(FORMATTERS)) {
      test.each(Object.entries(HISTORIES))(`of %s are accepted (${kind})`, async (_, messages) => {
        const before = requests;
        const { error } = await ask({ messages, tools: TOOLS, formatter: make(), agentName: 'Friday' });
        expect(faults.splice(0)).toEqual([]);
        expect(error).toBe(undefined);
        expect(requests).toBe(before + 1);
      });
    }

    test.each<[string, Partial<ModelRequest>]>([
      ['no tools', { tools: [] }],
      ['any tool', { toolChoice: 'auto' }],
      ['no choice', { toolChoice: 'none' }],
      ['a forced choice', { toolChoice: 'required' }],
      ['a named tool', { toolChoice: { name: 'get_time' } }],
      ['some tools allowed', { toolChoice: { allowed: ['get_time'] } }],
      [
        'some tools allowed, one required',
        { toolChoice: { allowed: ['get_time', 'get_capital'], mode: 'required' } },
      ],
      ['a length', { generation: { maxTokens: 100, temperature: 0.5, topP: 0.9, stop: ['END'] } }],
    ])('with %s are accepted', async (_, more) => {
      const { error } = await ask({ messages: TRAVEL, tools: TOOLS, ...more });
      expect(faults.splice(0)).toEqual([]);
      expect(error).toBe(undefined);
    });

    test('of any history at all are accepted', async () => {
      let seen = 0;
      const numRuns = sampleOf(`histories sent to ${wire.name}`, 200, wire.isVariant ? 20 : 60);
      const sent: SentRequest[] = [];
      const fetch = fetchOf(
        { pieces: [fixture('plain')], headers: { 'content-type': wire.contentType } },
        sent,
      );
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyTurn, { maxLength: 8 }),
          fc.constantFrom(...Object.values(FORMATTERS)),
          async (msgs, make) => {
            const messages = [...msgs, Msg.user('And now?')];
            const model = wire.makeModel({ fetch });
            await outcomeOf(model, { messages, tools: TOOLS, formatter: make(), agentName: 'Friday' });
            const { url, headers, body } = sent.splice(0)[0]!;
            expect(wire.faultsIn(JSON.parse(body) as JsonObject, new URL(url).pathname, headers)).toEqual([]);
            seen++;
          },
        ),
        { numRuns },
      );
      expect(seen).toBeGreaterThanOrEqual(numRuns);
    });

    test('do not change what was sent before, byte for byte', async () => {
      const sent: SentRequest[] = [];
      const fetch = fetchOf(
        { pieces: [fixture('plain')], headers: { 'content-type': wire.contentType } },
        sent,
      );
      const model = wire.makeModel({ fetch });
      for (let n = 2; n <= TRAVEL.length; n++) {
        if (TRAVEL[n]?.hasContentBlocks('tool_result')) continue; // nobody asks between a call and its result
        if (wire.endsWithUser && TRAVEL[n - 1]?.role === 'assistant') continue;
        await outcomeOf(model, { messages: TRAVEL.slice(0, n), tools: TOOLS });
      }
      const histories = sent.map(({ body }) => historyText(body, wire.historyField));
      expect(histories.length).toBeGreaterThan(wire.endsWithUser ? 6 : 8);
      histories.reduce((before, next) => {
        expect(next.startsWith(before)).toBe(true);
        expect(next.length).toBeGreaterThan(before.length);
        return next;
      });
    });

    test('make the wire form of a message only once', async () => {
      const sent: SentRequest[] = [];
      const fetch = fetchOf(
        { pieces: [fixture('plain')], headers: { 'content-type': wire.contentType } },
        sent,
      );
      const model = wire.makeModel({ fetch });
      const old = Array.from({ length: 400 }, (_, i) => [
        Msg.user(`Question ${i}`),
        Msg.assistant([{ type: 'tool_use', id: `c${i}`, name: 'get_time', input: {} }]),
        Msg.system([
          { type: 'tool_result', id: `c${i}`, name: 'get_time', output: `It is ${i}.`, status: 'ok' },
        ]),
        Msg.assistant(`Answer ${i}`),
      ]).flat();
      const tools: readonly ToolSchema[] = TOOLS;
      const first = await countStringify(() =>
        outcomeOf(model, { messages: [...old, Msg.user('New.')], tools }),
      );
      const second = await countStringify(() =>
        outcomeOf(model, {
          messages: [...old, Msg.user('New.'), Msg.assistant('So.'), Msg.user('Newer.')],
          tools,
        }),
      );
      expect(first).toBeGreaterThan(1600);
      expect(second).toBeLessThan(60);
      expect(
        historyText(sent[1]!.body, wire.historyField).startsWith(
          historyText(sent[0]!.body, wire.historyField),
        ),
      ).toBe(true);
    });
  });
}

/** The history in a body, without the closing bracket. */
function historyText(body: string, field: string): string {
  const history = (JSON.parse(body) as JsonObject)[field];
  const text = JSON.stringify(history).slice(0, -1);
  const start = body.indexOf(`"${field}":[`) + field.length + 3;
  const raw = body.slice(start, start + text.length);
  expect(raw).toBe(text); // so that comparing texts compares bytes
  return raw;
}

/** Number of calls of `JSON.stringify` during the work. */
async function countStringify(body: () => Promise<unknown>): Promise<number> {
  const original = JSON.stringify;
  let count = 0;
  const counting = (value: unknown): string => {
    count++;
    return original(value);
  };
  JSON.stringify = counting as typeof JSON.stringify;
  try {
    await body();
  } finally {
    JSON.stringify = original;
  }
  return count;
}
