import { getLogger } from '../config/run-config.ts';
import { ChatFormatter } from '../formatter/chat-formatter.ts';
import type { FormatterBase } from '../formatter/formatter-base.ts';
import { MediaLoader } from '../formatter/media-loader.ts';
import { PromptMedia } from '../formatter/prompt-media.ts';
import type { MediaBlock, Prompt } from '../formatter/prompt.ts';
import type { ModelCapabilities, ModelRequest } from './chat-model-base.ts';

export interface PromptMakerOptions {
  readonly modelName: string;
  readonly capabilities: ModelCapabilities;
  /** @default a ChatFormatter */
  readonly formatter?: FormatterBase | undefined;
  /** @default one that neither downloads nor reads files */
  readonly media?: MediaLoader | undefined;
  /** Whether the provider fetches a medium from its web address by itself. @default it does not */
  readonly takesUrl?: ((block: MediaBlock) => boolean) | undefined;
  /** @default a warning in the log */
  readonly onRepair?: ((repairs: readonly string[]) => void) | undefined;
}

/** Makes the prompts of a model: the history put in order, with its media in place, and what was repaired reported. */
export class PromptMaker {
  readonly #options: PromptMakerOptions;
  readonly #formatter: FormatterBase;
  readonly #media: PromptMedia;

  constructor(options: PromptMakerOptions) {
    const { formatter, media, capabilities, takesUrl = () => false } = options;
    this.#options = options;
    this.#formatter = formatter ?? new ChatFormatter();
    this.#media = new PromptMedia({ loader: media ?? new MediaLoader(), capabilities, takesUrl });
  }

  async make(request: ModelRequest, signal: AbortSignal): Promise<Prompt> {
    const { messages, tools, agentName, formatter = this.#formatter } = request;
    const prompt = await formatter.format(messages, { tools, agentName, signal });
    if (prompt.repairs.length > 0) this.#report(prompt.repairs);
    return this.#media.place(prompt, signal);
  }

  #report(repairs: readonly string[]): void {
    const { onRepair, modelName } = this.#options;
    if (onRepair) return onRepair(repairs);
    const what = repairs.join('; ');
    getLogger().log('warn', `The history had to be repaired before ${modelName} could read it: ${what}.`);
  }
}
