import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModelBase } from '../../model/chat-model-base.ts';
import type { TokenCounterBase } from '../../token/token-counter-base.ts';
import { STRATEGIES, type AutoContextStrategy } from './auto-context-event.ts';

/** Replacements for the default summary prompts. Empty texts are ignored. */
export interface AutoContextPrompts {
  /** Summarizes tool calls of previous rounds. */
  readonly previousRoundToolCompress?: string | undefined;
  /** Summarizes whole previous rounds. */
  readonly previousRoundSummary?: string | undefined;
  /** Summarizes several previous rounds together. */
  readonly historySummary?: string | undefined;
  /** Shortens one large message of the current round. */
  readonly currentRoundLargeMessage?: string | undefined;
  /** Summarizes the current round. */
  readonly currentRoundCompress?: string | undefined;
}

export interface AutoContextOptions {
  /** Model that writes summaries. @default the agent's model */
  readonly model?: ChatModelBase | undefined;
  /** @default `AutoContextTokenCounter` */
  readonly tokenCounter?: TokenCounterBase | undefined;
  /** Number of messages that starts compression. @default 100 */
  readonly msgThreshold?: number | undefined;
  /** Context window of the model in tokens. @default 131072 */
  readonly maxToken?: number | undefined;
  /** Share of `maxToken` that starts compression. The rest is space for the answer. @default 0.75 */
  readonly tokenRatio?: number | undefined;
  /** Number of newest messages that the first two strategies don't change. @default 50 */
  readonly lastKeep?: number | undefined;
  /** Characters above which a text is large. @default 5120, at most an eighth of the token limit */
  readonly largePayloadThreshold?: number | undefined;
  /** Characters of a large text that stay as preview. @default 200 */
  readonly offloadSinglePreview?: number | undefined;
  /** Tool messages in sequence above which tool calls are summarized. @default 6 */
  readonly minConsecutiveToolMessages?: number | undefined;
  /** Requested length of a summary of the current round, as share of the original. @default 0.3 */
  readonly currentRoundCompressionRatio?: number | undefined;
  /**
   * Parts of previous rounds with fewer tokens are not summarized, except together with others when there are
   * `msgThreshold` messages, or before the last resort.
   * @default 5000, at most a sixteenth of the token limit
   */
  readonly minCompressionTokenThreshold?: number | undefined;
  /** Replacements for the default prompts. */
  readonly customPrompt?: AutoContextPrompts | undefined;
  /** Time limit of one summary in milliseconds. @default 60000 */
  readonly timeoutMs?: number | undefined;
  /** Strategies to switch off, by `false`. @default all are used */
  readonly strategies?: Partial<Readonly<Record<AutoContextStrategy, boolean>>> | undefined;
  /** Names of tools whose tool calls and results are never changed. */
  readonly protectedTools?: readonly string[] | undefined;
  /** Selects messages that are never changed, in addition to messages with the mark `pinned`. */
  readonly isPinned?: ((msg: Msg) => boolean) | undefined;
}

/**
 * Thresholds that compress early, as in the first AutoContextMemory of AgentScope: 30 messages, or 40 % of
 * `maxToken`. Half of the messages are protected.
 *
 * @example
 * ```ts
 * import { AutoContextMemory, EARLY_AUTO_CONTEXT } from 'troupe';
 *
 * const memory = new AutoContextMemory({ ...EARLY_AUTO_CONTEXT, maxToken: 32_000 });
 * console.log(await memory.size()); // 0
 * ```
 */
export const EARLY_AUTO_CONTEXT: Readonly<
  Required<Pick<AutoContextOptions, 'msgThreshold' | 'tokenRatio' | 'lastKeep'>>
> = Object.freeze({ msgThreshold: 30, tokenRatio: 0.4, lastKeep: 15 });

/** All numeric options with defaults filled in. */
export interface AutoContextLimits {
  readonly msgThreshold: number;
  readonly maxToken: number;
  readonly tokenRatio: number;
  readonly lastKeep: number;
  readonly largePayloadThreshold: number;
  readonly offloadSinglePreview: number;
  readonly minConsecutiveToolMessages: number;
  readonly currentRoundCompressionRatio: number;
  readonly minCompressionTokenThreshold: number;
  readonly timeoutMs: number;
}

const CHARS_PER_TOKEN = 2.5;

const DEFAULTS: AutoContextLimits = Object.freeze({
  msgThreshold: 100,
  maxToken: 128 * 1024,
  tokenRatio: 0.75,
  lastKeep: 50,
  largePayloadThreshold: 5 * 1024,
  offloadSinglePreview: 200,
  minConsecutiveToolMessages: 6,
  currentRoundCompressionRatio: 0.3,
  minCompressionTokenThreshold: 5000,
  timeoutMs: 60_000,
});

const RANGES: Readonly<Record<keyof AutoContextLimits, Parameters<typeof checkNumber>[2]>> = {
  msgThreshold: { least: 1, whole: true },
  maxToken: { least: 1, whole: true },
  tokenRatio: { least: 0.01, most: 1 },
  lastKeep: { least: 0, whole: true },
  largePayloadThreshold: { least: 0, whole: true },
  offloadSinglePreview: { least: 0, whole: true },
  minConsecutiveToolMessages: { least: 0, whole: true },
  currentRoundCompressionRatio: { least: 0.01, most: 1 },
  minCompressionTokenThreshold: { least: 0, whole: true },
  timeoutMs: { least: 1, most: MAX_TIMER_MS },
};

/** Derives the thresholds for large texts from the token limit. */
function defaultsFor({
  maxToken = DEFAULTS.maxToken,
  tokenRatio = DEFAULTS.tokenRatio,
}: AutoContextOptions): AutoContextLimits {
  const limit = maxToken * tokenRatio;
  const { largePayloadThreshold, minCompressionTokenThreshold } = DEFAULTS;
  return {
    ...DEFAULTS,
    largePayloadThreshold: Math.min(largePayloadThreshold, Math.floor((limit / 8) * CHARS_PER_TOKEN)),
    minCompressionTokenThreshold: Math.min(minCompressionTokenThreshold, Math.floor(limit / 16)),
  };
}

/** @throws TroupeError that names the invalid option. */
export function limitsOf(options: AutoContextOptions): AutoContextLimits {
  const limits = Object.fromEntries(
    Object.entries(defaultsFor(options)).map(([name, value]) => [
      name,
      options[name as keyof AutoContextLimits] ?? value,
    ]),
  ) as Record<keyof AutoContextLimits, number>;
  for (const [name, range] of Object.entries(RANGES)) {
    checkNumber(name, limits[name as keyof AutoContextLimits], range);
  }
  for (const name of Object.keys(options.strategies ?? {})) {
    if (STRATEGIES.some((strategy) => strategy === name)) continue;
    throw new TroupeError(
      'invalid_config',
      `There is no strategy '${name}'. Strategies: ${STRATEGIES.join(', ')}.`,
    );
  }
  return Object.freeze(limits);
}
