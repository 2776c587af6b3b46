/**
 * Differences between Claude generations. Quirks are data: the first row that matches a name applies, and a
 * name newer than this table gets the row of the newest models.
 */
export interface ClaudeModel {
  /** Family and version, such as `opus-4-6`. */
  readonly names: RegExp;
  /** Default of `max_tokens`. */
  readonly maxTokens: number;
  /** Maximum of `max_tokens`. */
  readonly maxOutput: number;
  /** Thinking control: none, up to a token budget, or adaptive. */
  readonly thinking: 'none' | 'budget' | 'adaptive';
  /** Way to turn thinking off: `unasked` leaves out the field `thinking`, `never` means no way, any other is the value of the field. */
  readonly thinkingOff: 'unasked' | 'disabled' | 'between_tools' | 'never';
  /** Whether the model rejects its own thinking after a change earlier in the history. */
  readonly bindsThinking: boolean;
  /** Name of the highest effort. */
  readonly topEffort: 'xhigh' | 'max';
  /** Which of `temperature`, `top_p` and `top_k` it takes: all, not both of the first two, or none. */
  readonly sampling: 'all' | 'one' | 'none';
  readonly forcedTools: 'always' | 'without_thinking' | 'never';
  /** Whether the API enforces a JSON Schema. */
  readonly structured: 'native' | 'none';
  /** Whether the model reads documents. */
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

/** Model of another vendor behind a compatible API. */
const COMPATIBLE: ClaudeModel = {
  ...FOUR,
  maxTokens: 8192,
  maxOutput: Infinity,
  sampling: 'all',
  files: false,
};

/** Finds the properties of a model by its name. */
export function claudeModel(modelName: string): ClaudeModel {
  const name = modelName.toLowerCase();
  if (!name.includes('claude')) return COMPATIBLE;
  const generation = generationOf(name);
  return CLAUDE_MODELS.find(({ names }) => names.test(generation)) ?? NEWEST;
}

/**
 * The version stood before the family once: `claude-3-5-sonnet-20241022`, `claude-opus-4-6`. A date is no
 * version.
 */
const NAME = /claude-(?:(\d+)(?:[.-](\d+))?-)?([a-z]+)(?:-(\d{1,2})(?:[.-](\d{1,2}))?(?!\d))?/;

function generationOf(name: string): string {
  const [, earlyMajor, earlyMinor, family, lateMajor, lateMinor] = NAME.exec(name) ?? [];
  if (family === undefined) return name;
  const major = earlyMajor ?? lateMajor;
  return major === undefined ? family : `${family}-${major}-${(earlyMajor ? earlyMinor : lateMinor) ?? 0}`;
}
