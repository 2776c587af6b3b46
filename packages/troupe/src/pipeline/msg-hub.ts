import type { AgentBase } from '../agent/agent-base.ts';
import { Subscribers } from '../agent/subscribers.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError } from '../errors.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { newId } from '../util/ids.ts';

export interface MsgHubOptions {
  /** Who hears each other. */
  readonly participants: readonly AgentBase[];
  /** Told to all participants when the hub opens. */
  readonly announcement?: MsgInput;
  /** Whether what one participant says is heard by the others. @default true */
  readonly enableAutoBroadcast?: boolean;
  /** For people and logs; hubs may share a name. @default the hub's id */
  readonly name?: string;
}

/**
 * A group of agents who hear what each of them says, while the hub is open.
 *
 * Whoever leaves is silent and deaf at once, even in the middle of a reply, and
 * whoever joins hears what is said from then on. Hubs may overlap: agents who share
 * several of them hear each other once. A closed hub leaves no subscription behind.
 *
 * ```ts
 * await using hub = await MsgHub.open({ participants: [alice, bob], announcement: 'Introduce yourselves.' });
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

  /** A hub that is still closed. */
  constructor({ participants, announcement, enableAutoBroadcast = true, name }: MsgHubOptions) {
    this.name = name ?? this.id;
    this.#announcement = Msg.list(announcement);
    this.#participants = [...new Set(participants)];
    this.#isAutoBroadcast = enableAutoBroadcast;
  }

  /** A hub that is open and has made its announcement. */
  static async open(options: MsgHubOptions): Promise<MsgHub> {
    const hub = new MsgHub(options);
    await hub.open();
    return hub;
  }

  /** Subscribes the participants to each other, then makes the announcement. Does nothing if the hub is open. */
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

  /** Takes in one or several agents. Those who are there already stay as they are. */
  add(agents: AgentBase | readonly AgentBase[]): void {
    this.#participants = [...new Set([...this.#participants, ...[agents].flat()])];
    this.#subscribe();
  }

  /** Removes one or several agents. An agent who is not there is only worth a warning. */
  delete(agents: AgentBase | readonly AgentBase[]): void {
    const leaving = new Set([agents].flat());
    for (const agent of leaving) {
      if (this.#participants.includes(agent)) continue;
      getLogger().log('warn', `${agent.name} can't be deleted from the hub '${this.name}': it is not there.`);
    }
    this.#unsubscribe(this.#participants.filter((agent) => leaving.has(agent)));
    this.#participants = this.#participants.filter((agent) => !leaving.has(agent));
    this.#subscribe();
  }

  /** Whether what one participant says is heard by the others. */
  setAutoBroadcast(enabled: boolean): void {
    if (!enabled) this.#unsubscribe(this.#participants);
    this.#isAutoBroadcast = enabled;
    this.#subscribe();
  }

  /**
   * Tells all participants, the author included. One who fails to observe does not
   * keep the others from hearing: it is reported to the logger.
   * @throws TroupeError if the hub is closed.
   */
  async broadcast(input: MsgInput): Promise<void> {
    if (!this.#isOpen) {
      throw new TroupeError(
        'invalid_input',
        `The hub '${this.name}' is closed. Open it before you broadcast.`,
      );
    }
    for (const msg of Msg.list(input)) {
      await this.#audience.broadcast(msg, ({ name }, error) => {
        getLogger().log(
          'warn',
          `${name} could not observe a broadcast in the hub '${this.name}': ${messageOf(error)}`,
        );
      });
    }
  }

  /** Brings all subscriptions in line with who is there now. */
  #subscribe(): void {
    if (!this.#isOpen) return;
    this.#audience.reset(this.id, this.#participants);
    if (!this.#isAutoBroadcast) return;
    for (const agent of this.#participants) agent.resetSubscribers(this.id, this.#participants);
  }

  /** Makes agents unheard in this hub. */
  #unsubscribe(agents: readonly AgentBase[]): void {
    if (!this.#isOpen || !this.#isAutoBroadcast) return;
    for (const agent of agents) agent.removeSubscribers(this.id);
  }
}
