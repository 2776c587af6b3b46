import type { CompressionEvent } from '../../event/agent-event.ts';
import type { Usage } from '../../message/usage.ts';
import { now } from '../../util/clock.ts';
import { copyJsonObject, type JsonValue } from '../../util/json.ts';
import type { AppliedChange } from './working-memory.ts';

/** Result of one request for a summary: a text, or the reason why there is none. Must be JSON. */
export type SummaryAnswer = {
  readonly text: string;
  readonly durationMs: number;
  readonly usage?: Usage;
  readonly problem?: string;
  /** True if the model exceeded the time limit. */
  readonly hasHung?: true;
};

/** Compression strategies in the order of their first use. The texts are part of events and saved state. */
export const STRATEGIES = [
  'tool_invocation_compress',
  'large_message_offload_with_protection',
  'large_message_offload',
  'previous_round_conversation_summary',
  'current_round_large_message_summary',
  'current_round_message_compress',
] as const;

export type AutoContextStrategy = (typeof STRATEGIES)[number];

/** Offloads messages without a model after all strategies. Can't be switched off. */
export const LAST_RESORT = 'last_resort_offload';

export type CompressionStrategy = AutoContextStrategy | typeof LAST_RESORT;

/** Record of one compression, in AgentScope's format. Must be JSON. */
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
    /**
     * Usage of the model call. Without a model call: tokens of the removed messages and of their replacement.
     */
    readonly inputToken: number;
    readonly outputToken: number;
    /** Duration of the model call in seconds. */
    readonly time: number;
    /** Tokens of the prompt before and after the compression: system prompt, tools, messages and hints. */
    readonly tokenBefore: number;
    readonly tokenAfter: number;
    readonly usage?: Usage;
  };
};

const TYPES: readonly string[] = [...STRATEGIES, LAST_RESORT].map((strategy) => strategy.toUpperCase());

/** @throws TypeError if the JSON is not a compression event. */
export function eventFromJson(json: JsonValue): AutoContextEvent {
  const event = copyJsonObject(json, 'the event');
  if (typeof event['eventType'] !== 'string' || !TYPES.includes(event['eventType'])) {
    throw new TypeError('an event has an unknown type');
  }
  for (const key of ['timestamp', 'compressedMessageCount']) {
    if (typeof event[key] !== 'number') throw new TypeError(`an event has no ${key}`);
  }
  copyJsonObject(event['metadata'], 'the metadata of an event');
  return event as AutoContextEvent;
}

/** Record of an applied change for `getCompressionEvents` and the saved state. */
export function storedEvent(
  strategy: CompressionStrategy,
  answer: SummaryAnswer | undefined,
  changed: AppliedChange,
  tokensRemoved: number,
): AutoContextEvent {
  const { change, previousMessageId, nextMessageId, tokensBefore, tokensAfter } = changed;
  const usage = answer?.usage;
  return Object.freeze({
    eventType: strategy.toUpperCase() as Uppercase<CompressionStrategy>,
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

/** Agent event of an applied change. */
export function emittedEvent(
  strategy: CompressionStrategy,
  answer: SummaryAnswer | undefined,
  changed: AppliedChange,
): CompressionEvent {
  const { change, previousMessageId, nextMessageId, tokensBefore, tokensAfter } = changed;
  return {
    type: 'compression',
    phase: 'end',
    strategy,
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
