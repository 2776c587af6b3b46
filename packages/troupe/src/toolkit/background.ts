import { checkNumber } from '../util/check-number.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf, StateError } from '../errors.ts';
import type { ToolUseBlock } from '../message/blocks.ts';
import { StateModule } from '../state/state-module.ts';
import { newId } from '../util/ids.ts';
import type { JsonObject } from '../util/json.ts';
import {
  invalidId,
  noticeText,
  recordFromJson,
  recordToJson,
  startedText,
  stateOf,
  viewOf,
  type BackgroundTask,
  type TaskRecord,
} from './background-task.ts';
import { DeadlineError, withDeadline } from '../util/async/deadline.ts';
import type { CallToolOptions } from './call/tool-call.ts';
import { ToolResponse } from './tool/tool-response.ts';
import { tool as makeTool, type Tool, type ToolContext } from './tool/tool.ts';
import { Toolkit, type ToolkitOptions } from './toolkit.ts';

/** How tasks are run is told as for a toolkit. @default `timeoutMs` is an hour */
export interface BackgroundToolsOptions extends Omit<ToolkitOptions, 'tools'> {
  /** How many tasks there may be at the same time, those included that wait for their turn. @default 32 */
  readonly maxRunning?: number;
  /** How many results are kept that nobody has viewed. The oldest are dropped first. @default 100 */
  readonly maxKept?: number;
}

/** What only a task of this process has. */
interface Run {
  readonly stop: AbortController;
  /** Resolves when the task is over; never rejects. */
  readonly ended: Promise<TaskRecord>;
}

/** What a tool is to be called with. */
interface Start {
  readonly input: unknown;
  readonly call: ToolUseBlock;
}

const NOTE = 'It runs in the background: the answer is the id of a task.';
const HOUR_MS = 3_600_000;
const DEFAULT_WAIT_SECONDS = 10;
const MAX_WAIT_SECONDS = 3600;

/**
 * Lets tools run in the background: a call of one is answered at once with the id of a task, which goes on beyond the reply and
 * an interrupt of it. Three tools show a task, wait for it, and cancel it.
 *
 * A task runs, and then is done, failed or cancelled, exactly once, with a result that is listed and saved until it is viewed. Tasks belong
 * to the state; one that was running when it was saved is lost when it is loaded.
 */
export class BackgroundTools extends StateModule {
  /** `view_task`, `wait_task` and `cancel_task`, to be registered with the toolkit of the agent. */
  readonly tools: readonly Tool<JsonObject>[];
  readonly #maxRunning: number;
  readonly #maxKept: number;
  /** Runs the tasks, with all that a toolkit promises. */
  readonly #toolkit: Toolkit;
  readonly #starts = new Map<string, Start>();
  readonly #runs = new Map<string, Run>();
  readonly #listeners = new Set<(task: BackgroundTask) => Promise<unknown>>();
  /** Those that are over are in the order in which they ended. */
  #records = new Map<string, TaskRecord>();
  /** Those whose results were viewed: somebody may have been interrupted before they were read. */
  readonly #viewed = new Map<string, TaskRecord>();
  #isClosed = false;

  constructor(options: BackgroundToolsOptions = {}) {
    super();
    const { maxRunning = 32, maxKept = 100, timeoutMs = HOUR_MS, ...others } = options;
    checkNumber('maxRunning', maxRunning, { least: 1 });
    checkNumber('maxKept', maxKept, { least: 1 });
    this.#maxRunning = maxRunning;
    this.#maxKept = maxKept;
    this.#toolkit = new Toolkit({ timeoutMs, ...others });
    this.tools = this.#makeTools();
    this.registerState<readonly TaskRecord[]>('records', {
      toJson: (records) => records.map(recordToJson),
      fromJson(json) {
        if (!Array.isArray(json)) throw new TypeError('it must be a list of tasks');
        return json.map(recordFromJson);
      },
    });
  }

