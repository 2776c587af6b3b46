import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import { toBlock, type ToolUseBlock } from '../../message/blocks.ts';
import { abortable } from '../../util/abort.ts';
import { waitTicks } from '../../util/async/grace.ts';
import { copyJsonObject, type JsonObject } from '../../util/json.ts';
import { oneLine } from '../../util/text.ts';
import { cutOutput } from './cut-output.ts';
import { withDeadline, type DeadlineOptions } from '../../util/async/deadline.ts';
import { failureOf } from './failure-text.ts';
import { acquireAll, type ConcurrencyLimit } from '../tool/concurrency-limit.ts';
import { denied, invalid, unreadable } from './refusals.ts';
import { RegisteredTool } from '../tool/registered-tool.ts';
import { runTool } from './run-tool.ts';
import { SnapshotQueue } from './snapshot-queue.ts';
import { throughMiddlewares, type PassChunk, type ToolMiddleware } from './tool-middleware.ts';
import { fromResult, type ToolOutput } from '../tool/tool-output.ts';
import type { ToolResume } from '../tool/tool-suspension.ts';
import { suspendedForApproval } from './suspended-call.ts';
import { isSuspended, resulting, type SuspendedToolCall, type ToolCallOutcome } from './tool-call-outcome.ts';
import type { Confinement } from '../tool/confinement.ts';
import type { Tool, ToolCallResult, ToolContext } from '../tool/tool.ts';

export interface CallToolOptions {
  /** Gives the tool call an `interrupted` result as soon as it is aborted, whatever the tool does. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Gets every snapshot of the tool while it runs, as a result that replaces the one before. Awaited before a generator
   * goes on. Errors are logged.
   */
  readonly onChunk?: ((result: ToolCallResult) => unknown) | undefined;
  /** For tool and middleware, such as the user's name. */
  readonly context?: unknown;
  readonly agentName?: string | undefined;
  /** Called just before the tool runs, with the arguments for the tool. @default every tool call may run */
  readonly authorize?: ((request: AuthorizeRequest) => ToolVerdict | Promise<ToolVerdict>) | undefined;
  /** State and decisions for a tool that was suspended and is resumed. */
  readonly resume?: ToolResume | undefined;
}

/** A tool call before its tool runs. */
export interface AuthorizeRequest {
  /** With the arguments for the tool, without presets; with the model's arguments, where validated ones are not JSON. */
  readonly call: ToolUseBlock;
  /** With the arguments as the toolkit got them: the model's, or those of a decision. */
  readonly sent: ToolUseBlock;
  readonly tool: Tool;
}

/** Verdict about a tool call. */
export interface ToolVerdict {
  readonly behavior: 'allow' | 'ask' | 'deny';
  /** For the person who is asked, or for the model after a denial. */
  readonly reason?: string | undefined;
  /** Whether approval is needed again although the tool was allowed for the whole run. */
  readonly isAskedEachTime?: boolean | undefined;
  /** For the person who is asked: rules, as JSON, with which the policy would not ask. */
  readonly suggestions?: readonly JsonObject[] | undefined;
  /**
   * Limits of a tool call that is allowed without asking; of an approved one, unless the approval lifts them.
   * `none`: an approval has lifted all limits. @default the tool's own settings
   */
  readonly confinement?: Confinement | 'none' | undefined;
  /** Behavior for an allowed tool call whose tool can't keep the limits. @default 'ask' */
  readonly unconfined?: 'ask' | 'deny' | undefined;
}

/** Stores a text that is too long for a model, and returns a reference to load it again. */
export type Offload = (text: string, call: ToolUseBlock) => string | Promise<string>;

/** Settings of the toolkit for its tool calls. */
export interface ToolCallSettings {
  /** The tool, or the output for a tool that can't be called. */
  find(name: string): RegisteredTool | ToolOutput;
  readonly middlewares: readonly ToolMiddleware[];
  readonly timeoutMs: number;
  readonly maxOutputChars: number;
  readonly concurrency: ConcurrencyLimit | undefined;
  readonly offload: Offload | undefined;
  readonly onAbandoned: () => void;
}

/** Note in the result of a tool call that was interrupted while its tool ran. */
const INTERRUPTED_NOTE = '<system-info>The tool call has been interrupted by the user.</system-info>';
const MAX_REFERENCE_CHARS = 300;
/** Turns of the event loop that `postProcess` and middleware have for an interrupted result: fewer than an agent waits. */
const INTERRUPTED_TURNS = 4;

/** A run of a tool, and the snapshot that was shown last, before `postProcess`. */
interface RunningTool {
  readonly tool: RegisteredTool;
  readonly call: ToolUseBlock;
  readonly passChunk: PassChunk;
  shown: ToolOutput | undefined;
}

const PASS_UNCHANGED: PassChunk = async (snapshot) => snapshot;

