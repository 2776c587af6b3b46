import { tool, type Tool } from '../toolkit/tool/tool.ts';
import { escapeTags } from '../util/escape-tags.ts';
import type { JsonObject } from '../util/json.ts';
import type { LongTermMemoryBase } from './long-term-memory-base.ts';

export const RECORD_TOOL = 'record_to_memory';
export const RETRIEVE_TOOL = 'retrieve_from_memory';
const TEXTS: JsonObject = { type: 'array', items: { type: 'string' } };

/** Tools with which the model itself uses a long-term memory. */
export function longTermTools(memory: LongTermMemoryBase): readonly Tool[] {
  return [
    tool({
      name: RECORD_TOOL,
      description:
        'Remembers something for good: facts, wishes and experiences that may matter in later conversations.',
      schema: {
        type: 'object',
        properties: {
          thinking: { type: 'string', description: 'Why it is worth remembering.' },
          content: { ...TEXTS, description: 'What to remember, one self-contained statement each.' },
        },
        required: ['content'],
      },
      execute: ({ thinking, content }, { signal }) =>
        memory.recordToMemory(typeof thinking === 'string' ? thinking : '', textsOf(content), { signal }),
    }),
    tool({
      name: RETRIEVE_TOOL,
      description: 'Searches the long-term memory.',
      schema: {
        type: 'object',
        properties: {
          keywords: { ...TEXTS, description: 'What to look for: names, things, or short questions.' },
          limit: { type: 'integer', description: 'Maximum memories for each keyword.', default: 5 },
        },
        required: ['keywords'],
      },
      readOnly: true,
      execute: async ({ keywords, limit }, { signal }) =>
        escapeTags(
          await memory.retrieveFromMemory(textsOf(keywords), {
            limit: typeof limit === 'number' && limit >= 1 ? Math.min(50, Math.trunc(limit)) : 5,
            signal,
          }),
        ),
    }),
  ];
}

function textsOf(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((text): text is string => typeof text === 'string' && text.trim() !== '');
}