  /**
   * The same tool, whose calls run in the background. Its arguments are checked before it starts; its time limit, retries and
   * `postProcess` are those of the task.
   * @throws TroupeError if anything about the tool is wrong.
   */
  inBackground<Input>(tool: Tool<Input>): Tool<Input> {
    const { schema: _s, preset: _p, group: _g, coerce: _c, ...ofTask } = tool;
    const { postProcess, maxOutputChars: _m, retry: _r, returnDirect: _d, ...ofCall } = tool;
    const inner = this.#toolkit.registerToolFunction(
      {
        ...ofTask,
        execute: (_: unknown, context: ToolContext) => {
          const { input, call } = this.#startOf(context.call);
          return tool.execute(input as Input, { ...context, call, isBackground: true }); // checked by the schema before the task began
        },
        ...(postProcess && { postProcess: (call, result) => postProcess(this.#startOf(call).call, result) }),
      },
      { namesakeStrategy: 'rename' },
    );
    return Object.freeze({
      ...ofCall,
      description: `${tool.description ?? ''} ${NOTE}`.trim(),
      execute: (input: Input, context: ToolContext) => this.#start(tool.name, inner, input, context),
    });
  }

  /** All tasks that are running, or have a result that was not viewed. */
  get tasks(): readonly BackgroundTask[] {
    return [...this.#records.values()].map(({ id, tool, state }) => ({ id, tool, state }));
  }

  /** A sentence for each task that is over and of which the agent was not told yet. Each is given once. */
  takeNotices(): readonly string[] {
    const untold = [...this.#records.values()].filter(({ state, isTold }) => state !== 'running' && !isTold);
    for (const record of untold) this.#records.set(record.id, { ...record, isTold: true });
    return untold.map(noticeText);
  }

  /** Says that the agent could not be told after all what was taken: it is given once more. */
  giveNoticesBack(notices: readonly string[]): void {
    for (const record of this.#records.values()) {
      if (notices.includes(noticeText(record))) this.#records.set(record.id, { ...record, isTold: false });
    }
  }

  /**
   * Calls back whenever a task is over, e.g. to wake an agent that has nothing to do; nobody waits for it, and what it throws is
   * logged. The returned function calls that off.
   */
  onDone(listener: (task: BackgroundTask) => unknown): () => void {
    const entry = async (task: BackgroundTask): Promise<unknown> => listener(task); // one may listen twice
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Cancels a task. Returns whether it was running. Its result can still be viewed. */
  async cancel(id: string): Promise<boolean> {
    const run = this.#runs.get(id);
    if (run === undefined) return false;
    run.stop.abort(new Error('The task was cancelled.'));
    return (await run.ended).state === 'cancelled';
  }

  /** Cancels all tasks. No more are started. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#runs.keys()].map((id) => this.cancel(id)));
  }

  protected override assertStateCanLoad(): void {
    if (this.#runs.size === 0) return;
    throw new StateError(
      'the background',
      'still has tasks running. Wait for them, or cancel them, before loading.',
    );
  }

  protected get records(): readonly TaskRecord[] {
    return [...this.#records.values()];
  }

  protected set records(records: readonly TaskRecord[]) {
    this.#records = new Map(records.map((record) => [record.id, record]));
    this.#viewed.clear();
    this.#dropOldest();
  }

  #start(
    tool: string,
    inner: string,
    input: unknown,
    { call, context, agentName }: ToolContext,
  ): ToolResponse {
    if (this.#isClosed) throw new Error('Nothing is started in the background any more.');
    if (this.#runs.size >= this.#maxRunning) {
      const advice = 'Wait for one of them, or cancel one.';
      throw new Error(`There are ${this.#maxRunning} tasks in the background already. ${advice}`);
    }
    const record: TaskRecord = {
      id: newId('task_'),
      tool,
      state: 'running',
      result: undefined,
      isTold: false,
    };
    const stop = new AbortController();
    this.#records.set(record.id, record);
    this.#starts.set(record.id, { input, call });
    const options = { signal: stop.signal, context, agentName };
    this.#runs.set(record.id, { stop, ended: this.#run(record, inner, options) });
    return new ToolResponse(startedText(record), { metadata: { taskId: record.id } });
  }

  async #run(running: TaskRecord, inner: string, options: CallToolOptions): Promise<TaskRecord> {
    const { id, tool } = running;
    const result = await this.#toolkit.callToolFunction(
      { type: 'tool_use', id, name: inner, input: {} },
      { ...options, onChunk: (snapshot) => void this.#records.set(id, { ...running, result: snapshot }) },
    );
    const record = { ...running, state: stateOf(result), result };
    this.#starts.delete(id);
    this.#runs.delete(id);
    this.#records.delete(id); // it goes to the end
    this.#records.set(id, record);
    this.#dropOldest();
    this.#tellListeners({ id, tool, state: record.state });
    return record;
  }

  #dropOldest(): void {
    const over = [...this.#records.values()].filter(({ state }) => state !== 'running');
    for (const { id } of over.slice(0, Math.max(0, over.length - this.#maxKept))) this.#records.delete(id);
    for (const id of [...this.#viewed.keys()].slice(0, -this.#maxKept)) this.#viewed.delete(id);
  }

  #tellListeners(task: BackgroundTask): void {
    const failed = (error: unknown): void =>
      getLogger().log('warn', `A listener of a background task failed: ${messageOf(error)}`);
    for (const listener of this.#listeners) listener(task).catch(failed);
  }

  #startOf({ id }: ToolUseBlock): Start {
    const start = this.#starts.get(id);
    if (start === undefined) throw new Error('The task is over.');
    return start;
  }

  #view(id: string): ToolResponse {
    const record = this.#records.get(id) ?? this.#viewed.get(id);
    if (record === undefined) return invalidId(id, this.#records.keys());
    return record.state === 'running' ? viewOf(record) : this.#viewOver(record);
  }

  #viewOver(record: TaskRecord): ToolResponse {
    this.#records.delete(record.id);
    this.#viewed.set(record.id, record);
    this.#dropOldest();
    return viewOf(record);
  }

  async #wait(id: string, seconds: number, signal: AbortSignal): Promise<ToolResponse> {
    const ended = this.#runs.get(id)?.ended;
    if (ended === undefined) return this.#view(id);
    try {
      const record = await withDeadline({ timeoutMs: seconds * 1000, signal }, () => ended);
      return this.#viewOver(record); // for each of those that waited for it
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      return this.#view(id);
    }
  }

  async #cancelByModel(id: string): Promise<ToolResponse> {
    if (!this.#records.has(id)) return invalidId(id, this.#records.keys());
    const isCancelled = await this.cancel(id);
    const record = this.#records.get(id);
    if (!isCancelled)
      return new ToolResponse(`The task '${id}' is over already. Call view_task to see its result.`);
    if (record !== undefined) this.#records.set(id, { ...record, isTold: true });
    return new ToolResponse(`The task '${id}' is cancelled. Call view_task to see how far it got.`);
  }

  #makeTools(): readonly Tool<JsonObject>[] {
    const id = { type: 'string', description: 'The id of the task.' };
    const schema = {
      type: 'object',
      properties: { task_id: id },
      required: ['task_id'],
      additionalProperties: false,
    };
    const timeout = {
      type: 'number',
      minimum: 0,
      maximum: MAX_WAIT_SECONDS,
      default: DEFAULT_WAIT_SECONDS,
      description: 'How many seconds to wait at most.',
    };
    return [
      makeTool({
        name: 'view_task',
        description:
          'Shows how far a task in the background is, or its result. View it soon: results are not kept for ever.',
        schema,
        readOnly: true,
        execute: (input) => this.#view(idIn(input)),
      }),
      makeTool({
        name: 'wait_task',
        description: 'Waits for the result of a task in the background.',
        schema: { ...schema, properties: { task_id: id, timeout } },
        timeoutMs: Infinity, // it has a limit of its own
        readOnly: true,
        execute: (input, { signal }) => {
          const { timeout: seconds = DEFAULT_WAIT_SECONDS } = input as { timeout?: number };
          return this.#wait(idIn(input), seconds, signal);
        },
      }),
      makeTool({
        name: 'cancel_task',
        description: 'Stops a task in the background.',
        schema,
        execute: (input) => this.#cancelByModel(idIn(input)),
      }),
    ];
  }
}

/** The schema has checked that it is there. */
function idIn(input: JsonObject): string {
  return input['task_id'] as string;
}
