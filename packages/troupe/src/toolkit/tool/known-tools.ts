import type { Tool } from './tool.ts';

/** Meaning of an argument: a shell command, a path to change, or a path to read. */
export type ArgumentMeaning = 'command' | 'edit' | 'read';

export type MeaningByArgument = { readonly [argument: string]: ArgumentMeaning };

/**
 * Tools of this library, with the meanings of their arguments. Matched by function identity: a copy with another
 * name is still the tool, and another tool with the same name is not.
 */
const known = new WeakMap<Tool['execute'], MeaningByArgument>();

/** Makes a tool known as one of this library. */
export function knownTool<T extends Tool<never>>(tool: T, meanings: MeaningByArgument): T {
  known.set(tool.execute, meanings);
  return tool;
}

/** Makes a copy known as its original. */
export function knownAs<T extends Tool<never>>(copy: T, tool: Tool<never>): T {
  const meanings = known.get(tool.execute);
  if (meanings !== undefined) known.set(copy.execute, meanings);
  return copy;
}

/** Meanings of the arguments of a tool of this library; undefined for other tools. */
export function meaningsOf(tool: Tool): MeaningByArgument | undefined {
  return known.get(tool.execute);
}

/** Sources of tools that this program made itself. */
const [LIBRARY, PROGRAM] = ['troupe', 'program'];

/** Source of a tool: `troupe` for tools of this library, by identity; `program`, or the source that the tool names. */
export function sourceOf(tool: Tool): string {
  if (known.has(tool.execute)) return LIBRARY;
  return tool.source === undefined || tool.source === LIBRARY ? PROGRAM : tool.source;
}

/** Whether a tool comes from elsewhere, such as a server. */
export function isForeign(source: string): boolean {
  return source !== LIBRARY && source !== PROGRAM;
}

/** Source of a tool that comes from elsewhere; undefined for tools of this library and of the program. */
export function foreignSourceOf(tool: Tool): string | undefined {
  const source = sourceOf(tool);
  return isForeign(source) ? source : undefined;
}

/** Tool name for settings and grants: with the source of a tool from elsewhere before it (`mcp:files/search`). A tool name has no slash. */
export function qualifiedName(name: string, foreignSource: string | undefined): string {
  return foreignSource === undefined ? name : `${foreignSource}/${name}`;
}
