import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { LongTermMemoryMode } from '../longterm/long-term-memory-base.ts';
import { Msg } from '../message/msg.ts';
import { callStructured } from '../model/structured/structured-output.ts';
import type { KnowledgeBase, RetrievedDocument } from '../rag/knowledge-base.ts';
import { traced } from '../tracing/instrumentation.ts';
import { withDeadline } from '../util/async/deadline.ts';
import { tool, type Tool } from '../toolkit/tool/tool.ts';
import { isJsonObject, type JsonObject } from '../util/json.ts';
import { hintMsg } from './hints.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import type { ReplyState } from './reply-state.ts';
import type { TurnControl } from '../agent/turn/turn-control.ts';
import { escapeTags } from '../util/escape-tags.ts';

/** Time limit of a long-term memory or knowledge base; the reply goes on without. */
const LIMIT_MS = 120_000;
const REWRITE =
  'Write what the user wants to know as a search query that stands by itself: name what words such as "it" mean, and leave nothing out.';

/** Messages from the long-term memory and the knowledge bases that match the input. A failure leaves out only its own part. */
export async function retrieveContext(msgs: readonly Msg[], reply: ReplyState): Promise<readonly Msg[]> {
  if (msgs.length === 0) return [];
  return [...(await fromLongTermMemory(msgs, reply)), ...(await fromKnowledge(msgs, reply))];
}

/** Records the messages of a reply in the long-term memory. */
export async function recordExperience({ added, options, control }: ReplyState): Promise<void> {
  const { longTermMemory, longTermMemoryMode } = options;
  if (longTermMemory === undefined || !isStatic(longTermMemoryMode)) return;
  await attempt('record what was said', control, () =>
    control.steps.run({ kind: 'knowledge', name: 'record to long-term memory' }, () =>
      longTermMemory.record(added, { signal: control.signal }),
    ),
  );
}

/** Tools with which the model itself uses the long-term memory, in the modes that allow it. */
export function memoryTools({ longTermMemory, longTermMemoryMode }: ReActAgentOptions): readonly Tool[] {
  if (longTermMemory === undefined || longTermMemoryMode === 'static_control') return [];
  return [
    tool({
      name: 'record_to_memory',
      description:
        'Remembers something for good: facts, wishes and experiences that may matter in later conversations.',
      schema: textSchema('content', 'What to remember.'),
      execute: async (input, { signal }) => {
        await longTermMemory.record([Msg.user(textOf(input, 'content'))], { signal });
        return 'It is remembered.';
      },
    }),
    tool({
      name: 'retrieve_from_memory',
      description: 'Searches the long-term memory.',
      schema: textSchema('query', 'What to look for.'),
      readOnly: true,
      execute: async (input, { signal }) =>
        (await longTermMemory.retrieve([Msg.user(textOf(input, 'query'))], { signal })) ||
        'The memory holds nothing about the query.',
    }),
  ];
}

async function fromLongTermMemory(
  msgs: readonly Msg[],
  { options, control }: ReplyState,
): Promise<readonly Msg[]> {
  const { longTermMemory, longTermMemoryMode } = options;
  if (longTermMemory === undefined || !isStatic(longTermMemoryMode)) return [];
  const { signal } = control;
  const text = await attempt('look into the long-term memory', control, () =>
    traced(
      () => ({
        type: 'retrieval',
        source: longTermMemory.id ?? 'long_term_memory',
        query: () => textOfAll(msgs),
      }),
      () =>
        control.steps.run({ kind: 'knowledge', name: 'retrieve from long-term memory' }, () =>
          longTermMemory.retrieve(msgs, { signal }),
        ),
      { signal },
    ),
  );
  if (typeof text !== 'string' || text === '') return [];
  return [Msg.user(`<long_term_memory>${escapeTags(text)}</long_term_memory>`, { name: 'long_term_memory' })];
}

async function fromKnowledge(msgs: readonly Msg[], reply: ReplyState): Promise<readonly Msg[]> {
  const { enableRewriteQuery = true } = reply.options;
  const { control } = reply;
  const bases = reply.agent.self.knowledge;
  if (bases.length === 0) return [];
  const said = textOfAll(msgs);
  if (said === '') return [];
  const query = (enableRewriteQuery && (await rewritten(reply))) || said;
  const msg = await attempt('search the knowledge bases', control, async () => {
    const found = await control.steps.run({ kind: 'knowledge', name: 'search knowledge bases' }, () =>
      Promise.all(bases.map((base) => searched(base, query, control.signal))),
    );
    return knowledgeMsg(found.flat());
  });
  return msg === undefined ? [] : [msg];
}

function searched(
  base: KnowledgeBase,
  query: string,
  signal: AbortSignal,
): Promise<readonly RetrievedDocument[]> {
  return traced(
    () => ({ type: 'retrieval', source: base.id ?? 'knowledge_base', query: () => query }),
    () => base.retrieve(query, { signal }),
    { signal, outcomeOf: ({ length }) => ({ status: 'ok', count: length }) },
  );
}

function textOfAll(msgs: readonly Msg[]): string {
  return msgs
    .map((msg) => msg.text)
    .join('\n')
    .trim();
}

/** The input as a search query that needs no history; undefined if the model call fails. */
async function rewritten({ options, control, memory, agent }: ReplyState): Promise<string | undefined> {
  const { model, generation, formatter } = options;
  return attempt('make the question clearer', control, async () => {
    const step = { kind: 'model', name: 'rewrite query', modelName: model.modelName } as const;
    const { query, usage } = await control.steps.run(step, async () => {
      const messages = [...(await memory.recall()), hintMsg(REWRITE)];
      const schema = textSchema('rewritten_query', 'What to search for.');
      const request = { messages, generation, formatter, agentName: agent.self.name };
      const { value, usage } = await callStructured(model, request, schema, { signal: control.signal });
      return { query: isJsonObject(value) ? textOf(value, 'rewritten_query').trim() : '', usage };
    });
    await control.addUsage(usage); // after the step, so that a replayed run counts the usage too
    return query;
  });
}

function knowledgeMsg(documents: readonly RetrievedDocument[]): Msg | undefined {
  if (documents.length === 0) return undefined;
  const best = documents
    .toSorted((a, b) => b.score - a.score)
    .map(({ content }) =>
      content.type === 'text' ? { ...content, text: escapeTags(content.text) } : content,
    );
  const [open, close] = ['<retrieved_knowledge>', '</retrieved_knowledge>'];
  return Msg.user([{ type: 'text', text: open }, ...best, { type: 'text', text: close }]);
}

/** Resolves to undefined on failure, which is logged and sent as an `error` event: the reply goes on without. */
async function attempt<T>(
  what: string,
  control: TurnControl,
  body: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withDeadline({ timeoutMs: LIMIT_MS, signal: control.signal }, body);
  } catch (error) {
    control.signal.throwIfAborted();
    const message = `Could not ${what}: ${messageOf(error)}`;
    getLogger().log('warn', message);
    await control.emit({ type: 'error', error: { message } });
    return undefined;
  }
}

function isStatic(mode: LongTermMemoryMode = 'both'): boolean {
  return mode !== 'agent_control';
}

function textSchema(name: string, description: string): JsonObject {
  return { type: 'object', properties: { [name]: { type: 'string', description } }, required: [name] };
}

function textOf(input: JsonObject, name: string): string {
  const text = input[name];
  return typeof text === 'string' ? text : '';
}
