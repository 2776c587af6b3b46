// For the tests: a client of a served agent, at the level of the wire.

import type { A2AServer } from '../../src/a2a/index.ts';

export interface Rpc {
  readonly status: number;
  readonly body: any;
}

export async function rpc(
  server: A2AServer,
  method: string,
  params: unknown,
  headers: Record<string, string> = {},
  id: unknown = 1,
): Promise<Rpc> {
  const response = await server.fetch(
    new Request('http://localhost/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    }),
  );
  return { status: response.status, body: await response.json() };
}

let messages = 0;

/** Parameters of a new message. */
export const says = (text: string, more: object = {}): object => ({
  message: { messageId: `m${++messages}`, role: 'ROLE_USER', parts: [{ text }], ...more },
});
export const as = (user: string): Record<string, string> => ({ authorization: `Bearer ${user}` });
export const bearer = (request: Request): string | undefined =>
  /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1];

/** Message that decides about all pending tool calls of a task. */
export function decides(task: any, verdict: 'allow' | 'deny'): object {
  const { pending } = task.status.message.parts.find(({ data }: any) => data?.pending).data;
  const decisions = pending.map(({ id }: { id: string }) => ({ id, verdict }));
  return says('', { taskId: task.id, parts: [{ data: { decisions } }] });
}
