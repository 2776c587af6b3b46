import { TroupeError } from '../errors.ts';
import type { SummaryCompressorOptions } from '../compression/summary-compressor.ts';
import type { FormatterBase } from '../formatter/formatter-base.ts';
import type { LongTermMemoryBase, LongTermMemoryMode } from '../longterm/long-term-memory-base.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { ChatModelBase, GenerationOptions } from '../model/chat-model-base.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { PlanNotebook } from '../plan/plan-notebook.ts';
import type { KnowledgeBase } from '../rag/knowledge-base.ts';
import type { BackgroundTools } from '../toolkit/background-tools.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import type { AgentOptions } from '../agent/agent-base.ts';

export const DEFAULT_MAX_ITERS = 10;

export interface ReActAgentOptions extends AgentOptions {
  /** What it thinks with. */
  readonly model: ChatModelBase;
  /** What the agent is told before everything else. A function is asked before every model call. */
  readonly sysPrompt?: string | (() => string | Promise<string>) | undefined;
  /** Its tools. @default none */
  readonly toolkit?: Toolkit | undefined;
  /** What it remembers of the conversation. @default an `InMemoryMemory` */
  readonly memory?: MemoryBase | undefined;
  /** Sums up what is old when the prompt gets too long. A memory that keeps itself small, such as `AutoContextMemory`, needs none. */
  readonly compression?: SummaryCompressorOptions | undefined;
  /** @default the model's own */
  readonly formatter?: FormatterBase | undefined;
  /** How often it may think for one reply, before it has to sum up. @default 10 */
  readonly maxIters?: number | undefined;
  /** Whether the calls of one thought run side by side; a number says how many at most. @default false */
  readonly parallelToolCalls?: boolean | number | undefined;
  /** How many calls of one thought are made; the rest is answered with an error. @default 128 */
  readonly maxToolCalls?: number | undefined;
  /** Decides which tool calls may run, and about which somebody is asked. @default all may run */
  readonly permissionPolicy?: PermissionPolicy | undefined;
  /** What a call does that brings something new while calls are pending: fail, or end those without a result. @default 'refuse' */
  readonly onPending?: 'refuse' | 'close' | undefined;
  /** For all model calls of this agent. */
  readonly generation?: GenerationOptions | undefined;
  /** Given to every tool as its `context`, and never shown to the model. */
  readonly toolContext?: unknown;
  /** Lets the model choose its groups of tools by `reset_equipped_tools`. @default false */
  readonly enableMetaTool?: boolean | undefined;
  /** Lets the agent work by a plan: its tools are the agent's, and its hints go to the model. */
  readonly planNotebook?: PlanNotebook | undefined;
  /** Lets it have tools that run in the background: it gets the tools to look after them, and is told when one is done. */
  readonly background?: BackgroundTools | undefined;
  /** What it remembers from one conversation to the next. @default none */
  readonly longTermMemory?: LongTermMemoryBase | undefined;
  /** @default 'both' */
  readonly longTermMemoryMode?: LongTermMemoryMode | undefined;
  /** What is searched for what was asked, before it thinks. @default none */
  readonly knowledge?: KnowledgeBase | readonly KnowledgeBase[] | undefined;
  /** Whether the model first writes the question as a query that stands by itself, before knowledge is searched. @default true */
  readonly enableRewriteQuery?: boolean | undefined;
  /** Whether hints to the model are printed. @default false */
  readonly printHintMsg?: boolean | undefined;
}

/** @throws TroupeError */
export function checkReActOptions(options: ReActAgentOptions): void {
  const { model, toolkit, maxIters = DEFAULT_MAX_ITERS, maxToolCalls = 128, parallelToolCalls = 1 } = options;
  if (typeof model?.stream !== 'function')
    throw new TroupeError('invalid_config', 'A ReActAgent needs a model, such as an OpenAIChatModel.');
  if (toolkit !== undefined && typeof toolkit.withTools !== 'function')
    throw new TroupeError('invalid_config', 'toolkit must be a Toolkit: new Toolkit({ tools: [ … ] }).');
  if (Object.hasOwn(options, 'permission')) {
    // Ignored, the old name would let every tool call run.
    throw new TroupeError('invalid_config', "The option 'permission' is called 'permissionPolicy'.");
  }
  const isCount = (value: number): boolean => value === Infinity || (Number.isInteger(value) && value >= 1);
  const wrong = Object.entries({
    maxIters,
    maxToolCalls,
    parallelToolCalls: typeof parallelToolCalls === 'number' ? parallelToolCalls : 1,
  }).find(([, value]) => !isCount(value));
  if (wrong !== undefined)
    throw new TroupeError('invalid_config', `${wrong[0]} must be a whole number of 1 or more.`);
}
