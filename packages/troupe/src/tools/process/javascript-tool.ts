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
import { ESCAPED, tagPattern } from '../../util/escape-tags.ts';
import { findQuickJs } from './quickjs-package.ts';

export interface JavaScriptToolOptions {
  /** Time limit of the code in milliseconds. @default 10 000 */
  readonly timeoutMs?: number;
  /** Memory limit of code and interpreter, which takes 5 MiB itself; at least 16 MiB. @default 64 MiB */
  readonly memoryBytes?: number;
  /** Characters kept of each output and of the result: beginning and end. @default 40 000 */
  readonly maxOutputChars?: number;
}

const MIB = 1024 ** 2;
/** Minimum memory of the interpreter. */
const LEAST_MEMORY = 16 * MIB;
/** Extra time to start a worker, before the timeout of the toolkit applies. */
const START_MS = 20_000;
/** Time to stop the code inside the interpreter, before the worker is terminated. */
const STOP_MS = 2000;
const TAGS = tagPattern('returncode', 'stdout', 'stderr', 'result');
const DESCRIPTION =
  'Runs JavaScript code in a sandbox and returns what it wrote to the console and the value of its last expression. ' +
  'It has the language itself, but no files, no network, no timers, no modules and no await outside of async functions.';

/**
 * Creates the tool `execute_javascript_code`. The code runs in QuickJS in its own worker: without access to
 * files, network or the program, without blocking the program, and never longer than the tool call. Needs the
 * package `quickjs-emscripten`, loaded on first use.
 * @throws TroupeError if an option is invalid.
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
      const job = { quickjs, code: code as string, ...limits, tags: TAGS, escaped: ESCAPED };
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
    const error = new Error('The JavaScript sandbox ended unexpectedly.', { cause });
    started.reject(error);
    outcome.reject(error);
  };
  worker.once('error', fail);
  worker.once('exit', () => fail());
  for (const { promise } of [started, outcome]) promise.catch(() => {}); // ignored after an interrupt
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
