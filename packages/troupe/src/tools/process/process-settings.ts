import type { ToolSettings } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import type { ProcessRunner } from './process-runner.ts';

/** What ending a process may take on a busy machine, before the toolkit answers in the tool's place. */
const SPARE_MS = 30_000;

/** The tool keeps its own time limit, so that a call which takes too long still shows what it wrote. */
export function processSettings({ maxTimeoutSeconds }: ProcessRunner): ToolSettings {
  return { sideEffect: true, timeoutMs: maxTimeoutSeconds * 1000 + SPARE_MS };
}

export function timeoutSchema({ timeoutSeconds, maxTimeoutSeconds }: ProcessRunner): JsonObject {
  return {
    type: 'number',
    exclusiveMinimum: 0,
    maximum: maxTimeoutSeconds,
    default: timeoutSeconds,
    description: 'How many seconds it may take.',
  };
}
