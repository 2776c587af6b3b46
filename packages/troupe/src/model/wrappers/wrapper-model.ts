import type { ModelDelta } from '../../message/model-delta.ts';
import {
  ChatModelBase,
  type GenerationOptions,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../chat-model-base.ts';
import { stoppable } from '../../util/async/stoppable.ts';

/** The options of a call on its way through a wrapper. */
export interface RelayOptions extends ModelCallOptions {
  /** Aborted when the caller's signal is, and when the stream is left. */
  readonly signal: AbortSignal;
}

/**
 * The base of models that stand around another one: same name, same capabilities, same options. What a
 * wrapper does is in `relay`. It is never run for a request that is aborted already.
 */
export abstract class WrapperModel extends ChatModelBase {
  override readonly capabilities: ModelCapabilities;
  override readonly generation: GenerationOptions;
  override readonly vendorName: string | undefined;

  constructor(
    /** The model inside. */
    readonly model: ChatModelBase,
  ) {
    super(model.modelName);
    this.capabilities = model.capabilities;
    this.generation = model.generation;
    this.vendorName = model.vendorName;
  }

  override stream(
    request: ModelRequest,
    options: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return stoppable((signal) => this.relay(request, { ...options, signal }), options.signal);
  }

  /** The answer, mostly that of `model`. */
  protected abstract relay(request: ModelRequest, options: RelayOptions): AsyncIterable<ModelDelta>;
}
