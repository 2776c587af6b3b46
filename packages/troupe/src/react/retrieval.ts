import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { LongTermMemoryMode } from '../longterm/long-term-memory-base.ts';
import { programMsg, type Msg } from '../message/msg.ts';
import { callStructured } from '../model/structured/structured-output.ts';
import { knowledgeCitationsOf, documentBlocks, type KnowledgeCitation } from '../rag/citation-text.ts';
import type { RetrievedDocument } from '../rag/knowledge-base.ts';
import { KNOWLEDGE_TOOL, knowledgeTool } from '../rag/knowledge-tool.ts';
import { retrieveFromAll } from '../rag/retrieve-knowledge.ts';
import { traced } from '../tracing/instrumentation.ts';
import { withDeadline } from '../util/async/deadline.ts';
import { longTermTools } from '../longterm/long-term-tools.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { isJsonObject, type JsonObject } from '../util/json.ts';
import { hintMsg } from './hints.ts';
import { knowledgeBases, type ReActAgentOptions } from './react-agent-options.ts';
import type { ReplyState } from './reply-state.ts';
import type { TurnControl } from '../agent/turn/turn-control.ts';
import { escapeTags } from '../util/escape-tags.ts';

/** Time limit of a long-term memory or knowledge base; the reply goes on without. */
const LIMIT_MS = 120_000;
const REWRITE =
  'Write what the user wants to know as a search query that stands by itself: name what words such as "it" mean, and leave nothing out.';

/**
 * Finds what the long-term memory and the knowledge bases have about the input. It is part of each prompt of the reply, and kept in memory
 * only if `keepRetrieved` says so. A failure leaves out only its own part.
 */
export async function retrieveContext(input: readonly Msg[], reply: ReplyState): Promise<void> {
  const msgs = input.length > 0 ? input : await requestOf(reply);
  if (msgs.length === 0) return;
  const found = [...(await fromLongTermMemory(msgs, reply)), ...(await fromKnowledge(msgs, reply))];
  if (reply.options.keepRetrieved) await reply.remember(found);
  else reply.retrieved = found;
  for (const { id } of found) reply.retrievedIds.add(id);
}

/** The request of a reply that continues after a decision: what was retrieved for it is in no prompt any more. */
async function requestOf({ memory, options, agent, requestIds }: ReplyState): Promise<readonly Msg[]> {
  const isUsed = agent.self.knowledge.length > 0 || options.longTermMemory !== undefined;
  if (options.keepRetrieved || !isUsed) return [];
  return (await memory.recall()).filter(({ id, role }) => role === 'user' && requestIds.has(id));
}

/** Records the messages of a reply in the long-term memory, without what came from there. */
export async function recordExperience({ added, options, control, retrievedIds }: ReplyState): Promise<void> {
  const { longTermMemory, longTermMemoryMode } = options;
  if (longTermMemory === undefined || !isStatic(longTermMemoryMode)) return;
  const msgs = added.filter(({ id }) => !retrievedIds.has(id));
  await attempt('record what was said', control, (signal) =>
    control.steps.run({ kind: 'knowledge', name: 'record to long-term memory' }, () =>
      longTermMemory.record(msgs, { signal }),
    ),
  );
}

/** Tools with which the model itself uses the long-term memory and the knowledge bases, in the modes that allow it. */
export function toolsOfKnowledge(options: ReActAgentOptions): readonly Tool[] {
  const { longTermMemory, longTermMemoryMode, knowledgeMode } = options;
  const bases = knowledgeBases(options);
  return [
    ...(longTermMemory === undefined || longTermMemoryMode === 'static_control'
      ? []
      : longTermTools(longTermMemory)),
    ...(bases.length > 0 && knowledgeMode === 'agentic' ? [knowledgeTool(bases)] : []),
  ];
}

