import { isJsonObject, type JsonObject } from '../util/json.ts';
import { dataText } from './grants/data-text.ts';

/** Default arguments of a sub-agent tool. */
export const QUERY_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    query: {
      type: 'string',
      description: 'The whole task. The sub-agent knows nothing of this conversation.',
    },
    context: { type: 'object', description: 'Facts for the agent, as data.' },
  },
  required: ['query'],
};

/** Task text of the default arguments: the query, then all other arguments in readable form. JSON for other arguments. */
export function describeQuery(input: unknown): string {
  if (!isJsonObject(input) || typeof input['query'] !== 'string') return JSON.stringify(input) ?? '';
  const { query, ...others } = input;
  return Object.keys(others).length === 0 ? query : `${query}\n\n${dataText(others)}`;
}

/**
 * The `context` argument as metadata of the task's message. Keys that begin with `_` are left out: they are the
 * library's own.
 */
export function contextArgument(input: unknown): JsonObject {
  const context = isJsonObject(input) ? input['context'] : undefined;
  if (!isJsonObject(context)) return {};
  return Object.fromEntries(Object.entries(context).filter(([key]) => !key.startsWith('_')));
}
