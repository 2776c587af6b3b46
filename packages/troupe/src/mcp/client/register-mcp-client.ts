import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { RegisteredTool } from '../../toolkit/tool/registered-tool.ts';
import type { NamesakeStrategy } from '../../toolkit/tool-table.ts';
import type { Tool, ToolSettings } from '../../toolkit/tool/tool.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import type { JsonObject } from '../../util/json.ts';
import type { McpClient } from './mcp-client.ts';
import { mcpTool, namesOf } from './mcp-tool.ts';
import type { McpToolDefinition } from './accepted-tools.ts';

export interface RegisterMcpClientOptions extends Pick<ToolSettings, 'group' | 'postProcess' | 'timeoutMs'> {
  /** Names of the tools to register, as the server names them. @default all */
  readonly enable?: readonly string[];
  /** Names of tools to omit. */
  readonly disable?: readonly string[];
  /** By the server's tool name: arguments that the model doesn't see. */
  readonly preset?: Readonly<Record<string, JsonObject>>;
  /**
   * Whether the server's hints decide which tools change nothing.
   * @default false: every tool may change something
   */
  readonly trustHints?: boolean;
  /** Handling of a name that is in use. @default 'namespace': the tool becomes `server__tool` */
  readonly namesakeStrategy?: NamesakeStrategy | 'namespace';
}

interface Entry {
  readonly name: string;
  readonly definition: McpToolDefinition;
  readonly tool: Tool;
}

/** Registered clients of each toolkit. */
const registrations = new WeakMap<Toolkit, Map<McpClient, Registration>>();

/**
 * Registers the tools of a client with a toolkit, and connects the client if needed. The toolkit follows the
 * server: new tools are added, removed tools are removed. Returns the registered names.
 * @throws TroupeError if the server can't be reached, or a name or an option is wrong; then nothing is
 * registered.
 */
export async function registerMcpClient(
  toolkit: Toolkit,
  client: McpClient,
  options: RegisterMcpClientOptions = {},
): Promise<readonly string[]> {
  const { enable = [], disable = [], preset = {} } = options;
  const both = enable.filter((name) => disable.includes(name));
  if (both.length > 0) refuse(`A tool can't be both enabled and disabled: ${both.join(', ')}.`);
  const tools = await client.listTools();
  const missing = [...enable, ...Object.keys(preset)].filter(
    (name) => !tools.some((tool) => tool.name === name),
  );
  if (missing.length > 0) refuse(`${client.name} has no tool '${missing.join("', '")}'.`);
  const clients = registrations.get(toolkit) ?? new Map<McpClient, Registration>();
  if (clients.has(client)) refuse(`The tools of ${client.name} are in this toolkit already.`);
  const registration = new Registration(toolkit, client, options, tools);
  registrations.set(toolkit, clients.set(client, registration));
  return registration.names;
}

/** Removes the tools of a client from a toolkit. The client stays connected. Returns the removed names. */
export function removeMcpClient(toolkit: Toolkit, client: McpClient): readonly string[] {
  const registration = registrations.get(toolkit)?.get(client);
  registrations.get(toolkit)?.delete(client);
  return registration?.end() ?? [];
}

/** Tools of a client in a toolkit. A tool removed by the application stays removed. */
class Registration {
  readonly #toolkit: Toolkit;
  readonly #client: McpClient;
  readonly #options: RegisterMcpClientOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #stopListening: () => void;

  /** @throws TroupeError; then the toolkit is unchanged. */
  constructor(
    toolkit: Toolkit,
    client: McpClient,
    options: RegisterMcpClientOptions,
    tools: readonly McpToolDefinition[],
  ) {
    this.#toolkit = toolkit;
    this.#client = client;
    this.#options = options;
    try {
      for (const tool of this.#wanted(tools)) this.#add(tool);
    } catch (error) {
      this.#removeAll();
      throw error;
    }
    this.#stopListening = client.onToolsChanged(() => this.#update());
  }

  get names(): readonly string[] {
    return [...this.#entries.values()].map(({ name }) => name);
  }

  end(): readonly string[] {
    this.#stopListening();
    return this.#removeAll();
  }

  #wanted(tools: readonly McpToolDefinition[]): readonly McpToolDefinition[] {
    const { enable, disable = [] } = this.#options;
    return tools.filter(({ name }) => (enable?.includes(name) ?? true) && !disable.includes(name));
  }

  #add(definition: McpToolDefinition): void {
    const { preset = {}, group, postProcess, timeoutMs, trustHints } = this.#options;
    const tool = mcpTool(this.#client, definition, { timeoutMs, trustHints });
    try {
      new RegisteredTool(tool); // skips tools that no model can be shown, which are mistakes of the server
    } catch (error) {
      this.#warnSkipped(error);
      return;
    }
    const own = Object.hasOwn(preset, definition.name) ? preset[definition.name] : undefined;
    const registration = this.#nameFor(definition.name);
    if (registration === undefined) return;
    const name = this.#toolkit.registerToolFunction(tool, {
      ...(group !== undefined && { group }),
      ...(postProcess !== undefined && { postProcess }),
      ...(own !== undefined && { preset: own }),
      ...registration,
    });
    this.#entries.set(definition.name, { name, definition, tool });
  }

  /** Name and strategy for registering a tool; undefined to skip the tool. */
  #nameFor(tool: string): { readonly name: string; readonly namesakeStrategy: NamesakeStrategy } | undefined {
    const { namesakeStrategy = 'namespace' } = this.#options;
    const old = this.#entries.get(tool);
    if (old !== undefined) return { name: old.name, namesakeStrategy: 'override' };
    const names = namesOf(this.#client.name, tool);
    if (namesakeStrategy === 'namespace') {
      const free = names.find((name) => !this.#toolkit.has(name));
      return { name: free ?? names[2], namesakeStrategy: 'rename' };
    }
    if (namesakeStrategy === 'skip' && this.#toolkit.has(names[0])) return undefined;
    return { name: names[0], namesakeStrategy };
  }

  #warnSkipped(error: unknown): void {
    getLogger().log('warn', `A tool of ${this.#client.name} is skipped: ${messageOf(error)}`);
  }

  /** Updates the toolkit to the server's current tools. */
  #update(): void {
    const wanted = this.#wanted(this.#client.tools);
    const names = new Set(wanted.map(({ name }) => name));
    for (const [name, entry] of this.#entries) {
      if (names.has(name)) continue;
      this.#remove(entry);
      this.#entries.delete(name);
    }
    for (const definition of wanted) {
      const entry = this.#entries.get(definition.name);
      if (entry?.definition === definition || (entry !== undefined && !this.#isRegistered(entry))) continue;
      try {
        this.#add(definition);
      } catch (error) {
        this.#warnSkipped(error);
      }
    }
  }

  #removeAll(): readonly string[] {
    const removed = [...this.#entries.values()].filter((entry) => this.#remove(entry));
    this.#entries.clear();
    return removed.map(({ name }) => name);
  }

  #remove(entry: Entry): boolean {
    return this.#isRegistered(entry) && this.#toolkit.removeToolFunction(entry.name);
  }

  /** Whether the registered tool of that name is still ours. */
  #isRegistered({ name, tool }: Entry): boolean {
    return this.#toolkit.get(name)?.execute === tool.execute;
  }
}

function refuse(problem: string): never {
  throw new TroupeError('invalid_config', problem);
}
