import { TroupeError } from '../../errors.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { sleep } from '../../util/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { canonicalRequest, isList, withSortedKeys } from './canonical-request.ts';
import {
  ChatModelBase,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../chat-model-base.ts';
import { checkNumber } from '../../util/check-number.ts';
import { jsonDiff } from './json-diff.ts';
import { ModelError } from '../model-error.ts';
import { Redactor, type RedactOptions } from './redactor.ts';
import { stoppable } from '../../util/async/stoppable.ts';
import { parseTape, type TapedCall, type TapedError } from './tape.ts';

export interface ReplayOptions extends RedactOptions {
  /** Speed: without delays, as recorded, or a multiple of the recorded speed. @default 'instant' */
  readonly speed?: 'instant' | 'recorded' | number | undefined;
  /** Order of requests: as recorded, or any (e.g. concurrent agents). @default 'order' */
  readonly match?: 'order' | 'any' | undefined;
}

interface Entry {
  readonly number: number;
  readonly call: TapedCall;
  /** Request as text. */
  readonly text: string;
  isUsed: boolean;
}

const MAX_DIFFERENCES = 20;

/**
 * Replays a recorded tape offline, errors included. A request that differs from the recorded one fails with
 * the differences; secrets are removed before comparing, as in the recording.
 */
export class ReplayModel extends ChatModelBase {
  static override readonly className: string = 'ReplayModel';

  override readonly capabilities: ModelCapabilities;
  readonly #entries: readonly Entry[];
  readonly #redactor: Redactor;
  readonly #match: 'order' | 'any';
  /** Multiple of the recorded speed. */
  readonly #speed: number;

  /** @throws TroupeError with the line number if the tape is invalid */
  constructor(tape: string, options: ReplayOptions = {}) {
    const { model, capabilities, calls } = parseTape(tape);
    super(model);
    const { speed = 'instant', match = 'order' } = options;
    this.#speed = speed === 'instant' ? Infinity : speed === 'recorded' ? 1 : speed;
    checkNumber('speed', this.#speed, { least: Number.MIN_VALUE });
    if (match !== 'order' && match !== 'any')
      throw new TroupeError('invalid_config', "match must be 'order' or 'any'.");
    this.capabilities = capabilities;
    this.#entries = calls.map((call, i) => ({
      number: i + 1,
      call,
      text: JSON.stringify(call.request),
      isUsed: false,
    }));
    this.#redactor = new Redactor(options);
    this.#match = match;
  }

  override stream(
    request: ModelRequest,
    options: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return stoppable((signal) => this.#play(request, signal), options.signal);
  }

  /** @throws TroupeError with the recorded model calls that were not requested */
  assertUsedUp(): void {
    const unused = this.#entries
      .filter((entry) => !entry.isUsed)
      .map(({ number, call }) => `call ${number} (${lastMessage(call.request)})`);
    if (unused.length === 0) return;
    throw failed(`The tape has unused model calls: ${unused.join(', ')}.`);
  }

  async *#play(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, void> {
    const call = this.#take(request);
    let position = 0;
    for (const [ms, delta] of call.deltas) {
      await this.#wait(ms - position, signal);
      position = ms;
      yield delta;
    }
    await this.#wait(call.ms - position, signal);
    if (call.error !== undefined) throw toError(call.error);
    if (call.aborted) {
      throw failed('The tape ends here: the recorded model call was aborted or left at this point.');
    }
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const delay = ms / this.#speed;
    if (delay > 0) await sleep(delay, signal);
  }

  /** Finds the recorded model call for a request. */
  #take(request: ModelRequest): TapedCall {
    const actual = withSortedKeys(this.#redactor.object(canonicalRequest(request)));
    const text = JSON.stringify(actual);
    const open = this.#entries.filter((entry) => !entry.isUsed);
    const next = (this.#match === 'any' && open.find((entry) => entry.text === text)) || open[0];
    if (next === undefined) {
      throw failed(
        `All ${this.#entries.length} model calls of the tape are used up. Record the tape again for more.`,
      );
    }
    if (next.text !== text) throw failed(describeDifference(next, actual));
    next.isUsed = true;
    return next.call;
  }
}

function describeDifference({ number, call }: Entry, actual: JsonValue): string {
  const differences = jsonDiff(call.request, actual);
  const rest = differences.length - MAX_DIFFERENCES;
  return [
    `The request differs from model call ${number}, the next one on the tape:`,
    ...differences.slice(0, MAX_DIFFERENCES).map((line) => `  ${line}`),
    ...(rest > 0 ? [`  … and ${rest} more`] : []),
    'If the new request is right, record the tape again.',
  ].join('\n');
}

function toError({ message, kind, ...details }: TapedError): Error {
  return kind === undefined ? new Error(message) : new ModelError(message, { kind, ...details });
}

function failed(message: string): TroupeError {
  return new TroupeError('script_failed', message);
}

function lastMessage({ messages }: JsonObject): string {
  const last = isList(messages) ? messages.at(-1) : undefined;
  const text = JSON.stringify((isJsonObject(last) && last['content']) || '');
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
