import { TroupeError } from '../errors.ts';
import type { SummaryCompressorOptions } from '../compression/summary-compressor.ts';
import type { FormatterBase } from '../formatter/formatter-base.ts';
import type { LongTermMemoryBase, LongTermMemoryMode } from '../longterm/long-term-memory-base.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { ChatModelBase, GenerationOptions } from '../model/chat-model-base.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { PlanNotebook } from '../plan/plan-notebook.ts';
import type { KnowledgeBase } from '../rag/knowledge-base.ts';
import type { BackgroundTools } from '../toolkit/background-tools.ts';
import { areSurelyRegistered, UNDEFINED_TOOL } from '../toolkit/tool/registered-tool.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { AgentBase, type AgentOptions } from '../agent/agent-base.ts';

export const DEFAULT_MAX_ITERS = 10;

export interface ReActAgentOptions extends AgentOptions {
  /** Model for reasoning, summaries and structured output. */
  readonly model: ChatModelBase;
  /** System prompt, the first message of every prompt. A function is called before every model call. */
  readonly sysPrompt?: string | (() => string | Promise<string>) | undefined;
  /** Tools of this agent. Together with `toolkit`, added to a copy of that toolkit. @default none */
  readonly tools?: readonly Tool[] | undefined;
  /** Toolkit with groups, middleware or limits, or shared by several agents. @default a new one with `tools` */
  readonly toolkit?: Toolkit | undefined;
  /** Memory of the conversation. @default an `InMemoryMemory` */
  readonly memory?: MemoryBase | undefined;
  /** Replaces old messages by a summary when the prompt gets too long. Not needed with `AutoContextMemory`, which compresses itself. */
  readonly compression?: SummaryCompressorOptions | undefined;
  /** @default the model's own */
  readonly formatter?: FormatterBase | undefined;
  /** Maximum model calls of one reply; then the model sums up without tools. @default 10 */
  readonly maxIters?: number | undefined;
  /** Whether tool calls of one model message run concurrently; a number is the maximum at once. @default false */
  readonly parallelToolCalls?: boolean | number | undefined;
  /** Maximum tool calls run for one model message; the others get an error result. @default 128 */
  readonly maxToolCalls?: number | undefined;
  /** Allows, denies or asks about each tool call. @default every tool call is allowed */
  readonly permissionPolicy?: PermissionPolicy | undefined;
  /** Rule for new input while tool calls are pending: reject the agent call, or end the tool calls with the status `interrupted`. @default 'refuse' */
  readonly onPending?: 'refuse' | 'close' | undefined;
  /** Options of every model call, such as the temperature. */
  readonly generation?: GenerationOptions | undefined;
  /** `context` of every tool; never shown to the model. */
  readonly toolContext?: unknown;
  /** Whether the model can choose active tool groups with `reset_equipped_tools`. @default false */
  readonly enableMetaTool?: boolean | undefined;
  /** Plan of the agent: adds the plan tools, and hints about the current plan to every prompt. */
  readonly planNotebook?: PlanNotebook | undefined;
  /** Background tasks: adds the tools to view, await and cancel them, and a hint when a task ends. */
  readonly background?: BackgroundTools | undefined;
  /** Memory across conversations. @default none */
  readonly longTermMemory?: LongTermMemoryBase | undefined;
  /** @default 'both' */
  readonly longTermMemoryMode?: LongTermMemoryMode | undefined;
  /** Knowledge bases; what is found has its sources in `metadata.citations` of the answer. @default none */
  readonly knowledge?: KnowledgeBase | readonly KnowledgeBase[] | undefined;
  /** User of the knowledge bases: the agent before each reply, or the model by the tool `retrieve_knowledge`. @default 'generic', the agent */
  readonly knowledgeMode?: 'generic' | 'agentic' | undefined;
  /**
   * Whether what the long-term memory and the knowledge bases gave stays in memory. Otherwise it is in the prompts of one reply, and later
   * replies look it up again. @default false
   */
  readonly keepRetrieved?: boolean | undefined;
  /** Whether a model call first rewrites the input as a search query that needs no history. @default true */
  readonly enableRewriteQuery?: boolean | undefined;
  /** Whether hints to the model are printed. @default false */
  readonly printHintMsg?: boolean | undefined;
}

