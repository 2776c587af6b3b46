import type { AgentBase, CallOptions } from '../agent/agent-base.ts';
import type { Msg, MsgInput } from '../message/msg.ts';

/**
 * Calls agents one after the other, each with what the one before it answered.
 * Without agents the input is the result. An answer that waits for somebody ends it.
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
    if (answer.pending !== undefined) return answer; // a question is not for the next agent
    current = answer;
  }
  return current;
}

/** `sequentialPipeline` over the same agents, for more than one input. */
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
