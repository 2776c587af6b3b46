import type { ModelDelta } from '../../message/model-delta.ts';
import type { ChatModelBase } from '../../model/chat-model-base.ts';
import type { ChatModelCheck, ContractSubject } from '../chat-model-case.ts';
import { becomes, check, isPending, rejects, soon } from '../contract-checks.ts';

/** Cases that stop a silent model: by an abort, or by abandoning the stream. */
export const STALL_CHECKS: Readonly<Record<string, ChatModelCheck>> = {
  'aborted while silent, `stream` rejects with the reason at once': obeysAbortWhileWaiting,
  'aborted while silent, `call` rejects with the reason at once': callObeysAbort,
  'abandoned early, returns at once and answers again': canBeAbandoned,
  'abandoned while silent, returns at once and answers again': canBeAbandonedWhileSilent,
};

async function obeysAbortWhileWaiting(subject: ContractSubject): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  const model = await subject.make();
  let hasSpoken = (): void => {};
  const firstText = new Promise<void>((resolve) => (hasSpoken = resolve));
  const reading = (async () => {
    for await (const delta of model.stream(subject.request, { signal }))
      if (delta.type === 'text') hasSpoken();
  })();
  await Promise.race([firstText, reading]);
  await checkAborted(reading, controller, '`stream`');
  await checkStopped(subject, model, 'the answer');
}

async function callObeysAbort(subject: ContractSubject): Promise<void> {
  const controller = new AbortController();
  const model = await subject.make();
  const calling = model.call(subject.request, { signal: controller.signal });
  await checkAborted(calling, controller, '`call`');
  await checkStopped(subject, model, 'the answer');
}

async function checkAborted(
  work: Promise<unknown>,
  controller: AbortController,
  what: string,
): Promise<void> {
  const reason = new Error('The caller left while the model was silent.');
  check(await isPending(work), `${what} ended by itself, but in this scenario the model falls silent.`);
  controller.abort(reason);
  await rejects(work, reason, what);
}

function canBeAbandoned(subject: ContractSubject): Promise<void> {
  return checkAbandoning(subject, async (deltas, what) => {
    await soon(Promise.resolve(deltas.return?.()), `The return of ${what}`);
  });
}

/** Abandons the stream while the next delta is awaited, as a web server does when its client disconnects. */
function canBeAbandonedWhileSilent(subject: ContractSubject): Promise<void> {
  return checkAbandoning(subject, async (deltas, what) => {
    const { next } = await untilSilent(deltas, what);
    const failure = next.then(
      () => undefined,
      (error: unknown) => error,
    );
    await soon(Promise.resolve(deltas.return?.()), `The return of ${what}`);
    const error = await soon(failure, `The end of the wait for more of ${what}`);
    check(error === undefined, `Nobody reads the stream any more, but ${what} failed with ${String(error)}.`);
  });
}

/** Abandons an answer in the middle, twice, because the first time may have broken something. */
async function checkAbandoning(
  subject: ContractSubject,
  leave: (deltas: AsyncIterator<ModelDelta>, what: string) => Promise<void>,
): Promise<void> {
  const model = await subject.make();
  for (const what of ['the first answer', 'the second answer']) {
    const deltas = model.stream(subject.request)[Symbol.asyncIterator]();
    for (let hasSpoken = false; !hasSpoken;) hasSpoken = (await nextOf(deltas.next(), what)).type === 'text';
    if (subject.runningOf)
      check(subject.runningOf(model) > 0, 'runningOf should count the answer that is being made.');
    await leave(deltas, what);
    await checkStopped(subject, model, what);
  }
}

async function nextOf(next: Promise<IteratorResult<ModelDelta>>, what: string): Promise<ModelDelta> {
  const { done, value } = await next;
  check(done !== true, `In this scenario the model falls silent, but ${what} ended by itself.`);
  return value;
}

/** Reads until the model falls silent. Returns the pending promise of the next delta. */
async function untilSilent(
  deltas: AsyncIterator<ModelDelta>,
  what: string,
): Promise<{ readonly next: Promise<IteratorResult<ModelDelta>> }> {
  for (;;) {
    const next = deltas.next();
    if (await isPending(next)) return { next };
    await nextOf(next, what);
  }
}

async function checkStopped(
  { runningOf = () => 0 }: ContractSubject,
  model: ChatModelBase,
  what: string,
): Promise<void> {
  await becomes(() => runningOf(model) === 0, `Nobody reads ${what} any more, but it is still running.`);
}
