import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { CallToolOptions } from '../toolkit/call/tool-call.ts';
import {
  isSuspended,
  type SuspendedToolCall,
  type ToolCallOutcome,
} from '../toolkit/call/tool-call-outcome.ts';
import type { Suspension } from '../toolkit/tool/tool-suspension.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { newId } from '../util/ids.ts';
import { authorize } from '../approval/authorize.ts';
import type { OpenExchange } from '../approval/open-exchange.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import { forEachConcurrently } from '../util/async/for-each-concurrently.ts';
import { currentToolCallId, runInToolCall } from '../agent/current-turn.ts';
import { controlOf } from '../agent/turn-control.ts';
import type { Turn } from '../agent/turn.ts';

/** What the calls of one reply have in common. */
export interface CallWork {
  readonly toolkit: Toolkit;
  /** The calls that are being made. */
  open: OpenExchange | undefined;
  /** What tools gave, until their hooks are through. */
  readonly results: Map<string, ToolResultBlock>;
}

/** What an agent does for its calls. */
export interface Caller {
  /** Makes one call, with the hooks around it. */
  act(call: ToolUseBlock, turn: Turn): Promise<ToolResultBlock | SuspendedToolCall>;
  print(msg: Msg, last?: boolean): Promise<void>;
  notifyChunk(result: ToolResultBlock): Promise<void>;
}

/** Makes the tool calls of an agent. Each ends in one result, or waits for somebody outside. */
export class ToolCalls {
  readonly #options: ReActAgentOptions;
  readonly #agent: Caller;

  constructor(options: ReActAgentOptions, agent: Caller) {
    this.#options = options;
    this.#agent = agent;
  }

  /** Runs the calls that have no result yet, in turn or side by side. In turn, one that waits holds up the rest. */
  async make(open: OpenExchange, work: CallWork, turn: Turn): Promise<void> {
    const { parallelToolCalls = false, maxToolCalls = 128 } = this.#options;
    const { exchange } = open;
    const atOnce =
      typeof parallelToolCalls === 'number' ? parallelToolCalls : parallelToolCalls ? Infinity : 1;
    await forEachConcurrently(open.toDo, atOnce, async (call) => {
      if (atOnce === 1 && open.isWaiting) return;
      turn.signal.throwIfAborted();
      await turn.emit({ type: 'tool_start', call });
      const isTooMany = exchange.calls.indexOf(call) >= maxToolCalls;
      if (isTooMany) open.answer(tooMany(call, maxToolCalls));
      else await this.#actOn(call, open, work, turn);
      const result = exchange.answerTo(call.id);
      if (result === undefined || exchange.isClosed) return; // it waits, or it comes too late
      await turn.emit({ type: 'tool_result', result });
      await this.#agent.print(exchange.resultMsg(result));
    });
  }

  /** Answers one call, as its hooks leave the result, or lets it wait. If a hook fails, what the tool did is kept. */
  async #actOn(call: ToolUseBlock, open: OpenExchange, work: CallWork, turn: Turn): Promise<void> {
    const { id, name } = call;
    try {
      const acted = await runInToolCall(id, () => this.#agent.act(open.runnable(call), turn));
      if (isSuspended(acted)) return await this.#suspend(call, acted.suspension, open, turn);
      const result = { ...acted, id, name };
      const speaksForItself = work.toolkit.get(name)?.returnDirect === true;
      open.answer(speaksForItself ? result : open.noted(result));
    } catch (error) {
      const result = work.results.get(id);
      if (result !== undefined) open.answer({ ...result, id, name });
      throw error;
    } finally {
      work.results.delete(id);
    }
  }

  /** Makes a suspended tool call a pending one. */
  async #suspend(call: ToolUseBlock, suspension: Suspension, open: OpenExchange, turn: Turn): Promise<void> {
    if (suspension.kind === 'nested') {
      open.waitInside(call.id, suspension.state, suspension.pending);
      return;
    }
    const id = await turn.step({ kind: 'id', name: 'pending call', key: call.id }, async () =>
      newId('pending_'),
    );
    open.wait({ id, agentPath: turn.agentPath, ...suspension, call: { ...suspension.call, id: call.id } });
  }

  /** Runs one tool call as a step, without its hooks. */
  async run(call: ToolUseBlock, work: CallWork, turn: Turn): Promise<ToolCallOutcome> {
    const { open } = work;
    const id = currentToolCallId() ?? call.id; // hooks and middleware may have changed it
    let running: Promise<ToolCallOutcome> | undefined;
    let hookFailure: { readonly error: unknown } | undefined;
    const options: CallToolOptions = {
      signal: turn.signal,
      agentName: turn.agentPath.at(-1),
      context: this.#options.toolContext,
      authorize: ({ call: judged, ...rest }) =>
        authorize({ ...rest, call: { ...judged, id } }, this.#options, open, controlOf(turn)),
      resume: open?.resumeOf(id),
      onChunk: async (result) => {
        await turn.emit({ type: 'tool_chunk', result });
        if (open !== undefined) await this.#agent.print(open.exchange.resultMsg(result), false);
        await this.#agent.notifyChunk(result).catch((error: unknown) => (hookFailure ??= { error }));
      },
    };
    try {
      const outcome = await turn.step({ kind: 'tool', name: call.name, key: id }, () => {
        running = work.toolkit.runToolCall(call, options);
        return running;
      });
      if (outcome.kind === 'suspended') return outcome;
      work.results.set(id, outcome.result);
      if (hookFailure !== undefined) throw hookFailure.error; // the tool is not at fault, so the hook's error was kept from it
      return outcome;
    } catch (error) {
      const stopped = turn.signal.aborted ? await running : undefined;
      if (stopped?.kind !== 'result') throw error;
      return stopped; // an interrupted tool call has its result at once, with the snapshot shown last
    }
  }
}

function tooMany({ id, name }: ToolUseBlock, most: number): ToolResultBlock {
  const output = `Error: too many calls at once. At most ${most} are made; call the rest later.`;
  return { type: 'tool_result', id, name, output, status: 'error' };
}
