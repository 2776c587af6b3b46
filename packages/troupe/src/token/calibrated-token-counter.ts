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

/** A larger difference between report and estimate means that they belong to different prompts. */
const MAX_FACTOR = 4;
/** Weight of earlier reports after each new report. */
const MEMORY = 0.8;

/**
 * Corrects another counter with the usage reported by the provider: keeps the ratio of reported to counted
 * tokens. Large and recent prompts weigh more. The ratio is part of the state.
 */
export class CalibratedTokenCounter extends TokenCounterBase {
  static override readonly componentName: string = 'calibratedTokenCounter';

  /** Sums over the prompts so far, with decreasing weight for older prompts. */
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

  /** Factor applied to the counts of the inner counter. */
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

  /** Learns from the reported usage of a prompt. Ignores implausible reports. */
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

  /** Wraps a model so that this counter learns from each of its responses. */
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
  throw new TypeError('the token sums do not match');
}

class WatchedModel extends WrapperModel {
  static override readonly className: string = 'WatchedModel';

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
    let isSinglePrompt = true;
    for await (const delta of this.model.stream(request, options)) {
      if (delta.type === 'usage') usage = delta.usage;
      if (delta.type === 'reset') isSinglePrompt = false;
      yield delta;
    }
    if (usage !== undefined && isSinglePrompt) await this.#learn(request, usage);
  }

  /** Learning failures never fail the response. */
  async #learn({ messages, tools }: ModelRequest, usage: Usage): Promise<void> {
    try {
      await this.#counter.learn(messages, tools, usage);
    } catch (error) {
      getLogger().log('warn', `The token counter could not be calibrated: ${messageOf(error)}`);
    }
  }
}
