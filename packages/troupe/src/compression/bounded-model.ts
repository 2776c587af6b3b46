import { TroupeError } from '../errors.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import type { ChatModelBase, ModelRequest } from '../model/chat-model-base.ts';
import { WrapperModel, type RelayOptions } from '../model/wrappers/wrapper-model.ts';
import { yieldToEventLoop } from '#platform';

/** Maximum characters of thinking before a summary. */
const MAX_THINKING_CHARS = 256 * 1024;
/** Number of deltas after which the event loop gets control. */
const DELTAS_PER_YIELD = 64;

/**
 * Stops a summarizing model whose answer is longer than the summarized text (`limit_reached`). Timers can
 * abort the stream even if the wrapped model never awaits anything.
 */
export class BoundedModel extends WrapperModel {
  static override readonly className: string = 'BoundedModel';

  readonly #maxChars: number;

  constructor(model: ChatModelBase, maxChars: number) {
    super(model);
    this.#maxChars = maxChars;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    let [written, thinking, count] = [0, 0, 0];
    for await (const delta of this.model.stream(request, options)) {
      if (delta.type === 'reset') [written, thinking] = [0, 0];
      if (delta.type === 'text') written += delta.text.length;
      if (delta.type === 'tool_input') written += delta.json.length;
      if (delta.type === 'thinking') thinking += delta.thinking.length;
      if (written > this.#maxChars || thinking > MAX_THINKING_CHARS) {
        throw new TroupeError('limit_reached', 'The summary is longer than the messages it replaces.');
      }
      yield delta;
      if (++count % DELTAS_PER_YIELD === 0) await yieldToEventLoop();
      options.signal.throwIfAborted();
    }
  }
}
