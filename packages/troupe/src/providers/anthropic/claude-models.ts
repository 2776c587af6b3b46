/**
 * What sets the generations of Claude apart. Quirks are data: the first row that fits a name holds.
 * A name that is newer than this table gets the row of the newest models.
 */
export interface ClaudeModel {
  /** Its family and version, such as `opus-4-6`. */
  readonly names: RegExp;
  /** What `max_tokens` is when nobody says. */
  readonly maxTokens: number;
  /** The most that `max_tokens` may be. */
  readonly maxOutput: number;
  /** How it is told to think: not at all, up to so many tokens, or as much as it finds right. */
  readonly thinking: 'none' | 'budget' | 'adaptive';
  /** How thinking is turned off: by not asking for it, by saying so, or not at all. */
  readonly thinkingOff: 'unasked' | 'disabled' | 'between_tools' | 'never';
  /** Whether it rejects its own thinking once something before it has changed. */
  readonly bindsThinking: boolean;
  /** What the highest effort is called. */
  readonly topEffort: 'xhigh' | 'max';
  /** Which of `temperature`, `top_p` and `top_k` it takes: all, not both of the first two, or none. */
  readonly sampling: 'all' | 'one' | 'none';
  readonly forcedTools: 'always' | 'without_thinking' | 'never';
  /** Whether it can be held to a JSON Schema. */
  readonly structured: 'native' | 'none';
  /** Whether it reads documents. */
  readonly files: boolean;
}

const NEWEST = {
  names: /(?:)/,
  maxTokens: 64_000,
  maxOutput: 128_000,
  thinking: 'adaptive',
  thinkingOff: 'never',
  bindsThinking: true,
  topEffort: 'xhigh',
  sampling: 'none',
  forcedTools: 'never',
  structured: 'native',
  files: true,
} as const satisfies ClaudeModel;

const FIVE = { ...NEWEST, bindsThinking: false, forcedTools: 'always' } as const;

const FOUR_SEVEN = {
  ...FIVE,
  names: /^\w+-4-[78]$/,
  thinkingOff: 'unasked',
  forcedTools: 'without_thinking',
} as const;

const FOUR_FIVE = {
  ...FOUR_SEVEN,
  names: /^\w+-4-5$/,
  maxTokens: 32_000,
  maxOutput: 64_000,
  thinking: 'budget',
  sampling: 'one',
} as const;

const FOUR = { ...FOUR_FIVE, names: /^(?:sonnet-4-0|sonnet-3-7)$/, structured: 'none' } as const;

const THREE = {
  ...FOUR,
  names: /^(?:claude-[12]\b|instant|\w+-3-\d+$)/,
  maxTokens: 4096,
  maxOutput: 4096,
  thinking: 'none',
  sampling: 'all',
  forcedTools: 'always',
  files: false,
} as const;

export const CLAUDE_MODELS: readonly ClaudeModel[] = [
  { ...FIVE, names: /^haiku-5-5$/, thinkingOff: 'disabled', bindsThinking: true },
  { ...NEWEST, names: /^sonnet-5-5$/, thinkingOff: 'between_tools' },
  { ...FIVE, names: /^(?:opus|sonnet)-5-0$/, thinkingOff: 'disabled' },
  { ...FIVE, names: /^(?:fable-5-0|mythos-5-0|mythos)$/ },
  FOUR_SEVEN,
  { ...FOUR_SEVEN, names: /^\w+-4-6$/, topEffort: 'max', sampling: 'one' },
  FOUR_FIVE,
  { ...FOUR, names: /^opus-4-[01]$/, maxOutput: 32_000 },
  FOUR,
  { ...THREE, names: /^\w+-3-5$/, maxTokens: 8192, maxOutput: 8192, files: true },
  THREE,
  NEWEST,
];

/** A model of somebody else, behind an API in the likeness of Anthropic's. */
const COMPATIBLE: ClaudeModel = {
  ...FOUR,
  maxTokens: 8192,
  maxOutput: Infinity,
  sampling: 'all',
  files: false,
};

/** What is known about a model, by its name. */
export function claudeModel(modelName: string): ClaudeModel {
  const name = modelName.toLowerCase();
  if (!name.includes('claude')) return COMPATIBLE;
  const generation = generationOf(name);
  return CLAUDE_MODELS.find(({ names }) => names.test(generation)) ?? NEWEST;
}

/** The version stood before the family once: `claude-3-5-sonnet-20241022`, `claude-opus-4-6`. A date is no version. */
const NAME = /claude-(?:(\d+)(?:[.-](\d+))?-)?([a-z]+)(?:-(\d{1,2})(?:[.-](\d{1,2}))?(?!\d))?/;

function generationOf(name: string): string {
  const [, earlyMajor, earlyMinor, family, lateMajor, lateMinor] = NAME.exec(name) ?? [];
  if (family === undefined) return name;
  const major = earlyMajor ?? lateMajor;
  return major === undefined ? family : `${family}-${major}-${(earlyMajor ? earlyMinor : lateMinor) ?? 0}`;
}
