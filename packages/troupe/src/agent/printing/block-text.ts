import type { MediaBlock } from '../../formatter/prompt.ts';
import type {
  ProviderToolBlock,
  ToolOutputBlock,
  ToolResultBlock,
  ToolUseBlock,
} from '../../message/blocks.ts';
import type { JsonValue } from '../../util/json.ts';
import { cutToWidth, displayWidth } from './display-width.ts';
import { oneLine } from '../../util/text.ts';

/** Space for the text of a block. */
export interface BlockLayout {
  /** Whether everything is shown, on as many lines as needed. */
  readonly isFull: boolean;
  readonly columns: number;
  /** Columns that the first line has already used. */
  readonly used: number;
}

/** Output lines of a tool result that are shown. */
const SHOWN_LINES = 3;
/** Minimum columns of the first line, and of an argument in the line. */
const MIN_COLUMNS = 10;

/** Text of a tool call's arguments: `(city: "Lisbon")`, or a line for each one when they are long and everything is shown. */
export function toolArgumentsText(
  call: ToolUseBlock | Extract<ProviderToolBlock, { type: 'provider_tool_use' }>,
  layout: BlockLayout,
): string {
  const room = roomOf(layout) - 2;
  const rawInput = call.type === 'tool_use' ? call.rawInput : undefined;
  if (rawInput !== undefined) {
    return layout.isFull ? listText(linesOf(rawInput)) : `(${cutToWidth(oneLine(rawInput), room)})`;
  }
  const entries = Object.entries(call.input);
  const whole = entries.map(([key, value]) => `${oneLine(key)}: ${jsonText(value)}`).join(', ');
  const fits = cutToWidth(whole, room) === whole;
  if (layout.isFull && (!fits || entries.some(([, value]) => hasLines(value)))) {
    return listText(entries.flatMap(([key, value]) => argumentLines(oneLine(key), value, layout.columns)));
  }
  if (fits) return `(${whole})`;
  const share = Math.max(Math.floor(room / entries.length), MIN_COLUMNS);
  const short = entries.map(([key, value]) => cutToWidth(`${oneLine(key)}: ${jsonText(value)}`, share));
  return `(${cutToWidth(short.join(', '), room)})`;
}

/** Text of a tool result's output: one line, or the first lines below each other, or all of them. */
export function toolOutputText({ output }: Pick<ToolResultBlock, 'output'>, layout: BlockLayout): string {
  const text = typeof output === 'string' ? output : output.map(partText).join('\n');
  const lines = text
    .replace(/^(?:[^\S\n]*\n)+/, '')
    .trimEnd()
    .split('\n');
  if (lines.length === 1) {
    const line = toPlain(lines[0] ?? '') || '(no output)';
    return `: ${layout.isFull ? line : cutToWidth(line, roomOf(layout) - 2)}`;
  }
  if (layout.isFull) return listText(lines.map(toPlain));
  const shown = lines.slice(0, lines.length === SHOWN_LINES + 1 ? undefined : SHOWN_LINES);
  const rest = lines.length - shown.length;
  const short = shown.map((line) => cutToWidth(toPlain(line), layout.columns - 2));
  return listText(rest === 0 ? short : [...short, `… ${rest} more lines`]);
}

/** Mention of a medium, such as `[image, 12 kB]`. */
export function mediaText(block: MediaBlock): string {
  const { source } = block;
  const filename = block.type === 'file' && block.filename !== undefined ? ` ${oneLine(block.filename)}` : '';
  const origin =
    source.type === 'base64' ? sizeText(Math.floor(source.data.length * 0.75)) : originOf(source.url);
  return `[${block.type}${filename}${origin === '' ? '' : `, ${origin}`}]`;
}

function partText(part: ToolOutputBlock): string {
  return part.type === 'text' ? part.text : mediaText(part);
}

/** Host of an address, or a local path. The query of an address can hold a secret. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : cutToWidth(oneLine(url), 60);
}

function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 999_500 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function roomOf({ columns, used }: BlockLayout): number {
  return Math.max(columns - used, MIN_COLUMNS);
}

/** Lines of one argument when everything is shown: a text of several lines keeps them, other values are JSON. */
function argumentLines(key: string, value: JsonValue, columns: number): string[] {
  if (typeof value === 'string' && hasLines(value)) {
    return [`${key}:`, ...linesOf(value).map((line) => `  ${line}`)];
  }
  const line = `${key}: ${jsonText(value)}`;
  if (typeof value !== 'object' || displayWidth(line) <= columns - 2) return [line];
  return linesOf(`${key}: ${JSON.stringify(value, null, 2)}`);
}

function hasLines(value: JsonValue): boolean {
  return typeof value === 'string' && value.includes('\n');
}

function listText(lines: readonly string[]): string {
  return `:${lines.map((line) => `\n  ${line}`).join('')}`;
}

function linesOf(text: string): string[] {
  return text.split('\n').map(toPlain);
}

/** A line without tabs and control characters. */
function toPlain(line: string): string {
  return oneLine(line.replace(/\r$/, '').replaceAll('\t', '  '));
}

function jsonText(value: JsonValue): string {
  return oneLine(JSON.stringify(value));
}
