import { checkNumber } from '../util/check-number.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { FormatterBase } from '../formatter/formatter-base.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import { Msg } from '../message/msg.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import { EstimateTokenCounter } from '../token/estimate-token-counter.ts';
import type { TokenCounterBase } from '../token/token-counter-base.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import type { AnySchema } from '../util/schema.ts';
import type { ContextCompressor, CompressionTask } from './context-compressor.ts';
import { COMPRESSION_PROMPT, SummaryFormat } from './summary-format.ts';
import { SummaryAttempt, type SummarySettings } from './summary-attempt.ts';
import { TokenMeter } from './token-meter.ts';

export interface SummaryCompressorOptions {
  /**
   * Maximum tokens of a prompt: system prompt, tools, conversation and hints. A longer prompt is compressed.
   */
  readonly triggerThreshold: number;
  /** Counts tokens. @default an estimate by the model's name */
  readonly tokenCounter?: TokenCounterBase | undefined;
  /** Number of newest units that stay uncompressed. An exchange counts as one unit. @default 3 */
  readonly keepRecent?: number | undefined;
  /** Instruction to write the summary, sent after the messages to summarize. */
  readonly compressionPrompt?: string | undefined;
  /**
   * Text of a summary with fields of the structured output in braces, such as `{next_steps}`.
   * @default all fields, each under its title
   */
  readonly summaryTemplate?: string | undefined;
  /**
   * Schema of the structured output.
   * @default five texts: task_overview, current_state, important_discoveries, next_steps, context_to_preserve
   */
  readonly summarySchema?: AnySchema | undefined;
  /** Model that writes summaries. @default the agent's model */
  readonly model?: ChatModelBase | undefined;
  /** Formatter for requests of summaries. @default the agent's formatter, otherwise the model's own */
  readonly formatter?: FormatterBase | undefined;
  /** Time limit of one summary in milliseconds. @default 60 000 */
  readonly timeoutMs?: number | undefined;
  /** Maximum model calls until a summary fits the schema. @default 3 */
  readonly maxAttempts?: number | undefined;
}

/**
 * Compresses a conversation by summaries: once the prompt exceeds `triggerThreshold`, a model summarizes the
 * oldest messages. The messages stay in memory with the mark `compressed`, and each summary includes the
 * previous summary.
 *
 * Requests of the current agent call, pending tool calls and the newest units are never removed. If the model
 * fails, exceeds the time limit or returns an unusable summary, the oldest units are marked without a
 * summary, so that the reply continues. The summary is stored before the marks: a crash in between hides no
 * message.
 */
export class SummaryCompressor implements ContextCompressor {
  readonly contextTools: readonly Tool[] = [];
  readonly contextInstruction = '';
  readonly #memory: MemoryBase;
  readonly #form: SummaryFormat;
  readonly #settings: SummarySettings;
  readonly #meter: TokenMeter;
  #estimate: EstimateTokenCounter | undefined;
  #sysPrompt: Msg | undefined;

  /** @throws TroupeError if an option is out of range. */
  constructor(memory: MemoryBase, options: SummaryCompressorOptions) {
    const { triggerThreshold, keepRecent = 3, timeoutMs = 60_000, maxAttempts = 3 } = options;
    const { compressionPrompt = COMPRESSION_PROMPT, model, formatter } = options;
    checkNumber('triggerThreshold', triggerThreshold, { least: 1 });
    checkNumber('keepRecent', keepRecent, { least: 1, whole: true });
    checkNumber('timeoutMs', timeoutMs, { least: 1 });
    checkNumber('maxAttempts', maxAttempts, { least: 1, whole: true });
    this.#memory = memory;
    this.#form = new SummaryFormat(options.summarySchema, options.summaryTemplate);
    this.#settings = {
      triggerThreshold,
      keepRecent,
      timeoutMs,
      maxAttempts,
      compressionPrompt,
      model,
      formatter,
    };
    this.#meter = new TokenMeter(options.tokenCounter, timeoutMs);
  }

  async compress(task: CompressionTask): Promise<boolean> {
    const attempt = new SummaryAttempt(this.#memory, this.#form, this.#settings, {
      ...task,
      before: this.#before(task),
      meter: this.#meter,
      estimate: this.#estimateFor(task.model),
    });
    try {
      await attempt.run();
    } catch (error) {
      task.signal.throwIfAborted();
      getLogger().log('warn', `The conversation was not compressed: ${messageOf(error)}`);
    }
    return attempt.hasChanged;
  }

  /** Reuses the message while its text is unchanged, because counts are cached by message object. */
  #before({ sysPrompt }: CompressionTask): readonly Msg[] {
    if (sysPrompt === '') return [];
    if (this.#sysPrompt?.text !== sysPrompt) this.#sysPrompt = Msg.system(sysPrompt);
    return [this.#sysPrompt];
  }

  #estimateFor({ modelName }: ChatModelBase): TokenCounterBase {
    if (this.#estimate?.modelName !== modelName) this.#estimate = new EstimateTokenCounter(modelName);
    return this.#estimate;
  }
}
