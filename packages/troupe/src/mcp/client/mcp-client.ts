import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import type { ToolOutputBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import type { Tool } from '../../toolkit/tool/tool.ts';
import { abortable, whenAborted } from '../../util/abort.ts';
import type { JsonObject } from '../../util/json.ts';
import { SharedWork } from '../../util/async/shared-work.ts';
import { importPackage } from '../protocol/import-package.ts';
import { checkClientOptions, type McpClientOptions } from './mcp-client-options.ts';
import type { McpCallOptions, McpConnection } from './mcp-connection.ts';
import { toOutputBlock, toMsg, toToolResponse } from './mcp-content.ts';
import type { McpPrompt, McpResource, McpResourceTemplate } from './mcp-transport.ts';
import { mcpTool } from './mcp-tool.ts';
import { ToolLedger, type McpToolDefinition } from './tool-ledger.ts';

type McpRequestOptions = Omit<McpCallOptions, 'onProgress'>;
type SignalOption = Pick<McpCallOptions, 'signal'>;

/**
 * The tools of an MCP server, and what else it has. Nothing is started or asked before the first use.
 *
 * A stateful client connects by `connect` or by its first use, and again by itself when the server has died between two calls. A call that
 * runs when it dies fails and is not repeated: it may have had an effect. Clients can be closed in any order, twice, and while calls run.
 */
export class McpClient {
  readonly name: string;
  readonly isStateful: boolean;
  readonly #options: McpClientOptions;
  readonly #ledger: ToolLedger;
  readonly #listeners = new Set<() => void>();
  readonly #connections = new Set<McpConnection>();
  readonly #openings = new Set<Promise<unknown>>();
  #shared: SharedWork<McpConnection> | undefined;
  #current: McpConnection | undefined;
  #isListed = false;
  #refreshing: Promise<void> | undefined;
  #isStale = false;
  /** Aborted by `close`. */
  #life = new AbortController();

  /** @throws TroupeError if an option is wrong. */
  constructor(options: McpClientOptions) {
    checkClientOptions(options);
    this.name = options.name;
    this.isStateful = options.stateful ?? true;
    this.#options = options;
    this.#ledger = new ToolLedger(options.onToolChange === 'accept', options.fingerprints);
  }

  /** Whether there is a connection that can be used. */
  get isConnected(): boolean {
    return this.#current?.isGood === true;
  }

  /**
   * Connects, also after `close`, and lists the tools. If there is a connection it is kept.
   * @throws TroupeError if that fails.
   */
  async connect(options: SignalOption = {}): Promise<void> {
    if (this.#life.signal.aborted) this.#life = new AbortController();
    if (this.isStateful) await this.#live(options.signal);
    else await this.listTools(options);
  }

  /**
   * The tools that the server has. A stateful client is told when they change; a stateless one asks each time.
   * @throws TroupeError if the server can't be asked.
   */
  async listTools({ signal }: SignalOption = {}): Promise<readonly McpToolDefinition[]> {
    if (this.isStateful) {
      await this.#live(signal);
      const refreshing = this.#refreshing ?? Promise.resolve();
      await (signal === undefined ? refreshing : abortable(refreshing, signal));
    } else await this.#use(signal, (connection) => this.#list(connection, signal));
    return this.#ledger.tools;
  }

  /**
   * Calls a tool. What the server answers is in the response, its failures too.
   * @throws TroupeError if there is no answer; the reason of an aborted signal.
   */
  async callTool(name: string, input: JsonObject = {}, options: McpCallOptions = {}): Promise<ToolResponse> {
    const { signal } = options;
    const timeoutMs = this.#timeoutOf(options);
    if (!this.isStateful && !this.#isListed) await this.listTools({ signal });
    return this.#use(signal, async (connection) => {
      if (this.#ledger.isChanged(name)) return unavailable(`The tool '${name}' of ${this.name} ${CHANGED}`);
      const tool = this.#ledger.get(name);
      if (tool === undefined) return unavailable(`${this.name} has no tool '${name.slice(0, 100)}'.`);
      return toToolResponse(await connection.callTool(tool, input, { ...options, timeoutMs }));
    });
  }

  /** One of its tools, for use without the others. @throws TroupeError if there is none of that name. */
  async getTool(name: string): Promise<Tool> {
    const tools = await this.listTools();
    const found = tools.find((tool) => tool.name === name);
    if (found !== undefined) return mcpTool(this, found);
    throw new TroupeError('invalid_config', `${this.name} has no tool '${name}'.`);
  }

  /** What can be read at the server. Empty if it has no resources. @throws TroupeError if it can't be asked. */
  listResources({ signal }: SignalOption = {}): Promise<readonly McpResource[]> {
    return this.#use(signal, (connection) => connection.listResources(signal));
  }

  /** Patterns of addresses that can be read. @throws TroupeError if it can't be asked. */
  listResourceTemplates({ signal }: SignalOption = {}): Promise<readonly McpResourceTemplate[]> {
    return this.#use(signal, (connection) => connection.listResourceTemplates(signal));
  }

  /** Reads a resource: text, pictures, files, as blocks for a message. @throws TroupeError if there is no answer. */
  async readResource(uri: string, options: McpRequestOptions = {}): Promise<readonly ToolOutputBlock[]> {
    const ask = { ...options, timeoutMs: this.#timeoutOf(options) };
    const { contents } = await this.#use(options.signal, (connection) => connection.readResource(uri, ask));
    return contents.map((resource) => toOutputBlock({ type: 'resource', resource }));
  }

  /** The prompts that the server offers. Empty if it has none. @throws TroupeError if it can't be asked. */
  listPrompts({ signal }: SignalOption = {}): Promise<readonly McpPrompt[]> {
    return this.#use(signal, (connection) => connection.listPrompts(signal));
  }

  /** A prompt with its arguments filled in, as messages. @throws TroupeError if there is no answer. */
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
   * Ends a login by OAuth, with what its page came back with; then `connect` works.
   * @param callback the `searchParams` of the address that the user was sent back to
   * @throws TroupeError if the server's `authProvider` can't make a token of it
   */
  async finishAuth(callback: URLSearchParams): Promise<void> {
    const { finishAuth } = await importPackage(
      '@modelcontextprotocol/client',
      () => import('./open-transport.ts'),
    );
    await finishAuth(this.name, this.#options.transport, callback);
  }

  /** The tools as they were listed last and accepted. */
  get tools(): readonly McpToolDefinition[] {
    return this.#ledger.tools;
  }

  /** The tools that are not what they were when they were accepted, as they are now. They can't be called. */
  get changedTools(): readonly McpToolDefinition[] {
    return this.#ledger.changed;
  }

  /** Accepts a tool as it is now. Returns whether it was a changed one. */
  accept(name: string): boolean {
    const wasChanged = this.#ledger.accept(name);
    if (wasChanged) this.#tell();
    return wasChanged;
  }

  /** What was accepted, to be kept for the next time. */
  get fingerprints(): Readonly<Record<string, string>> {
    return this.#ledger.fingerprints;
  }

  /** Is told when tools have come, gone, changed or been accepted. The returned function calls that off. */
  onToolsChanged(listener: () => void): () => void {
    const entry = (): void => listener(); // one may be added twice
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Ends all connections, and what was started for them; calls that run fail. `connect` opens it again. */
  async close(): Promise<void> {
    this.#life.abort(
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
    const connection = await this.#live(signal);
    try {
      return await this.#untilClosed(work(connection));
    } catch (error) {
      if (!connection.hasLostSession(error)) throw error;
      if (this.#current === connection) this.#shared = undefined; // what was not even looked at can be asked again
      return this.#untilClosed(work(await this.#live(signal)));
    }
  }

  /** What fails because of `close` says so. */
  async #untilClosed<T>(work: Promise<T>): Promise<T> {
    const life = this.#life.signal;
    try {
      return await work;
    } catch (error) {
      life.throwIfAborted();
      throw error;
    }
  }

  /** The connection, which is made anew if it has ended. */
  async #live(signal: AbortSignal | undefined): Promise<McpConnection> {
    if (this.#shared === undefined || this.#shared.hasFailed || this.#current?.isGood === false) {
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

  /** A new connection. Once the signal is aborted nobody waits for it, but `close` does until nothing of it is left. */
  async #open(signal: AbortSignal | undefined): Promise<McpConnection> {
    const life = this.#life.signal;
    life.throwIfAborted();
    const stop = new AbortController();
    const links = [signal, life].map((one) => whenAborted(one, (reason) => stop.abort(reason)));
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
      void opening.then((connection) => this.#end(connection)).catch(() => {}); // it was there a moment too late
      throw stop.signal.reason;
    } finally {
      for (const unlink of links) unlink();
    }
  }

  async #newConnection(signal: AbortSignal): Promise<McpConnection> {
    const { McpConnection } = await importPackage(
      '@modelcontextprotocol/client',
      () => import('./mcp-connection.ts'),
    );
    const {
      transport: server,
      connectTimeoutMs = 30_000,
      maxTools = 1000,
      maxMessageBytes = 2 ** 24,
    } = this.#options;
    const onToolsChanged = (): void => this.#refresh();
    const setup = { name: this.name, server, connectTimeoutMs, maxTools, maxMessageBytes, onToolsChanged };
    const connection = await McpConnection.open(setup, signal);
    if (!signal.aborted) return connection;
    await connection.close();
    throw signal.reason;
  }

  /** Lets go of a connection, which ends with the last of its requests. */
  async #end(connection: McpConnection): Promise<void> {
    await connection.retire();
    this.#connections.delete(connection);
  }

  async #list(connection: McpConnection, signal: AbortSignal | undefined): Promise<void> {
    this.#ledger.update(await connection.listTools(signal));
    this.#isListed = true;
    for (const { name } of this.#ledger.changed) {
      getLogger().log('warn', `The tool '${name.slice(0, 100)}' of ${this.name} ${CHANGED}`);
    }
    this.#tell();
  }

  /** Lists the tools again, once for however many changes came meanwhile. */
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
        await this.#list(this.#current, this.#life.signal);
      }
    } catch (error) {
      getLogger().log('warn', `The tools of ${this.name} could not be listed again: ${messageOf(error)}`);
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

const CHANGED =
  'is not what it was when it was accepted. It can not be called before somebody has accepted it again.';

function unavailable(problem: string): ToolResponse {
  return new ToolResponse(problem, { status: 'unavailable' });
}
