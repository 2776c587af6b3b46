import { getLogger } from '../config/run-config.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/model-request.ts';
import type { ToolSchema } from '../model/tool-schema.ts';
import type { RealtimeModelBase, RealtimeSetup } from '../realtime/realtime-model-base.ts';
import type { RealtimeLink } from './realtime-link.ts';

/** New parts of a prompt. */
export interface SentParts {
  /** Whether a new message wants an answer. */
  readonly hasRequest: boolean;
  /** Number of tool results. */
  readonly results: number;
}

/**
 * Keeps the conversation at the model equal to the prompts of the agent: sends each message and each tool result once, and instructions and
 * tools when they change. The model's own messages, and spoken turns, are there already.
 */
export class PromptSync {
  readonly #model: RealtimeModelBase;
  readonly #agentName: string;
  #known = new Set<string>();
  #instructions = '';
  #tools = '';

  constructor(model: RealtimeModelBase, agentName: string) {
    this.#model = model;
    this.#agentName = agentName;
  }

  /** Starts a new connection, which has this state. */
  restart({ history, instructions, tools }: RealtimeSetup): void {
    this.#known = new Set(history.map(({ id }) => id));
    this.#instructions = instructions;
    this.#tools = JSON.stringify(tools);
  }

  /** Declares messages to be known to the model, such as spoken messages. */
  knows(msgs: readonly Msg[]): void {
    for (const { id } of msgs) this.#known.add(id);
  }

  /** Sends what is new in a prompt. */
  send({ messages, tools = [] }: ModelRequest, link: RealtimeLink): SentParts {
    const [first] = messages;
    const hasInstructions = first?.role === 'system' && !first.hasContentBlocks('tool_result');
    this.#update(hasInstructions ? first.text : '', tools, link);
    let [hasRequest, results] = [false, 0];
    for (const msg of hasInstructions ? messages.slice(1) : messages) {
      if (this.#known.has(msg.id)) continue;
      this.#known.add(msg.id);
      if (msg.role === 'assistant' && msg.name === this.#agentName) continue; // the model's own
      const ofTools = msg.getContentBlocks('tool_result');
      for (const result of ofTools) link.use((connection) => connection.sendToolResult(result));
      results += ofTools.length;
      if (ofTools.length > 0) continue;
      link.use((connection) => connection.sendMsg(msg));
      hasRequest ||= msg.role !== 'system';
    }
    return { hasRequest, results };
  }

  #update(instructions: string, tools: readonly ToolSchema[], link: RealtimeLink): void {
    const json = JSON.stringify(tools);
    if (instructions === this.#instructions && json === this.#tools) return;
    if (this.#model.capabilities.update) link.use((connection) => connection.update({ instructions, tools }));
    else
      getLogger().log(
        'warn',
        `${this.#model.modelName} keeps its first instructions and tools until it connects again.`,
      );
    this.#instructions = instructions;
    this.#tools = json;
  }
}
