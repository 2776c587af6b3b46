import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from '../message/usage.ts';
import type { ChatModelBase, ModelRequest, ToolSchema } from '../model/chat-model-base.ts';
import { WrapperModel, type RelayOptions } from '../model/wrappers/wrapper-model.ts';
import { isJsonObject, type JsonValue } from '../util/json.ts';
import { TokenCounterBase, type CountOptions } from './token-counter-base.ts';

interface Learned {
  readonly reported: number;
  readonly counted: number;
}

/** A report that differs more than this from the estimate is about something else. */
const MAX_FACTOR = 4;
/** How much of what was learned stays with each further report. */
const MEMORY = 0.8;

/**
 * Corrects another counter by what the provider reports: it keeps the ratio between the
 * tokens that were reported and those that were counted. Large prompts weigh more
 * than small ones, new ones more than old ones. The ratio is saved with the state.
 */
export class CalibratedTokenCounter extends TokenCounterBase {
  /** Sums over the prompts so far; the older a prompt, the less it counts. */
  protected learned: Learned = { reported: 0, counted: 0 };
  readonly #inner: TokenCounterBase;
  readonly #sent = new WeakMap<readonly Msg[], readonly Msg[]>();

  constructor(inner: TokenCounterBase) {
    super();
    this.#inner = inner;
    this.registerState<Learned>('learned', {
      toJson: ({ reported, counted }) => ({ reported, counted }),
      fromJson: toLearned,
    });
  }

  /** What the inner counter's counts are multiplied by. */
  get factor(): number {
    const { reported, counted } = this.learned;
    return counted === 0 ? 1 : reported / counted;
  }

  override async count(
    messages: readonly Msg[],
    tools?: readonly ToolSchema[],
    options?: CountOptions,
  ): Promise<number> {
    return Math.round((await this.#inner.count(messages, tools, options)) * this.factor);
  }

  override async countEach(messages: readonly Msg[], options?: CountOptions): Promise<readonly number[]> {
    const counts = await this.#inner.countEach(messages, options);
    return counts.map((count) => Math.round(count * this.factor));
  }

  override noteSent(messages: readonly Msg[], sent: readonly Msg[]): void {
    this.#sent.set(messages, sent);
    this.#inner.noteSent(messages, sent);
  }

  /** Learns from what the provider reported for a prompt. A report that can't be about it is ignored. */
  async learn(
    messages: readonly Msg[],
    tools: readonly ToolSchema[] | undefined,
    { inputTokens }: Usage,
  ): Promise<void> {
    const counted = await this.#inner.count(this.#sent.get(messages) ?? messages, tools);
    if (!isCredible(inputTokens / counted)) return;
    this.learned = {
      reported: this.learned.reported * MEMORY + inputTokens,
      counted: this.learned.counted * MEMORY + counted,
    };
  }

  /** The same model; from each of its answers is learned. */
  watch(model: ChatModelBase): ChatModelBase {
    return new WatchedModel(model, this);
  }
}

function isCredible(factor: number): boolean {
  return factor >= 1 / MAX_FACTOR && factor <= MAX_FACTOR;
}

function toLearned(json: JsonValue): Learned {
  const { reported, counted } = isJsonObject(json) ? json : {};
  if (typeof reported === 'number' && typeof counted === 'number') {
    if (reported === 0 && counted === 0) return { reported, counted };
    if (counted > 0 && isCredible(reported / counted)) return { reported, counted };
  }
  throw new TypeError('these sums of tokens do not belong together');
}

class WatchedModel extends WrapperModel {
  readonly #counter: CalibratedTokenCounter;

  constructor(model: ChatModelBase, counter: CalibratedTokenCounter) {
    super(model);
    this.#counter = counter;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    let usage: Usage | undefined;
    let isOfOnePrompt = true;
    for await (const delta of this.model.stream(request, options)) {
      if (delta.type === 'usage') usage = delta.usage;
      if (delta.type === 'reset') isOfOnePrompt = false;
      yield delta;
    }
    if (usage !== undefined && isOfOnePrompt) await this.#learn(request, usage);
  }

  /** An answer is good whether or not something can be learned from it. */
  async #learn({ messages, tools }: ModelRequest, usage: Usage): Promise<void> {
    try {
      await this.#counter.learn(messages, tools, usage);
    } catch (error) {
      getLogger().log('warn', `Nothing was learned about tokens: ${messageOf(error)}`);
    }
  }
}
