import type {
  AuthProvider,
  OAuthClientProvider,
  Prompt,
  Resource,
  ResourceTemplateType,
} from '@modelcontextprotocol/client';

import { TroupeError } from '../../errors.ts';

/** Resource in the description of its server. */
export type McpResource = Resource;
/** Address pattern of resources. */
export type McpResourceTemplate = ResourceTemplateType;
/** Prompt that a server offers. */
export type McpPrompt = Prompt;
/** Folder that servers may work in: an address with `file://`, and a name for people. */
export interface McpRoot {
  readonly uri: string;
  readonly name?: string;
}

/** Provides tokens, `{ token: async () => … }`, or an OAuth login, in the types of the official client. */
export type McpAuthProvider = AuthProvider | OAuthClientProvider;

/** Server started as a child process. */
export interface StdioServer {
  readonly type: 'stdio';
  /** Program, found in PATH. No shell is involved. */
  readonly command: string;
  readonly args?: readonly string[];
  /**
   * Environment variables in addition to PATH, HOME, LANG and the like. No other variable of this program is
   * passed on.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory. @default that of this program */
  readonly cwd?: string;
}

/** Constant headers, or a function called before each request, e.g. for a token that expires. */
export type McpHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** Server at an address: `http` for streamable HTTP, `sse` for the older protocol. */
export interface HttpServer {
  readonly type: 'http' | 'sse';
  readonly url: string;
  /** Sent only to the server, not to redirect targets or login servers. */
  readonly headers?: McpHeaders;
  readonly authProvider?: McpAuthProvider;
}

/** Address and protocol of a server. */
export type McpTransport = StdioServer | HttpServer;

/** Validates a transport without starting or contacting anything. @throws TroupeError */
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
