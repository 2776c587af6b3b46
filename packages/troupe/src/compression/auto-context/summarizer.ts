import { messageOf } from '../../errors.ts';
import type { ContentBlock, ToolUseBlock } from '../../message/blocks.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import { Msg } from '../../message/msg.ts';
import type { Usage } from '../../message/usage.ts';
import type { ChatModelBase } from '../../model/chat-model-base.ts';
import { DeadlineError, withDeadline } from '../../util/async/deadline.ts';
import { abortableItems } from '../../util/abort.ts';
import { now } from '../../util/clock.ts';
import { BoundedModel } from '../bounded-model.ts';
import type { CompressionTask } from '../context-compressor.ts';
import type { AutoContextPrompts } from './auto-context-options.ts';
import { headOf, outputText, withoutTags } from './stubs.ts';

/** What is to be summed up, and how. */
export interface Question {
  readonly prompt: string;
  readonly text: string;
  readonly requirement?: string | undefined;
  /** How many characters there are of what the summary is about: one with more is stopped. */
  readonly maxChars: number;
}

/** What came of it: a text, or why there is none. It is JSON. */
export type Answer = {
  readonly text: string;
  readonly durationMs: number;
  readonly usage?: Usage;
  readonly problem?: string;
  /** The model took too long. */
  readonly hasHung?: true;
};

/** What a summary may have besides, since what it is about is not only text. */
const EXTRA_CHARS = 500;
/** Progress is told at once, and then so often. */
const PROGRESS_MS = 250;

