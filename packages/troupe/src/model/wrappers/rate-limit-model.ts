import type { ModelDelta } from '../../message/model-delta.ts';
import { addUsage, type Usage } from '../../message/usage.ts';
import { whenAborted } from '../../util/abort.ts';
import type { ChatModelBase, ModelRequest } from '../chat-model-base.ts';
import { checkNumber } from '../../util/check-number.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { RequestGate, type GateLimits } from './request-gate.ts';
import { WrapperModel, type RelayOptions } from './wrapper-model.ts';

export interface RateLimitOptions extends GateLimits {
  /** About how many tokens a request will take. @default by the length of its text */
  readonly estimateTokens?: ((request: ModelRequest) => number) | undefined;
}

/**
 * Makes requests wait for their turn, first come, first served, so that a model is asked no more than it
 * allows. To share a limit, share the RateLimitModel.
 *
 * A request holds its place until its stream ends, fails, is aborted or left, whatever the model makes of
 * that. It counts with its estimated tokens at first, and with those that the model reports once it is over.
 */
export class RateLimitModel extends WrapperModel {
  readonly #gate: RequestGate;
  readonly #estimate: (request: ModelRequest) => number;

  constructor(model: ChatModelBase, options: RateLimitOptions) {
    super(model);
    for (const name of ['requestsPerMinute', 'tokensPerMinute', 'maxConcurrent'] as const) {
      const value = options[name];
      if (value !== undefined) checkNumber(name, value, { least: 1 });
    }
    this.#gate = new RequestGate(options);
    const counts = options.tokensPerMinute !== undefined;
    this.#estimate = counts ? (options.estimateTokens ?? estimateTokens) : () => 0;
  }

  /** How many requests wait for their turn. */
  get waiting(): number {
    return this.#gate.waiting;
  }

  /** How many requests are being answered. */
  get running(): number {
    return this.#gate.running;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    const tokens = this.#estimate(request);
    checkNumber('What estimateTokens returns', tokens, { least: 0 });
    const visit = await this.#gate.enter(tokens, options.signal);
    let usage: Usage | undefined;
    let before: Usage | undefined;
    const end = (): void => {
      const spent = addUsage(before, usage);
      visit.end(spent && spent.inputTokens + spent.outputTokens);
    };
    whenAborted(options.signal, end); // a model that ignores its signal must not keep the others out
    try {
      for await (const delta of this.model.stream(request, options)) {
        if (delta.type === 'usage') usage = delta.usage;
        else if (delta.type === 'reset') {
          before = addUsage(before, usage);
          usage = undefined;
        }
        yield delta;
      }
    } finally {
      end();
    }
  }
}
