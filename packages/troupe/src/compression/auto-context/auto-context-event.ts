import type { CompressionEvent } from '../../event/agent-event.ts';
import type { Usage } from '../../message/usage.ts';
import { now } from '../../util/clock.ts';
import { copyJsonObject, type JsonValue } from '../../util/json.ts';
import type { Answer } from './summarizer.ts';
import type { Changed } from './working-memory.ts';

/** The ways to make a conversation smaller, in the order in which they are tried. */
export const STRATEGIES = [
  'tool_invocation_compress',
  'large_message_offload_with_protection',
  'large_message_offload',
  'previous_round_conversation_summary',
  'current_round_large_message_summary',
  'current_round_message_compress',
] as const;

export type AutoContextStrategy = (typeof STRATEGIES)[number];

/** What to do when all of them were not enough. It can't be switched off. */
export const LAST_RESORT = 'last_resort_offload';

export type CompressionStrategy = AutoContextStrategy | typeof LAST_RESORT;

/** What was done to a conversation, as AgentScope keeps it. It is JSON. */
export type AutoContextEvent = {
  /** The strategy in capitals, such as `TOOL_INVOCATION_COMPRESS`. */
  readonly eventType: Uppercase<CompressionStrategy>;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly compressedMessageCount: number;
  readonly previousMessageId: string | null;
  readonly nextMessageId: string | null;
  readonly compressedMessageId: string | null;
  readonly metadata: {
    /** What the model read and wrote; without a model, the tokens that were replaced and those in their place. */
    readonly inputToken: number;
    readonly outputToken: number;
    /** Seconds. */
    readonly time: number;
    /** Tokens of the conversation. */
    readonly tokenBefore: number;
    readonly tokenAfter: number;
    readonly usage?: Usage;
  };
};

const TYPES: readonly string[] = [...STRATEGIES, LAST_RESORT].map((means) => means.toUpperCase());

/** @throws TypeError if it is no event. */
export function eventFromJson(json: JsonValue): AutoContextEvent {
  const event = copyJsonObject(json, 'the event');
  if (typeof event['eventType'] !== 'string' || !TYPES.includes(event['eventType'])) {
    throw new TypeError('an event has a type that is not known');
  }
  for (const key of ['timestamp', 'compressedMessageCount']) {
    if (typeof event[key] !== 'number') throw new TypeError(`an event has no ${key}`);
  }
  copyJsonObject(event['metadata'], 'the metadata of an event');
  return event as AutoContextEvent;
}

/** What is kept of a change. */
export function storedEvent(
  means: CompressionStrategy,
  answer: Answer | undefined,
  changed: Changed,
  tokensRemoved: number,
): AutoContextEvent {
  const { change, previousMessageId, nextMessageId, tokensBefore, tokensAfter } = changed;
  const usage = answer?.usage;
  return Object.freeze({
    eventType: means.toUpperCase() as Uppercase<CompressionStrategy>,
    timestamp: now(),
    compressedMessageCount: change.removed.length,
    previousMessageId,
    nextMessageId,
    compressedMessageId: change.msg.id,
    metadata: Object.freeze({
      inputToken: answer === undefined ? tokensRemoved : (usage?.inputTokens ?? 0),
      outputToken: answer === undefined ? change.tokens : (usage?.outputTokens ?? 0),
      time: (answer?.durationMs ?? 0) / 1000,
      tokenBefore: tokensBefore,
      tokenAfter: tokensAfter,
      ...(usage && { usage }),
    }),
  });
}

/** What is told of it while it happens. */
export function emittedEvent(
  means: CompressionStrategy,
  answer: Answer | undefined,
  changed: Changed,
): CompressionEvent {
  const { change, previousMessageId, nextMessageId, tokensBefore, tokensAfter } = changed;
  return {
    type: 'compression',
    phase: 'end',
    strategy: means,
    compressedMessageCount: change.removed.length,
    tokensBefore,
    tokensAfter,
    ...(previousMessageId !== null && { previousMessageId }),
    ...(nextMessageId !== null && { nextMessageId }),
    compressedMessageId: change.msg.id,
    ...(answer && { durationMs: answer.durationMs }),
    ...(answer?.usage && { usage: answer.usage }),
  };
}
