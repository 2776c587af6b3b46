import type { SpecTypes } from '@modelcontextprotocol/client';

import { messageOf } from '../../../errors.ts';
import { Msg } from '../../../message/msg.ts';
import type { Usage } from '../../../message/usage.ts';
import type { ChatModelBase } from '../../../model/chat-model-base.ts';
import { fromSamplingContent, toSamplingContent } from '../../protocol/sampling-content.ts';

/** Lets a server use a model, within limits. */
export interface McpSamplingOptions {
  /** Model that answers, such as the agent's. */
  readonly model: ChatModelBase;
  /** Maximum tokens of one answer. @default 1000 */
  readonly maxTokens?: number;
  /** Maximum requests during one tool call; further ones are refused. @default 5 */
  readonly maxRequests?: number;
  /** Maximum characters of a request; a longer one is refused. @default 50 000 */
  readonly maxChars?: number;
  /** `ask`: a person allows each request, as a question of the pending tool call. `allow`: no question. @default 'ask' */
  readonly approval?: 'ask' | 'allow';
}

/** Request of a server for the model. */
export type SamplingParams = SpecTypes['CreateMessageRequestParams'];
/** Answer of the model. */
export type SamplingResult = SpecTypes['CreateMessageResult'];

/** A request for the model, read and measured. */
export interface SamplingRequest {
  readonly messages: readonly Msg[];
  /** The conversation as text, for the person who is asked. */
  readonly shown: string;
}

/** Reads a request of a server. @throws Error that says which limit is exceeded */
export function readSampling(
  { messages: given, systemPrompt }: SamplingParams,
  { maxChars = 50_000 }: McpSamplingOptions,
): SamplingRequest {
  const size = JSON.stringify(given).length + (systemPrompt?.length ?? 0);
  if (size > maxChars) throw new Error(`the request has more than ${maxChars} characters`);
  const system = systemPrompt === undefined ? [] : [Msg.system(systemPrompt)];
  const others = given.map(({ role, content }) =>
    role === 'user' ? Msg.user(fromSamplingContent(content)) : Msg.assistant(fromSamplingContent(content)),
  );
  const messages = [...system, ...others];
  const shown = messages.map((msg) => `${msg.role}: ${msg.text}${mediaNote(msg)}`).join('\n');
  return { messages, shown };
}

function mediaNote(msg: Msg): string {
  const media = msg.getContentBlocks(['image', 'audio']);
  return media.length === 0 ? '' : ` (with ${media.map(({ type }) => type).join(', ')})`;
}

interface SamplingCosts {
  readonly signal: AbortSignal;
  readonly onUsage: (usage: Usage | undefined) => void | Promise<void>;
}

/** Asks the model. @throws Error without details of the model's failure, which are not the server's business */
export async function answerSampling(
  { messages }: SamplingRequest,
  { maxTokens: wanted, temperature, stopSequences }: SamplingParams,
  { model, maxTokens = 1000 }: McpSamplingOptions,
  { signal, onUsage }: SamplingCosts,
): Promise<SamplingResult> {
  const generation = { maxTokens: Math.min(wanted, maxTokens), temperature, stop: stopSequences };
  let msg: Msg;
  try {
    msg = await model.call({ messages, generation }, { signal });
  } catch (error) {
    throw new Error('the model failed', { cause: messageOf(error) });
  }
  await onUsage(msg.usage);
  const isCut = msg.finishReason === 'length';
  const text = { type: 'text', text: msg.text } as const;
  const { content } = toSamplingContent(msg);
  const [only = text] = [content].flat();
  const isSimple = only.type === 'text' || only.type === 'image' || only.type === 'audio';
  return {
    role: 'assistant',
    model: model.modelName,
    stopReason: isCut ? 'maxTokens' : 'endTurn',
    content: isSimple ? only : text,
  };
}
