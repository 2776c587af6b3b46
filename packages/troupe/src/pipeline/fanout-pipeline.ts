import type { AgentBase, CallOptions } from '../agent/agent-base.ts';
import { TroupeError } from '../errors.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { whenAborted } from '../util/abort.ts';

export interface FanoutOptions {
  /** Calls the agents concurrently; otherwise one after the other. @default true */
  readonly concurrent?: boolean;
  /** Maximum agents called at the same time. @default all */
  readonly maxConcurrent?: number;
}

/**
 * Calls agents with the same input. The answers have the order of the agents. When an agent fails, the other
 * calls are aborted and awaited before the error is thrown.
 *
 * @example
 * ```ts
 * import { fanoutPipeline, ReActAgent } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const critics = ['plot', 'style'].map(
 *   (name) => new ReActAgent({ name, model: new ScriptedModel([`The ${name} is good.`]), console: false }),
 * );
 * const answers = await fanoutPipeline(critics, 'What do you think of the story?');
 * console.log(answers.map((answer) => answer.text)); // in the order of the agents
 * ```
 */
export async function fanoutPipeline(
  agents: readonly AgentBase[],
  input?: MsgInput,
  { concurrent = true, maxConcurrent = Infinity, ...options }: FanoutOptions & CallOptions = {},
): Promise<Msg[]> {
  checkConcurrency(maxConcurrent);
  const msgs = Msg.list(input);
  const answers: Msg[] = [];
  const failures: unknown[] = [];
  const controller = new AbortController();
  const unlink = whenAborted(options.signal, (reason) => controller.abort(reason));
  const remaining = agents.entries();

  async function callRemaining(): Promise<void> {
    try {
      for (const [i, agent] of remaining) {
        controller.signal.throwIfAborted();
        answers[i] = await agent.call(msgs, { ...options, signal: controller.signal });
      }
    } catch (error) {
      failures.push(error);
      controller.abort(error);
    }
  }

  const width = Math.min(concurrent ? maxConcurrent : 1, agents.length);
  await Promise.all(Array.from({ length: width }, callRemaining));
  unlink();
  if (failures.length > 0) throw failures[0];
  return answers;
}

/** `fanoutPipeline` over the same agents, for several inputs. */
export class FanoutPipeline {
  readonly agents: readonly AgentBase[];
  readonly #options: FanoutOptions;

  constructor(agents: readonly AgentBase[], options: FanoutOptions = {}) {
    checkConcurrency(options.maxConcurrent);
    this.agents = [...agents];
    this.#options = options;
  }

  call(input?: MsgInput, options?: CallOptions): Promise<Msg[]> {
    return fanoutPipeline(this.agents, input, { ...this.#options, ...options });
  }
}

function checkConcurrency(maxConcurrent = Infinity): void {
  if (maxConcurrent === Infinity || (Number.isInteger(maxConcurrent) && maxConcurrent >= 1)) return;
  throw new TroupeError('invalid_config', 'maxConcurrent must be a whole number of 1 or more.');
}
