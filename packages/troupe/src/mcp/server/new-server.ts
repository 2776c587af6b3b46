import type {
  CallToolResult,
  InputRequest,
  InputRequiredResult,
  McpServer,
  ServerContext,
  Tool as ToolDefinition,
} from '@modelcontextprotocol/server';

import type { ToolSchema } from '../../model/chat-model-base.ts';
import { isLiveSchema } from '../../toolkit/tool/registered-tool.ts';
import type { ToolCallResult } from '../../toolkit/tool/tool.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import { continueTrace, traced } from '../../tracing/instrumentation.ts';
import type { TracedOperation } from '../../tracing/traced-operation.ts';
import { newId } from '../../util/ids.ts';
import { copyJsonObject } from '../../util/json.ts';
import { toJsonSchema } from '../../util/schema.ts';
import { mcpServerSdk } from '../protocol/sdk.ts';
import { readSpecType } from '../protocol/spec-type.ts';
import type { ClientRounds, ClientSide } from './client-rounds.ts';
import { McpToolRequest, type McpClientFeatures, type RequestParts } from './mcp-tool-request.ts';
import { toMcpResult } from './mcp-result.ts';
import type { McpServerOptions } from './mcp-server-options.ts';
import { ProgressSender } from './progress-sender.ts';
import { serveContent } from './serve-content.ts';
import type { ContentChange, ServedContent } from './served-content.ts';
import { answerWrongParams } from './wrong-params.ts';

/** Parts that all clients of a server share. */
export interface McpService {
  readonly toolkit: Toolkit;
  readonly content: ServedContent;
  readonly options: McpServerOptions & { readonly name: string; readonly version: string };
}

export interface NewServerOptions {
  readonly era: 'legacy' | 'modern';
  /** Tool calls that wait for their clients. */
  readonly rounds: ClientRounds;
  readonly onToolsChanged: () => unknown;
}

/** Time for a person at the client to answer. */
const ASK_MS = 600_000;

/** Protocol server for a client, or for a single request of the protocol of 2026. */
export interface ConnectedServer {
  readonly mcp: McpServer;
  /** Tells the client about a change, if it wants to know. */
  readonly tell: (change: ContentChange) => Promise<void>;
}

export function newServer(service: McpService, options: NewServerOptions): ConnectedServer {
  const { toolkit, content } = service;
  const { name, version, instructions } = service.options;
  const mcp = new mcpServerSdk.McpServer(
    { name, version },
    {
      capabilities: {
        tools: { listChanged: true },
        logging: {},
        ...(content.hasResources && { resources: { subscribe: true, listChanged: true } }),
        ...(content.hasPrompts && { prompts: { listChanged: true } }),
        ...((content.hasResources || content.hasPrompts) && { completions: {} }),
      },
      ...(instructions !== undefined && { instructions }),
    },
  );
  const { server } = mcp; // handlers read the toolkit at every request, so that changes apply
  answerWrongParams(server);
  server.setRequestHandler('tools/list', () => ({
    tools: toolkit.getJsonSchemas().map((schema) => toDefinition(toolkit, schema)),
  }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const run = async (client: ClientSide): Promise<CallToolResult> => {
      const before = toolkit.getJsonSchemas();
      const features = featuresOf(mcp, context);
      const result = await callTool(toolkit, params, { client, features, release: context.http?.closeSSE });
      if (toolkit.getJsonSchemas() !== before) await options.onToolsChanged(); // e.g. a group was activated
      return result;
    };
    return answer(options, context.mcpReq, run);
  });
  const subscriptions = serveContent(server, content);
  const tell = async (change: ContentChange): Promise<void> => {
    if (change === 'resources') await server.sendResourceListChanged();
    else if (change === 'prompts') await server.sendPromptListChanged();
    else if (subscriptions.has(change.resource)) await server.sendResourceUpdated({ uri: change.resource });
  };
  return { mcp, tell };
}

