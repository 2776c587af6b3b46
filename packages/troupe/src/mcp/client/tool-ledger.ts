import { createHash } from 'node:crypto';

import type { Tool } from '@modelcontextprotocol/client';

import { isJsonObject } from '../../util/json.ts';

/** A tool as its server describes it. */
export type McpToolDefinition = Tool;

/**
 * What the tools of a server are, and were when they were accepted. A tool that is described otherwise than it was is
 * kept as it was, and counts as changed until it is accepted again; also if it was gone in between.
 */
export class ToolLedger {
  readonly #acceptsAll: boolean;
  /** Whether only what is named in the fingerprints is accepted. */
  readonly #isStrict: boolean;
  readonly #fingerprints: Map<string, string>;
  #tools = new Map<string, McpToolDefinition>();
  #changed = new Map<string, McpToolDefinition>();

  /** @param fingerprints of the tools that were accepted at another time; all others are changed then */
  constructor(acceptsAll: boolean, fingerprints: Readonly<Record<string, string>> | undefined) {
    this.#acceptsAll = acceptsAll;
    this.#isStrict = fingerprints !== undefined;
    this.#fingerprints = new Map(Object.entries(fingerprints ?? {}));
  }

  /** The tools that can be called, or could until they changed, as they were accepted. */
  get tools(): readonly McpToolDefinition[] {
    return [...this.#tools.values()];
  }

  /** The tools that wait to be accepted, as they are now. */
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

  /** Takes the list of a server in the place of the one before. A definition that is the same stays the same object. */
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

  /** Returns whether there was such a change. */
  accept(name: string): boolean {
    const tool = this.#changed.get(name);
    if (tool === undefined) return false;
    this.#changed.delete(name);
    this.#fingerprints.set(name, fingerprintOf(tool));
    this.#tools.set(name, tool);
    return true;
  }
}

/** Of all that a model is told, and of what is believed of the tool. Nobody can make two that are the same. */
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

/** The keys of an object mean the same in any order. */
function inOrder(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
