import type { ContentBlock, ToolUseBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import { headOf, outputText } from './stubs.ts';

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
