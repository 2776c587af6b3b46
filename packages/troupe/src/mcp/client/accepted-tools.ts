import { createHash } from 'node:crypto';

import type { Tool } from '@modelcontextprotocol/client';

import { isJsonObject } from '../../util/json.ts';

/** Tool in the description of its server. */
export type McpToolDefinition = Tool;

/**
 * Tools of a server as listed and as accepted. A tool whose definition differs from the accepted one keeps
 * the accepted definition and counts as changed until accepted again, also if the tool was missing in
 * between.
 */
export class AcceptedTools {
  readonly #acceptsAll: boolean;
  /** Whether only tools with a known fingerprint are accepted. */
  readonly #isStrict: boolean;
  readonly #fingerprints: Map<string, string>;
  #tools = new Map<string, McpToolDefinition>();
  #changed = new Map<string, McpToolDefinition>();

  /** @param fingerprints accepted tools of an earlier client; all other tools count as changed */
  constructor(acceptsAll: boolean, fingerprints: Readonly<Record<string, string>> | undefined) {
    this.#acceptsAll = acceptsAll;
    this.#isStrict = fingerprints !== undefined;
    this.#fingerprints = new Map(Object.entries(fingerprints ?? {}));
  }

  /** Accepted definitions of the listed tools, including changed tools. */
  get tools(): readonly McpToolDefinition[] {
    return [...this.#tools.values()];
  }

  /** Current definitions of the changed tools. */
  get changed(): readonly McpToolDefinition[] {
    return [...this.#changed.values()];
  }

  get fingerprints(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#fingerprints);
  }

  get(name: string): McpToolDefinition | undefined {
    return this.#tools.get(name);
  }

  isChanged(name: string): boolean {
    return this.#changed.has(name);
  }

  /** Replaces the list of tools. An unchanged definition stays the same object. */
  update(list: readonly McpToolDefinition[]): void {
    const before = this.#tools;
    this.#tools = new Map();
    this.#changed = new Map();
    for (const tool of list) {
      const { name } = tool;
      const fingerprint = fingerprintOf(tool);
      const accepted = this.#fingerprints.get(name) ?? (this.#isStrict ? undefined : fingerprint);
      const old = before.get(name);
      if (this.#acceptsAll || accepted === fingerprint) {
        this.#fingerprints.set(name, fingerprint);
        this.#tools.set(name, old !== undefined && fingerprintOf(old) === fingerprint ? old : tool);
      } else {
        this.#changed.set(name, tool);
        if (old !== undefined) this.#tools.set(name, old);
      }
    }
  }

  /** Accepts a changed tool. Returns whether the tool was changed. */
  accept(name: string): boolean {
    const tool = this.#changed.get(name);
    if (tool === undefined) return false;
    this.#changed.delete(name);
    this.#fingerprints.set(name, fingerprintOf(tool));
    this.#tools.set(name, tool);
    return true;
  }
}

/** Collision-resistant hash of everything that a model sees, and of the hints. */
function fingerprintOf({
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
}: McpToolDefinition): string {
  const seen = [title, description, inputSchema, outputSchema, annotations];
  return createHash('sha256').update(JSON.stringify(seen, inOrder)).digest('hex');
}

/** Sorts keys, because their order has no meaning. */
function inOrder(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
