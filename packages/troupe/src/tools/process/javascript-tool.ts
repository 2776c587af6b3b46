import { Worker } from 'node:worker_threads';

import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import { DeadlineError, withDeadline } from '../../util/async/deadline.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import { tool, type Tool } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import {
  JAVASCRIPT_WORKER,
  STARTED,
  type JavaScriptJob,
  type JavaScriptOutcome,
} from './javascript-worker.ts';
import { BROKEN, tagsNamed } from './own-tags.ts';
import { findQuickJs } from './quickjs-package.ts';

export interface JavaScriptToolOptions {
  /** How long a piece of code may run. @default 10 000 */
  readonly timeoutMs?: number;
  /** How much memory the code and its interpreter may use, of which that takes 5 MiB: 16 MiB or more. @default 64 MiB */
  readonly memoryBytes?: number;
  /** How much is kept of each output, and of the result: the beginning and the end. @default 40 000 */
  readonly maxOutputChars?: number;
}

const MIB = 1024 ** 2;
/** With less the interpreter doesn't start. */
const LEAST_MEMORY = 16 * MIB;
/** What starting a worker may take before the toolkit answers in the tool's place. */
const START_MS = 20_000;
/** What stopping the code from inside may take before the worker is ended from outside. */
const STOP_MS = 2000;
const TAGS = tagsNamed('returncode', 'stdout', 'stderr', 'result', 'system-info');
const DESCRIPTION =
  'Runs JavaScript code in a sandbox and returns what it wrote to the console and the value of its last expression. ' +
  'It has the language itself, but no files, no network, no timers, no modules and no await outside of async functions.';

/**
 * Makes the tool `execute_javascript_code`. The code runs in QuickJS, in a worker of its own: it can reach nothing, and neither
 * blocks this process nor outlives the call. It needs the package `quickjs-emscripten`, which is loaded on the first call.
 * @throws TroupeError if an option is wrong.
 */
export function javascriptTool(options: JavaScriptToolOptions = {}): Tool<JsonObject> {
  const { timeoutMs = 10_000, memoryBytes = 64 * MIB, maxOutputChars = 40_000 } = options;
  checkNumber('timeoutMs', timeoutMs, { least: 1, most: MAX_TIMER_MS - 2 * START_MS });
  checkNumber('memoryBytes', memoryBytes, { least: LEAST_MEMORY, most: 2 ** 31 - 1, whole: true });
  checkNumber('maxOutputChars', maxOutputChars, { least: 2, whole: true });
  return tool({
    name: 'execute_javascript_code',
    description: DESCRIPTION,
    timeoutMs: timeoutMs + STOP_MS + START_MS,
    readOnly: true,
    schema: {
      type: 'object',
      properties: { code: { type: 'string', description: 'The code.' } },
      required: ['code'],
      additionalProperties: false,
    },
    async execute({ code }, { signal }) {
      const quickjs = findQuickJs(import.meta.url);
      const limits = { timeoutMs, memoryBytes, maxOutputChars };
      const job = { quickjs, code: code as string, ...limits, tags: TAGS, broken: BROKEN };
      return toResponse(await runJob(job, signal), timeoutMs);
    },
  });
}

async function runJob(job: JavaScriptJob, signal: AbortSignal): Promise<JavaScriptOutcome> {
  const worker = new Worker(JAVASCRIPT_WORKER, {
    eval: true,
    workerData: job,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 64 + Math.ceil((4 * job.memoryBytes) / MIB) },
  });
  try {
    return await withDeadline({ timeoutMs: job.timeoutMs + STOP_MS, signal }, async (_, untimed) => {
      const { started, outcome } = listenTo(worker);
      await untimed(started);
      return outcome;
    });
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    return { returncode: undefined, stdout: '', stderr: '', result: undefined };
  } finally {
    await worker.terminate();
  }
}

function listenTo(worker: Worker): {
  readonly started: Promise<void>;
  readonly outcome: Promise<JavaScriptOutcome>;
} {
  const started = Promise.withResolvers<void>();
  const outcome = Promise.withResolvers<JavaScriptOutcome>();
  worker.on('message', (message: typeof STARTED | JavaScriptOutcome) => {
    if (message === STARTED) started.resolve();
    else outcome.resolve(message);
  });
  const fail = (cause?: unknown): void => {
    const error = new Error('The sandbox broke down.', { cause });
    started.reject(error);
    outcome.reject(error);
  };
  worker.once('error', fail);
  worker.once('exit', () => fail());
  for (const { promise } of [started, outcome]) promise.catch(() => {}); // whoever was interrupted doesn't want to know
  return { started: started.promise, outcome: outcome.promise };
}

function toResponse(outcome: JavaScriptOutcome, timeoutMs: number): ToolResponse {
  const { returncode = -1, stdout, stderr, result } = outcome;
  const timedOut = outcome.returncode === undefined;
  const late = `TimeoutError: The code took longer than its time limit of ${timeoutMs / 1000} seconds and was ended.`;
  const text =
    `<returncode>${returncode}</returncode><stdout>${stdout}</stdout>` +
    `<stderr>${timedOut ? stderr + late : stderr}</stderr>` +
    (result === undefined ? '' : `<result>${result}</result>`);
  return new ToolResponse(text, {
    status: timedOut ? 'error' : 'ok',
    metadata: { returncode, timedOut, isolation: 'quickjs' },
  });
}
