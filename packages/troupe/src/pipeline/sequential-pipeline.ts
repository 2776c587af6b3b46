import type { AgentBase, CallOptions } from '../agent/agent-base.ts';
import type { Msg, MsgInput } from '../message/msg.ts';

/**
 * Calls agents one after the other, each with the previous answer. Without agents the input is the result. A
 * suspended answer (pending tool calls) ends the pipeline and is the result.
 *
 * @example
 * ```ts
 * import { ReActAgent, sequentialPipeline } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const writer = new ReActAgent({ name: 'writer', model: new ScriptedModel(['A draft.']), console: false });
 * const editor = new ReActAgent({ name: 'editor', model: new ScriptedModel(['A better draft.']), console: false });
 * const answer = await sequentialPipeline([writer, editor], 'Write about the sea.');
 * console.log(answer.text); // A better draft.
 * ```
 */
export function sequentialPipeline(
  agents: readonly [AgentBase, ...AgentBase[]],
  input?: MsgInput,
  options?: CallOptions,
): Promise<Msg>;
export function sequentialPipeline(agents: readonly AgentBase[]): Promise<Msg | undefined>;
export function sequentialPipeline<Input extends MsgInput>(
  agents: readonly AgentBase[],
  input: Input,
  options?: CallOptions,
): Promise<Msg | Input>;
export async function sequentialPipeline(
  agents: readonly AgentBase[],
  input?: MsgInput,
  options?: CallOptions,
): Promise<MsgInput> {
  let current = input;
  for (const agent of agents) {
    const answer = await agent.call(current, options);
    if (answer.pending !== undefined) return answer; // a question for approval is no input of the next agent
    current = answer;
  }
  return current;
}

/** `sequentialPipeline` over the same agents, for several inputs. */
export class SequentialPipeline {
  readonly agents: readonly AgentBase[];

  constructor(agents: readonly AgentBase[]) {
    this.agents = [...agents];
  }

  call(): Promise<Msg | undefined>;
  call<Input extends MsgInput>(input: Input, options?: CallOptions): Promise<Msg | Input>;
  async call(input?: MsgInput, options?: CallOptions): Promise<MsgInput> {
    return sequentialPipeline(this.agents, input, options);
  }
}
