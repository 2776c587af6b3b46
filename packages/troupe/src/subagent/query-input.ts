import { isJsonObject, type JsonObject } from '../util/json.ts';

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

/** Task text of the default arguments: the query, then all other arguments as JSON. */
export function describeQuery(input: unknown): string {
  if (!isJsonObject(input) || typeof input['query'] !== 'string') return JSON.stringify(input) ?? '';
  const { query, ...others } = input;
  if (Object.keys(others).length === 0) return query;
  return `${query}\n\n${JSON.stringify(others)}`;
}
