import type { AgentBase } from '../agent/agent-base.ts';
import { Subscribers, type Observer } from '../agent/subscribers.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError } from '../errors.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { newId } from '../util/ids.ts';
import { checkAgents } from './check-agents.ts';

export interface MsgHubOptions {
  /** Agents that observe each other. */
  readonly participants: readonly AgentBase[];
  /** Sent to all participants when the hub opens. */
  readonly announcement?: MsgInput;
  /** Whether participants observe the messages of the others. @default true */
  readonly enableAutoBroadcast?: boolean;
  /** Name for people and logs; need not be unique. @default the hub's id */
  readonly name?: string;
}

/**
 * Group of agents that observe each other's messages while the hub is open.
 *
 * An agent that leaves neither sends nor receives from then on, even during a reply, and nobody waits for what
 * it still observes; an agent that joins observes later messages only. Hubs may overlap: agents in several common hubs observe a message once. A
 * closed hub leaves no subscription behind.
 *
 * @example
 * ```ts
 * import { MsgHub, ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const alice = new ReActAgent({ name: 'alice', model: new OfflineModel(), console: false });
 * const bob = new ReActAgent({ name: 'bob', model: new OfflineModel(), console: false });
 * await using hub = await MsgHub.open({ participants: [alice, bob], announcement: 'Introduce yourselves.' });
 * await alice.call(); // bob observes the answer
 * await bob.call();
 * console.log(hub.name, (await bob.memory.getMemory()).length); // the announcement and two answers
 * ```
 */
export class MsgHub implements AsyncDisposable {
  readonly id: string = newId('hub_');
  readonly name: string;
  readonly #announcement: readonly Msg[];
  readonly #audience = new Subscribers();
  #participants: readonly AgentBase[];
  #isAutoBroadcast: boolean;
  #isOpen = false;

  /** Makes a closed hub. */
  constructor({ participants, announcement, enableAutoBroadcast = true, name }: MsgHubOptions) {
    this.name = name ?? this.id;
    this.#announcement = Msg.list(announcement);
    this.#participants = [...new Set(checkAgents('A MsgHub', participants))];
    this.#isAutoBroadcast = enableAutoBroadcast;
  }

  /** Makes a hub, opens it and sends the announcement. */
  static async open(options: MsgHubOptions): Promise<MsgHub> {
    const hub = new MsgHub(options);
    await hub.open();
    return hub;
  }

  /**
   * Subscribes the participants to each other, then sends the announcement. Does nothing if the hub is open.
   */
  async open(): Promise<void> {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#subscribe();
    try {
      await this.broadcast(this.#announcement);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Ends all subscriptions of this hub. */
  async close(): Promise<void> {
    this.#unsubscribe(this.#participants);
    this.#audience.remove(this.id);
    this.#isOpen = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get participants(): readonly AgentBase[] {
    return this.#participants;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Adds agents. Existing participants are unaffected. */
  add(agents: AgentBase | readonly AgentBase[]): void {
    this.#participants = [...new Set([...this.#participants, ...[agents].flat()])];
    this.#subscribe();
  }

  /** Removes agents. An unknown agent only causes a warning. */
  delete(agents: AgentBase | readonly AgentBase[]): void {
    const leaving = new Set([agents].flat());
    for (const agent of leaving) {
      if (this.#participants.includes(agent)) continue;
      getLogger().log(
        'warn',
        `${agent.name} can't be deleted from the hub '${this.name}': it is no participant.`,
      );
    }
    this.#unsubscribe(this.#participants.filter((agent) => leaving.has(agent)));
    this.#participants = this.#participants.filter((agent) => !leaving.has(agent));
    this.#subscribe();
  }

  /** Sets whether participants observe the messages of the others. */
  setAutoBroadcast(enabled: boolean): void {
    if (!enabled) this.#unsubscribe(this.#participants);
    this.#isAutoBroadcast = enabled;
    this.#subscribe();
  }

  /**
   * Sends messages to all participants, the author included. A participant that fails to observe is logged
   * and does not affect the others.
   * @throws TroupeError if the hub is closed.
   */
  async broadcast(input: MsgInput): Promise<void> {
    if (!this.#isOpen) {
      throw new TroupeError(
        'invalid_input',
        `The hub '${this.name}' is closed. Open it before you broadcast.`,
      );
    }
    const limitMs = Math.max(0, ...this.#participants.map(({ observeTimeoutMs }) => observeTimeoutMs));
    const report = ({ name }: Observer, error: unknown): void =>
      getLogger().log(
        'warn',
        `${name} could not observe a broadcast in the hub '${this.name}': ${messageOf(error)}`,
      );
    for (const msg of Msg.list(input)) await this.#audience.broadcast(msg, report, limitMs).done;
  }

  /** Updates all subscriptions to the current participants. */
  #subscribe(): void {
    if (!this.#isOpen) return;
    this.#audience.reset(this.id, this.#participants);
    if (!this.#isAutoBroadcast) return;
    for (const agent of this.#participants) agent.resetSubscribers(this.id, this.#participants, this.name);
  }

  /** Ends the subscriptions to messages of these agents. */
  #unsubscribe(agents: readonly AgentBase[]): void {
    if (!this.#isOpen || !this.#isAutoBroadcast) return;
    for (const agent of agents) agent.removeSubscribers(this.id);
  }
}
