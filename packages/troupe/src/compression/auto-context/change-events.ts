import type { CompressionEvent } from '../../event/agent-event.ts';
import { now } from '../../util/clock.ts';
import type { AutoContextEvent, CompressionMeans } from './auto-context-event.ts';
import type { Answer } from './summarizer.ts';
import type { Changed } from './working-memory.ts';

/** What is kept of a change. */
export function keptEvent(
  means: CompressionMeans,
  answer: Answer | undefined,
  changed: Changed,
  tokensRemoved: number,
): AutoContextEvent {
  const { change, previousMessageId, nextMessageId, tokensBefore, tokensAfter } = changed;
  const usage = answer?.usage;
  return Object.freeze({
    eventType: means.toUpperCase() as Uppercase<CompressionMeans>,
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
export function toldEvent(
  means: CompressionMeans,
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
