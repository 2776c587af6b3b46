import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModelBase } from '../../model/chat-model-base.ts';
import type { TokenCounterBase } from '../../token/token-counter-base.ts';
import { STRATEGIES, type AutoContextStrategy } from './auto-context-event.ts';

/** What the model that sums up is told, in the place of our own words. An empty text is none. */
export interface AutoContextPrompts {
  /** For the tool calls of rounds that are over. */
  readonly previousRoundToolCompress?: string | undefined;
  /** For whole rounds that are over. */
  readonly previousRoundSummary?: string | undefined;
  /** For one large message of the current round. */
  readonly currentRoundLargeMessage?: string | undefined;
  /** For the current round. */
  readonly currentRoundCompress?: string | undefined;
}

export interface AutoContextOptions {
  /** Sums up. @default the model of the agent */
  readonly model?: ChatModelBase | undefined;
  /** @default `AutoContextTokenCounter` */
  readonly tokenCounter?: TokenCounterBase | undefined;
  /** Room is made once there are so many messages. @default 100 */
  readonly msgThreshold?: number | undefined;
  /** How many tokens the model takes. @default 131072 */
  readonly maxToken?: number | undefined;
  /** Room is made once the prompt has this share of `maxToken`. The rest is for the answer. @default 0.75 */
  readonly tokenRatio?: number | undefined;
  /** How many of the newest messages the first two strategies leave alone. @default 50 */
  readonly lastKeep?: number | undefined;
  /** A text with more characters is large. @default 5120, or an eighth of the room if that is less */
  readonly largePayloadThreshold?: number | undefined;
  /** How many characters of a large text stay. @default 200 */
  readonly offloadSinglePreview?: number | undefined;
  /** Tool calls are summed up if more messages than this belong to them without a break. @default 6 */
  readonly minConsecutiveToolMessages?: number | undefined;
  /** How much of the current round shall be left of it. @default 0.3 */
  readonly currentRoundCompressionRatio?: number | undefined;
  /** Parts of rounds that are over with fewer tokens are not worth a model call. @default 5000, or a sixteenth of the room if that is less */
  readonly minCompressionTokenThreshold?: number | undefined;
  /** Other words for the prompts that sum up. @default ours */
  readonly customPrompt?: AutoContextPrompts | undefined;
  /** How long one summary may take. @default 60000 */
  readonly timeoutMs?: number | undefined;
  /** Strategies that are not to be used, by `false`. @default all are used */
  readonly strategies?: Partial<Readonly<Record<AutoContextStrategy, boolean>>> | undefined;
  /** Calls of these tools, and their results, stay as they are. */
  readonly protectedTools?: readonly string[] | undefined;
  /** Messages that stay as they are, besides those with the mark `pinned`. */
  readonly isPinned?: ((msg: Msg) => boolean) | undefined;
}

/** The numbers of the options, all of them there. */
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

/** What counts as much depends on how much there is room for. */
function defaultsFor({
  maxToken = DEFAULTS.maxToken,
  tokenRatio = DEFAULTS.tokenRatio,
}: AutoContextOptions): AutoContextLimits {
  const room = maxToken * tokenRatio;
  const { largePayloadThreshold, minCompressionTokenThreshold } = DEFAULTS;
  return {
    ...DEFAULTS,
    largePayloadThreshold: Math.min(largePayloadThreshold, Math.floor((room / 8) * CHARS_PER_TOKEN)),
    minCompressionTokenThreshold: Math.min(minCompressionTokenThreshold, Math.floor(room / 16)),
  };
}

/** @throws TroupeError that names the option that is no good. */
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
      `There is no strategy '${name}'. There are ${STRATEGIES.join(', ')}.`,
    );
  }
  return Object.freeze(limits);
}
