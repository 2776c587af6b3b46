export interface McpServerOptions {
  /** Name in the handshake. @default 'troupe' */
  readonly name?: string;
  readonly version?: string;
  /** Instructions for the client's model. */
  readonly instructions?: string;
  /** Purpose of an agent, for the client's model. */
  readonly description?: string;
  /** Allowed host names and web origins over HTTP. @default those of this machine */
  readonly allowedHosts?: readonly string[];
}
