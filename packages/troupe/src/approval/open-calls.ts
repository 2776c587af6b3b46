import type { Msg } from '../message/msg.ts';
import type { PendingCall } from '../message/pending-call.ts';
import type { OpenExchange } from './open-exchange.ts';
import type { OrderedMemory } from './ordered-memory.ts';
import { beginWith, unansweredIn, type Beginning, type BeginOptions } from './reopen.ts';
import type { TurnControl } from '../agent/turn-control.ts';

interface OpenCallsOptions extends Pick<BeginOptions, 'fit'> {
  /** For turns that don't say. @default 'refuse' */
  readonly onPending?: BeginOptions['onPending'] | undefined;
}

/**
 * The calls of an agent that are being made, or wait for somebody outside: those of one thought at a time. They are no part of its
 * memory until each has a result; until then they are part of its state.
 */
export class OpenCalls {
  /** The thought that makes them, and where each stands. */
  current: OpenExchange | undefined;
  readonly #memory: OrderedMemory;
  readonly #options: OpenCallsOptions;
  readonly #checkpoints = new Set<() => Promise<void>>();

  constructor(memory: OrderedMemory, options: OpenCallsOptions) {
    this.#memory = memory;
    this.#options = options;
  }

  get pending(): readonly PendingCall[] {
    return this.current?.pending ?? [];
  }

  /** Makes out what a call of the agent is about while those of an earlier one are open. @throws TroupeError */
  async begin(agentName: string, msgs: readonly Msg[], turn: TurnControl): Promise<Beginning> {
    const { onPending = 'refuse', fit } = this.#options;
    const history = await this.#memory.recall();
    turn.assertNotOver(); // the memory may be slow
    const isRemembered = history.some(({ id }) => id === this.current?.exchange.thought.id);
    if (isRemembered) this.current = undefined; // it was saved just before it was let go
    const foreign = this.current === undefined ? unansweredIn(history, agentName) : undefined;
    const beginning = beginWith(this.current ?? foreign?.open, msgs, turn.takeDecisions(), {
      onPending: turn.onPending ?? onPending,
      hasShape: turn.structuredModel !== undefined,
      fit,
      callId: turn.outerToolCallId,
    });
    if (foreign !== undefined) {
      this.current = foreign.open; // first, so that it is in one place at least
      await this.#memory.delete(foreign.msgs); // it comes back with a result for each call
    }
    return beginning;
  }

  /** Forgets calls that are in memory by now. */
  letGo(open: OpenExchange): void {
    if (this.current === open) this.current = undefined;
  }

  /** Ends calls that wait, or were left over, as interrupted. */
  async close(): Promise<void> {
    const open = this.current;
    if (open === undefined) return;
    await this.#memory.add([...open.exchange.toMsgs(), ...open.later]);
    this.letGo(open);
  }

  /** Is waited for before something is done for good. The returned function ends that. */
  onCheckpoint(listener: () => Promise<void>): () => void {
    const entry = (): Promise<void> => listener();
    this.#checkpoints.add(entry);
    return () => void this.#checkpoints.delete(entry);
  }

  async checkpoint(): Promise<void> {
    await Promise.all(Array.from(this.#checkpoints, (save) => save()));
  }
}
