import { TroupeError } from '../errors.ts';
import { BASIC_GROUP, checkName } from './tool/registered-tool.ts';

export interface ToolGroupOptions {
  /** Purpose of the tools, for the model that chooses groups. */
  readonly description: string;
  /** Whether the group starts active. @default false */
  readonly active?: boolean;
  /** Instructions for the tools, shown to the model when the group is activated. */
  readonly notes?: string | undefined;
}

export interface ToolGroup {
  readonly name: string;
  readonly description: string;
  readonly notes: string | undefined;
}

const NO_GROUPS: readonly ToolGroup[] = Object.freeze([]);

/**
 * Tool groups of a toolkit, and which of them are active. The group `basic` always exists and is always
 * active.
 */
export class ToolGroupTable {
  // Made by the first group, which most toolkits do not have.
  #usedGroups: Map<string, ToolGroup> | undefined;
  #usedActive: Set<string> | undefined;

  /** All groups except `basic`, in the order of creation. A new list whenever a group is added or removed. */
  all: readonly ToolGroup[] = NO_GROUPS;

  /** Active groups except `basic`, in the order of creation. */
  get active(): readonly ToolGroup[] {
    return this.all.filter(({ name }) => this.#active.has(name));
  }

  has(name: string): boolean {
    return name === BASIC_GROUP || this.#groups.has(name);
  }

  isActive(name: string): boolean {
    return name === BASIC_GROUP || this.#active.has(name);
  }

  /** Replaces all groups by the groups of another toolkit. Active groups stay active. */
  copyFrom(other: ToolGroupTable): void {
    this.clear();
    for (const { name, ...options } of other.all) {
      this.create(name, { ...options, active: other.isActive(name) });
    }
  }

  /** @throws TroupeError if the group exists. */
  create(name: string, { description, active = false, notes }: ToolGroupOptions): void {
    checkName('A tool group', name);
    if (this.has(name)) throw new TroupeError('invalid_config', `There is a tool group '${name}' already.`);
    this.#groups.set(name, { name, description, notes });
    if (active) this.#active.add(name);
    this.#updateList();
  }

  /** @throws TroupeError if a group is unknown or `basic`; then nothing changes. */
  remove(names: readonly string[]): void {
    this.assertKnown(names);
    for (const name of names) {
      this.#groups.delete(name);
      this.#active.delete(name);
    }
    this.#updateList();
  }

  /** @throws TroupeError if a group is unknown or `basic`; then nothing changes. */
  setActive(names: readonly string[], isActive: boolean): void {
    this.assertKnown(names);
    for (const name of names) {
      if (isActive) this.#active.add(name);
      else this.#active.delete(name);
    }
  }

  /** Activates these groups and deactivates all others. Unknown names are ignored. */
  activateOnly(names: readonly string[]): void {
    this.#active.clear();
    for (const name of names) if (this.#groups.has(name)) this.#active.add(name);
  }

  clear(): void {
    this.#groups.clear();
    this.#active.clear();
    this.#updateList();
  }

  /** @throws TroupeError for the first unknown group. */
  assertKnown(names: readonly string[]): void {
    for (const name of names) {
      if (this.#groups.has(name)) continue;
      const problem =
        name === BASIC_GROUP
          ? `The group '${BASIC_GROUP}' is always there and always active.`
          : `There is no tool group '${name}'. Create it with createToolGroup first.`;
      throw new TroupeError('invalid_config', problem);
    }
  }

  get #groups(): Map<string, ToolGroup> {
    return (this.#usedGroups ??= new Map());
  }

  get #active(): Set<string> {
    return (this.#usedActive ??= new Set());
  }

  #updateList(): void {
    this.all = [...this.#groups.values()];
  }
}
