import { FileSystemError, parsePath, type LogicalPath } from 'troupe/filesystem';

import { readBody } from '../http/read-body.ts';
import type { Route, RouteRequest } from '../http/route.ts';
import * as schemas from '../http/schemas.ts';
import type { RunRequests } from '../runs/run-requests.ts';
import { ServiceFailure } from '../service-failure.ts';
import {
  MAX_FILE_BYTES,
  type SessionFileLimits,
  type FileOwner,
  type SessionFiles,
} from './session-files.ts';

export interface FileParts {
  readonly requests: RunRequests;
  readonly filesOf: (owner: FileOwner) => SessionFiles;
  readonly limits: SessionFileLimits;
}

const TEXT = { type: 'string' };
/** A path of a list: without control characters, which a database may refuse. */
const CURSOR = { type: 'string', minLength: 1, maxLength: 1024, pattern: '^[^\\u0000-\\u001f]+$' };
const PATH = { type: 'string', minLength: 1, maxLength: 1024 };
const FILE = {
  type: 'object',
  properties: { path: TEXT, size: { type: 'integer' }, updatedAt: TEXT },
  required: ['path', 'size', 'updatedAt'],
};
const BYTES = 'application/octet-stream';
/** Folders that callers see. Agents read `/userinput` and can't write it; `/internal` is for programs. */
const SHARED = /^\/(?:userinput|workspace)\//;

/** The operations about files of a session: what a user gives to an agent, and what the agent makes. */
export function fileRoutes({ requests, filesOf, limits }: FileParts): readonly Route[] {
  const of = async ({ caller, params }: RouteRequest): Promise<SessionFiles> => {
    const session = await requests.session(caller.user, params['session'] ?? '');
    return filesOf({ user: caller.user, session: session.id });
  };
  const one = { path: '/api/sessions/{session}/file', query: { path: PATH } } as const;
  return [
    {
      method: 'get',
      path: '/api/sessions/{session}/files',
      summary: 'List the files of a session by their paths',
      query: { limit: schemas.LIMIT, cursor: CURSOR },
      status: 200,
      answer: schemas.listOf(FILE),
      handle: async (request) => {
        const limit = Math.min(200, Number(request.query['limit'] ?? 50));
        const data = await refused((await of(request)).all(limit, request.query['cursor']));
        const last = data.at(-1);
        return {
          data: data.map(({ path, size, updatedAt }) => ({ path, size, updatedAt })),
          ...(data.length === limit && last !== undefined && { next: last.path }),
        };
      },
    },
    {
      ...one,
      method: 'get',
      summary: 'Read a file of a session',
      status: 200,
      mediaType: BYTES,
      handle: async (request) => {
        const files = await of(request);
        const { bytes } = await refused(files.read(pathOf(request), { maxBytes: Number.MAX_SAFE_INTEGER }));
        // Never shown by a browser as a page of this origin.
        const headers = { 'content-type': BYTES, 'content-disposition': 'attachment' };
        return new Response(new Uint8Array(bytes), { headers });
      },
    },
    {
      ...one,
      method: 'put',
      summary: 'Write a file of a session: under /userinput/ for agents to read, or under /workspace/',
      takes: BYTES,
      status: 200,
      answer: FILE,
      handle: async (request) => {
        const files = await of(request);
        const path = pathOf(request);
        await refused(files.write(path, await readBody(request.request, limits.fileBytes ?? MAX_FILE_BYTES)));
        const info = await files.stat(path);
        return { path, size: info?.size ?? 0, updatedAt: info?.updatedAt ?? '' };
      },
    },
    {
      ...one,
      method: 'delete',
      summary: 'Delete a file of a session',
      status: 204,
      handle: async (request) => {
        const files = await of(request);
        await refused(files.delete(pathOf(request)));
        return undefined;
      },
    },
  ];
}

/** The path of a request. @throws ServiceFailure */
function pathOf({ query }: RouteRequest): LogicalPath {
  try {
    const path = parsePath(query['path'] ?? '');
    if (SHARED.test(path)) return path;
  } catch (error) {
    throw toFailure(error);
  }
  throw new ServiceFailure('invalid_request', 'A path begins with /userinput/ or /workspace/.');
}

async function refused<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toFailure(error);
  }
}

function toFailure(error: unknown): unknown {
  if (!FileSystemError.isInstance(error)) return error;
  if (error.kind === 'not_found') return new ServiceFailure('not_found', 'There is no such file.');
  if (error.kind === 'too_large') return new ServiceFailure('too_large', error.message);
  return new ServiceFailure('invalid_request', error.message);
}