/** @throws TroupeError */
export function checkReActOptions(options: ReActAgentOptions): void {
  const {
    model,
    toolkit,
    memory,
    sysPrompt = '',
    permissionPolicy,
    maxIters = DEFAULT_MAX_ITERS,
    maxToolCalls = 128,
    parallelToolCalls = 1,
  } = options;
  if (typeof model?.stream !== 'function')
    throw new TroupeError('invalid_config', 'A ReActAgent needs a model, such as an OpenAIChatModel.');
  if (toolkit !== undefined && typeof toolkit.withTools !== 'function')
    throw new TroupeError(
      'invalid_config',
      'toolkit must be a Toolkit: new Toolkit({ tools: [ … ] }). For a list of tools, use the option tools.',
    );
  if (options.tools !== undefined) checkTools(options.tools);
  if (memory !== undefined && typeof memory.getMemory !== 'function')
    throw new TroupeError('invalid_config', 'memory must be a memory, such as new InMemoryMemory().');
  if (typeof sysPrompt !== 'string' && typeof sysPrompt !== 'function')
    throw new TroupeError('invalid_config', 'sysPrompt must be a string, or a function that returns one.');
  if (permissionPolicy !== undefined && typeof permissionPolicy.decide !== 'function') {
    // Without this, every tool call would be denied.
    const advice = "{ decide: ({ call }) => ({ behavior: 'ask' }) }, or new PermissionRules()";
    throw new TroupeError('invalid_config', `permissionPolicy must be an object with decide: ${advice}.`);
  }
  if (Object.hasOwn(options, 'permission')) {
    // Ignored, the old name would let every tool call run.
    throw new TroupeError('invalid_config', "The option 'permission' is called 'permissionPolicy'.");
  }
  checkCount('maxIters', maxIters);
  checkCount('maxToolCalls', maxToolCalls);
  if (typeof parallelToolCalls === 'number') checkCount('parallelToolCalls', parallelToolCalls);
}

function checkCount(name: string, value: number): void {
  if (value === Infinity || (Number.isInteger(value) && value >= 1)) return;
  throw new TroupeError('invalid_config', `${name} must be a whole number of 1 or more.`);
}

/** Whether an agent has a toolkit of its own with tools that can be registered without doubt, a memory of its own, and no other parts. */
export function hasPlainTools(options: ReActAgentOptions): boolean {
  const { toolkit, memory, compression, enableMetaTool, planNotebook, background, knowledge } = options;
  const parts = [toolkit, memory, compression, planNotebook, background, knowledge, options.longTermMemory];
  if (enableMetaTool || parts.some((part) => part !== undefined)) return false;
  return areSurelyRegistered(options.tools ?? []);
}

/** Properties of an agent with modules that are never replaced. */
export type OwnModule = 'toolkit' | 'memory';

/** @throws TroupeError always, with the way to give an agent another module */
export function refuseReplacement(name: OwnModule): never {
  throw new TroupeError(
    'invalid_config',
    `The ${name} of an agent can't be replaced: give it as the option ${name}.`,
  );
}

/** Defines the properties of an agent for its toolkit and memory, once. They are part of its state. */
export function defineModules(
  agent: object,
  options: ReActAgentOptions,
  tools = options.tools,
): { readonly toolkit: Toolkit; readonly memory: MemoryBase } {
  const own = agent as { toolkit: Toolkit; memory: MemoryBase };
  const define = (name: OwnModule, value: unknown): void =>
    void Object.defineProperty(agent, name, {
      get: () => value,
      set: () => {
        refuseReplacement(name);
      },
      enumerable: true,
      configurable: true,
    });
  if (!Object.hasOwn(agent, 'toolkit')) define('toolkit', toolkitFor({ tools, toolkit: options.toolkit }));
  if (!Object.hasOwn(agent, 'memory')) define('memory', options.memory ?? new InMemoryMemory());
  return own;
}

/** The toolkit of an agent: `tools` alone, or in a copy of `toolkit`, which stays unchanged. @throws TroupeError */
function toolkitFor({ tools = [], toolkit }: Pick<ReActAgentOptions, 'tools' | 'toolkit'>): Toolkit {
  if (toolkit === undefined) return new Toolkit({ tools });
  return tools.length === 0 ? toolkit : toolkit.copyWith(...tools);
}

const NO_KNOWLEDGE: readonly KnowledgeBase[] = Object.freeze([]);

/** The knowledge bases of an agent, as a list. */
export function knowledgeBases({
  knowledge = NO_KNOWLEDGE,
}: Pick<ReActAgentOptions, 'knowledge'>): readonly KnowledgeBase[] {
  return 'retrieve' in knowledge ? [knowledge] : knowledge;
}

/** @throws TroupeError for the first item that is not a tool, with the way to make one. */
function checkTools(tools: unknown): void {
  if (!Array.isArray(tools)) {
    const advice = tools instanceof Toolkit ? ' A Toolkit is given as the option toolkit.' : '';
    throw new TroupeError('invalid_config', `tools must be a list of tools: [tool({ … })].${advice}`);
  }
  (tools as readonly unknown[]).forEach((item, index) => {
    const problem = problemOfTool(item);
    if (problem !== undefined) throw new TroupeError('invalid_config', `tools[${index}] ${problem}`);
  });
}

function problemOfTool(item: unknown): string | undefined {
  if (item === undefined) return `is undefined: ${UNDEFINED_TOOL}`;
  if (item instanceof Toolkit) return 'is a Toolkit: give it as the option toolkit.';
  if (item instanceof AgentBase)
    return 'is an agent: make a tool of it with agentTool(agent, { description }).';
  if (typeof item === 'function')
    return 'is a function: make a tool of it with tool({ name, schema, execute }).';
  const { name, execute } = (item ?? {}) as Partial<Tool>;
  if (typeof name === 'string' && typeof execute === 'function') return undefined;
  return 'is not a tool: make one with tool({ name, schema, execute }).';
}
