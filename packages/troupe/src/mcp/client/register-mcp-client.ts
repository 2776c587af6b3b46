import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { RegisteredTool } from '../../toolkit/tool/registered-tool.ts';
import type { NamesakeStrategy } from '../../toolkit/tool-table.ts';
import type { Tool, ToolSettings } from '../../toolkit/tool/tool.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import type { JsonObject } from '../../util/json.ts';
import type { McpClient } from './mcp-client.ts';
import { mcpTool, namesOf } from './mcp-tool.ts';
import type { McpToolDefinition } from './tool-ledger.ts';

export interface RegisterMcpClientOptions extends Pick<ToolSettings, 'group' | 'postProcess' | 'timeoutMs'> {
  /** Only these tools, by the names that they have at the server. @default all */
  readonly enable?: readonly string[];
  /** All but these. */
  readonly disable?: readonly string[];
  /** For a tool, by its name at the server: arguments that the model doesn't see. */
  readonly preset?: Readonly<Record<string, JsonObject>>;
  /** Whether the server's word is taken for which of its tools change nothing. @default false: all of them may */
  readonly trustHints?: boolean;
  /** What to do if a name is taken: by default the tool becomes `server__tool`. */
  readonly namesakeStrategy?: NamesakeStrategy | 'namespace';
}

interface Entry {
  readonly name: string;
  readonly definition: McpToolDefinition;
  readonly tool: Tool;
}

/** The clients whose tools are in a toolkit. */
const registrations = new WeakMap<Toolkit, Map<McpClient, Registration>>();

/**
 * Adds the tools of a client to a toolkit, and connects it if need be. They follow the server: tools that come are added, tools that go
 * are removed. Returns the names that they got.
 * @throws TroupeError if the server can't be asked, or a name or an option is wrong; then nothing is added.
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

/** Removes the tools of a client from a toolkit. It stays connected. Returns the names that they had. */
export function removeMcpClient(toolkit: Toolkit, client: McpClient): readonly string[] {
  const registration = registrations.get(toolkit)?.get(client);
  registrations.get(toolkit)?.delete(client);
  return registration?.end() ?? [];
}

/** The tools of one client in one toolkit. What is removed from the toolkit by hand stays removed. */
class Registration {
  readonly #toolkit: Toolkit;
  readonly #client: McpClient;
  readonly #options: RegisterMcpClientOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #unlink: () => void;

  /** @throws TroupeError; then the toolkit is as it was. */
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
    this.#unlink = client.onToolsChanged(() => this.#follow());
  }

  get names(): readonly string[] {
    return [...this.#entries.values()].map(({ name }) => name);
  }

  end(): readonly string[] {
    this.#unlink();
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
      new RegisteredTool(tool); // one that no model can be shown is the server's mistake, not ours
    } catch (error) {
      this.#leaveOut(error);
      return;
    }
    const own = Object.hasOwn(preset, definition.name) ? preset[definition.name] : undefined;
    const place = this.#placeOf(definition.name);
    if (place === undefined) return;
    const name = this.#toolkit.registerToolFunction(tool, {
      ...(group !== undefined && { group }),
      ...(postProcess !== undefined && { postProcess }),
      ...(own !== undefined && { preset: own }),
      ...place,
    });
    this.#entries.set(definition.name, { name, definition, tool });
  }

  /** Under which name a tool is registered; undefined if it is to be left out. */
  #placeOf(tool: string): { readonly name: string; readonly namesakeStrategy: NamesakeStrategy } | undefined {
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

  #leaveOut(error: unknown): void {
    getLogger().log('warn', `A tool of ${this.#client.name} is left out: ${messageOf(error)}`);
  }

  /** Makes the toolkit's tools what the server's are. */
  #follow(): void {
    const wanted = this.#wanted(this.#client.tools);
    const names = new Set(wanted.map(({ name }) => name));
    for (const [name, entry] of this.#entries) {
      if (names.has(name)) continue;
      this.#remove(entry);
      this.#entries.delete(name);
    }
    for (const definition of wanted) {
      const entry = this.#entries.get(definition.name);
      if (entry?.definition === definition || (entry !== undefined && !this.#isThere(entry))) continue;
      try {
        this.#add(definition);
      } catch (error) {
        this.#leaveOut(error);
      }
    }
  }

  #removeAll(): readonly string[] {
    const removed = [...this.#entries.values()].filter((entry) => this.#remove(entry));
    this.#entries.clear();
    return removed.map(({ name }) => name);
  }

  #remove(entry: Entry): boolean {
    return this.#isThere(entry) && this.#toolkit.removeToolFunction(entry.name);
  }

  /** Whether it is ours that has the name. */
  #isThere({ name, tool }: Entry): boolean {
    return this.#toolkit.get(name)?.execute === tool.execute;
  }
}

function refuse(problem: string): never {
  throw new TroupeError('invalid_config', problem);
}
