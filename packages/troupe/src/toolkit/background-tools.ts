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
import { knownAs } from './tool/known-tools.ts';
import { tool as makeTool, type Tool, type ToolContext } from './tool/tool.ts';
import { Toolkit, type ToolkitOptions } from './toolkit.ts';

/** Tasks run with the options of a toolkit. @default `timeoutMs` is an hour */
export interface BackgroundToolsOptions extends Omit<ToolkitOptions, 'tools'> {
  /** Maximum tasks at the same time, including those waiting for `maxConcurrent`. @default 32 */
  readonly maxRunning?: number;
  /** Maximum results kept until viewed. The oldest are dropped first. @default 100 */
  readonly maxKept?: number;
}

/** Part of a running task that can't be saved. */
interface RunningTask {
  readonly stop: AbortController;
  /** Resolves at the end of the task; never rejects. */
  readonly ended: Promise<TaskRecord>;
}

/** Original tool call of a task. */
interface TaskInput {
  readonly input: unknown;
  readonly call: ToolUseBlock;
  readonly confinement: ToolContext['confinement'];
}

const NOTE = 'It runs in the background: the answer is the id of a task.';
const HOUR_MS = 3_600_000;
const DEFAULT_WAIT_SECONDS = 10;
const MAX_WAIT_SECONDS = 3600;

/**
 * Runs tools in the background: a tool call is answered at once with the id of a task, and the task continues
 * after the reply, also after an interrupt. Three tools show a task, wait for a task, and cancel a task.
 *
 * A task runs, and then ends exactly once as done, failed or cancelled, with a result that is listed and
 * saved until viewed. Tasks are part of the state; a task that was running when saved is `lost` when loaded.
 *
 * @example
 * ```ts
 * import { BackgroundTools, ReActAgent, tool } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * await using background = new BackgroundTools();
 * const report = tool({ name: 'make_report', description: 'Makes the yearly report.', execute: () => 'It has 2 pages.' });
 * const tools = [background.inBackground(report)];
 * const agent = new ReActAgent({ name: 'clerk', model: new OfflineModel(), tools, background });
 * console.log(agent.toolkit.has('make_report')); // true: answers at once with the id of a task
 * ```
 */
export class BackgroundTools extends StateModule {
  static override readonly componentName: string = 'backgroundTools';

  /** `view_task`, `wait_task` and `cancel_task`. Register them with the agent's toolkit. */
  readonly tools: readonly Tool<JsonObject>[];
  readonly #maxRunning: number;
  readonly #maxKept: number;
  /** Runs the tasks, with the guarantees of a toolkit. */
  readonly #toolkit: Toolkit;
  readonly #inputs = new Map<string, TaskInput>();
  readonly #runs = new Map<string, RunningTask>();
  readonly #listeners = new Set<(task: BackgroundTask) => Promise<unknown>>();
  /** Ended tasks come in the order in which they ended. */
  #records = new Map<string, TaskRecord>();
  /** Viewed tasks, kept because the agent may have been interrupted before reading the result. */
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
   * Makes a tool whose tool calls run in the background. The arguments are checked before the start; time
   * limit, retries and `postProcess` apply to the task.
   * @throws TroupeError if the tool is wrong.
   */
  inBackground<Input>(tool: Tool<Input>): Tool<Input> {
    const { schema: _s, preset: _p, group: _g, coerce: _c, ...ofTask } = tool;
    const { postProcess, maxOutputChars: _m, retry: _r, returnDirect: _d, ...ofCall } = tool;
    const inner = this.#toolkit.registerToolFunction(
      {
        ...ofTask,
        execute: (_: unknown, context: ToolContext) => {
          const { input, call, confinement } = this.#inputOf(context.call);
          // the schema validated the input before the task began
          return tool.execute(input as Input, { ...context, call, confinement, isBackground: true });
        },
        ...(postProcess && { postProcess: (call, result) => postProcess(this.#inputOf(call).call, result) }),
      },
      { namesakeStrategy: 'rename' },
    );
    const started = Object.freeze({
      ...ofCall,
      description: `${tool.description ?? ''} ${NOTE}`.trim(),
      execute: (input: Input, context: ToolContext) => this.#start(tool.name, inner, input, context),
    });
    return knownAs(started, tool);
  }

  /** Running tasks, and tasks with a result that was not viewed. */
  get tasks(): readonly BackgroundTask[] {
    return [...this.#records.values()].map(({ id, tool, state }) => ({ id, tool, state }));
  }

  /** One sentence for each ended task that the agent was not notified of. Each is returned once. */
  takeNotices(): readonly string[] {
    const unreported = [...this.#records.values()].filter(
      ({ state, isTold }) => state !== 'running' && !isTold,
    );
    for (const record of unreported) this.#records.set(record.id, { ...record, isTold: true });
    return unreported.map(noticeText);
  }

  /** Marks notices as undelivered; `takeNotices` returns them again. */
  giveNoticesBack(notices: readonly string[]): void {
    for (const record of this.#records.values()) {
      if (notices.includes(noticeText(record))) this.#records.set(record.id, { ...record, isTold: false });
    }
  }

  /**
   * Registers a listener for ended tasks, e.g. to wake an idle agent. Nobody waits for the listener, and its
   * errors are logged. The returned function removes the listener.
   */
  onDone(listener: (task: BackgroundTask) => unknown): () => void {
    // a wrapper, because the same function may be registered twice
    const entry = async (task: BackgroundTask): Promise<unknown> => listener(task);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Cancels a task. Returns whether the task was running. The result can still be viewed. */
  async cancel(id: string): Promise<boolean> {
    const run = this.#runs.get(id);
    if (run === undefined) return false;
    run.stop.abort(new Error('The task was cancelled.'));
    return (await run.ended).state === 'cancelled';
  }

  /** Cancels all tasks. No more tasks start afterwards. */
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
    { call, context, agentName, confinement }: ToolContext,
  ): ToolResponse {
    if (this.#isClosed) throw new Error('The background tools are disposed: no more tasks start.');
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
    this.#inputs.set(record.id, { input, call, confinement });
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
    this.#inputs.delete(id);
    this.#runs.delete(id);
    this.#records.delete(id); // ended tasks are ordered by their end
    this.#records.set(id, record);
    this.#dropOldest();
    this.#notifyListeners({ id, tool, state: record.state });
    return record;
  }

  #dropOldest(): void {
    const over = [...this.#records.values()].filter(({ state }) => state !== 'running');
    for (const { id } of over.slice(0, Math.max(0, over.length - this.#maxKept))) this.#records.delete(id);
    for (const id of [...this.#viewed.keys()].slice(0, -this.#maxKept)) this.#viewed.delete(id);
  }

  #notifyListeners(task: BackgroundTask): void {
    const failed = (error: unknown): void =>
      getLogger().log('warn', `A listener of a background task failed: ${messageOf(error)}`);
    for (const listener of this.#listeners) listener(task).catch(failed);
  }

  #inputOf({ id }: ToolUseBlock): TaskInput {
    const input = this.#inputs.get(id);
    if (input === undefined) throw new Error('The task is over.');
    return input;
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
      return this.#viewOver(record); // each waiting tool call gets the result
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
        timeoutMs: Infinity, // `wait_task` limits its own time
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

/** The schema guarantees a string. */
function idIn(input: JsonObject): string {
  return input['task_id'] as string;
}
