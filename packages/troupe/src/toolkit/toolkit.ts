import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError } from '../errors.ts';
import type { ToolUseBlock } from '../message/blocks.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { checkNumber } from '../util/check-number.ts';
import { StateModule } from '../state/state-module.ts';
import type { JsonValue } from '../util/json.ts';
import type { AnySchema } from '../util/schema.ts';
import { cutOutput } from './call/cut-output.ts';
import { META_TOOL_NAME, metaToolOf } from './tool/meta-tool.ts';
import { ConcurrencyLimit } from './tool/concurrency-limit.ts';
import { awaiting, inactive, toolNotFound } from './call/refusals.ts';
import { UNDEFINED_TOOL, type RegisteredTool } from './tool/registered-tool.ts';
import { ToolCall, toToolResult, type CallToolOptions, type Offload } from './call/tool-call.ts';
import { traced } from '../tracing/instrumentation.ts';
import { spanOutcomeOf, type ToolCallOutcome } from './call/tool-call-outcome.ts';
import { ToolGroupTable, type ToolGroupOptions } from './tool-group-table.ts';
import type { ToolMiddleware } from './call/tool-middleware.ts';
import type { ToolOutput } from './tool/tool-output.ts';
import type { ToolModules } from './tool-modules.ts';
import { ToolTable, type NamesakeStrategy, type ToolGroupDescription } from './tool-table.ts';
import type { PlainToolOptions, Tool, ToolCallResult, ToolOptions, ToolSettings } from './tool/tool.ts';

export interface ToolkitOptions {
  /** Initial tools. `tool()` infers the types of their arguments. @default none */
  readonly tools?: readonly Tool[];
  /** Time limit of one attempt of a tool; `Infinity` for none. @default 5 minutes */
  readonly timeoutMs?: number;
  /** Maximum characters of text in a result; the rest goes to `offload`. @default 100 000 */
  readonly maxOutputChars?: number;
  /** Stores text beyond `maxOutputChars`. @default the text is lost */
  readonly offload?: Offload;
  /** Maximum tool calls that run at the same time; others wait in order. @default no limit */
  readonly maxConcurrent?: number;
}

/** Settings that replace those of the tool. */
export interface RegisterToolOptions extends ToolSettings {
  readonly name?: string;
  readonly description?: string;
  /** Handling of a name that is in use. @default 'raise' */
  readonly namesakeStrategy?: NamesakeStrategy;
}

export interface SubsetOptions extends Pick<CallToolOptions, 'authorize'> {
  /** Changes each tool before it is added. @default the same tool */
  readonly adapt?: (tool: Tool) => Tool;
}

/** State shared by a toolkit and the toolkits made with `withTools`. */
interface SharedSettings {
  readonly timeoutMs: number;
  readonly maxOutputChars: number;
  readonly offload: Offload | undefined;
  readonly concurrency: ConcurrencyLimit | undefined;
  middlewares: readonly ToolMiddleware[];
  /** Made when first asked for. */
  metaTool?: Tool | undefined;
  /** Used for tool calls without an `authorize` of their own. */
  readonly authorize?: CallToolOptions['authorize'];
  abandonedCalls: number;
}

/**
 * Tools of an agent: registration, the schemas for the model, and the execution of tool calls.
 *
 * Every tool call gives exactly one result, also on failure. The schemas stay the same objects in the order
 * of registration until something changes, because providers cache by them. The state consists of the active
 * groups and the states of tools that are agents. Folder `toolkit`: start here.
 *
 * @example
 * ```ts
 * import { tool, Toolkit } from 'troupe';
 *
 * const toolkit = new Toolkit({ tools: [tool({ name: 'now', execute: () => 'noon' })] });
 * const result = await toolkit.callToolFunction({ type: 'tool_use', id: 'call_1', name: 'now', input: {} });
 * console.log(result.output, result.status); // noon ok
 * ```
 */
export class Toolkit extends StateModule {
  static override readonly componentName: string = 'toolkit';

  /** State modules behind tools, such as agents. */
  protected modules: ToolModules;
  #tools: ToolTable;
  #shared: SharedSettings;

