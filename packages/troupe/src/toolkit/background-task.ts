import { toBlock } from '../message/blocks.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import { oneLine } from '../util/text.ts';
import { ToolResponse } from './tool/tool-response.ts';
import type { ToolCallResult } from './tool/tool.ts';

/** `lost`: running when the program ended, outcome unknown. */
export type BackgroundTaskState = 'running' | 'done' | 'failed' | 'cancelled' | 'lost';

/** Tool call that continues while the agent does other things. */
export interface BackgroundTask {
  readonly id: string;
  readonly tool: string;
  readonly state: BackgroundTaskState;
}

/** Task with its latest snapshot while running, then its result. */
export interface TaskRecord extends BackgroundTask {
  readonly result: ToolCallResult | undefined;
  /** Whether the agent was notified of the end of the task. */
  readonly isTold: boolean;
}

const STATES: readonly unknown[] = [
  'running',
  'done',
  'failed',
  'cancelled',
  'lost',
] satisfies BackgroundTaskState[];
const MAX_SHOWN_ID = 100;

export function stateOf({ status }: ToolCallResult): BackgroundTaskState {
  if (status === 'ok') return 'done';
  return status === 'interrupted' ? 'cancelled' : 'failed';
}

export function startedText({ id, tool }: BackgroundTask): string {
  return (
    `<system-reminder>The tool '${tool}' is running in the background now, as the task '${id}'. Go on with something else meanwhile: you will be told ` +
    `when it is over. Call view_task with this id to see how far it is, wait_task to wait for its result, cancel_task to stop it.</system-reminder>`
  );
}

export function noticeText({ id, tool, state }: BackgroundTask): string {
  const task = oneLine(`The background task '${id}' of the tool '${tool}'`);
  const ending = {
    running: 'is running',
    done: 'is done',
    failed: 'has failed',
    cancelled: 'was cancelled',
    lost: 'was running when the program ended, and its outcome is unknown',
  };
  return `${task} ${ending[state]}. Call view_task with its id to see the result.`;
}

/** Answer of `view_task`. */
export function viewOf({ id, tool, state, result }: TaskRecord): ToolResponse {
  const task = `The task '${id}' of the tool '${tool}'`;
  if (state === 'running') {
    return withOutput(`${task} is still running.${result === undefined ? '' : ' So far:'}`, result, 'ok');
  }
  if (state === 'lost') {
    const advice = 'Find out what it has changed before you start it again.';
    const text = `${task} was running when the program ended. Its outcome is unknown. ${advice}`;
    return withOutput(result === undefined ? text : `${text} It had shown:`, result, 'error');
  }
  if (state === 'cancelled') return withOutput(`${task} was cancelled.`, result, 'ok');
  const { output = '', metadata } = result ?? {};
  return new ToolResponse(output, { status: state === 'done' ? 'ok' : 'error', metadata });
}

function withOutput(text: string, result: ToolCallResult | undefined, status: 'ok' | 'error'): ToolResponse {
  const { output = [], metadata } = result ?? {};
  if (typeof output === 'string') return new ToolResponse(`${text}\n${output}`, { status, metadata });
  const content = output.length === 0 ? text : [{ type: 'text' as const, text }, ...output];
  return new ToolResponse(content, { status, metadata });
}

/** Answer for a task id that is unknown, or whose result was dropped. */
export function invalidId(id: string, known: Iterable<string>): ToolResponse {
  const ids = [...known].map((one) => `'${one}'`).join(', ');
  const list = ids === '' ? 'There are no tasks.' : `The tasks are ${ids}.`;
  const shown = oneLine(id.slice(0, MAX_SHOWN_ID));
  const problem = `There is no background task '${shown}': it never was, or its result is not kept any longer.`;
  return new ToolResponse(`InvalidTaskIdError: ${problem} ${list}`, { status: 'error' });
}

export function recordToJson({ id, tool, state, result, isTold }: TaskRecord): JsonObject {
  return {
    id,
    tool,
    state,
    isTold,
    ...(result !== undefined && { result: toBlock(result, 'result') as JsonObject & ToolCallResult }),
  };
}

/** Reads a saved task. A running task becomes `lost`. @throws TypeError if the JSON is no task. */
export function recordFromJson(json: JsonValue): TaskRecord {
  if (!isJsonObject(json)) throw new TypeError('a task must be an object');
  const { id, tool, state, result, isTold } = json;
  if (typeof id !== 'string' || typeof tool !== 'string')
    throw new TypeError('a task must have an id and a tool');
  if (!STATES.includes(state) || typeof isTold !== 'boolean')
    throw new TypeError(`the task '${id}' has no known state`);
  return {
    id,
    tool,
    state: state === 'running' ? 'lost' : (state as BackgroundTaskState),
    isTold,
    result: result === undefined ? undefined : resultFromJson(result),
  };
}

function resultFromJson(json: JsonValue): ToolCallResult {
  const block = toBlock(json, 'result');
  if (block.type !== 'tool_result') throw new TypeError('the result of a task must be a tool_result');
  return block;
}
