import { TroupeError } from '../errors.ts';
import type { ModelRequest, ToolChoice, ToolSchema } from './chat-model-base.ts';

/**
 * Validates a tool choice.
 * @throws TroupeError that lists the existing tools
 */
export function checkToolChoice({ toolChoice, tools = [] }: ModelRequest): void {
  if (toolChoice === undefined || toolChoice === 'auto' || toolChoice === 'none') return;
  const names = tools.map((tool) => tool.name);
  if (toolChoice === 'required') {
    if (names.length === 0) throw invalid("toolChoice is 'required', but there are no tools.");
    return;
  }
  const wanted = isNamed(toolChoice)
    ? [toolChoice.name]
    : isAllowed(toolChoice)
      ? toolChoice.allowed
      : undefined;
  if (wanted === undefined) {
    throw invalid("toolChoice must be 'auto', 'none', 'required', {name} or {allowed: [name, …]}.");
  }
  if (wanted.length === 0) throw invalid("toolChoice allows no tool at all. Use 'none' for that.");
  const missing = wanted.filter((name) => !names.includes(name));
  if (missing.length === 0) return;
  throw invalid(`toolChoice names ${missing.join(', ')}, but the tools are: ${names.join(', ') || 'none'}.`);
}

/** Tells whether the model must call a tool. */
export function isForced(choice: ToolChoice | undefined): boolean {
  if (typeof choice !== 'object') return choice === 'required';
  return isNamed(choice) || choice.mode === 'required';
}

/** Tools left by a tool choice, for providers without a list of allowed tools in the request. */
export function toolsForChoice({ tools = [], toolChoice }: ModelRequest): readonly ToolSchema[] {
  if (typeof toolChoice !== 'object' || !isAllowed(toolChoice)) return tools;
  return tools.filter((tool) => toolChoice.allowed.includes(tool.name));
}

function isNamed(choice: ToolChoice): choice is { readonly name: string } {
  return typeof choice === 'object' && 'name' in choice && typeof choice.name === 'string';
}

function isAllowed(choice: ToolChoice): choice is Exclude<ToolChoice, string | { readonly name: string }> {
  return typeof choice === 'object' && 'allowed' in choice && Array.isArray(choice.allowed);
}

function invalid(message: string): TroupeError {
  return new TroupeError('invalid_input', message);
}
