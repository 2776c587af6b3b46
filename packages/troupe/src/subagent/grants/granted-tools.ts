import { TroupeError } from '../../errors.ts';
import { META_TOOL_NAME } from '../../toolkit/tool/meta-tool.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import type { CheckedSpec } from '../sub-agent-spec.ts';

/**
 * Names of the host's tools that match an allow-list of tool and group names, and the entries without a
 * match. The name of a tool means that tool only, even if a group has the same name.
 */
export function grantedTools(
  toolkit: Toolkit,
  allowlist: readonly string[] = [],
): { readonly names: readonly string[]; readonly unknown: readonly string[] } {
  const unknown: string[] = [];
  const names = allowlist.flatMap((entry) => {
    const isInGroup = (name: string): boolean => toolkit.get(name)?.group === entry;
    const found = toolkit.has(entry) ? [entry] : toolkit.names.filter(isInGroup);
    if (found.length === 0) unknown.push(entry);
    return found;
  });
  return { names: [...new Set(names)].filter((name) => name !== META_TOOL_NAME), unknown };
}

/** @throws TroupeError if an entry of the allow-list matches no tool of the host. */
export function assertToolsExist(
  { name, toolsAllowlist }: CheckedSpec,
  toolkit: Toolkit,
  hostName: string,
): void {
  const { unknown } = grantedTools(toolkit, toolsAllowlist);
  if (unknown.length === 0) return;
  const shown = unknown.map((one) => `'${one.slice(0, 64)}'`).join(', ');
  throw new TroupeError(
    'invalid_config',
    `The sub-agent '${name}' is allowed ${shown}, but ${hostName} has no such tool. Register it first, or put it into 'tools'.`,
  );
}

/**
 * Tools of a host that an allow-list granted when the sub-agent was registered. A tool that joins a group later
 * is not granted; one that was removed, or left the group, is granted no longer.
 */
export class GrantedTools {
  readonly #allowlist: readonly string[];
  readonly #registered = new WeakMap<Toolkit, ReadonlySet<string>>();

  constructor({ toolsAllowlist = [] }: CheckedSpec) {
    this.#allowlist = toolsAllowlist;
  }

  /** Resolves the allow-list to the tools that the host has now. */
  register(toolkit: Toolkit): void {
    this.#registered.set(toolkit, new Set(this.#now(toolkit)));
  }

  /** Names of the granted tools that the host still has. */
  of(toolkit: Toolkit): readonly string[] {
    if (!this.#registered.has(toolkit)) this.register(toolkit);
    return this.#now(toolkit).filter((name) => this.#registered.get(toolkit)?.has(name));
  }

  #now(toolkit: Toolkit): readonly string[] {
    return grantedTools(toolkit, this.#allowlist).names;
  }
}
