import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import { tool, type Tool } from '../toolkit/tool/tool.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { knowledgeCitationsOf, documentBlocks } from './citation-text.ts';
import type { KnowledgeBase, RetrieveOptions } from './knowledge-base.ts';
import { retrieveFromAll } from './retrieve-knowledge.ts';

export const KNOWLEDGE_TOOL = 'retrieve_knowledge';
const NOTHING = 'Nothing was found. Try other words; a knowledge base with a minScore may have to lower it.';
const INCOMPLETE = 'A knowledge base could not be searched, so there may be more.';

/**
 * Tool with which the model itself searches knowledge bases. The sources are in the metadata of its result. Their
 * numbers go on with each search, so that `[6]` means one source only.
 */
export function knowledgeTool(
  bases: readonly KnowledgeBase[],
  options: Pick<RetrieveOptions, 'limit' | 'minScore' | 'filter'> = {},
): Tool {
  let numbered = 0;
  const about = bases.flatMap(({ description }) => description ?? []).join('; ');
  return tool({
    name: KNOWLEDGE_TOOL,
    description: `Searches the knowledge base${bases.length > 1 ? 's' : ''} for documents.${about === '' ? '' : ` Content: ${about}.`}`,
    schema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'A specific query that stands by itself.' },
        limit: { type: 'integer', description: 'Maximum number of documents.', default: options.limit ?? 5 },
      },
      required: ['query'],
    },
    readOnly: true,
    execute: async ({ query, limit }, { signal }) => {
      const most =
        typeof limit === 'number' && limit >= 1 ? Math.min(50, Math.trunc(limit)) : (options.limit ?? 5);
      const failures: unknown[] = [];
      const documents = await retrieveFromAll(bases, typeof query === 'string' ? query : '', {
        ...options,
        limit: most,
        signal,
        onFailure: (_, error) => void failures.push(error),
      });
      if (documents.length === 0 && failures.length > 0) throw failures[0];
      if (documents.length === 0) return NOTHING;
      for (const error of failures)
        getLogger().log('warn', `Could not search a knowledge base: ${messageOf(error)}`);
      const first = numbered + 1;
      numbered += documents.length;
      const note = { type: 'text', text: INCOMPLETE } as const;
      return new ToolResponse([...documentBlocks(documents, first), ...(failures.length > 0 ? [note] : [])], {
        metadata: { citations: [...knowledgeCitationsOf(documents, first)] },
      });
    },
  });
}
