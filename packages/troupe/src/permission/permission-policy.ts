import type { ToolVerdict } from '../toolkit/call/tool-call.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import type { ToolUseBlock } from '../message/blocks.ts';

/** A call that an agent is about to make. */
export interface PermissionRequest {
  /** With the arguments that the tool will get, but for presets. */
  readonly call: ToolUseBlock;
  readonly tool: Tool;
  /** The agents from the outermost to the one that makes the call. */
  readonly agentPath: readonly string[];
  /** What the agent gives to its tools, e.g. who the user is. */
  readonly context: unknown;
}

/**
 * Decides about tool calls. One that throws, takes forever until the call is stopped, or says something else than a
 * verdict, denies.
 */
export interface PermissionPolicy {
  decide(request: PermissionRequest): ToolVerdict | Promise<ToolVerdict>;
}
