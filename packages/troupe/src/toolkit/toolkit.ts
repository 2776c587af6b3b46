import { getLogger } from '../config/run-config.ts';
import type { ToolUseBlock } from '../message/blocks.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { checkNumber } from '../util/check-number.ts';
import { StateModule } from '../state/state-module.ts';
import type { JsonValue } from '../util/json.ts';
import type { AnySchema } from '../util/schema.ts';
import { cutOutput } from './call/cut-output.ts';
import { META_TOOL_NAME, metaToolOf } from './tool/meta-tool.ts';
import { Places } from './tool/places.ts';
import { inactive, notFound } from './call/refusals.ts';
import type { RegisteredTool } from './tool/registered-tool.ts';
import { ToolCall, type CallToolOptions, type Offload } from './call/tool-call.ts';
import { ToolGroups, type ToolGroupOptions } from './tool-groups.ts';
import type { ToolMiddleware } from './call/tool-middleware.ts';
import type { ToolOutput } from './tool/tool-output.ts';
import type { ToolModules } from './tool-modules.ts';
import { ToolTable, type NamesakeStrategy } from './tool-table.ts';
import type { PlainToolOptions, Tool, ToolCallResult, ToolOptions, ToolSettings } from './tool/tool.ts';

export interface ToolkitOptions {
  /** The tools to begin with; what `tool()` makes knows the types of its arguments. @default none */
  readonly tools?: readonly Tool[];
  /** How long one attempt of a tool may take; `Infinity` for as long as it likes. @default 5 minutes */
  readonly timeoutMs?: number;
  /** How much text of a result a model gets. @default 100 000 */
  readonly maxOutputChars?: number;
  /** Keeps what is beyond that. @default it is lost */
  readonly offload?: Offload;
  /** How many tools may run at the same time; other calls wait for their turn. @default any number */
  readonly maxConcurrent?: number;
}

/** What a tool is registered with, in the place of what it says itself. */
export interface RegisterToolOptions extends ToolSettings {
  /** In the place of the tool's own. */
  readonly name?: string;
  /** In the place of the tool's own. */
  readonly description?: string;
  /** What to do if the name is taken. @default 'raise' */
  readonly namesakeStrategy?: NamesakeStrategy;
}

/** What the toolkits that lie over each other have in common. */
interface Shared {
  readonly timeoutMs: number;
  readonly maxOutputChars: number;
  readonly offload: Offload | undefined;
  readonly places: Places | undefined;
  middlewares: readonly ToolMiddleware[];
  readonly metaTool: Tool;
  /** For calls that say nothing about it. */
  readonly authorize?: CallToolOptions['authorize'];
  abandonedCalls: number;
}

/**
 * The tools of an agent: which there are, which a model is offered, and how they are called.
 *
 * A call gives exactly one result, whatever happens. What a model is offered is the same objects, in the order in
 * which the tools came, for as long as nothing has changed: providers cache by it. The state is which groups are active,
 * and the states of agents that are tools.
 */
export class Toolkit extends StateModule {
  /** What tools stand for, such as agents. */
  protected modules: ToolModules;
  #tools: ToolTable;
  #shared: Shared;

