import type { ModelEndEvent } from '../../event/agent-event.ts';
import { toEventError } from '../../event/event-error.ts';
import { FINISH_REASONS } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import { elapsedSince, monotonic } from '../../util/clock.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import type { TurnState } from './turn-state.ts';
import type { Turn } from './turn.ts';

/** The agent call that makes a model call. */
export interface CallOfModel extends Pick<Turn, 'emit' | 'signal'> {
  readonly state: TurnState;
}

/** Sends `model_start` and `model_end` around a model call: one end for each start, however the model call ends. */
export async function withModelEvents<T>(
  purpose: string,
  modelName: string,
  control: CallOfModel,
  call: () => Promise<T>,
): Promise<T> {
  const about = { purpose, modelName };
  const startedAt = monotonic();
  const end = (rest: Omit<ModelEndEvent, 'type' | 'purpose' | 'modelName' | 'durationMs'>) =>
    control.emit({ type: 'model_end', ...about, ...rest, durationMs: elapsedSince(startedAt) });
  const waits = control.emit({ type: 'model_start', ...about });
  let result: T;
  try {
    if (waits) await waits;
    result = await call();
  } catch (error) {
    if (!control.signal.aborted) await end({ status: 'failed', error: toEventError(error) });
    else await end({ status: control.state.interrupt === undefined ? 'aborted' : 'interrupted' });
    throw error;
  }
  await end(endOf(result));
  return result;
}

/** Reads the end of a model call from the result of its step: a message, a summary with its usage, or either of them as JSON. */
function endOf(
  result: unknown,
): Pick<ModelEndEvent, 'status' | 'error' | 'msgId' | 'usage' | 'finishReason'> {
  const { id, role, usage, finishReason, problem } = (
    typeof result === 'object' && result !== null ? result : {}
  ) as JsonObject;
  const reason = FINISH_REASONS.find((one) => one === finishReason);
  return {
    status: typeof problem === 'string' ? 'failed' : 'finished',
    ...(typeof problem === 'string' && { error: { message: problem } }),
    ...(typeof id === 'string' && role !== undefined && { msgId: id }),
    ...(isUsage(usage) && { usage }),
    ...(reason !== undefined && { finishReason: reason }),
  };
}

function isUsage(value: unknown): value is JsonObject & Usage {
  return (
    isJsonObject(value) &&
    typeof value['inputTokens'] === 'number' &&
    typeof value['outputTokens'] === 'number'
  );
}
