import type { ToolSettings } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import type { ProcessRunner } from './process-runner.ts';

/** Extra time for ending processes, before the timeout of the toolkit applies. */
const CLEANUP_MS = 30_000;

/**
 * Tool settings with a timeout above the tool's own time limit, so that a timed-out result includes the
 * output.
 */
export function processSettings({ maxTimeoutSeconds }: ProcessRunner): ToolSettings {
  return { sideEffect: true, timeoutMs: maxTimeoutSeconds * 1000 + CLEANUP_MS };
}

export function timeoutSchema({ timeoutSeconds, maxTimeoutSeconds }: ProcessRunner): JsonObject {
  return {
    type: 'number',
    exclusiveMinimum: 0,
    maximum: maxTimeoutSeconds,
    default: timeoutSeconds,
    description: 'Maximum time in seconds.',
  };
}
