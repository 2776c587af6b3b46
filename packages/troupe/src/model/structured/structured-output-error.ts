import { TroupeError } from '../../errors.ts';
import type { FinishReason } from '../../message/model-delta.ts';
import type { Msg } from '../../message/msg.ts';
import type { Usage } from '../../message/usage.ts';
import type { SchemaProblem } from '../../util/schema.ts';
import { cutText, oneLine } from '../../util/text.ts';
import type { StructuredStrategy } from './structured-strategy.ts';

export interface StructuredOutputErrorDetails {
  readonly strategy: StructuredStrategy;
  readonly tried: readonly StructuredStrategy[];
  readonly attempts: number;
  readonly problems: readonly SchemaProblem[];
  readonly finishReason: FinishReason | undefined;
  readonly usage: Usage | undefined;
  /** The last model message. */
  readonly msg: Msg;
}

const MAX_ANSWER = 1024;
const MAX_SUMMARY = 300;

/**
 * Model without a valid structured output. `problems` describes the last answer. `lastAnswer` holds its text,
 * cut to 1 kB and not enumerable, so that logs and JSON leave it out.
 */
export class StructuredOutputError extends TroupeError {
  override readonly name = 'StructuredOutputError';
  readonly strategy: StructuredStrategy;
  /** The strategies used, in order. All but the last were rejected by the provider. */
  readonly tried: readonly StructuredStrategy[];
  /** Number of answers. */
  readonly attempts: number;
  readonly problems: readonly SchemaProblem[];
  /** Finish reason of the last answer. */
  declare readonly finishReason?: FinishReason;
  /** Total usage of all answers. */
  declare readonly usage?: Usage;
  /** Text of the last answer, or its tool call arguments. */
  declare readonly lastAnswer: string;

  constructor(details: StructuredOutputErrorDetails) {
    const { strategy, tried, attempts, problems, finishReason, usage, msg } = details;
    const answers = attempts === 1 ? 'one answer' : `${attempts} answers`;
    const advice = finishReason === 'length' ? ' Raise maxTokens.' : '';
    super('structured_output_failed', `No structured output after ${answers}: ${summary(problems)}${advice}`);
    this.strategy = strategy;
    this.tried = tried;
    this.attempts = attempts;
    this.problems = problems;
    if (finishReason !== undefined) this.finishReason = finishReason;
    if (usage !== undefined) this.usage = usage;
    Object.defineProperty(this, 'lastAnswer', {
      value: cutText(contentOf(msg), MAX_ANSWER),
      enumerable: false,
    });
  }

  static override isInstance(value: unknown): value is StructuredOutputError {
    return TroupeError.isInstance(value) && value.code === 'structured_output_failed';
  }
}

function summary(problems: readonly SchemaProblem[]): string {
  const texts = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return cutText(oneLine(texts.join(' ')), MAX_SUMMARY);
}

function contentOf(msg: Msg): string {
  if (msg.text !== '') return msg.text;
  return msg
    .getContentBlocks('tool_use')
    .map((call) => call.rawInput ?? JSON.stringify(call.input))
    .join('\n');
}
