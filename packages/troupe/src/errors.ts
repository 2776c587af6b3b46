/** Base classes and codes of all errors. A message says what to do and holds no prompt, key or header. */

export type ErrorCode =
  | 'a2a_failed'
  | 'agent_busy'
  | 'agent_closed'
  | 'decision_refused'
  | 'fanout_failed'
  | 'file_failed'
  | 'hook_failed'
  | 'hook_not_found'
  | 'input_ended'
  | 'interrupted'
  | 'invalid_config'
  | 'invalid_hook'
  | 'invalid_id'
  | 'invalid_input'
  | 'invalid_msg'
  | 'invalid_plan'
  | 'invalid_reply'
  | 'invalid_skill'
  | 'invalid_state'
  | 'limit_reached'
  | 'mcp_failed'
  | 'media_failed'
  | 'memory_corrupt'
  | 'model_failed'
  | 'script_failed'
  | 'session_conflict'
  | 'session_corrupt'
  | 'session_not_found'
  | 'session_version'
  | 'store_failed'
  | 'stream_failed'
  | 'subagent_unavailable'
  | 'pending_calls'
  | 'tool_suspended'
  | 'too_deep'
  | 'structured_output_failed';

/** Codes of refused agent calls: the agent is busy, waits for decisions, or can't apply the decisions. */
const REFUSALS: readonly ErrorCode[] = ['agent_busy', 'pending_calls', 'decision_refused'];

const brand = Symbol.for('troupe.error');

/**
 * Base class of all errors of this package. `TroupeError.isInstance` also recognizes errors of another copy
 * of the package.
 *
 * @example
 * ```ts
 * import { Msg, TroupeError } from 'troupe';
 *
 * try {
 *   Msg.from({ role: 'nobody' });
 * } catch (error) {
 *   if (!TroupeError.isInstance(error)) throw error;
 *   console.log(error.code); // invalid_msg
 * }
 * ```
 */
export class TroupeError extends Error {
  override readonly name: string = 'TroupeError';
  readonly [brand] = true;

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /**
   * Whether an agent refused an agent call: it is busy, tool calls are pending, or a decision does not fit. Nothing has
   * changed, and no event was sent. A server answers with the status 409.
   */
  get isRefusal(): boolean {
    return REFUSALS.includes(this.code);
  }

  static isInstance(value: unknown): value is TroupeError {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /** The message, which JSON leaves out of other errors, and all enumerable fields. */
  toJSON(): object {
    const { name, code, message } = this;
    return { name, code, message, ...Object.fromEntries(Object.entries(this)) };
  }
}

/** Invalid message or content block. */
export class InvalidMsgError extends TroupeError {
  override readonly name = 'InvalidMsgError';

  constructor(message: string, options?: ErrorOptions) {
    super('invalid_msg', message, options);
  }
}

/** Agent call refused because the agent is busy with another agent call. */
export class AgentBusyError extends TroupeError {
  override readonly name = 'AgentBusyError';

  constructor(agentName: string, advice: string) {
    super('agent_busy', `${agentName} is busy with another call. ${advice}`);
  }
}

/** Agent call refused because the agent was disposed of. */
export class AgentClosedError extends TroupeError {
  override readonly name = 'AgentClosedError';

  constructor(agentName: string) {
    super('agent_closed', `${agentName} was disposed of and takes no more calls. Make a new agent.`);
  }
}

/** Origin of an interrupt. */
export type InterruptSource = 'user' | 'consumer' | 'caller' | 'dispose';

/** Abort reason of an interrupted run. Programs see this error only where no answer is due. */
export class InterruptedError extends TroupeError {
  override readonly name = 'InterruptedError';

  constructor(
    agentName: string,
    readonly source: InterruptSource,
  ) {
    super('interrupted', `${agentName} was interrupted.`);
  }
}

/** No more input for a question: Ctrl-D was pressed, or a pipe or list of answers is used up. */
export class InputEndedError extends TroupeError {
  override readonly name = 'InputEndedError';

  constructor(problem: string) {
    super('input_ended', problem);
  }
}

/** Hook failure; `cause` holds the thrown value. */
export class HookError extends TroupeError {
  override readonly name = 'HookError';

  constructor(
    readonly hookType: string,
    readonly hookName: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super('hook_failed', `The ${hookType} hook '${hookName}' ${problem}`, options);
  }
}

/** State that can't be registered, saved or loaded. Nothing was changed. */
export class StateError extends TroupeError {
  override readonly name = 'StateError';

  constructor(
    readonly path: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super('invalid_state', `Invalid state: ${path} ${problem}`, options);
  }
}

/** Stack lines inside a message, which would show paths of this machine. */
const STACK_LINES = /\n[ \t]+at [^\n]*/g;

/** Message of any thrown value: one line of at most 300 characters, without a stack. */
export function messageOf(thrown: unknown): string {
  let text = 'an error without a message';
  try {
    text = String(thrown instanceof Error ? thrown.message || thrown.name : thrown);
  } catch {
    // The object's toString throws; the default text stays.
  }
  const line = text.slice(0, 10_000).replace(STACK_LINES, '').slice(0, 301).replace(/\s+/g, ' ');
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
