import { ChatModelBase, type ModelRequest } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { sleep } from './sleep.ts';

import { DEMO_STORIES, type DemoStep } from './demo-script.ts';

type Deltas = ReturnType<ChatModelBase['stream']>;

/**
 * The model of the demo where there is no key: answers the suggestions of the page from a script, word by word, and everything else by the
 * rules of `OfflineModel`. Says of itself that it is no language model. Its usage is an estimate of what a model with a prompt cache counts.
 */
export class DemoModel extends ChatModelBase {
  readonly #delayMs: number;
  readonly #offline: OfflineModel;
  readonly #cache = new PromptCache();

  constructor({ delayMs = 30 }: { readonly delayMs?: number } = {}) {
    super('offline demo');
    this.#delayMs = delayMs;
    this.#offline = new OfflineModel({ delayMs });
  }

  override async *stream(
    request: ModelRequest,
    options: Parameters<ChatModelBase['stream']>[1] = {},
  ): Deltas {
    const prompt = this.#cache.read(request);
    const step = nextStep(request);
    const deltas =
      step === undefined ? this.#offline.stream(request, options) : this.#play(step, options.signal);
    let chars = 0;
    for await (const delta of deltas) {
      if (delta.type === 'text') chars += delta.text.length;
      else if (delta.type === 'thinking') chars += delta.thinking?.length ?? 0;
      else if (delta.type === 'tool_input') chars += delta.json.length;
      else if (delta.type === 'finish')
        yield { type: 'usage', usage: { ...prompt, outputTokens: tokensOf(chars) } };
      yield delta;
    }
  }

  async *#play(step: DemoStep, signal: AbortSignal | undefined): Deltas {
    if (typeof step === 'string') {
      for (const text of words(step)) {
        await sleep(this.#delayMs, signal);
        yield { type: 'text', text };
      }
      return yield { type: 'finish', reason: 'stop' };
    }
    for (const thinking of words(step.why)) {
      await sleep(this.#delayMs, signal);
      yield { type: 'thinking', thinking };
    }
    yield { type: 'tool_use_start', index: 0, name: step.tool };
    for (const json of words(JSON.stringify(step.input, null, 1))) {
      await sleep(this.#delayMs, signal);
      yield { type: 'tool_input', index: 0, json };
    }
    yield { type: 'tool_use_end', index: 0 };
    yield { type: 'finish', reason: 'tool_calls' };
  }
}

/** Remembers the last prompts, as a provider with a prompt cache does. */
class PromptCache {
  readonly #prompts: (readonly string[])[] = [];

  /** Estimated tokens of a prompt, and how many of them begin an earlier one. */
  read({ messages, tools = [] }: ModelRequest): { inputTokens: number; cachedTokens: number } {
    const parts = [...tools, ...messages.map(({ role, name, content }) => ({ role, name, content }))].map(
      (part) => JSON.stringify(part),
    );
    const known = Math.max(0, ...this.#prompts.map((earlier) => sharedParts(earlier, parts)));
    this.#prompts.push(parts);
    if (this.#prompts.length > MAX_PROMPTS) this.#prompts.shift();
    return { inputTokens: tokensIn(parts), cachedTokens: tokensIn(parts.slice(0, known)) };
  }
}

const MAX_PROMPTS = 20;
const CHARS_PER_TOKEN = 4;

function tokensOf(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

function tokensIn(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + tokensOf(part.length), 0);
}

/** Number of parts at the start that two prompts have in common. */
function sharedParts(one: readonly string[], other: readonly string[]): number {
  const end = other.findIndex((part, at) => part !== one[at]);
  return end === -1 ? other.length : end;
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
