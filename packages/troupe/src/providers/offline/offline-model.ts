import { TroupeError } from '../../errors.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { ChatModelBase, type ModelCallOptions, type ModelRequest } from '../../model/chat-model-base.ts';
import { sleep } from '../../util/clock.ts';
import { decide, type Decision } from './decide.ts';

export interface OfflineModelOptions {
  /** Delay before each word of text, thinking and arguments of tool calls, in milliseconds. @default 0 */
  readonly delayMs?: number;
}

/**
 * Model without a language model, for demos without a key or a network; for tests use `ScriptedModel`.
 * Streams, calls the given tools, chosen by simple rules over the tool schemas and the newest user message
 * (decide.ts), and introduces itself as a stand-in. Equal requests get equal answers. A failed tool call is
 * not repeated until the user asks again. Folder `providers/offline`: start here.
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), console: false });
 * console.log((await agent.call('Hello!')).text);
 * ```
 */
export class OfflineModel extends ChatModelBase {
  static override readonly className: string = 'OfflineModel';

  readonly #delayMs: number;

  constructor({ delayMs = 0 }: OfflineModelOptions = {}) {
    super('offline');
    if (!(delayMs >= 0)) throw new TroupeError('invalid_config', 'delayMs must be a number of 0 or more.');
    this.#delayMs = delayMs;
  }

  override async *stream(
    request: ModelRequest,
    { signal }: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    signal?.throwIfAborted();
    for (const delta of deltasOf(decide(request))) {
      const isPiece = delta.type === 'text' || delta.type === 'thinking' || delta.type === 'tool_input';
      if (isPiece && this.#delayMs > 0) await sleep(this.#delayMs, signal);
      signal?.throwIfAborted();
      yield delta;
    }
  }
}

function* deltasOf(decision: Decision): Generator<ModelDelta, void, void> {
  if (decision.type === 'say') {
    for (const text of wordByWord(decision.text)) yield { type: 'text', text };
    return yield { type: 'finish', reason: 'stop' };
  }
  for (const thinking of wordByWord(decision.why)) yield { type: 'thinking', thinking };
  for (const [index, { name, input }] of decision.calls.entries()) {
    yield { type: 'tool_use_start', index, name };
    for (const json of wordByWord(JSON.stringify(input, null, 1))) yield { type: 'tool_input', index, json };
    yield { type: 'tool_use_end', index };
  }
  yield { type: 'finish', reason: 'tool_calls' };
}

/** The text in pieces, each of which ends where the next word begins. */
function wordByWord(text: string): readonly string[] {
  return text.split(/(?<=\s)(?=\S)/);
}
