import type { LoopControl } from '../agent/turn/loop-control.ts';
import type { OpenExchange } from '../approval/open-exchange.ts';
import { suspensionMsg } from '../approval/suspension-msg.ts';
import type { ContentBlock, ToolResultBlock } from '../message/blocks.ts';
import type { EndReason } from '../message/end-reason.ts';
import { Msg } from '../message/msg.ts';
import { isJsonObject } from '../util/json.ts';
import type { ReplyState } from './reply-state.ts';
import { citationsIn, recordExperience } from './retrieval.ts';
import type { StructuredOutputTool } from './structured-output-tool.ts';

const NO_ANSWER = 'The model gave no answer, though it was asked again.';
const CUT_ANSWERS =
  'The model gave no answer: each was cut off at its limit of tokens. Raise maxTokens in the generation options.';

/** Ends the reply with an answer. A later interrupt does not change the answer. @param isStored false if memory has the content already */
export async function endReply(
  msg: Msg,
  reason: EndReason,
  reply: ReplyState,
  { isStored = true } = {},
): Promise<Msg> {
  const { control, agent } = reply;
  const answer = ended(msg, reason, reply);
  if (control.signal.aborted && isStored) {
    await reply.remember([answer]); // interrupted just now: the text is kept, then commit throws
    await agent.self.print(answer);
  }
  control.commit(answer);
  if (isStored) await reply.remember([answer]);
  try {
    await agent.self.print(answer);
    await recordExperience(reply);
  } catch (error) {
    if (!control.signal.aborted) throw error; // a late stop: the answer goes on to its hooks
  }
  return answer;
}

/** Ends the reply with an answer that is in memory already. */
export async function repeatAnswer(stored: Msg, reply: ReplyState): Promise<Msg> {
  const { control, agent, memory, structuredOutput } = reply;
  const isLoaded = structuredOutput !== undefined && stored.structured === undefined; // a loaded message has no `structured`: JSON keeps the metadata
  const answer = isLoaded
    ? stored.with({ structured: await structuredOutput.restore(stored, await memory.recall()) })
    : stored;
  control.commit(answer);
  await agent.self.print(answer);
  return answer;
}

/** Ends the reply with an error message, after several empty model messages. */
export function endWithoutAnswer(modelMsg: Msg, reply: ReplyState): Promise<Msg> {
  const { finishReason, responseId, answeredBy } = modelMsg;
  const text = finishReason === 'length' ? CUT_ANSWERS : NO_ANSWER;
  const { name } = reply.agent.self;
  return endReply(Msg.assistant(text, { name, finishReason, responseId, answeredBy }), 'error', reply);
}

/** Ends the reply with a question for decisions about the pending tool calls. @throws the reason of the signal, if interrupted just now */
export function endWithQuestion(open: OpenExchange, reply: ReplyState): Msg {
  const question = suspensionMsg(reply.agent.self.name, open.statuses.pending);
  return suspended(ended(question, 'tool_suspended', reply), open, reply);
}

/** Ends the reply because a hook wants it: with its message, or with the model message, whose tool calls stay unfinished. */
export async function endBeforeActing(
  open: OpenExchange,
  { answer }: LoopControl,
  reply: ReplyState,
): Promise<Msg> {
  const { modelMsg, calls } = open.exchange;
  if (answer !== undefined)
    return endReply(Msg.assistant(answer, { name: reply.agent.self.name }), 'stopped', reply);
  if (calls.length === 0) return endReply(modelMsg, 'stopped', reply);
  reply.beginExchange(open);
  try {
    return suspended(ended(modelMsg, 'stopped', reply), open, reply);
  } catch (error) {
    await reply.closeExchange(open);
    throw error;
  }
}

/** Ends the reply after tool calls, if a hook stopped the agent, or a tool gave the answer. Undefined if the reply goes on. */
export async function endAfterActing(open: OpenExchange, reply: ReplyState): Promise<Msg | undefined> {
  const { control } = open;
  if (control?.kind === 'stop') {
    const { answer = open.stoppedAt?.output ?? '' } = control;
    const msg = Msg.assistant(answer, { name: reply.agent.self.name });
    return endReply(msg, 'stopped', reply, { isStored: control.answer !== undefined });
  }
  if (control !== undefined) {
    await reply.remember(reply.asRequests(control.msgs));
    return undefined;
  }
  const { structuredOutput } = reply;
  if (structuredOutput === undefined) return endWithToolResult(open, reply);
  return endWithStructuredOutput(open, structuredOutput, reply);
}

/** Ends the reply with validated structured output, if the model has given it. */
async function endWithStructuredOutput(
  { exchange }: OpenExchange,
  structuredOutput: StructuredOutputTool,
  reply: ReplyState,
): Promise<Msg | undefined> {
  const output = await structuredOutput.read(exchange);
  if (output === undefined) return undefined;
  const { name } = reply.agent.self;
  const text = exchange.modelMsg.text || JSON.stringify(output.metadata);
  const { finishReason, responseId, answeredBy } = exchange.modelMsg;
  const answer = Msg.assistant(text, { name, finishReason, responseId, answeredBy, ...output });
  return endReply(answer, 'structured', reply);
}

/** Ends the reply with the message that a tool gave as the answer, or with the result of a tool with `returnDirect`. */
async function endWithToolResult({ exchange }: OpenExchange, reply: ReplyState): Promise<Msg | undefined> {
  const { name } = reply.agent.self;
  const { calls } = exchange;
  const results = calls.map(({ id }) => exchange.resultOf(id));
  const response = results.findLast((one) => one?.responseMsg !== undefined);
  if (response !== undefined) return endReply(responseOf(response, name), 'finished', reply);
  const [call, ...others] = calls;
  const [result] = results;
  if (call === undefined || others.length > 0 || result?.status !== 'ok') return undefined;
  if (!reply.toolkit.get(call.name)?.returnDirect) return undefined;
  return endReply(Msg.assistant(result.output, { name }), 'finished', reply);
}

/** The answer that a tool gave with its result. It is a new message, so that a tool may give the same one again. */
function responseOf({ output, responseMsg }: ToolResultBlock, name: string): Msg {
  if (!isJsonObject(responseMsg)) return Msg.assistant(output, { name });
  const { content, metadata } = Msg.from(responseMsg);
  const isAnswer = ({ type }: ContentBlock): boolean => type !== 'tool_use' && type !== 'tool_result';
  return Msg.assistant(typeof content === 'string' ? content : content.filter(isAnswer), { name, metadata });
}

/** Suspends the agent call, and pauses the time of its spending. */
function suspended(msg: Msg, open: OpenExchange, { control }: ReplyState): Msg {
  control.suspend(msg);
  open.spending.pause();
  return msg;
}

function ended(msg: Msg, endReason: EndReason, reply: ReplyState): Msg {
  const { usage } = reply.control.costs;
  // The metadata of structured output are exactly the validated object, and a question rests on nothing.
  const citations = endReason === 'structured' || endReason === 'tool_suspended' ? [] : citationsIn(reply);
  if (citations.length === 0) return msg.with({ endReason, usage });
  return msg.with({ endReason, usage, metadata: { ...msg.metadata, citations: [...citations] } });
}