/** Sources of a reply: documents retrieved before the first model call, and documents found by the model's searches. */
export function citationsIn({ citations, added }: ReplyState): readonly KnowledgeCitation[] {
  const searched = added
    .flatMap((msg) => msg.getContentBlocks('tool_result'))
    .filter(({ name }) => name === KNOWLEDGE_TOOL)
    .flatMap(({ metadata }) => metadata?.['citations'] ?? []);
  return [...citations, ...searched.filter(isCitation)];
}

function isCitation(value: unknown): value is KnowledgeCitation {
  return isJsonObject(value) && typeof value['number'] === 'number' && typeof value['score'] === 'number';
}

async function fromLongTermMemory(
  msgs: readonly Msg[],
  { options, control }: ReplyState,
): Promise<readonly Msg[]> {
  const { longTermMemory, longTermMemoryMode } = options;
  if (longTermMemory === undefined || !isStatic(longTermMemoryMode)) return [];
  const text = await attempt('look into the long-term memory', control, (signal) =>
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
  const content = `<long_term_memory>${escapeTags(text)}</long_term_memory>`;
  return [programMsg(content, { name: 'long_term_memory' })];
}

async function fromKnowledge(msgs: readonly Msg[], reply: ReplyState): Promise<readonly Msg[]> {
  const { enableRewriteQuery = true, knowledgeMode = 'generic' } = reply.options;
  const { control } = reply;
  const bases = reply.agent.self.knowledge;
  const said = textOfAll(msgs);
  if (bases.length === 0 || said === '' || knowledgeMode !== 'generic') return [];
  const query = (enableRewriteQuery && (await rewritten(reply))) || said;
  const found = await attempt('search the knowledge bases', control, (signal) =>
    control.steps.run({ kind: 'knowledge', name: 'search knowledge bases' }, () => {
      const failures: unknown[] = [];
      const onFailure = (_: object, error: unknown): void => void failures.push(error);
      return retrieveFromAll(bases, query, { signal, onFailure }).then(async (documents) => {
        if (failures.length > 0) await report('search a knowledge base', control, failures[0]);
        return documents;
      });
    }),
  );
  if (found === undefined || found.length === 0) return [];
  reply.citations = knowledgeCitationsOf(found);
  return [knowledgeMsg(found)];
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
  return attempt('make the question clearer', control, async (signal) => {
    const step = { kind: 'model', name: 'rewrite query', modelName: model.modelName } as const;
    const { query, usage } = await control.steps.run(step, async () => {
      const messages = [...(await memory.recall()), hintMsg(REWRITE)];
      const schema = textSchema('rewritten_query', 'What to search for.');
      const request = { messages, generation, formatter, agentName: agent.self.name };
      const { value, usage } = await callStructured(model, request, schema, { signal });
      return { query: isJsonObject(value) ? textOf(value, 'rewritten_query').trim() : '', usage };
    });
    await control.addUsage(usage); // after the step, so that a replayed run counts the usage too
    return query;
  });
}

function knowledgeMsg(documents: readonly RetrievedDocument[]): Msg {
  const [open, close] = ['<retrieved_knowledge>', '</retrieved_knowledge>'];
  return programMsg([
    { type: 'text', text: open },
    ...documentBlocks(documents),
    { type: 'text', text: close },
  ]);
}

/**
 * Resolves to undefined on failure, which is logged and sent as an `error` event: the reply goes on without.
 * @param body gets a signal that is aborted at the time limit too
 */
async function attempt<T>(
  what: string,
  control: TurnControl,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withDeadline({ timeoutMs: LIMIT_MS, signal: control.signal }, body);
  } catch (error) {
    control.signal.throwIfAborted();
    await report(what, control, error);
    return undefined;
  }
}

async function report(what: string, control: TurnControl, error: unknown): Promise<void> {
  const message = `Could not ${what}: ${messageOf(error)}`;
  getLogger().log('warn', message);
  await control.emit({ type: 'error', error: { message } });
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
