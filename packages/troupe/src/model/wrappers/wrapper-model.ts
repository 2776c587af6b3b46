import type { ModelDelta } from '../../message/model-delta.ts';
import {
  ChatModelBase,
  type GenerationOptions,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../chat-model-base.ts';
import { stoppable } from '../../util/async/stoppable.ts';

/** Options of a model call inside a wrapper. */
export interface RelayOptions extends ModelCallOptions {
  /** Aborted with the caller's signal, and when the consumer leaves the stream. */
  readonly signal: AbortSignal;
}

/**
 * Base class of models that wrap another model, with its name, capabilities and options. Subclasses implement
 * `relay`, which never runs for a request that is already aborted. Folder `model/wrappers`: start here.
 */
export abstract class WrapperModel extends ChatModelBase {
  static override readonly isTraced: boolean = false;

  override readonly capabilities: ModelCapabilities;
  override readonly generation: GenerationOptions;
  override readonly vendorName: string | undefined;
  override readonly host: string | undefined;

  constructor(
    /** The wrapped model. */
    readonly model: ChatModelBase,
  ) {
    super(model.modelName);
    this.capabilities = model.capabilities;
    this.generation = model.generation;
    this.vendorName = model.vendorName;
    this.host = model.host;
  }

  override stream(
    request: ModelRequest,
    options: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return stoppable((signal) => this.relay(request, { ...options, signal }), options.signal);
  }

  /** Streams the response, usually from `model`. */
  protected abstract relay(request: ModelRequest, options: RelayOptions): AsyncIterable<ModelDelta>;
}
