import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import type { ToolOutputBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import type { Tool } from '../../toolkit/tool/tool.ts';
import { abortable, whenAborted } from '../../util/abort.ts';
import type { JsonObject } from '../../util/json.ts';
import { SharedWork } from '../../util/async/shared-work.ts';
import { loadMcpClientSdk } from '../protocol/sdk.ts';
import { checkClientOptions, type McpClientOptions } from './mcp-client-options.ts';
import type { McpCallOptions, McpConnection } from './mcp-connection.ts';
import { toOutputBlock, toMsg, toToolResponse } from './mcp-content.ts';
import type { McpPrompt, McpResource, McpResourceTemplate } from './mcp-transport.ts';
import { mcpTool } from './mcp-tool.ts';
import { AcceptedTools, type McpToolDefinition } from './accepted-tools.ts';

type McpRequestOptions = Omit<McpCallOptions, 'onProgress'>;
type SignalOption = Pick<McpCallOptions, 'signal'>;

/**
 * Client of an MCP server: tools, resources and prompts. Connects on first use.
 *
 * A stateful client connects with `connect` or on first use, and reconnects when the server has ended between
 * two requests. A request that runs when the server ends fails and is not repeated, because it may have had
 * an effect. `close` may be called in any order, twice, and while requests run. Folder `mcp/client`: start here.
 *
 * @example
 * ```ts no-run
 * import { Toolkit } from 'troupe';
 * import { McpClient, registerMcpClient } from 'troupe/mcp';
 *
 * const command = { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] };
 * await using client = new McpClient({ name: 'memory', transport: { type: 'stdio', ...command } });
 * const toolkit = new Toolkit();
 * await registerMcpClient(toolkit, client); // connects it, and adds its tools
 * ```
 */
export class McpClient {
  readonly name: string;
  readonly isStateful: boolean;
  readonly #options: McpClientOptions;
  readonly #accepted: AcceptedTools;
  readonly #listeners = new Set<() => void>();
  readonly #connections = new Set<McpConnection>();
  readonly #openings = new Set<Promise<unknown>>();
  #shared: SharedWork<McpConnection> | undefined;
  #current: McpConnection | undefined;
  #isListed = false;
  #refreshing: Promise<void> | undefined;
  #isStale = false;
  /** Aborted by `close`. */
  #closing = new AbortController();

  /** @throws TroupeError if an option is wrong. */
  constructor(options: McpClientOptions) {
    checkClientOptions(options);
    this.name = options.name;
    this.isStateful = options.stateful ?? true;
    this.#options = options;
    this.#accepted = new AcceptedTools(options.onToolChange === 'accept', options.fingerprints);
  }

  /** Whether a usable connection is open. */
  get isConnected(): boolean {
    return this.#current?.isUsable === true;
  }

  /**
   * Connects, also after `close`, and lists the tools. Keeps an open connection.
   * @throws TroupeError if connecting fails.
   */
  async connect(options: SignalOption = {}): Promise<void> {
    if (this.#closing.signal.aborted) this.#closing = new AbortController();
    if (this.isStateful) await this.#connection(options.signal);
    else await this.listTools(options);
  }

  /**
   * Lists the tools of the server. A stateful client lists once and follows change notifications; a stateless
   * client lists every time.
   * @throws TroupeError if the server can't be reached.
   */
  async listTools({ signal }: SignalOption = {}): Promise<readonly McpToolDefinition[]> {
    if (this.isStateful) {
      await this.#connection(signal);
      const refreshing = this.#refreshing ?? Promise.resolve();
      await (signal === undefined ? refreshing : abortable(refreshing, signal));
    } else await this.#use(signal, (connection) => this.#list(connection, signal));
    return this.#accepted.tools;
  }

  /**
   * Runs a tool call at the server. Answers of the server are in the response, failures included.
   * @throws TroupeError if there is no answer; the reason of an aborted signal.
   */
  async callTool(name: string, input: JsonObject = {}, options: McpCallOptions = {}): Promise<ToolResponse> {
    const { signal } = options;
    const timeoutMs = this.#timeoutOf(options);
    if (!this.isStateful && !this.#isListed) await this.listTools({ signal });
    return this.#use(signal, async (connection) => {
      if (this.#accepted.isChanged(name)) return unavailable(`The tool '${name}' of ${this.name} ${CHANGED}`);
      const tool = this.#accepted.get(name);
      if (tool === undefined) return unavailable(`${this.name} has no tool '${name.slice(0, 100)}'.`);
      return toToolResponse(await connection.callTool(tool, input, { ...options, timeoutMs }));
    });
  }

  /**
   * Returns one tool of the server, for use without the others.
   * @throws TroupeError if the server has no such tool.
   */
  async getTool(name: string): Promise<Tool> {
    const tools = await this.listTools();
    const found = tools.find((tool) => tool.name === name);
    if (found !== undefined) return mcpTool(this, found);
    throw new TroupeError('invalid_config', `${this.name} has no tool '${name}'.`);
  }

  /** Lists resources; empty if the server has none. @throws TroupeError if the server can't be reached. */
  listResources({ signal }: SignalOption = {}): Promise<readonly McpResource[]> {
    return this.#use(signal, (connection) => connection.listResources(signal));
  }

  /** Lists address patterns of resources. @throws TroupeError if the server can't be reached. */
  listResourceTemplates({ signal }: SignalOption = {}): Promise<readonly McpResourceTemplate[]> {
    return this.#use(signal, (connection) => connection.listResourceTemplates(signal));
  }

  /**
   * Reads a resource (text, image, file) as blocks for a message.
   * @throws TroupeError if there is no answer.
   */
  async readResource(uri: string, options: McpRequestOptions = {}): Promise<readonly ToolOutputBlock[]> {
    const ask = { ...options, timeoutMs: this.#timeoutOf(options) };
    const { contents } = await this.#use(options.signal, (connection) => connection.readResource(uri, ask));
    return contents.map((resource) => toOutputBlock({ type: 'resource', resource }));
  }

  /** Lists prompts; empty if the server has none. @throws TroupeError if the server can't be reached. */
  listPrompts({ signal }: SignalOption = {}): Promise<readonly McpPrompt[]> {
    return this.#use(signal, (connection) => connection.listPrompts(signal));
  }

  /**
   * Returns a prompt with its arguments filled in, as messages.
   * @throws TroupeError if there is no answer.
   */
  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: McpRequestOptions = {},
  ): Promise<readonly Msg[]> {
    const ask = { ...options, timeoutMs: this.#timeoutOf(options) };
    const result = await this.#use(options.signal, (connection) => connection.getPrompt(name, args, ask));
    return result.messages.map((message) => toMsg(message, this.name));
  }

  /**
   * Finishes an OAuth login with the parameters of the callback; `connect` works afterwards.
   * @param callback `searchParams` of the address to which the user was redirected
   * @throws TroupeError if the `authProvider` can't get a token
   */
  async finishAuth(callback: URLSearchParams): Promise<void> {
    await loadMcpClientSdk();
    const { finishAuth } = await import('./open-transport.ts');
    await finishAuth(this.name, this.#options.transport, callback);
  }

  /** Accepted tools, as last listed. */
  get tools(): readonly McpToolDefinition[] {
    return this.#accepted.tools;
  }

  /** Current definitions of changed tools, which can't be called until accepted. */
  get changedTools(): readonly McpToolDefinition[] {
    return this.#accepted.changed;
  }

  /** Accepts a changed tool. Returns whether the tool was changed. */
  accept(name: string): boolean {
    const wasChanged = this.#accepted.accept(name);
    if (wasChanged) this.#notifyListeners();
    return wasChanged;
  }

  /** Fingerprints of the accepted tools, for the options of a later client. */
  get fingerprints(): Readonly<Record<string, string>> {
    return this.#accepted.fingerprints;
  }

  /**
   * Registers a listener for added, removed, changed and accepted tools. The returned function removes the
   * listener.
   */
  onToolsChanged(listener: () => void): () => void {
    const entry = (): void => listener(); // a wrapper, because the same function may be added twice
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Closes all connections and their processes; running requests fail. `connect` opens the client again. */
  async close(): Promise<void> {
    this.#closing.abort(
      new TroupeError('mcp_failed', `${this.name} was closed. Call connect() to use it again.`),
    );
    this.#shared = undefined;
    await Promise.allSettled([...this.#openings, ...[...this.#connections].map((one) => one.close())]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #timeoutOf({ timeoutMs = this.#options.timeoutMs ?? 120_000 }: McpRequestOptions): number {
    return timeoutMs;
  }

  async #use<T>(
    signal: AbortSignal | undefined,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    if (!this.isStateful) {
      const connection = await this.#open(signal);
      try {
        return await this.#untilClosed(work(connection));
      } finally {
        void this.#end(connection);
      }
    }
    const connection = await this.#connection(signal);
    try {
      return await this.#untilClosed(work(connection));
    } catch (error) {
      if (!connection.hasLostSession(error)) throw error;
      // the server did not process the request, so repeating it is safe
      if (this.#current === connection) this.#shared = undefined;
      return this.#untilClosed(work(await this.#connection(signal)));
    }
  }

  /** Replaces an error caused by `close` with the reason of `close`. */
  async #untilClosed<T>(work: Promise<T>): Promise<T> {
    const closing = this.#closing.signal;
    try {
      return await work;
    } catch (error) {
      closing.throwIfAborted();
      throw error;
    }
  }

  /** The shared connection, opened again if it has ended. */
  async #connection(signal: AbortSignal | undefined): Promise<McpConnection> {
    if (this.#shared === undefined || this.#shared.hasFailed || this.#current?.isUsable === false) {
      if (this.#current !== undefined) void this.#end(this.#current);
      this.#current = undefined;
      this.#shared = new SharedWork((stop) => this.#openAndList(stop));
    }
    return this.#untilClosed(this.#shared.wait(signal));
  }

  async #openAndList(signal: AbortSignal): Promise<McpConnection> {
    const connection = await this.#open(signal);
    try {
      await this.#list(connection, signal);
      this.#current = connection;
      if (this.#isStale) this.#refresh();
      return connection;
    } catch (error) {
      await this.#end(connection);
      throw error;
    }
  }

  /**
   * Opens a connection. After an abort nobody waits for the connection, but `close` waits until it is gone.
   */
  async #open(signal: AbortSignal | undefined): Promise<McpConnection> {
    const closing = this.#closing.signal;
    closing.throwIfAborted();
    const stop = new AbortController();
    const links = [signal, closing].map((one) => whenAborted(one, (reason) => stop.abort(reason)));
    const opening = this.#newConnection(stop.signal).then((connection) => {
      this.#connections.add(connection);
      return connection;
    });
    this.#openings.add(opening);
    const forget = (): void => void this.#openings.delete(opening);
    void opening.then(forget, forget);
    try {
      return await abortable(opening, stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) throw error;
      void opening.then((connection) => this.#end(connection)).catch(() => {}); // opened after the abort
      throw stop.signal.reason;
    } finally {
      for (const unlink of links) unlink();
    }
  }

  async #newConnection(signal: AbortSignal): Promise<McpConnection> {
    await loadMcpClientSdk();
    const { McpConnection } = await import('./mcp-connection.ts');
    const {
      transport: server,
      connectTimeoutMs = 30_000,
      maxTools = 1000,
      maxMessageBytes = 2 ** 24,
      elicitation = 'ask',
      questionTimeoutMs = 3_600_000,
      sampling,
      roots,
    } = this.#options;
    const { name } = this;
    const requests = { name, elicitation, questionTimeoutMs, sampling, roots };
    const onToolsChanged = (): void => this.#refresh();
    const limits = { connectTimeoutMs, maxTools, maxMessageBytes };
    const setup = { name, server, ...limits, onToolsChanged, requests };
    const connection = await McpConnection.open(setup, signal);
    if (!signal.aborted) return connection;
    await connection.close();
    throw signal.reason;
  }

  /** Closes a connection after its last running request. */
  async #end(connection: McpConnection): Promise<void> {
    await connection.closeWhenIdle();
    this.#connections.delete(connection);
  }

  async #list(connection: McpConnection, signal: AbortSignal | undefined): Promise<void> {
    this.#accepted.update(await connection.listTools(signal));
    this.#isListed = true;
    for (const { name } of this.#accepted.changed) {
      getLogger().log('warn', `The tool '${name.slice(0, 100)}' of ${this.name} ${CHANGED}`);
    }
    this.#notifyListeners();
  }

  /** Lists the tools again, once for all changes that arrive meanwhile. */
  #refresh(): void {
    this.#isStale = true;
    this.#refreshing ??= this.#refreshAll().finally(() => {
      this.#refreshing = undefined;
    });
  }

  async #refreshAll(): Promise<void> {
    try {
      while (this.#isStale && this.#current !== undefined) {
        this.#isStale = false;
        await this.#list(this.#current, this.#closing.signal);
      }
    } catch (error) {
      getLogger().log('warn', `The tools of ${this.name} could not be listed again: ${messageOf(error)}`);
    }
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) listener();
  }
}

const CHANGED = "has changed since it was accepted. It can't be called until somebody accepts it again.";

function unavailable(problem: string): ToolResponse {
  return new ToolResponse(problem, { status: 'unavailable' });
}
