import type {
  CompleteRequest,
  GetPromptResult,
  McpServer,
  PromptMessage,
  ReadResourceResult,
} from '@modelcontextprotocol/server';

import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import { Msg } from '../../message/msg.ts';
import { toBase64 } from '../../util/base64.ts';
import { mcpServerSdk } from '../protocol/sdk.ts';
import { toMcpContent } from './mcp-result.ts';
import type {
  McpComplete,
  McpReadContext,
  McpResourceContent,
  McpServedPrompt,
  ServedContent,
} from './served-content.ts';

/** Maximum suggestions in one answer, by the protocol. */
const MAX_SUGGESTIONS = 100;
/** Maximum subscriptions of one client; a further one is refused. */
const MAX_SUBSCRIPTIONS = 1000;

/** Answers requests about resources, prompts and completion. Returns the addresses that the client has subscribed to. */
export function serveContent(server: McpServer['server'], content: ServedContent): ReadonlySet<string> {
  const subscriptions = new Set<string>();
  if (content.hasResources) serveResources(server, content, subscriptions);
  if (content.hasPrompts) {
    server.setRequestHandler('prompts/list', () => ({
      prompts: [...content.prompts.values()].map(({ get: _, arguments: args, ...prompt }) => ({
        ...prompt,
        ...(args && { arguments: args.map(({ complete: __, ...argument }) => argument) }),
      })),
    }));
    server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) =>
      getPrompt(content, params.name, params.arguments ?? {}, mcpReq),
    );
  }
  if (content.hasResources || content.hasPrompts)
    server.setRequestHandler('completion/complete', ({ params }) => complete(content, params));
  return subscriptions;
}

function serveResources(
  server: McpServer['server'],
  content: ServedContent,
  subscriptions: Set<string>,
): void {
  server.setRequestHandler('resources/list', () => ({
    resources: [...content.resources.values()].map(({ read: _, ...resource }) => resource),
  }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: content.templates.map(({ read: _, complete: __, ...template }) => template),
  }));
  server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
    readResource(content, params.uri, mcpReq),
  );
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    if (findReader(content, uri) === undefined) throw new mcpServerSdk.ResourceNotFoundError(uri);
    if (subscriptions.size >= MAX_SUBSCRIPTIONS && !subscriptions.has(uri))
      throw invalid(`At most ${MAX_SUBSCRIPTIONS} resources can be subscribed to`);
    subscriptions.add(uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.delete(uri);
    return {};
  });
}

interface Reader {
  readonly mimeType: string | undefined;
  readonly read: (context: McpReadContext) => McpResourceContent | Promise<McpResourceContent>;
}

function findReader(content: ServedContent, uri: string): Reader | undefined {
  const resource = content.resources.get(uri);
  if (resource !== undefined) return { mimeType: resource.mimeType, read: resource.read };
  for (const { uriTemplate, mimeType, read } of content.templates) {
    const found = new mcpServerSdk.UriTemplate(uriTemplate).match(uri);
    if (found === null) continue;
    const variables = Object.fromEntries(
      Object.entries(found).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
    );
    return { mimeType, read: (context) => read(uri, variables, context) };
  }
  return undefined;
}

async function readResource(
  content: ServedContent,
  uri: string,
  { signal }: McpReadContext,
): Promise<ReadResourceResult> {
  const reader = findReader(content, uri);
  if (reader === undefined) throw new mcpServerSdk.ResourceNotFoundError(uri);
  const data = await reading(`the resource ${uri}`, async () => reader.read({ signal }));
  const { mimeType = typeof data === 'string' ? 'text/plain' : 'application/octet-stream' } = reader;
  const body = typeof data === 'string' ? { text: data } : { blob: toBase64(data) };
  return { contents: [{ uri, mimeType, ...body }] };
}

async function getPrompt(
  content: ServedContent,
  name: string,
  args: Readonly<Record<string, string>>,
  { signal }: McpReadContext,
): Promise<GetPromptResult> {
  const prompt = content.prompts.get(name);
  if (prompt === undefined) throw invalid(`There is no prompt '${name.slice(0, 100)}'`);
  const missing = missingArguments(prompt, args);
  if (missing.length > 0) throw invalid(`The prompt '${name}' needs the arguments ${missing.join(', ')}`);
  const given = await reading(`the prompt ${name}`, async () => prompt.get(args, { signal }));
  const msgs = typeof given === 'string' ? [Msg.user(given)] : given;
  const { description } = prompt;
  return { ...(description !== undefined && { description }), messages: msgs.flatMap(toPromptMessages) };
}

function missingArguments(prompt: McpServedPrompt, args: Readonly<Record<string, string>>): string[] {
  const required = (prompt.arguments ?? []).filter((argument) => argument.required === true);
  return required.map(({ name }) => name).filter((name) => !Object.hasOwn(args, name));
}

/** A message of the protocol has one block, so each block becomes a message. Messages of the system count as the user's. */
function toPromptMessages(msg: Msg): readonly PromptMessage[] {
  const role = msg.role === 'assistant' ? 'assistant' : 'user';
  const blocks = msg.getContentBlocks(['text', 'image', 'audio', 'video', 'file']);
  return blocks.map((block, i) => ({ role, content: toMcpContent(block, i) }));
}

async function complete(
  content: ServedContent,
  { ref, argument, context }: CompleteRequest['params'],
): Promise<{ completion: { values: string[]; total: number; hasMore: boolean } }> {
  const suggest = completerOf(content, ref, argument.name);
  const given =
    suggest === undefined
      ? []
      : await reading('suggestions', async () => suggest(argument.value, context?.arguments ?? {}));
  const values = given.slice(0, MAX_SUGGESTIONS);
  return { completion: { values, total: given.length, hasMore: given.length > values.length } };
}

function completerOf(
  content: ServedContent,
  ref: CompleteRequest['params']['ref'],
  argument: string,
): McpComplete | undefined {
  if (ref.type === 'ref/prompt') {
    const prompt = content.prompts.get(ref.name);
    if (prompt === undefined) throw invalid(`There is no prompt '${ref.name.slice(0, 100)}'`);
    return prompt.arguments?.find(({ name }) => name === argument)?.complete;
  }
  const template = content.templates.find(({ uriTemplate }) => uriTemplate === ref.uri);
  if (template === undefined && !content.resources.has(ref.uri))
    throw invalid(`There is no resource template '${ref.uri.slice(0, 200)}'`);
  const { complete: completers = {} } = template ?? {};
  return Object.hasOwn(completers, argument) ? completers[argument] : undefined;
}

/** Runs code of the program. Its error is logged: the text may hold what a client must not see. */
async function reading<T>(what: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    getLogger().log('warn', `An MCP client could not be given ${what}: ${messageOf(error)}`);
    throw new mcpServerSdk.ProtocolError(
      mcpServerSdk.ProtocolErrorCode.InternalError,
      `${what} could not be read`,
    );
  }
}

function invalid(problem: string): Error {
  return new mcpServerSdk.ProtocolError(mcpServerSdk.ProtocolErrorCode.InvalidParams, problem);
}
