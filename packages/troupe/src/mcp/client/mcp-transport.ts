import type {
  AuthProvider,
  OAuthClientProvider,
  Prompt,
  Resource,
  ResourceTemplateType,
} from '@modelcontextprotocol/client';

import { TroupeError } from '../../errors.ts';

/** What can be read at a server, as it describes it. */
export type McpResource = Resource;
/** A pattern of addresses that can be read. */
export type McpResourceTemplate = ResourceTemplateType;
/** A prompt that a server offers. */
export type McpPrompt = Prompt;
/** Gives tokens, `{ token: async () => … }`, or logs in by OAuth, as the official client understands it. */
export type McpAuthProvider = AuthProvider | OAuthClientProvider;

/** A server that is started as a child process. */
export interface StdioServer {
  readonly type: 'stdio';
  /** A program, looked for in PATH. There is no shell in between. */
  readonly command: string;
  readonly args?: readonly string[];
  /** What it gets besides PATH, HOME, LANG and the like. Nothing else of our own environment is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** @default that of this program */
  readonly cwd?: string;
}

/** Given once, or asked for before each request, e.g. for a token that expires. */
export type McpHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** A server at an address: `http` is the streamable HTTP of today, `sse` what came before. */
export interface HttpServer {
  readonly type: 'http' | 'sse';
  readonly url: string;
  /** Sent to the server itself, and to nobody else. */
  readonly headers?: McpHeaders;
  readonly authProvider?: McpAuthProvider;
}

/** Where a server is, and how it is spoken to. */
export type McpTransport = StdioServer | HttpServer;

/** @throws TroupeError unless it can be used. Nothing is started or asked. */
export function checkTransport(transport: McpTransport): void {
  if (transport.type === 'stdio') {
    const { command, args = [], env = {} } = transport;
    const isList = Array.isArray(args) && args.every((arg) => typeof arg === 'string');
    if (typeof command !== 'string' || command === '' || !isList)
      throw invalid('A stdio server needs a command, and its arguments as a list of strings.');
    if ([command, ...args, ...Object.entries(env).flat()].some((text) => String(text).includes('\0')))
      throw invalid('A command, its arguments and its environment can hold no null character.');
    return;
  }
  if (transport.type !== 'http' && transport.type !== 'sse') {
    throw invalid("The type of a transport is 'stdio', 'http' or 'sse'.");
  }
  const url = URL.parse(transport.url);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw invalid('The url of a server must start with http:// or https://.');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('The url of a server must not hold a user name or password. Give them as headers.');
  }
}

function invalid(problem: string): TroupeError {
  return new TroupeError('invalid_config', problem);
}
