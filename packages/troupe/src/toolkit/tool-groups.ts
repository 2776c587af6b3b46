import { TroupeError } from '../errors.ts';
import { BASIC_GROUP, checkName } from './tool/registered-tool.ts';

export interface ToolGroupOptions {
  /** What its tools are good for: a model chooses by it. */
  readonly description: string;
  /** @default false */
  readonly active?: boolean;
  /** What a model has to know to use its tools. It is told when the group is activated. */
  readonly notes?: string;
}

export interface ToolGroup {
  readonly name: string;
  readonly description: string;
  readonly notes: string | undefined;
}

/** The groups of a toolkit, and which of them are active. */
export class ToolGroups {
  readonly #groups = new Map<string, ToolGroup>();
  readonly #active = new Set<string>();

  /** All groups except for the basic one, in the order in which they were made. A new list when one comes or goes. */
  all: readonly ToolGroup[] = [];

  /** The active groups except for the basic one, in the order in which they were made. */
  get active(): readonly ToolGroup[] {
    return this.all.filter(({ name }) => this.#active.has(name));
  }

  has(name: string): boolean {
    return name === BASIC_GROUP || this.#groups.has(name);
  }

  isActive(name: string): boolean {
    return name === BASIC_GROUP || this.#active.has(name);
  }

  /** @throws TroupeError if there is such a group. */
  create(name: string, { description, active = false, notes }: ToolGroupOptions): void {
    checkName('A tool group', name);
    if (this.has(name)) throw new TroupeError('invalid_config', `There is a tool group '${name}' already.`);
    this.#groups.set(name, { name, description, notes });
    if (active) this.#active.add(name);
    this.#listAnew();
  }

  /** @throws TroupeError if one of them doesn't exist, or is the basic one; then nothing is changed. */
  remove(names: readonly string[]): void {
    this.assertKnown(names);
    for (const name of names) {
      this.#groups.delete(name);
      this.#active.delete(name);
    }
    this.#listAnew();
  }

  /** @throws TroupeError if one of them doesn't exist, or is the basic one; then nothing is changed. */
  setActive(names: readonly string[], isActive: boolean): void {
    this.assertKnown(names);
    for (const name of names) {
      if (isActive) this.#active.add(name);
      else this.#active.delete(name);
    }
  }

  /** Makes these groups active, and no others. Those that don't exist are left out. */
  activateOnly(names: readonly string[]): void {
    this.#active.clear();
    for (const name of names) if (this.#groups.has(name)) this.#active.add(name);
  }

  clear(): void {
    this.#groups.clear();
    this.#active.clear();
    this.#listAnew();
  }

  /** @throws TroupeError */
  assertKnown(names: readonly string[]): void {
    for (const name of names) {
      if (this.#groups.has(name)) continue;
      const problem =
        name === BASIC_GROUP
          ? `The group '${BASIC_GROUP}' is always there and always active.`
          : `There is no tool group '${name}'. Make it by createToolGroup first.`;
      throw new TroupeError('invalid_config', problem);
    }
  }

  #listAnew(): void {
    this.all = [...this.#groups.values()];
  }
}
