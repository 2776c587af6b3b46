import { getLogger } from '../config/run-config.ts';
import { ChatFormatter } from '../formatter/chat-formatter.ts';
import type { FormatterBase } from '../formatter/formatter-base.ts';
import { MediaLoader } from '../formatter/media-loader.ts';
import { PromptMedia } from '../formatter/prompt-media.ts';
import { ProviderParts, type TakesBack } from '../formatter/provider-parts.ts';
import type { MediaBlock, Prompt, PromptItem, UserItem } from '../formatter/prompt.ts';
import { traced } from '../tracing/instrumentation.ts';
import type { ModelCapabilities, ModelRequest } from './chat-model-base.ts';

export interface PromptMakerOptions {
  readonly modelName: string;
  readonly capabilities: ModelCapabilities;
  /** @default a ChatFormatter */
  readonly formatter?: FormatterBase | undefined;
  /** @default a loader that neither downloads nor reads files */
  readonly media?: MediaLoader | undefined;
  /** Tells whether the provider downloads media by URL itself. @default false */
  readonly takesUrl?: ((block: MediaBlock) => boolean) | undefined;
  /** Tells whether the provider takes a block of an earlier answer back unchanged. @default false: such blocks become text */
  readonly takesBack?: TakesBack | undefined;
  /** Receives a description of each repair. @default a warning in the log */
  readonly onRepair?: ((repairs: readonly string[]) => void) | undefined;
}

/** Stands for the conversation if there is none: providers reject a prompt without messages. */
const OPENING: UserItem = {
  role: 'user',
  name: 'user',
  content: [{ type: 'text', text: '(The conversation begins.)' }],
};

/** Makes prompts for a model: formats the history, adds media, and reports repairs. */
export class PromptMaker {
  readonly #options: PromptMakerOptions;
  readonly #formatter: FormatterBase;
  readonly #media: PromptMedia;
  readonly #providerParts: ProviderParts;

  constructor(options: PromptMakerOptions) {
    const { formatter, media, capabilities, takesUrl = () => false, takesBack = () => false } = options;
    this.#options = options;
    this.#formatter = formatter ?? new ChatFormatter();
    this.#providerParts = new ProviderParts(takesBack);
    this.#media = new PromptMedia({ loader: media ?? new MediaLoader(), capabilities, takesUrl });
  }

  async make(request: ModelRequest, signal: AbortSignal): Promise<Prompt> {
    const { messages, tools, agentName, formatter = this.#formatter } = request;
    const prompt = await traced(
      () => ({ type: 'format', target: this.#options.modelName, msgCount: messages.length }),
      async () => formatter.format(messages, { tools, agentName, signal }),
      { signal, outcomeOf: ({ items }) => ({ status: 'ok', count: items.length }) },
    );
    if (prompt.repairs.length > 0) this.#report(prompt.repairs);
    return this.#media.prepare(this.#providerParts.prepare(withOpening(prompt)), signal);
  }

  #report(repairs: readonly string[]): void {
    const { onRepair, modelName } = this.#options;
    if (onRepair) return onRepair(repairs);
    const what = repairs.join('; ');
    getLogger().log('warn', `The history was repaired for ${modelName}: ${what}.`);
  }
}

/** Adds an opening behind the instructions of a prompt that has nothing to answer, so that the model speaks first. */
function withOpening(prompt: Prompt): Prompt {
  const { items } = prompt;
  if (items.some(isConversation)) return prompt;
  const first = items.findIndex(({ role }) => role !== 'system');
  const end = first === -1 ? items.length : first;
  return { ...prompt, items: [...items.slice(0, end), OPENING, ...items.slice(end)] };
}

/** Whether every provider has a message for an item. Some have none for media that a model made. */
function isConversation(item: PromptItem): boolean {
  if (item.role !== 'assistant') return item.role !== 'system';
  return item.content.some(({ type }) => type === 'text' || type === 'tool_use');
}
