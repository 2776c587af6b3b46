import { TroupeError } from '../errors.ts';
import type { FinishReason, ModelDelta } from '../message/model-delta.ts';
import type { Usage } from '../message/usage.ts';
import { ChatModelBase, type ModelCallOptions, type ModelRequest } from '../model/chat-model-base.ts';
import { abortable } from '../util/abort.ts';
import type { JsonObject } from '../util/json.ts';
import { stoppable } from '../util/async/stoppable.ts';

export interface ScriptedToolCall {
  readonly name: string;
  /** A string is sent as it is, e.g. to send arguments that are no JSON. */
  readonly input: JsonObject | string;
  readonly id?: string | undefined;
}

/** One answer of the model: thinking, text, tool calls and raw deltas, in this order; then how it ends. */
export interface ScriptedTurn {
  /** Makes the turn answer every request that fits, instead of one in its place in the script. */
  readonly when?: ((request: ModelRequest) => boolean) | undefined;
  readonly thinking?: string | undefined;
  readonly text?: string | undefined;
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  readonly deltas?: readonly ModelDelta[] | undefined;
  /** How many characters of text, thinking or tool input go into one delta. @default all of them */
  readonly chunkSize?: number | undefined;
  readonly usage?: Usage | undefined;
  /** @default 'tool_calls' or 'stop', and none after raw deltas */
  readonly finish?: FinishReason | undefined;
  /** Is thrown once the rest was sent: at once if there is no rest. */
  readonly error?: Error | undefined;
  /** Once the rest was sent, nothing comes any more, until the signal is aborted or the stream is left. */
  readonly stall?: boolean | undefined;
  /** Ignores that it is aborted or left, as a badly written provider would. */
  readonly stubborn?: boolean | undefined;
}

/**
 * A model that answers from a script, for tests.
 *
 * A request that the `when` of a turn accepts is answered by that turn, as often as
 * it comes. Any other request uses up the next turn of the script; when there is
 * none, the request fails. A request counts from the moment its stream is read.
 */
export class ScriptedModel extends ChatModelBase {
  /** All requests so far, as they were when they came. */
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

  /** @throws TroupeError that lists the turns of the script that answered nothing. */
  assertUsedUp(): void {
    const unused = this.#script.flatMap((turn, i) =>
      this.#used.has(turn) ? [] : [`turn ${i + 1} (${describeTurn(turn)})`],
    );
    if (unused.length === 0) return;
    throw new TroupeError(
      'script_failed',
      `The script was not used up. What answered nothing: ${unused.join(', ')}.`,
    );
  }

  async *#play(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, void> {
    this.requests.push({ ...request, messages: [...request.messages] });
    const turn = this.#take(request);
    const heard = turn.stubborn ? undefined : signal;
    for (const delta of deltasOf(turn)) {
      heard?.throwIfAborted();
      yield delta;
    }
    if (turn.stall) await stall(heard);
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

/** The text in pieces of so many characters, none of them torn. */
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