/** Runs a tool call. Questions to a client of an earlier year are requests; those to a client of 2026 are rounds. */
function answer(
  { era, rounds }: NewServerOptions,
  request: ServerContext['mcpReq'],
  run: (client: ClientSide) => Promise<CallToolResult>,
): Promise<CallToolResult | InputRequiredResult> {
  if (era === 'modern') return rounds.answer(request, run);
  return run({ request, signal: request.signal, ask: (question) => push(request, question) });
}

function push({ send, signal }: ServerContext['mcpReq'], question: InputRequest): Promise<unknown> {
  const limits = { timeout: ASK_MS, signal };
  if (question.method === 'roots/list') return send({ method: question.method }, limits);
  const params = copyJsonObject(question.params, 'params');
  const isPage = params['mode'] === 'url';
  return send(
    { method: question.method, params: { ...params, ...(isPage && { elicitationId: newId() }) } },
    limits,
  );
}

/** Features that the client has declared, in its handshake or with the request. */
function featuresOf({ server }: McpServer, { mcpReq }: ServerContext): McpClientFeatures {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope };
  const { specTypeSchemas, CLIENT_CAPABILITIES_META_KEY } = mcpServerSdk;
  const declared = readSpecType(specTypeSchemas.ClientCapabilities, envelope[CLIENT_CAPABILITIES_META_KEY]);
  if (declared !== undefined) return declared;
  // oxlint-disable-next-line typescript/no-deprecated -- the only place for clients of earlier years
  return server.getClientCapabilities() ?? {};
}

interface ToolCallParams {
  readonly name: string;
  readonly arguments?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** Runs a tool call as a span of the client's trace. */
async function callTool(
  toolkit: Toolkit,
  params: ToolCallParams,
  parts: Omit<RequestParts, 'progress'>,
): Promise<CallToolResult> {
  const input = copyJsonObject(params.arguments ?? {}, 'arguments');
  const call = { type: 'tool_use', id: newId('call_'), name: params.name, input } as const;
  const progress = new ProgressSender(parts.client);
  const { signal } = parts.client;
  const run = (): Promise<ToolCallResult> =>
    toolkit.callToolFunction(call, {
      signal,
      onChunk: (snapshot) => progress.sendSnapshot(snapshot),
      context: new McpToolRequest({ ...parts, progress }),
    });
  const result = await continueTrace(
    (header) => textIn(params._meta, header),
    () => traced(() => operationOf(params), run, { signal, outcomeOf: ({ status }) => ({ status }) }),
  );
  return toMcpResult(result);
}

function operationOf({ name: target }: ToolCallParams): TracedOperation {
  return {
    type: 'mcp',
    side: 'server',
    method: 'tools/call',
    target,
    server: undefined,
    transport: undefined,
  };
}

function textIn(meta: Readonly<Record<string, unknown>> | undefined, key: string): string | undefined {
  const text = meta !== undefined && Object.hasOwn(meta, key) ? meta[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}

function toDefinition(toolkit: Toolkit, { name, description, parameters }: ToolSchema): ToolDefinition {
  const { readOnly, sideEffect } = toolkit.get(name) ?? {};
  return {
    name,
    ...(description !== undefined && { description }),
    inputSchema: { ...dialectOf(toolkit, name), ...parameters, type: 'object' },
    annotations: {
      ...(readOnly !== undefined && { readOnlyHint: readOnly }),
      ...(sideEffect !== undefined && { idempotentHint: !sideEffect }),
    },
  };
}

/** The dialect that a tool's schema names, which models are not shown. */
function dialectOf(toolkit: Toolkit, name: string): { readonly $schema?: string } {
  const { schema } = toolkit.get(name) ?? {};
  if (schema === undefined) return {};
  const { $schema } = isLiveSchema(schema) ? schema.current() : toJsonSchema(schema);
  return typeof $schema === 'string' ? { $schema } : {};
}