/** Makes the request to `authorize`. Copies the arguments for the tool when a policy reads the tool call. */
function authorizeRequest(sent: ToolUseBlock, tool: Tool, checked: unknown): AuthorizeRequest {
  let judged: ToolUseBlock | undefined;
  return {
    sent,
    tool,
    get call() {
      return (judged ??= { ...sent, input: shownInput(checked, sent, tool) });
    },
  };
}

/**
 * Runs one tool call, from lookup to outcome: exactly one result, or a suspension. After an interrupt, a middleware,
 * schema or tool that is still running can neither show a snapshot nor run a tool. Folder `toolkit/call`: start here.
 */
export class ToolCall {
  readonly #settings: ToolCallSettings;
  readonly #call: ToolUseBlock;
  readonly #options: CallToolOptions;
  #running: RunningTool | undefined;
  #isAnswered = false;

  constructor(settings: ToolCallSettings, call: ToolUseBlock, options: CallToolOptions) {
    this.#settings = settings;
    this.#call = call;
    this.#options = options;
  }

  /** Never rejects. */
  async run(): Promise<ToolCallOutcome> {
    const { signal } = this.#options;
    try {
      signal?.throwIfAborted();
      return await (signal === undefined ? this.#pass() : abortable(this.#pass(), signal));
    } catch (thrown) {
      this.#isAnswered = true;
      return signal?.aborted ? resulting(await this.#interrupted()) : this.#resulting(failureOf(thrown));
    } finally {
      this.#isAnswered = true;
    }
  }

  #pass(): Promise<ToolCallOutcome> {
    const { middlewares } = this.#settings;
    return middlewares.length === 0 ? this.#run(this.#call, PASS_UNCHANGED) : this.#passThrough(middlewares);
  }

  async #passThrough(middlewares: readonly ToolMiddleware[]): Promise<ToolCallOutcome> {
    const run = (call: ToolUseBlock, passChunk: PassChunk): Promise<ToolCallOutcome> =>
      this.#run(call, passChunk);
    const found = this.#find(this.#call); // no middleware sees a tool call that can't be run
    if (!(found instanceof RegisteredTool)) return this.#resulting(found);
    const { signal = new AbortController().signal, context, agentName } = this.#options;
    const toResult = (value: unknown): ToolCallResult => this.#result(fromResult(value));
    return throughMiddlewares(middlewares, this.#call, { signal, context, agentName }, run, toResult);
  }

  #find({ name, rawInput }: ToolUseBlock): RegisteredTool | ToolOutput {
    const found = this.#settings.find(name);
    return found instanceof RegisteredTool && rawInput !== undefined ? unreadable(rawInput) : found;
  }

  async #run(call: ToolUseBlock, passChunk: PassChunk): Promise<ToolCallOutcome> {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    if (this.#isAnswered) throw new Error('The tool call already has its outcome.');
    const tool = this.#find(call);
    if (!(tool instanceof RegisteredTool)) return this.#resulting(tool);
    let output: ToolOutput | SuspendedToolCall;
    try {
      const reading = tool.readArguments(call.input);
      if (reading instanceof Promise) reading.catch(() => {}); // the schema may have interrupted the tool call: nobody waits then
      const checked =
        reading instanceof Promise ? await withDeadline(this.#deadline(tool), () => reading) : reading;
      if (!checked.ok) return this.#resulting(invalid(checked.problems));
      const request = authorizeRequest(call, tool.tool, checked.value);
      const verdict = await this.#options.authorize?.(request);
      if (verdict?.behavior === 'deny') return this.#resulting(denied(verdict.reason));
      if (verdict?.behavior === 'ask') return suspendedForApproval(request.call, verdict, tool.tool);
      const running = { tool, call, passChunk, shown: undefined };
      output = await this.#execute(running, checked.value, verdict?.confinement);
    } catch (thrown) {
      signal?.throwIfAborted();
      output = failureOf(thrown);
    }
    return isSuspended(output) ? output : resulting(await this.#finish(tool, call, output));
  }

  #execute(
    running: RunningTool,
    input: unknown,
    confinement: ToolContext['confinement'],
  ): Promise<ToolOutput | SuspendedToolCall> {
    const { tool, call } = running;
    this.#running = running;
    const { context, agentName, resume } = this.#options;
    const limits = [tool.concurrency, this.#settings.concurrency].filter((limit) => limit !== undefined);
    return runTool({
      tool: tool.tool,
      input,
      context: { call, context, agentName, resume, ...(confinement !== undefined && { confinement }) },
      deadline: { ...this.#deadline(tool), onAbandoned: this.#settings.onAbandoned },
      acquire: limits.length === 0 ? undefined : (signal) => acquireAll(limits, signal),
      newSnapshots: () => this.#newSnapshots(running),
    });
  }

  #newSnapshots(running: RunningTool): SnapshotQueue {
    const { tool, call, passChunk } = running;
    let latest: ToolOutput | undefined;
    return new SnapshotQueue({
      prepare: async (snapshot) => {
        latest = snapshot;
        const output = await this.#postProcessed(tool, call, snapshot);
        const cut = cutOutput(output.output, this.#maxChars(tool));
        return passChunk(this.#result(cut === undefined ? output : { ...output, output: cut.shown }));
      },
      show: (result) => {
        if (this.#isAnswered) return;
        running.shown = latest;
        return this.#options.onChunk?.(result);
      },
    });
  }

  async #finish(tool: RegisteredTool, call: ToolUseBlock, given: ToolOutput): Promise<ToolCallResult> {
    let output = given;
    try {
      if (tool.tool.postProcess !== undefined) output = await this.#postProcessed(tool, call, given);
    } catch (thrown) {
      this.#options.signal?.throwIfAborted();
      output = failureOf(thrown);
    }
    const maxChars = this.#maxChars(tool);
    const cut = cutOutput(output.output, maxChars);
    if (cut === undefined) return this.#result(output);
    const reference = await this.#offload(tool, call, cut.whole);
    const { shown } = cutOutput(output.output, maxChars, reference) ?? cut;
    return this.#result({ ...output, output: shown });
  }

  async #postProcessed(tool: RegisteredTool, call: ToolUseBlock, output: ToolOutput): Promise<ToolOutput> {
    const { postProcess } = tool.tool;
    if (postProcess === undefined) return output;
    const processed = await withDeadline(this.#deadline(tool), async () => ({
      value: await postProcess(call, this.#result(output)),
    }));
    return processed.value === undefined ? output : fromResult(processed.value);
  }

  /** The reference to the stored text; undefined if it could not be stored. */
  async #offload(tool: RegisteredTool, call: ToolUseBlock, text: string): Promise<string | undefined> {
    const { offload } = this.#settings;
    if (offload === undefined) return undefined;
    try {
      const reference = await withDeadline(this.#deadline(tool), async () => offload(text, call));
      return oneLine(reference.slice(0, MAX_REFERENCE_CHARS));
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      getLogger().log(
        'warn',
        `The output of the tool '${tool.tool.name}' could not be offloaded: ${messageOf(error)}`,
      );
      return undefined;
    }
  }

  #deadline({ tool }: RegisteredTool): DeadlineOptions {
    return { timeoutMs: tool.timeoutMs ?? this.#settings.timeoutMs, signal: this.#options.signal };
  }

  #maxChars({ tool }: RegisteredTool): number {
    return tool.maxOutputChars ?? this.#settings.maxOutputChars;
  }

