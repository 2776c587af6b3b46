// For the tests: agents for clients and servers.

import { A2AAgent, WellKnownAgentCardResolver, type A2AAgentOptions } from '../../src/a2a/index.ts';
import { MsgDraft } from '../../src/entries/kernel.ts';
import { AgentBase, type AgentEvent, type Msg, type Turn } from '../../src/index.ts';

export function remoteAgent(url: string, options: Partial<A2AAgentOptions> = {}): A2AAgent {
  const agent = new A2AAgent({ name: 'remote', card: new WellKnownAgentCardResolver(url), ...options });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

export async function eventsOf(
  stream: AsyncGenerator<AgentEvent, Msg, void>,
): Promise<{ events: AgentEvent[]; msg: Msg }> {
  const events: AgentEvent[] = [];
  for (let step = await stream.next(); ; step = await stream.next()) {
    if (step.done) return { events, msg: step.value };
    events.push(step.value);
  }
}

export function textDeltas(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'text_delta' ? event.text : []));
}

/** Sends words one by one, each on request. */
export class Speaker extends AgentBase {
  readonly heard: string[] = [];
  readonly #words: (string | undefined)[] = [];
  #wake = Promise.withResolvers<void>();
  #started = Promise.withResolvers<void>();

  constructor(name = 'speaker') {
    super({ name });
    this.setConsoleOutputEnabled(false);
  }

  get started(): Promise<void> {
    return this.#started.promise;
  }

  say(word: string): void {
    this.#words.push(word);
    this.#wake.resolve();
  }

  finish(): void {
    this.#words.push(undefined);
    this.#wake.resolve();
  }

  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    this.heard.push(...msgs.map((msg) => msg.text));
    this.#started.resolve();
    const draft = new MsgDraft(this.name);
    for (;;) {
      while (this.#words.length === 0) {
        await turn.step({ kind: 'other', name: 'wait' }, () => this.#wake.promise);
        this.#wake = Promise.withResolvers();
      }
      const word = this.#words.shift();
      if (word === undefined) break;
      draft.add({ type: 'text', text: word });
      await this.print(draft.snapshot(), false);
    }
    const msg = draft.finish();
    await this.print(msg);
    return msg;
  }
}
