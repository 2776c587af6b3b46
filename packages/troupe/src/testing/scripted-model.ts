import { TroupeError } from '../errors.ts';
import type { FinishReason, ModelDelta } from '../message/model-delta.ts';
import type { Usage } from '../message/usage.ts';
import { ChatModelBase, type ModelCallOptions, type ModelRequest } from '../model/chat-model-base.ts';
import { abortable } from '../util/abort.ts';
import type { JsonObject } from '../util/json.ts';
import { stoppable } from '../util/async/stoppable.ts';

export interface ScriptedToolCall {
  readonly name: string;
  /** A string is sent unchanged, e.g. for arguments that are not JSON. */
  readonly input: JsonObject | string;
  readonly id?: string | undefined;
}

/** One answer of the model: thinking, text, tool calls and raw deltas, in this order; then the ending. */
export interface ScriptedTurn {
  /** Answers every matching request with this turn, independent of the order of the script. */
  readonly when?: ((request: ModelRequest) => boolean) | undefined;
  readonly thinking?: string | undefined;
  readonly text?: string | undefined;
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  readonly deltas?: readonly ModelDelta[] | undefined;
  /** Characters of text, thinking or tool input in one delta. @default all */
  readonly chunkSize?: number | undefined;
  readonly usage?: Usage | undefined;
  /** Finish reason. @default 'tool_calls' or 'stop'; none after raw deltas */
  readonly finish?: FinishReason | undefined;
  /** Thrown after the other content. */
  readonly error?: Error | undefined;
  /** After the other content, sends nothing until the signal is aborted or the stream abandoned. */
  readonly stall?: boolean | undefined;
  /** Ignores aborts and abandoned streams, like a badly written provider. */
  readonly stubborn?: boolean | undefined;
}

/**
 * Model that answers from a script, for tests.
 *
 * A request accepted by the `when` of a turn is answered by that turn, any number of times. Any other request
 * uses up the next turn of the script; without one, the request fails. A request counts from the first read
 * of its stream. Folder `testing`: start here.
 *
 * @example
 * ```ts
 * import { ReActAgent, tool } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const model = new ScriptedModel([{ toolCalls: [{ name: 'now', input: {} }] }, 'It is noon.']);
 * const tools = [tool({ name: 'now', execute: () => 'noon' })];
 * const agent = new ReActAgent({ name: 'clock', model, tools, console: false });
 * console.log((await agent.call('What time is it?')).text); // It is noon.
 * model.assertUsedUp();
 * ```
 */
export class ScriptedModel extends ChatModelBase {
  static override readonly className: string = 'ScriptedModel';

  /** All requests so far, copied on arrival. */
  readonly requests: ModelRequest[] = [];
  readonly #script: readonly ScriptedTurn[];
  readonly #used = new Set<ScriptedTurn>();

  constructor(script: readonly (string | ScriptedTurn)[], modelName = 'scripted') {
    super(modelName);
    this.#script = script.map((turn) => (typeof turn === 'string' ? { text: turn } : { ...turn }));
    for (const { chunkSize = 1 } of this.#script) {
      if (Number.isInteger(chunkSize) && chunkSize > 0) continue;
      throw new TroupeError('invalid_config', 'chunkSize must be a whole number of 1 or more.');
    }
  }

  override stream(
    request: ModelRequest,
    { signal }: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return stoppable((stopped) => this.#play(request, stopped), signal);
  }

  /** @throws TroupeError with the turns of the script that answered no request. */
  assertUsedUp(): void {
    const unused = this.#script.flatMap((turn, i) =>
      this.#used.has(turn) ? [] : [`turn ${i + 1} (${describeTurn(turn)})`],
    );
    if (unused.length === 0) return;
    throw new TroupeError('script_failed', `The script was not used up. Unused: ${unused.join(', ')}.`);
  }

  async *#play(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, void> {
    this.requests.push({ ...request, messages: [...request.messages] });
    const turn = this.#take(request);
    const obeyed = turn.stubborn ? undefined : signal;
    for (const delta of deltasOf(turn)) {
      obeyed?.throwIfAborted();
      yield delta;
    }
    if (turn.stall) await stall(obeyed);
    if (turn.error) throw turn.error;
  }

  #take(request: ModelRequest): ScriptedTurn {
    const turn =
      this.#script.find((turn) => turn.when?.(request)) ??
      this.#script.find((turn) => turn.when === undefined && !this.#used.has(turn));
    if (turn === undefined) {
      const problem = `The script of ${this.modelName} has no turn for request ${this.requests.length}.`;
      throw new TroupeError(
        'script_failed',
        `${problem} Add a turn to its end, or one with a \`when\` that fits.`,
      );
    }
    this.#used.add(turn);
    return turn;
  }
}

function* deltasOf(turn: ScriptedTurn): Generator<ModelDelta, void, void> {
  const { thinking = '', text = '', toolCalls = [], deltas = [], usage, chunkSize } = turn;
  for (const piece of pieces(thinking, chunkSize)) yield { type: 'thinking', thinking: piece };
  for (const piece of pieces(text, chunkSize)) yield { type: 'text', text: piece };
  for (const [index, { name, input, id }] of toolCalls.entries()) {
    const json = typeof input === 'string' ? input : JSON.stringify(input);
    yield { type: 'tool_use_start', index, name, ...(id !== undefined && { id }) };
    for (const piece of pieces(json, chunkSize)) yield { type: 'tool_input', index, json: piece };
    yield { type: 'tool_use_end', index };
  }
  yield* deltas;
  if (turn.error || turn.stall) return;
  if (usage !== undefined) yield { type: 'usage', usage };
  const reason = turn.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop');
  if (turn.finish !== undefined || turn.deltas === undefined) yield { type: 'finish', reason };
}

/** Splits a text into pieces of `size` characters, without splitting a character. */
function* pieces(text: string, size: number | undefined): Generator<string, void, void> {
  if (text === '') return;
  if (size === undefined) return yield text;
  const characters = [...text];
  for (let i = 0; i < characters.length; i += size) yield characters.slice(i, i + size).join('');
}

async function stall(signal: AbortSignal | undefined): Promise<never> {
  const never = new Promise<never>(() => {});
  return signal === undefined ? never : abortable(never, signal);
}

function describeTurn(turn: ScriptedTurn): string {
  const { text, toolCalls = [], thinking } = turn;
  if (text !== undefined) return `'${text.length > 40 ? `${text.slice(0, 40)}…` : text}'`;
  if (toolCalls.length > 0) return `calls ${toolCalls.map((call) => call.name).join(', ')}`;
  if (thinking !== undefined) return 'thinking';
  if (turn.error) return 'an error';
  if (turn.stall) return 'a stall';
  return 'deltas';
}
