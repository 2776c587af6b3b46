import { messageOf } from '../../errors.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import { Msg } from '../../message/msg.ts';
import type { Usage } from '../../message/usage.ts';
import type { ChatModelBase } from '../../model/chat-model-base.ts';
import { withDeadline } from '../../toolkit/deadline.ts';
import { abortableItems } from '../../util/abort.ts';
import { now } from '../../util/clock.ts';
import type { ContextWork } from '../context-keeper.ts';
import { END_MARKER } from './prompts.ts';
import { withoutTags } from './stubs.ts';

/** What is to be summed up, and how. */
export interface Question {
  readonly prompt: string;
  readonly text: string;
  readonly requirement?: string | undefined;
}

/** What came of it: a text, or why there is none. It is JSON. */
export type Answer = {
  readonly text: string;
  readonly durationMs: number;
  readonly usage?: Usage;
  readonly problem?: string;
};

/** Progress is told at once, and then so often. */
const PROGRESS_MS = 250;

/** Has a model sum something up. Whatever the model does, there is an answer after the timeout; only an abort is thrown. */
export async function summarize(
  { prompt, text, requirement }: Question,
  model: ChatModelBase,
  timeoutMs: number,
  work: ContextWork,
  onProgress: () => Promise<void>,
): Promise<Answer> {
  const texts = [prompt, text, END_MARKER, requirement, work.planHint];
  const messages = texts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => Msg.user(part ?? ''));
  try {
    return await work.step('compression', () => ask(messages, model, timeoutMs, work.signal, onProgress));
  } catch (error) {
    work.signal.throwIfAborted();
    return { text: '', durationMs: 0, problem: messageOf(error) };
  }
}

async function ask(
  messages: readonly Msg[],
  model: ChatModelBase,
  timeoutMs: number,
  signal: AbortSignal,
  onProgress: () => Promise<void>,
): Promise<Answer> {
  const startedAt = now();
  const draft = new MsgDraft('assistant');
  let toldAt = -Infinity;
  let problem: string | undefined;
  try {
    await withDeadline({ timeoutMs, signal }, async (stopped, offTheClock) => {
      for await (const delta of abortableItems(model.stream({ messages }, { signal: stopped }), stopped)) {
        draft.add(delta);
        if (now() - toldAt < PROGRESS_MS) continue;
        toldAt = now();
        await offTheClock(onProgress());
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    problem = messageOf(error);
  }
  const msg = problem === undefined ? draft.finish() : draft.cutShort();
  const usage = msg?.usage;
  const summary = withoutTags(msg?.text ?? '');
  if (summary === '') problem ??= 'The model gave no summary.';
  return {
    text: summary,
    durationMs: now() - startedAt,
    ...(usage && { usage }),
    ...(problem !== undefined && { problem }),
  };
}
