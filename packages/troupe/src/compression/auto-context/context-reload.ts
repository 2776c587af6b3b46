import type { ContentBlock, ToolOutputBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import { tool, type Tool } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import { splitsCharacter } from './stubs.ts';
import type { Entry } from './working-memory.ts';

export const RELOAD_TOOL = 'context_reload';
const UUID = 'working_context_offload_uuid';

const DESCRIPTION =
  'Parts of this conversation may have been shortened or moved out to save room. Where that happened there is a tag such as ' +
  '<!-- CONTEXT_OFFLOAD: uuid=... -->. This gives back the messages that a tag stands for, as JSON; long ones in parts: call ' +
  'it again with the offset that it names. Call it only if you need the details; otherwise go on with what you see. Never ' +
  'mention tags or uuids to the user.';

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    [UUID]: { type: 'string', description: 'The uuid in the tag.' },
    offset: { type: 'integer', minimum: 0, description: 'At which character to begin. 0 if left out.' },
    limit: { type: 'integer', minimum: 1, description: 'How many characters to get at most.' },
  },
  required: [UUID],
};

/** Offloaded messages in the form in which the tool returns them. */
interface Page {
  /** The messages as JSON. A placeholder stands for the base64 data of each image, audio or file. */
  readonly text: string;
  /** The blocks with that data, and where the placeholder of each is in the text: a part of the text comes with its blocks. */
  readonly media: readonly { readonly at: number; readonly block: ToolOutputBlock }[];
}

/** Creates the tool `context_reload`, which returns offloaded messages in parts of at most `maxChars`. */
export function reloadTool(reload: (uuid: string) => readonly Msg[], maxChars: number): Tool<JsonObject> {
  return tool({
    name: RELOAD_TOOL,
    description: DESCRIPTION,
    schema: SCHEMA,
    readOnly: true,
    maxOutputChars: Infinity,
    execute(input) {
      const uuid = uuidIn(input);
      if (uuid === '') return problem('Say which uuid to reload.');
      const msgs = reload(uuid);
      if (msgs.length === 0) return problem('Nothing is kept under this uuid. It is wrong, or was cleared.');
      const { offset = 0, limit = maxChars } = input;
      return partOf(pageOf(msgs), Number(offset), Math.min(Number(limit), maxChars));
    },
  });
}

/** Uuids reloaded by these messages, by tool call id. Uuids without an offload are left out. */
export function reloadsIn(
  entries: readonly Entry[],
  isOffloaded: (uuid: string) => boolean,
): ReadonlyMap<string, string> {
  const reloads = new Map<string, string>();
  for (const { id, name, input } of entries.flatMap(({ msg }) => msg.getContentBlocks('tool_use'))) {
    if (name === RELOAD_TOOL && isOffloaded(uuidIn(input))) reloads.set(id, uuidIn(input));
  }
  return reloads;
}

function uuidIn(input: JsonObject): string {
  const uuid = input[UUID];
  return typeof uuid === 'string' ? uuid.trim() : '';
}

function partOf(
  { text, media }: Page,
  offset: number,
  limit: number,
): readonly ToolOutputBlock[] | ToolResponse {
  if (offset >= text.length) return problem(`There are only ${text.length} characters.`);
  const start = splitsCharacter(text, offset) ? offset - 1 : offset;
  const wanted = Math.min(text.length, start + limit);
  const end = splitsCharacter(text, wanted) ? wanted + 1 : wanted;
  const blocks: ToolOutputBlock[] = [{ type: 'text', text: text.slice(start, end) }];
  blocks.push(...media.filter(({ at }) => at >= start && at < end).map(({ block }) => block));
  if (start === 0 && end === text.length) return blocks;
  const rest = end < text.length ? ` Go on with offset ${end}.` : '';
  return [...blocks, { type: 'text', text: `(Characters ${start} to ${end} of ${text.length}.${rest})` }];
}

function pageOf(msgs: readonly Msg[]): Page {
  const blocks: ToolOutputBlock[] = [];
  const text = JSON.stringify(msgs.map((msg) => jsonOf(msg, blocks)));
  let from = 0;
  const media = blocks.map((block, i) => {
    from = text.indexOf(`"data":"${mediumName(i)}"`, from);
    return { at: from, block };
  });
  return { text, media };
}

/** JSON of a message with placeholders for base64 data; appends the media blocks to `media`. */
function jsonOf(msg: Msg, media: ToolOutputBlock[]): object {
  const json = msg.toJSON();
  if (typeof msg.content === 'string') return json;
  return { ...json, content: msg.content.map((block) => withoutData(block, media)) };
}

function withoutData(block: ContentBlock, media: ToolOutputBlock[]): object {
  if (block.type === 'tool_result' && typeof block.output !== 'string') {
    return { ...block, output: block.output.map((part) => withoutData(part, media)) };
  }
  if (!('source' in block) || block.source.type !== 'base64') return block;
  media.push(block);
  return { ...block, source: { ...block.source, data: mediumName(media.length - 1) } };
}

function mediumName(i: number): string {
  return `[medium ${i + 1}]`;
}

function problem(text: string): ToolResponse {
  return new ToolResponse(text, { status: 'error' });
}
