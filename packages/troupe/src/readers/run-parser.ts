import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

import { TroupeError } from '../errors.ts';
import { DeadlineError, withDeadline } from '../util/async/deadline.ts';
import { startTimer } from '../util/clock.ts';
import { oneLine } from '../util/text.ts';
import { PARSER_WORKER, type ParserJob, type ParserMessage, type ParserResult } from './parser-worker.ts';
import { overLimit, unreadableFile, type SettledLimits } from './read-options.ts';

const PACKAGES = { pdf: 'unpdf', word: 'mammoth', excel: 'read-excel-file' } as const;
const ENTRIES = { ...PACKAGES, excel: 'read-excel-file/node' } as const;
const NAMES = { pdf: 'PDF', word: 'Word', excel: 'Excel' } as const;
const MIB = 1024 ** 2;
const LOOK_MS = 50;

/**
 * Parses a file in a worker, within limits of time and memory. The data go to the worker and are empty here.
 * @throws TroupeError if the file can't be read, goes beyond a limit, or the package is missing
 */
export async function runParser<Kind extends ParserResult['kind']>(
  kind: Kind,
  data: Uint8Array<ArrayBuffer>,
  limits: SettledLimits,
  { includeImages = false, signal }: { includeImages?: boolean; signal?: AbortSignal | undefined } = {},
): Promise<Extract<ParserResult, { kind: Kind }>> {
  const { maxEntries, maxMemoryBytes, timeoutMs } = limits;
  const job: ParserJob = { kind, module: findPackage(kind), data, maxEntries, includeImages };
  const worker = new Worker(PARSER_WORKER, {
    eval: true,
    workerData: job,
    transferList: [data.buffer],
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: Math.ceil(maxMemoryBytes / MIB) },
  });
  try {
    const message = await withDeadline({ timeoutMs, signal }, () => messageOf(worker, limits));
    if ('tooMany' in message) throw overLimit(`The file has ${message.tooMany} pages`, 'maxEntries');
    if ('problem' in message)
      throw unreadableFile(`The ${NAMES[kind]} file can't be read: ${oneLine(message.problem)}`);
    return message.result as Extract<ParserResult, { kind: Kind }>;
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    throw overLimit(`Reading the ${NAMES[kind]} file took longer than ${timeoutMs} ms`, 'timeoutMs');
  } finally {
    await worker.terminate();
  }
}

function messageOf(worker: Worker, { maxMemoryBytes }: SettledLimits): Promise<ParserMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<ParserMessage>();
  const tooMuch = overLimit(
    `Reading the file takes more than ${maxMemoryBytes} bytes of memory`,
    'maxMemoryBytes',
  );
  const stopWatching = watchMemory(maxMemoryBytes, () => reject(tooMuch));
  worker.once('message', resolve);
  worker.once('error', (cause: NodeJS.ErrnoException) =>
    reject(
      cause.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch : unreadableFile("The file can't be read.", cause),
    ),
  );
  worker.once('exit', () => reject(unreadableFile("The file can't be read: its parser ended.")));
  return promise.finally(stopWatching);
}

/** Looks at the memory of the process: what a parser unpacks is outside of the heap, which alone has a limit of its own. */
function watchMemory(most: number, onTooMuch: () => void): () => void {
  const before = process.memoryUsage.rss();
  let cancel = (): void => {};
  const look = (): void => {
    if (process.memoryUsage.rss() - before > most) onTooMuch();
    else cancel = startTimer(LOOK_MS, look);
  };
  look();
  return () => cancel();
}

function findPackage(kind: keyof typeof PACKAGES): string {
  const name = PACKAGES[kind];
  try {
    return createRequire(import.meta.url).resolve(ENTRIES[kind]);
  } catch (cause) {
    throw new TroupeError(
      'invalid_config',
      `${NAMES[kind]} files need the package ${name}, which is not installed. Run: npm install ${name}`,
      { cause },
    );
  }
}
