import type { ToolVerdict } from '../toolkit/call/tool-call.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import type { ToolUseBlock } from '../message/blocks.ts';

/** A tool call about to run, for a decision. */
export interface PermissionRequest {
  /** Tool call with its arguments, without presets. */
  readonly call: ToolUseBlock;
  readonly tool: Tool;
  /** Agent names from the outermost agent to the one that makes the tool call. */
  readonly agentPath: readonly string[];
  /** Context that the agent passes to its tools, e.g. the current user. */
  readonly context: unknown;
}

/**
 * Decides whether tool calls may run. A policy that throws, never answers or returns an invalid verdict
 * denies.
 */
export interface PermissionPolicy {
  decide(request: PermissionRequest): ToolVerdict | Promise<ToolVerdict>;
}
