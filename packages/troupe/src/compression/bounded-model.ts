import { TroupeError } from '../errors.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import type { ChatModelBase, ModelRequest } from '../model/chat-model-base.ts';
import { WrapperModel, type RelayOptions } from '../model/wrappers/wrapper-model.ts';
import { yieldToEventLoop } from '#platform';

/** How many characters a model may think before it sums up. */
const MAX_THOUGHT = 256 * 1024;
/** After so many deltas the event loop has its turn. */
const DELTAS_AT_ONCE = 64;

/**
 * A model that sums up, and is stopped once it has said more than what it sums up. It can be stopped by a timer even if the
 * model inside never waits.
 */
export class BoundedModel extends WrapperModel {
  readonly #maxChars: number;

  constructor(model: ChatModelBase, maxChars: number) {
    super(model);
    this.#maxChars = maxChars;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    let [said, thought, count] = [0, 0, 0];
    for await (const delta of this.model.stream(request, options)) {
      if (delta.type === 'reset') [said, thought] = [0, 0];
      if (delta.type === 'text') said += delta.text.length;
      if (delta.type === 'tool_input') said += delta.json.length;
      if (delta.type === 'thinking') thought += delta.thinking.length;
      if (said > this.#maxChars || thought > MAX_THOUGHT) {
        throw new TroupeError('limit_reached', 'The summary is longer than what it is about.');
      }
      yield delta;
      if (++count % DELTAS_AT_ONCE === 0) await yieldToEventLoop();
      options.signal.throwIfAborted();
    }
  }
}
