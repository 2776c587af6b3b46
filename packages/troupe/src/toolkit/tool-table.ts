import { TroupeError } from '../errors.ts';
import { getLogger } from '../config/run-config.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import type { AnySchema } from '../util/schema.ts';
import { BASIC_GROUP, RegisteredTool } from './tool/registered-tool.ts';
import { ToolModules } from './tool-modules.ts';
import type { ToolGroupTable } from './tool-group-table.ts';
import type { Tool } from './tool/tool.ts';

/**
 * Handling of a tool whose name is in use: throw an error, keep the existing tool, replace the existing tool,
 * or number the new tool (`search_2`).
 */
export type NamesakeStrategy = 'raise' | 'skip' | 'override' | 'rename';

/** A tool group with its tools, for people. */
export interface ToolGroupDescription {
  readonly name: string;
  readonly description: string;
  readonly isActive: boolean;
  readonly tools: readonly ToolSchema[];
}

/**
 * Tools of a toolkit, in the order of registration. A table with a base table shows the tools of both, and
 * changes only its own.
 */
export class ToolTable {
  readonly modules = new ToolModules();
  readonly groups: ToolGroupTable;
  readonly #base: ToolTable | undefined;
  readonly #tools = new Map<string, RegisteredTool>();
  #offered: readonly ToolSchema[] = Object.freeze([]);

  constructor(groups: ToolGroupTable, base?: ToolTable) {
    this.groups = groups;
    this.#base = base;
  }

  get(name: string): RegisteredTool | undefined {
    return this.#tools.get(name) ?? this.#base?.get(name);
  }

  /** Schemas of the active tools. The same list until something changes. */
  offered(): readonly ToolSchema[] {
    const active = [...this.#all()].filter(({ group }) => this.groups.isActive(group));
    const schemas = active.map((tool) => tool.shown()); // unchanged tools give the same object
    const isSame =
      schemas.length === this.#offered.length && schemas.every((one, i) => one === this.#offered[i]);
    if (!isSame) this.#offered = Object.freeze(schemas);
    return this.#offered;
  }

  /** All groups with their tools, `basic` first. */
  described(): readonly ToolGroupDescription[] {
    const basic = { name: BASIC_GROUP, description: 'Tools that are always active.' };
    return [basic, ...this.groups.all].map(({ name, description }) => ({
      name,
      description,
      isActive: this.groups.isActive(name),
      tools: [...this.#all()].filter(({ group }) => group === name).map((tool) => tool.shown()),
    }));
  }

  /** Returns the name under which the tool is registered. @throws TroupeError */
  add(tool: Tool, strategy: NamesakeStrategy): string {
    let registered = new RegisteredTool(tool);
    if (!this.groups.has(registered.group)) this.groups.assertKnown([registered.group]);
    if (this.#tools.has(tool.name)) {
      if (strategy === 'skip') {
        getLogger().log('warn', `There is a tool '${tool.name}' already; the new one is ignored.`);
        return tool.name;
      }
      if (strategy === 'rename')
        registered = new RegisteredTool({ ...tool, name: this.#freeName(tool.name) });
      else if (strategy !== 'override') throw nameTaken(tool.name);
    }
    const { name, module } = registered.tool;
    this.#tools.set(name, registered);
    this.modules.set(name, module);
    return name;
  }

  /**
   * Adds a tool of another table to the group `basic`. Both share the concurrency limit; the state module
   * stays with the other table.
   */
  share(tool: RegisteredTool | undefined, adapt: (tool: Tool) => Tool = (same) => same): void {
    if (tool === undefined) return;
    const { group: _group, module: _module, ...rest } = adapt(tool.tool);
    this.#tools.set(rest.name, new RegisteredTool(rest, tool.concurrency));
  }

  /** Adds all tools of another table, with their groups and state modules. Later changes of one don't affect the other. */
  addCopies(other: ToolTable): void {
    for (const registered of other.#all()) {
      const { name, module } = registered.tool;
      this.#tools.set(name, registered.copy());
      this.modules.set(name, module);
    }
  }

  /** Names of all tools, in the order of registration. */
  names(): readonly string[] {
    return Array.from(this.#all(), ({ tool }) => tool.name);
  }

  remove(name: string): boolean {
    this.modules.set(name, undefined);
    return this.#tools.delete(name);
  }

  removeGroups(names: readonly string[]): void {
    for (const [name, { group }] of this.#tools) if (names.includes(group)) this.remove(name);
  }

  clear(): void {
    for (const name of this.#tools.keys()) this.remove(name);
  }

  /** @throws TroupeError */
  extend(name: string, schema: AnySchema | undefined): void {
    const found = this.get(name);
    if (found === undefined) throw new TroupeError('invalid_config', `There is no tool '${name}'.`);
    const own = this.#tools.get(name) ?? new RegisteredTool(found.tool, found.concurrency);
    own.extend(schema);
    this.#tools.set(name, own);
  }

  *#all(): Generator<RegisteredTool> {
    if (this.#base !== undefined) {
      for (const tool of this.#base.#all()) if (!this.#tools.has(tool.tool.name)) yield tool;
    }
    yield* this.#tools.values();
  }

  #freeName(name: string): string {
    for (let n = 2; ; n++) {
      const numbered = `${name.slice(0, 64 - String(n).length - 1)}_${n}`;
      if (!this.#tools.has(numbered)) return numbered;
    }
  }
}

function nameTaken(name: string): TroupeError {
  const advice = "Give it another name, or set namesakeStrategy to 'skip', 'override' or 'rename'.";
  return new TroupeError('invalid_config', `There is a tool '${name}' already. ${advice}`);
}
