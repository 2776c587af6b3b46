import type { ModelDelta } from '../../message/model-delta.ts';
import { addUsage, type Usage } from '../../message/usage.ts';
import { whenAborted } from '../../util/abort.ts';
import type { ChatModelBase, ModelRequest } from '../chat-model-base.ts';
import { checkNumber } from '../../util/check-number.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { RequestLimiter, type RequestLimits } from './request-limiter.ts';
import { WrapperModel, type RelayOptions } from './wrapper-model.ts';

export interface RateLimitOptions extends RequestLimits {
  /** Estimated tokens of a request. @default by the length of its text */
  readonly estimateTokens?: ((request: ModelRequest) => number) | undefined;
}

/**
 * Delays requests, first come, first served, to keep the limits of a model. To share a limit, share the
 * RateLimitModel.
 *
 * A request counts as running until its stream ends, fails, is aborted or left, even if the model ignores
 * this. Its estimated tokens count at first, the reported tokens once it has ended.
 */
export class RateLimitModel extends WrapperModel {
  static override readonly className: string = 'RateLimitModel';

  readonly #limiter: RequestLimiter;
  readonly #estimate: (request: ModelRequest) => number;

  constructor(model: ChatModelBase, options: RateLimitOptions) {
    super(model);
    for (const name of ['requestsPerMinute', 'tokensPerMinute', 'maxConcurrent'] as const) {
      const value = options[name];
      if (value !== undefined) checkNumber(name, value, { least: 1 });
    }
    this.#limiter = new RequestLimiter(options);
    const counts = options.tokensPerMinute !== undefined;
    this.#estimate = counts ? (options.estimateTokens ?? estimateTokens) : () => 0;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#limiter.waiting;
  }

  /** Number of running requests. */
  get running(): number {
    return this.#limiter.running;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    const tokens = this.#estimate(request);
    checkNumber('The result of estimateTokens', tokens, { least: 0 });
    const admission = await this.#limiter.acquire(tokens, options.signal);
    let usage: Usage | undefined;
    let before: Usage | undefined;
    const end = (): void => {
      const spent = addUsage(before, usage);
      admission.end(spent && spent.inputTokens + spent.outputTokens);
    };
    whenAborted(options.signal, end); // a model that ignores its signal must not block other requests
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