  /** @throws TroupeError if a number makes no sense, or one of the tools can't be registered. */
  constructor(options: ToolkitOptions = {}) {
    super();
    const { tools = [], timeoutMs = 300_000, maxOutputChars = 100_000, offload, maxConcurrent } = options;
    checkNumber('timeoutMs', timeoutMs, { least: 1 });
    checkNumber('maxOutputChars', maxOutputChars, { least: 1 });
    if (maxConcurrent !== undefined) checkNumber('maxConcurrent', maxConcurrent, { least: 1 });
    const places = maxConcurrent === undefined ? undefined : new Places(maxConcurrent);
    const groups = new ToolGroups();
    this.#tools = new ToolTable(groups);
    this.modules = this.#tools.modules;
    this.#shared = {
      timeoutMs,
      maxOutputChars,
      offload,
      places,
      middlewares: [],
      metaTool: metaToolOf(groups),
      abandonedCalls: 0,
    };
    this.registerState('activeGroups', {
      toJson: (names: readonly string[]) => [...names],
      fromJson: (json) => this.#savedGroups(json),
    });
    for (const tool of tools) this.registerToolFunction(tool);
  }

  /**
   * Adds a tool. Returns the name that it got.
   * @throws TroupeError if its name is taken, its group unknown, or its schema not that of an object.
   */
  registerToolFunction<S extends AnySchema>(tool: ToolOptions<S>, options?: RegisterToolOptions): string;
  registerToolFunction(tool: PlainToolOptions, options?: RegisterToolOptions): string;
  registerToolFunction(tool: Tool, options?: RegisterToolOptions): string;
  registerToolFunction(tool: Tool, options: RegisterToolOptions = {}): string {
    const { namesakeStrategy = 'raise', ...changes } = options;
    return this.#tools.add({ ...tool, ...changes }, namesakeStrategy);
  }

  /** Returns whether there was such a tool. */
  removeToolFunction(name: string): boolean {
    return this.#tools.remove(name);
  }

  has(name: string): boolean {
    return this.#tools.get(name) !== undefined;
  }

  /** A tool as it is registered, active or not. */
  get(name: string): Tool | undefined {
    return this.#tools.get(name)?.tool;
  }

  /** The names of all tools, active or not. */
  get names(): readonly string[] {
    return this.#tools.names();
  }

  /** The tools that a model may use now. */
  getJsonSchemas(): readonly ToolSchema[] {
    return this.#tools.offered();
  }

  /**
   * Adds the properties of a schema to the arguments of a tool, in the place of those that were added before; the tool
   * gets them with its own.
   * @throws TroupeError if there is no such tool, or if the schemas clash.
   */
  setExtendedModel(name: string, schema: AnySchema | undefined): void {
    this.#tools.extend(name, schema);
  }

  /** Makes a group. Its tools are offered, and can be called, only while it is active. @throws TroupeError */
  createToolGroup(name: string, options: ToolGroupOptions): void {
    this.#tools.groups.create(name, options);
  }

  hasToolGroup(name: string): boolean {
    return this.#tools.groups.has(name);
  }

  /** Activates groups, or deactivates them. @throws TroupeError if one is unknown, or the basic one; then nothing is changed. */
  updateToolGroups(names: readonly string[], active: boolean): void {
    this.#tools.groups.setActive(names, active);
  }

  /** Removes groups and their tools. @throws TroupeError if one is unknown, or the basic one; then nothing is changed. */
  removeToolGroups(names: readonly string[]): void {
    this.#tools.groups.remove(names);
    this.#tools.removeGroups(names);
  }

  /** The names of the active groups, without the basic one. */
  get activeGroups(): readonly string[] {
    return this.#tools.groups.active.map(({ name }) => name);
  }

  /** @throws TroupeError if one is unknown; then nothing is changed. */
  set activeGroups(names: readonly string[]) {
    this.#tools.groups.assertKnown(names);
    this.#tools.groups.activateOnly(names);
  }

  /** `reset_equipped_tools`, by which a model chooses its groups. It has to be registered like any other tool. */
  get metaTool(): Tool {
    return this.#shared.metaTool;
  }

  /** Puts a middleware around every call from now on, inside of those that are there. The returned function removes it. */
  registerMiddleware(middleware: ToolMiddleware): () => void {
    const entry: ToolMiddleware = (call, next, context) => middleware(call, next, context); // one may be registered twice
    this.#shared.middlewares = [...this.#shared.middlewares, entry];
    return () => {
      this.#shared.middlewares = this.#shared.middlewares.filter((one) => one !== entry);
    };
  }

  /** Removes all tools and groups. Middleware stays: it may be what keeps tools in check. */
  clear(): void {
    this.#tools.clear();
    this.#tools.groups.clear();
  }

  /**
   * This toolkit with further tools, for one call of an agent, say. Tools that are registered there stay there, and hide
   * those of the same name here; all else is shared.
   */
  withTools(...tools: readonly Tool[]): Toolkit {
    const toolkit = new Toolkit();
    toolkit.#tools = new ToolTable(this.#tools.groups, this.#tools);
    toolkit.modules = toolkit.#tools.modules;
    toolkit.#shared = this.#shared;
    for (const tool of tools) toolkit.registerToolFunction(tool);
    return toolkit;
  }

  /**
   * A toolkit of its own with some of these tools, which are always active there. They are called through the middleware
   * that is here now, and share their limits with those here; nothing that is done to one toolkit shows in the other.
   * @param options.authorize is asked about calls there that have no `authorize` of their own @default as here
   */
  subset(names: readonly string[], options: Pick<CallToolOptions, 'authorize'> = {}): Toolkit {
    const toolkit = new Toolkit();
    const { metaTool } = toolkit.#shared;
    const { authorize = this.#shared.authorize } = options;
    toolkit.#shared = { ...this.#shared, metaTool, authorize, abandonedCalls: 0 };
    for (const name of names) toolkit.#tools.share(this.#tools.get(name));
    return toolkit;
  }

  /**
   * Calls a tool. Gives exactly one result and never rejects: what goes wrong is in the result, and an aborted signal
   * makes it one with the status `interrupted`, at once.
   */
  callToolFunction(call: ToolUseBlock, options: CallToolOptions = {}): Promise<ToolCallResult> {
    const { timeoutMs, maxOutputChars, offload, places, middlewares } = this.#shared;
    const find = (name: string): RegisteredTool | ToolOutput => this.#find(name);
    const onAbandoned = (): void => void this.#shared.abandonedCalls++;
    const desk = { find, timeoutMs, maxOutputChars, offload, places, middlewares, onAbandoned };
    const { authorize = this.#shared.authorize } = options;
    return new ToolCall(desk, call, { ...options, authorize }).answer();
  }

  /** A result that comes from elsewhere, with no more text than one of its tool may have. */
  fitResult(result: ToolCallResult): ToolCallResult {
    const { maxOutputChars = this.#shared.maxOutputChars } = this.get(result.name) ?? {};
    const cut = cutOutput(result.output, maxOutputChars);
    return cut === undefined ? result : { ...result, output: cut.shown };
  }

  /** How many tools did not stop when their call was interrupted or timed out. Nothing that they did later had an effect. */
  get abandonedCalls(): number {
    return this.#shared.abandonedCalls;
  }

  #find(name: string): RegisteredTool | ToolOutput {
    const tool = this.#tools.get(name);
    if (tool === undefined)
      return notFound(
        name,
        this.getJsonSchemas().map((schema) => schema.name),
      );
    return this.#tools.groups.isActive(tool.group) ? tool : inactive(tool, this.has(META_TOOL_NAME));
  }

  #savedGroups(json: JsonValue): readonly string[] {
    const names: readonly unknown[] = Array.isArray(json) ? json : [undefined];
    if (!names.every((name) => typeof name === 'string')) throw new TypeError('it is no list of names');
    const known = names.filter((name) => this.#tools.groups.all.some((group) => group.name === name));
    if (known.length < names.length) getLogger().log('warn', 'A saved tool group is not there any more.');
    return known;
  }
}