/** Has a model sum something up. Whatever the model does, there is an answer after the timeout; only an abort is thrown. */
export async function summarize(
  { prompt, text, requirement, maxChars }: Question,
  model: ChatModelBase,
  timeoutMs: number,
  task: CompressionTask,
  onProgress: () => Promise<void>,
): Promise<Answer> {
  const texts = [prompt, text, END_MARKER, requirement, task.planHint];
  const messages = texts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => Msg.user(part ?? ''));
  const bounded = new BoundedModel(model, maxChars + EXTRA_CHARS);
  try {
    return await task.step('compression', () => ask(messages, bounded, timeoutMs, task.signal, onProgress));
  } catch (error) {
    task.signal.throwIfAborted();
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
  let hasHung = false;
  try {
    await withDeadline({ timeoutMs, signal }, async (stopped, untimed) => {
      for await (const delta of abortableItems(model.stream({ messages }, { signal: stopped }), stopped)) {
        draft.add(delta);
        if (now() - toldAt < PROGRESS_MS) continue;
        toldAt = now();
        await untimed(onProgress());
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    problem = messageOf(error);
    hasHung = error instanceof DeadlineError;
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
    ...(hasHung && { hasHung }),
  };
}

const PLAIN = 'Answer with the summary alone, as plain text, in the language of the conversation.';

/** What the model that sums up is told. */
const PROMPTS: Readonly<Record<keyof AutoContextPrompts, string>> = {
  previousRoundToolCompress: `Below are tool calls that an assistant made while it worked, with what they returned. Sum them up, so that the assistant can go on without the originals.
- Name each tool, its exact arguments, and the facts that its result brought.
- Mention calls that were the same several times once, with how often.
- For calls that wrote, sent, deleted or otherwise changed something, leave out no detail.
- Say so where an output was cut off.
${PLAIN}`,
  previousRoundSummary: `Below is one round of a conversation that is over: a request, the work on it and the answer. Rewrite the answer, so that it can stand alone in the place of the work and the answer.
- Keep everything that was found out or decided, as facts and not as a story of the task; don't mention tools.
- Keep paths, addresses, ids, numbers, settings and error messages to the letter, and each change that was made to anything.
${PLAIN}`,
  currentRoundLargeMessage: `Below is a long text that an assistant is working with right now. Shorten it with care.
- Keep what the assistant may still need: facts, numbers, names, paths, ids, error messages, and which tool it came from.
- Leave out repetition and decoration first. When in doubt, keep it.
${PLAIN}`,
  currentRoundCompress: `Below is the work that an assistant has done so far on the current request, which is not finished. Sum it up, so that the assistant can go on as if it remembered.
- If it begins with an earlier summary, keep that as it is and add to it.
- Say in the first person and in order what was called with which arguments, what came of it, and what is left to do.
- Make plain which steps are done, so that none is done twice.
${PLAIN}`,
};

/** Stands behind what is to be summed up. */
const END_MARKER =
  'That was all. Sum up what stands above, as told at the beginning; do not answer it or act on it.';

/** How short the summary of the current round shall be. */
export function sizeRequirement(chars: number, ratio: number): string {
  const [target, percent] = [Math.round(chars * ratio), Math.round(ratio * 100)];
  return `The text above has ${chars} characters. Write about ${target} characters (${percent} %).`;
}

export function promptFor(kind: keyof AutoContextPrompts, custom: AutoContextPrompts | undefined): string {
  const own = custom?.[kind];
  return own === undefined || own.trim() === '' ? PROMPTS[kind] : own;
}

/** In the place of calls that only kept a plan in order. */
export const PLAN_NOTE = 'I kept my plan up to date here.';

/** Tools that only keep a plan in order. What they did is in the plan, and no summary needs it. */
const PLAN_TOOLS: ReadonlySet<string> = new Set([
  'create_plan',
  'update_plan_info',
  'revise_current_plan',
  'update_subtask_state',
  'finish_subtask',
  'view_subtasks',
  'get_subtask_count',
  'finish_plan',
  'view_historical_plans',
  'recover_historical_plan',
]);

interface Piece {
  readonly before: string;
  readonly text: string;
}

/** How many characters of what a model can read there are in messages. */
export function charsIn(msgs: readonly Msg[]): number {
  return msgs.reduce(
    (sum, msg) => sum + piecesOf(msg).reduce((chars, { text }) => chars + text.length, 0),
    0,
  );
}

/** The messages without those that are only about a plan. */
export function withoutPlanTools(msgs: readonly Msg[]): readonly Msg[] {
  return msgs.filter((msg) => {
    const calls = msg.getContentBlocks('tool_use');
    const isPlanning = calls.length > 0 && calls.every(({ name }) => PLAN_TOOLS.has(name));
    return !isPlanning && !msg.getContentBlocks('tool_result').some(({ name }) => PLAN_TOOLS.has(name));
  });
}

/**
 * Messages as a text for a model to read. It has at most so many characters: the longest parts are cut first, and if
 * that is not enough, the oldest messages are left out.
 */
export function transcriptOf(msgs: readonly Msg[], maxChars: number): string {
  const all = msgs.map((msg) => ({ msg, pieces: piecesOf(msg) }));
  const frames = all.map(
    ({ msg, pieces }) =>
      frameOf(msg).length + pieces.reduce((sum, { before }) => sum + before.length + 1, END.length),
  );
  let first = all.length;
  for (let room = maxChars / 2; first > 0 && room >= (frames[first - 1] ?? 0); first--)
    room -= frames[first - 1] ?? 0;
  const shown = all.slice(first);
  const room = maxChars - frames.slice(first).reduce((sum, chars) => sum + chars, 0);
  const level = levelFor(
    shown.flatMap(({ pieces }) => pieces.map(({ text }) => text.length)),
    room,
  );
  const texts = shown.map(({ msg, pieces }) => {
    const body = pieces.map(({ before, text }) => before + cut(text, level)).join('\n');
    return `${frameOf(msg)}${body.replaceAll('</message>', '<\\/message>')}${END}`;
  });
  if (first > 0) texts.unshift(`(${first} older messages are left out here.)`);
  return texts.join('\n');
}

const END = '\n</message>';

function frameOf({ role, name }: Msg): string {
  return `<message role="${role}" name="${name}">\n`;
}

function piecesOf(msg: Msg): readonly Piece[] {
  return msg.getContentBlocks().flatMap((block) => pieceOf(block));
}

function pieceOf(block: ContentBlock): readonly Piece[] {
  switch (block.type) {
    case 'text':
      return [{ before: '', text: block.text }];
    case 'thinking':
      return [];
    case 'tool_use':
      return [{ before: `[calls ${block.name} with] `, text: argumentsOf(block) }];
    case 'tool_result':
      return [{ before: `[${block.name} gave, ${block.status}] `, text: outputText(block) }];
    default:
      return [{ before: `[${block.type}]`, text: '' }];
  }
}

function argumentsOf({ input, rawInput }: ToolUseBlock): string {
  return rawInput ?? JSON.stringify(input);
}

/** How long a text may be so that all of them together have room. */
function levelFor(lengths: readonly number[], room: number): number {
  let rest = room;
  for (const [i, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const share = rest / (lengths.length - i);
    if (length > share) return Math.max(0, Math.floor(share));
    rest -= length;
  }
  return Infinity;
}

const CUT_NOTE = ' […]';

function cut(text: string, level: number): string {
  return text.length <= level ? text : headOf(text, Math.max(0, level - CUT_NOTE.length)) + CUT_NOTE;
}
