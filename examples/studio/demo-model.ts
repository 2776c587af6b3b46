import { ChatModelBase, type ModelRequest } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { sleep } from './sleep.ts';

import { DEMO_STORIES, type DemoStep } from './demo-script.ts';

type Deltas = ReturnType<ChatModelBase['stream']>;

/**
 * The model of the demo where there is no key: answers the suggestions of the page from a script, word by word, and everything else by the
 * rules of `OfflineModel`. Says of itself that it is no language model.
 */
export class DemoModel extends ChatModelBase {
  readonly #delayMs: number;
  readonly #offline: OfflineModel;

  constructor({ delayMs = 30 }: { readonly delayMs?: number } = {}) {
    super('offline demo');
    this.#delayMs = delayMs;
    this.#offline = new OfflineModel({ delayMs });
  }

  override async *stream(
    request: ModelRequest,
    options: Parameters<ChatModelBase['stream']>[1] = {},
  ): Deltas {
    const step = nextStep(request);
    if (step === undefined) return yield* this.#offline.stream(request, options);
    const pause = async (): Promise<void> => sleep(this.#delayMs, options.signal);
    if (typeof step === 'string') {
      for (const text of words(step)) {
        await pause();
        yield { type: 'text', text };
      }
      return yield { type: 'finish', reason: 'stop' };
    }
    for (const thinking of words(step.why)) {
      await pause();
      yield { type: 'thinking', thinking };
    }
    yield { type: 'tool_use_start', index: 0, name: step.tool };
    for (const json of words(JSON.stringify(step.input, null, 1))) {
      await pause();
      yield { type: 'tool_input', index: 0, json };
    }
    yield { type: 'tool_use_end', index: 0 };
    yield { type: 'finish', reason: 'tool_calls' };
  }
}

/** The next step of the story that the user asked for last; undefined if the user said something else. */
function nextStep({ messages, tools = [] }: ModelRequest): DemoStep | undefined {
  const at = messages.findLastIndex(({ role, text }) => role === 'user' && !text.startsWith('<system-hint>'));
  const asked = messages[at]?.text.trim();
  const story = DEMO_STORIES.find(({ suggestion }) => suggestion.text === asked);
  const results = messages.slice(at).flatMap((msg) => msg.getContentBlocks('tool_result')).length;
  const step = story?.steps[results];
  const isPossible = typeof step !== 'object' || tools.some(({ name }) => name === step.tool);
  return isPossible ? step : undefined;
}

function words(text: string): readonly string[] {
  return text.split(/(?<=\s)(?=\S)/);
}