  /** @throws TroupeError if a number is invalid, or a tool can't be registered. */
  constructor(options: ToolkitOptions = {}) {
    super();
    const { tools = [], timeoutMs = 300_000, maxOutputChars = 100_000, offload, maxConcurrent } = options;
    checkNumber('timeoutMs', timeoutMs, { least: 1 });
    checkNumber('maxOutputChars', maxOutputChars, { least: 1 });
    if (maxConcurrent !== undefined) checkNumber('maxConcurrent', maxConcurrent, { least: 1 });
    const concurrency = maxConcurrent === undefined ? undefined : new ConcurrencyLimit(maxConcurrent);
    const groups = new ToolGroupTable();
    this.#tools = new ToolTable(groups);
    this.modules = this.#tools.modules;
    this.#shared = {
      timeoutMs,
      maxOutputChars,
      offload,
      concurrency,
      middlewares: [],
      abandonedCalls: 0,
    };
    this.registerState('activeGroups', {
      toJson: (names: readonly string[]) => [...names],
      fromJson: (json) => this.#savedGroups(json),
    });
    for (const tool of tools) this.registerToolFunction(tool);
  }

  /**
   * Registers a tool. Returns its final name.
   * @throws TroupeError if the name is in use, the group is unknown, or the schema is not for an object.
   */
  registerToolFunction<S extends AnySchema>(tool: ToolOptions<S>, options?: RegisterToolOptions): string;
  registerToolFunction(tool: PlainToolOptions, options?: RegisterToolOptions): string;
  registerToolFunction(tool: Tool, options?: RegisterToolOptions): string;
  registerToolFunction(tool: Tool, options: RegisterToolOptions = {}): string {
    const { namesakeStrategy = 'raise', ...changes } = options;
    if (tool === undefined) throw new TroupeError('invalid_config', `A tool is undefined: ${UNDEFINED_TOOL}`);
    return this.#tools.add({ ...tool, ...changes }, namesakeStrategy);
  }

  /** Returns whether the tool existed. */
  removeToolFunction(name: string): boolean {
    return this.#tools.remove(name);
  }

  has(name: string): boolean {
    return this.#tools.get(name) !== undefined;
  }

  /** The registered tool, active or not. */
  get(name: string): Tool | undefined {
    return this.#tools.get(name)?.tool;
  }

  /** Names of all tools, active or not. */
  get names(): readonly string[] {
    return this.#tools.names();
  }

  /** Schemas of the active tools. */
  getJsonSchemas(): readonly ToolSchema[] {
    return this.#tools.offered();
  }

  /**
   * Adds the properties of a schema to the arguments of a tool, replacing an earlier extension. The tool gets
   * them together with its own arguments.
   * @throws TroupeError if the tool is unknown, or the schemas conflict.
   */
  setExtendedModel(name: string, schema: AnySchema | undefined): void {
    this.#tools.extend(name, schema);
  }

  /**
   * Creates a group. Its tools are offered, and can be called, only while the group is active.
   * @throws TroupeError
   */
  createToolGroup(name: string, options: ToolGroupOptions): void {
    this.#tools.groups.create(name, options);
  }

  hasToolGroup(name: string): boolean {
    return this.#tools.groups.has(name);
  }

  /**
   * Activates or deactivates groups.
   * @throws TroupeError if a group is unknown or `basic`; then nothing changes.
   */
  updateToolGroups(names: readonly string[], active: boolean): void {
    this.#tools.groups.setActive(names, active);
  }

  /**
   * Removes groups and their tools.
   * @throws TroupeError if a group is unknown or `basic`; then nothing changes.
   */
  removeToolGroups(names: readonly string[]): void {
    this.#tools.groups.remove(names);
    this.#tools.removeGroups(names);
  }

  /** All groups with the schemas of their tools, `basic` first, for a view of the toolkit. */
  describeGroups(): readonly ToolGroupDescription[] {
    return this.#tools.described();
  }

  /** Names of the active groups, without `basic`. */
  get activeGroups(): readonly string[] {
    return this.#tools.groups.active.map(({ name }) => name);
  }

  /** @throws TroupeError if a group is unknown; then nothing changes. */
  set activeGroups(names: readonly string[]) {
    this.#tools.groups.assertKnown(names);
    this.#tools.groups.activateOnly(names);
  }

  /** `reset_equipped_tools`, the tool with which a model chooses its groups. Not registered by default. */
  get metaTool(): Tool {
    return (this.#shared.metaTool ??= metaToolOf(this.#tools.groups));
  }

  /**
   * Adds a middleware around every later tool call, inside of the existing ones. The returned function
   * removes the middleware.
   */
  registerMiddleware(middleware: ToolMiddleware): () => void {
    // a wrapper, because the same function may be registered twice
    const entry: ToolMiddleware = (call, next, context) => middleware(call, next, context);
    this.#shared.middlewares = [...this.#shared.middlewares, entry];
    return () => {
      this.#shared.middlewares = this.#shared.middlewares.filter((one) => one !== entry);
    };
  }

  /** Removes all tools and groups. Middleware stays, because it may enforce restrictions. */
  clear(): void {
    this.#tools.clear();
    this.#tools.groups.clear();
  }

  /**
   * Makes a toolkit with additional tools, e.g. for one agent call. Tools registered there hide tools of the
   * same name here and are not visible here; everything else is shared.
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
   * Makes an independent toolkit with the same tools, groups and settings, and additional tools. Its tool calls pass through the
   * middleware registered here so far and share the concurrency limits; later changes of one toolkit don't affect the other.
   * @throws TroupeError if the name of an additional tool is in use
   */
  copyWith(...tools: readonly Tool[]): Toolkit {
    const toolkit = new Toolkit();
    toolkit.#shared = { ...this.#shared, metaTool: undefined, abandonedCalls: 0 };
    toolkit.#tools.groups.copyFrom(this.#tools.groups);
    toolkit.#tools.addCopies(this.#tools);
    for (const tool of tools) toolkit.registerToolFunction(tool);
    return toolkit;
  }

  /**
   * Makes an independent toolkit with some of these tools, all in the group `basic`. Their tool calls pass
   * through the middleware registered here so far and share the concurrency limits; later changes of one
   * toolkit don't affect the other.
   * @param options.authorize decides about tool calls without an `authorize` of their own
   * @default as here
   */
  subset(names: readonly string[], options: SubsetOptions = {}): Toolkit {
    const toolkit = new Toolkit();
    const { authorize = this.#shared.authorize, adapt } = options;
    toolkit.#shared = { ...this.#shared, metaTool: undefined, authorize, abandonedCalls: 0 };
    for (const name of names) toolkit.#tools.share(this.#tools.get(name), adapt);
    return toolkit;
  }

  /**
   * Runs a tool call: exactly one tool result, or a suspension if a person or another program has to decide first. Never
   * rejects: failures are results, and an aborted signal gives a result with the status `interrupted` at once.
   */
  runToolCall(call: ToolUseBlock, options: CallToolOptions = {}): Promise<ToolCallOutcome> {
    const { timeoutMs, maxOutputChars, offload, concurrency, middlewares } = this.#shared;
    const find = (name: string): RegisteredTool | ToolOutput => this.#find(name);
    const onAbandoned = (): void => void this.#shared.abandonedCalls++;
    const settings = { find, timeoutMs, maxOutputChars, offload, concurrency, middlewares, onAbandoned };
    const { authorize = this.#shared.authorize } = options;
    return traced(
      () => ({ type: 'tool', call, description: this.get(call.name)?.description }),
      () => new ToolCall(settings, call, { ...options, authorize }).run(),
      { outcomeOf: spanOutcomeOf },
    );
  }

  /**
   * Runs a tool call for a program without an agent: always exactly one tool result. A suspended tool call has the status
   * `unavailable`, with the reason as output, and is not kept anywhere; `runToolCall` gives the suspension itself.
   */
  async callToolFunction(call: ToolUseBlock, options: CallToolOptions = {}): Promise<ToolCallResult> {
    const outcome = await this.runToolCall(call, options);
    return outcome.kind === 'result' ? outcome.result : toToolResult(call, awaiting(outcome.suspension));
  }

  /** Cuts a result that was made elsewhere to the maximum length of its tool. */
  fitResult(result: ToolCallResult): ToolCallResult {
    const { maxOutputChars = this.#shared.maxOutputChars } = this.get(result.name) ?? {};
    const cut = cutOutput(result.output, maxOutputChars);
    return cut === undefined ? result : { ...result, output: cut.shown };
  }

  /** Tells a tool that its suspended tool call was closed. An error of the tool is logged. */
  abandon(toolName: string, state: JsonValue): void {
    try {
      this.get(toolName)?.onAbandoned?.(state);
    } catch (error) {
      getLogger().log('warn', `The tool '${toolName}' failed to give up a tool call: ${messageOf(error)}`);
    }
  }

  /**
   * Number of tools that did not stop after an interrupt or timeout. Their later effects on the result are
   * ignored.
   */
  get abandonedCalls(): number {
    return this.#shared.abandonedCalls;
  }

  #find(name: string): RegisteredTool | ToolOutput {
    const tool = this.#tools.get(name);
    if (tool === undefined)
      return toolNotFound(
        name,
        this.getJsonSchemas().map((schema) => schema.name),
      );
    return this.#tools.groups.isActive(tool.group) ? tool : inactive(tool, this.has(META_TOOL_NAME));
  }

  #savedGroups(json: JsonValue): readonly string[] {
    const names: readonly unknown[] = Array.isArray(json) ? json : [undefined];
    if (!names.every((name) => typeof name === 'string')) throw new TypeError('it is no list of names');
    const known = names.filter((name) => this.#tools.groups.all.some((group) => group.name === name));
    if (known.length < names.length)
      getLogger().log('warn', 'A saved tool group does not exist any more; it stays inactive.');
    return known;
  }
}