  /**
   * The result of an interrupted tool call: the snapshot shown last and a note, after `postProcess` and middleware. Nothing of the tool
   * is shown if those fail or take long.
   */
  async #interrupted(): Promise<ToolCallResult> {
    let result: ToolCallResult | undefined;
    const running = this.#running;
    if (running !== undefined) {
      const finished = this.#finishInterrupted(running).then((given) => (result = given));
      await waitTicks(finished, INTERRUPTED_TURNS);
    }
    return result ?? this.#result({ output: INTERRUPTED_NOTE, status: 'interrupted' });
  }

  async #finishInterrupted({
    tool,
    call,
    passChunk,
    shown,
  }: RunningTool): Promise<ToolCallResult | undefined> {
    const { postProcess } = tool.tool;
    const given = { ...shown, output: withNote(shown?.output), status: 'interrupted' } as const;
    const processed = await postProcess?.(call, this.#result(given));
    const { responseMsg: _, ...output } = processed === undefined ? given : fromResult(processed); // an interrupted tool ends no reply
    const cut = cutOutput(output.output, this.#maxChars(tool));
    const result = this.#result({
      ...output,
      output: cut === undefined ? output.output : withNote(cut.shown),
      status: 'interrupted',
    });
    if (shown === undefined) return result; // nothing of the tool is in it
    const passed = await passChunk(result);
    return passed && { ...passed, status: 'interrupted' };
  }

  #resulting(output: ToolOutput): ToolCallOutcome {
    return resulting(this.#result(output));
  }

  #result(output: ToolOutput): ToolCallResult {
    return toToolResult(this.#call, output);
  }
}

/** A tool result for the tool call as the model made it. Output that is not valid makes an error result. */
export function toToolResult({ id, name }: ToolUseBlock, output: ToolOutput): ToolCallResult {
  try {
    return toBlock({ ...output, type: 'tool_result', id, name }, 'result') as ToolCallResult;
  } catch (error) {
    return { type: 'tool_result', id, name, ...failureOf(error) };
  }
}

function withNote(output: ToolOutput['output'] = []): ToolOutput['output'] {
  if (typeof output === 'string') return `${output}\n${INTERRUPTED_NOTE}`;
  return output.length === 0 ? INTERRUPTED_NOTE : [...output, { type: 'text', text: INTERRUPTED_NOTE }];
}

/** The arguments after validation, as JSON and without presets, which the model must not see. */
function shownInput(checked: unknown, { input }: ToolUseBlock, { preset = {} }: Tool): JsonObject {
  try {
    const own = Object.entries(copyJsonObject(checked, 'input')).filter(
      ([key]) => !Object.hasOwn(preset, key),
    );
    return Object.fromEntries(own);
  } catch {
    return input;
  }
}
