import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ConversationView } from '../../src/event/conversation-view.ts';
import { InMemoryMemory } from '../../src/memory/in-memory-memory.ts';
import { findHistoryFaults } from '../../src/message/history.ts';
import { Msg } from '../../src/message/msg.ts';
import type { ChatModelBase } from '../../src/model/chat-model-base.ts';
import type { HttpModelOptions } from '../../src/model/http/http-chat-model.ts';
import { ReActAgent } from '../../src/react/react-agent.ts';
import { InMemorySession } from '../../src/session/in-memory-session.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';
import type { JsonObject } from '../../src/util/json.ts';
import type { Fetch } from '../../src/util/net/http.ts';
import { OTHER_WIRES, type CheckedWire } from './checked-wires.ts';
import { fetchOf, readFixtures, type SentRequest } from './replay.ts';

/** A recorded answer with a tool of the provider, and what must go back. */
export interface ProviderToolCase {
  /** Name of the fixture. */
  readonly name: string;
  /** The items or blocks of the second request that stand for the answer, field by field. */
  readonly sentBack: readonly JsonObject[];
  /** Fixtures with the next answers, before the plain one. */
  readonly next?: readonly string[];
  /** Words that another vendor must read. */
  readonly inWords?: readonly string[];
}

export interface ProviderToolSuite {
  readonly wire: CheckedWire;
  readonly makeModel: (options: Omit<HttpModelOptions, 'modelName'>) => ChatModelBase;
  /** The answer in a request: the blocks of the first assistant message, or the items behind the user's. */
  readonly answerIn: (body: JsonObject) => unknown;
  readonly cases: readonly ProviderToolCase[];
}

const run = (name: string) =>
  tool({ name, description: name, schema: z.looseObject({}), execute: () => `Result of ${name}` });
const TOOL_NAMES = [
  'get_time',
  'get_capital',
  'shell',
  'local_shell',
  'apply_patch',
  'write_sql',
  'mcp_approval',
  'computer',
  'tool_search',
];

/** Sends the answers one after the other, the last again and again. */
function fetchInTurn(answers: readonly Uint8Array[], contentType: string, sent: SentRequest[]): Fetch {
  return (url, init) => {
    const pieces = [answers[Math.min(sent.length, answers.length - 1)] as Uint8Array];
    return fetchOf({ pieces, headers: { 'content-type': contentType } }, sent)(url, init);
  };
}

export function describeProviderTools({ wire, makeModel, answerIn, cases }: ProviderToolSuite): void {
  const fixtures = readFixtures(wire.folder);
  const fixture = (name: string): Uint8Array => fixtures.get(name) ?? new Uint8Array();
  const agentWith = (answers: readonly string[], sent: SentRequest[]): ReActAgent =>
    new ReActAgent({
      name: 'Friday',
      model: makeModel({ fetch: fetchInTurn([...answers, 'plain'].map(fixture), wire.contentType, sent) }),
      memory: new InMemoryMemory(),
      toolkit: new Toolkit({ tools: TOOL_NAMES.map(run) }),
      console: false,
    });
  const bodyOf = ({ body }: SentRequest): JsonObject => JSON.parse(body) as JsonObject;
  const faultsOf = (request: SentRequest): string[] => wire.faultsIn(bodyOf(request));

  describe.each(cases)(
    `${wire.folder}: an agent with $name`,
    ({ name, sentBack, next = [], inWords = [] }) => {
      const answers = [name, ...next];
      test('sends back what the vendor demands, also after a session was saved and loaded', async () => {
        const first: SentRequest[] = [];
        const agent = agentWith(answers, first);
        const seen: string[] = [];
        agent.registerInstanceHook('postReasoning', 'watch', (_agent, _args, msg) => {
          seen.push(...msg.getContentBlocks().map(({ type }) => type));
          return undefined;
        });
        const view = new ConversationView();
        for await (const event of agent.stream('Please look it up.')) view.add(event);
        const history = await agent.memory.getMemory();
        expect(findHistoryFaults(history)).toEqual([]);
        expect(seen).toEqual(
          history
            .filter(({ role }) => role === 'assistant')
            .flatMap((msg) => msg.getContentBlocks().map(({ type }) => type)),
        );
        expect(view.messages.map(({ content }) => content)).toEqual(
          history.slice(1).map((msg) => msg.getContentBlocks()),
        );

        const session = new InMemorySession();
        await session.save('one', { agent });
        const second: SentRequest[] = [];
        const loaded = agentWith([], second);
        await session.load('one', { agent: loaded });
        expect(await loaded.memory.getMemory()).toEqual(history);
        await loaded.call('And now?');
        for (const request of [...first, ...second]) expect(faultsOf(request)).toEqual([]);
        expect(answerIn(bodyOf(second[0] as SentRequest))).toEqual(sentBack);
      });

      test('is left in order by an interrupt at every event', async () => {
        for (let point = 0, events = Infinity; point < events; point++) {
          const sent: SentRequest[] = [];
          const agent = agentWith(answers, sent);
          events = 0;
          for await (const _event of agent.stream('Please look it up.'))
            if (events++ === point) void agent.interrupt('stop');
          expect(findHistoryFaults(await agent.memory.getMemory()), `event ${point}`).toEqual([]);
          await agent.call('And now?');
          expect(sent.flatMap(faultsOf), `event ${point}`).toEqual([]);
        }
      });

      test.each(OTHER_WIRES.filter((other) => other.folder !== wire.folder))(
        'goes on with $folder, which reads text',
        async (other) => {
          const agent = agentWith(answers, []);
          await agent.call('Please look it up.');
          const sent: SentRequest[] = [];
          const answer = { pieces: [other.plain], headers: { 'content-type': other.contentType } };
          const model = other.makeModel({ fetch: fetchOf(answer, sent) });
          await model.call({ messages: [...(await agent.memory.getMemory()), Msg.user('And now?')] });
          const [request] = sent;
          expect(other.faultsIn(bodyOf(request as SentRequest))).toEqual([]);
          for (const word of inWords) expect(request?.body).toContain(word);
          expect(request?.body).not.toMatch(/"encrypted_|srvtoolu_|providerMeta/);
        },
      );
    },
  );
}
