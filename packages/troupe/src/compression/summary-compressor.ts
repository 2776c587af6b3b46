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
  /** How many tokens a prompt may have: the system prompt, the tools and the conversation. With more, it is compressed. */
  readonly triggerThreshold: number;
  /** @default an estimate by the model's name */
  readonly tokenCounter?: TokenCounterBase | undefined;
  /** How many of the newest messages stay as they are. Calls count as one with their results. @default 3 */
  readonly keepRecent?: number | undefined;
  /** Asks for the summary, behind what is to be summed up. */
  readonly compressionPrompt?: string | undefined;
  /** The text of a summary, with the fields of the answer in braces, such as `{next_steps}`. @default the fields one under the other */
  readonly summaryTemplate?: string | undefined;
  /** What an answer has to have. @default five texts: task_overview, current_state, important_discoveries, next_steps, context_to_preserve */
  readonly summarySchema?: AnySchema | undefined;
  /** Who sums up. @default the agent's own model */
  readonly model?: ChatModelBase | undefined;
  /** For that model. @default its own */
  readonly formatter?: FormatterBase | undefined;
  /** How long one summary may take. @default 60 000 */
  readonly timeoutMs?: number | undefined;
  /** How many answers there may be until one fits the schema. @default 3 */
  readonly maxTries?: number | undefined;
}

/**
 * Keeps a conversation small by a summary: when the prompt gets too long, a model sums up what is old. The messages stay
 * in memory with the mark `compressed`; the summary, into which the one before was worked, stands for them.
 *
 * What the agent was asked, calls that wait for a result and the newest units are never taken out. If the
 * model fails, hangs or answers nonsense, the oldest units are left out without a summary, so that the reply goes on.
 * The summary is stored before the marks are: if the program dies in between, nothing is lost from view.
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

  /** @throws TroupeError if an option makes no sense. */
  constructor(memory: MemoryBase, options: SummaryCompressorOptions) {
    const { triggerThreshold, keepRecent = 3, timeoutMs = 60_000, maxTries = 3 } = options;
    const { compressionPrompt = COMPRESSION_PROMPT, model, formatter } = options;
    checkNumber('triggerThreshold', triggerThreshold, { least: 1 });
    checkNumber('keepRecent', keepRecent, { least: 1, whole: true });
    checkNumber('timeoutMs', timeoutMs, { least: 1 });
    checkNumber('maxTries', maxTries, { least: 1, whole: true });
    this.#memory = memory;
    this.#form = new SummaryFormat(options.summarySchema, options.summaryTemplate);
    this.#settings = {
      triggerThreshold,
      keepRecent,
      timeoutMs,
      maxTries,
      compressionPrompt,
      model,
      formatter,
    };
    this.#meter = new TokenMeter(options.tokenCounter, timeoutMs);
  }

  async compress(task: CompressionTask): Promise<boolean> {
    const run = new SummaryAttempt(this.#memory, this.#form, this.#settings, {
      ...task,
      before: this.#before(task),
      meter: this.#meter,
      estimate: this.#estimateFor(task.model),
    });
    try {
      await run.compress();
    } catch (error) {
      task.signal.throwIfAborted();
      getLogger().log('warn', `The conversation was not compressed: ${messageOf(error)}`);
    }
    return run.hasChanged;
  }

  /** The same message as long as its text is the same, so that it is counted once. */
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
