import type { McpServedPrompt, McpServedResource, McpServedTemplate } from './served-content.ts';

export interface McpServerOptions {
  /** Name in the handshake. @default 'troupe' */
  readonly name?: string;
  readonly version?: string;
  /** Instructions for the client's model. */
  readonly instructions?: string;
  /** Purpose of an agent, for the client's model. */
  readonly description?: string;
  /** Resources for clients. With an empty list, resources may be added later. @default none, and clients are told so */
  readonly resources?: readonly McpServedResource[];
  readonly resourceTemplates?: readonly McpServedTemplate[];
  /** Prompts for clients. With an empty list, prompts may be added later. @default none, and clients are told so */
  readonly prompts?: readonly McpServedPrompt[];
  /**
   * Pending tool calls of an agent: `refuse` ends them with an error; `elicit` asks the person at the client, where the
   * client can. Whoever can call the server then decides what its agent may do.
   * @default 'refuse'
   */
  readonly onPending?: 'refuse' | 'elicit';
  /** Allowed host names and web origins over HTTP. @default those of this machine */
  readonly allowedHosts?: readonly string[];
}
