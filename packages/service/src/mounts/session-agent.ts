import { AgentBase, Msg, TroupeError, type JsonObject, type Turn } from 'troupe';

import { EventReader, type RunSink } from '../protocols/event-reader.ts';
import { startProtocolRun, type ProtocolParts } from '../protocols/protocol-run.ts';
import { ServiceFailure } from '../service-failure.ts';

export interface SessionAgentOptions {
  readonly user: string;
  /** Name of the served agent. */
  readonly agent: string;
  /** Id of the conversation, as the client chose it. */
  readonly conversation: string;
  /** Aborted when the service closes: runs are then handed over instead of interrupted. */
  readonly closing: AbortSignal;
}

/**
 * An agent whose replies are runs of a session. A server that speaks to agents, such as `serveA2A`, speaks to it, and gets what every run
 * has: it is stored, counted for its user, and continued after a crash. An interrupt of a reply interrupts the run. Folder `mounts`: start here.
 */
export class SessionAgent extends AgentBase {
  readonly #parts: ProtocolParts;
  readonly #options: SessionAgentOptions;

  constructor(parts: ProtocolParts, options: SessionAgentOptions) {
    super({ name: options.agent, console: false });
    this.#parts = parts;
    this.#options = options;
  }

  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const { user, agent, conversation } = this.#options;
    const { requests, log } = this.#parts;
    const decisions = turn.takeDecisions();
    const run = await startProtocolRun(this.#parts, {
      user,
      agent,
      conversation,
      msgs: decisions.length > 0 ? [] : msgs.map((msg): JsonObject => msg.toJSON()),
      ...(decisions.length > 0 && { decide: () => decisions }),
      closePending: turn.onPending === 'close',
    }).catch((error: unknown) => {
      throw toTroupeError(error);
    });
    try {
      const text = new TextOf(turn);
      const reader = new EventReader(text);
      for await (const events of log.follow(run.id, 0, turn.signal)) {
        reader.read(events);
        await text.told();
      }
      turn.signal.throwIfAborted();
    } catch (error) {
      if (turn.signal.aborted && !this.#options.closing.aborted) await requests.interrupt(user, run.id);
      throw error;
    }
    const { outcome } = await requests.run(user, run.id);
    if (outcome?.msg === undefined) throw new Error(outcome?.error?.message ?? 'The run has no answer.');
    const msg = Msg.from(outcome.msg);
    const answer =
      outcome.status === 'suspended' && outcome.pending !== undefined
        ? msg.with({ endReason: 'tool_suspended', pending: outcome.pending })
        : msg;
    turn.commit(answer);
    return answer;
  }
}

/** Refusals of decisions keep their codes: servers answer them with advice. */
function toTroupeError(error: unknown): unknown {
  if (!(error instanceof ServiceFailure)) return error;
  if (error.code === 'pending_calls' || error.code === 'decision_refused')
    return new TroupeError(error.code, error.message);
  return error;
}

/** Emits the text of a run as text of this reply. */
class TextOf implements RunSink {
  readonly #turn: Turn;
  readonly #open = new Set<string>();
  #told: void | Promise<void> = undefined;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Waits for a slow reader of the reply. */
  async told(): Promise<void> {
    await this.#told;
  }

  msg(): void {}

  open(id: string, kind: 'text' | 'thinking' | 'tool'): void {
    if (kind === 'text') this.#open.add(id);
  }

  delta(id: string, text: string): void {
    if (!this.#open.has(id)) return;
    const at = id.lastIndexOf('.');
    const place = { msgId: id.slice(0, at), index: Number(id.slice(at + 1)) };
    this.#told = this.#turn.emit({ type: 'text_delta', ...place, text });
  }

  close(): void {}
  result(): void {}
  pending(): void {}
  end(): void {}
}
