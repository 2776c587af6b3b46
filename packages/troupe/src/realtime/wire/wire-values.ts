import type { ImageBlock, ToolResultBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';

const NOTHING: JsonObject = Object.freeze({});

/** A field that should be an object; an empty object otherwise. */
export function objectIn(value: unknown): JsonObject {
  return isJsonObject(value) ? value : NOTHING;
}

/** A field that should be a text; empty otherwise. */
export function stringIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A field that should be a number. */
export function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The objects in a field that should be a list of objects. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isJsonObject) : [];
}

/** Text of a tool result, as a realtime model gets it. Media are named. */
export function textOfResult({ output, status }: ToolResultBlock): string {
  const text =
    typeof output === 'string'
      ? output
      : output.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n');
  return status === 'ok' ? text : `(${status}) ${text}`;
}

/** Text of a message, as a realtime model gets it. Messages of other agents have their names. */
export function textOfMsg(msg: Msg, agentName: string): string {
  const isOther = msg.role === 'assistant' && msg.name !== agentName;
  const text = msg
    .getContentBlocks()
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n');
  return isOther && text !== '' ? `${msg.name}: ${text}` : text;
}

/** Images of a message that are in the message itself. */
export function imagesOf(msg: Msg): readonly { readonly mediaType: string; readonly data: string }[] {
  return msg.getContentBlocks('image').flatMap(({ source }: ImageBlock) => {
    return source.type === 'base64' ? [{ mediaType: source.mediaType, data: source.data }] : [];
  });
}

/** One part of a history that a new connection starts with: words, a tool call or a tool result. */
export type HistoryPart =
  | { readonly type: 'words'; readonly role: 'user' | 'assistant' | 'system'; readonly text: string }
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly input: JsonObject }
  | { readonly type: 'result'; readonly result: ToolResultBlock };

/** The parts of a history, in order. A tool call without its result is left out. */
export function partsOfHistory(history: readonly Msg[], agentName: string): readonly HistoryPart[] {
  const answered = new Set(history.flatMap((msg) => msg.getContentBlocks('tool_result').map(({ id }) => id)));
  return history.flatMap((msg) => {
    const parts: HistoryPart[] = [];
    const text = textOfMsg(msg, agentName);
    const isOwn = msg.role === 'assistant' && msg.name === agentName;
    const role = isOwn ? 'assistant' : msg.role === 'system' ? 'system' : 'user';
    if (text !== '') parts.push({ type: 'words', role, text });
    for (const { id, name, input } of msg.getContentBlocks('tool_use'))
      if (answered.has(id)) parts.push({ type: 'call', id, name, input });
    for (const result of msg.getContentBlocks('tool_result')) parts.push({ type: 'result', result });
    return parts;
  });
}
