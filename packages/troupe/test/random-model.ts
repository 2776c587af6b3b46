// A model that answers at random, by seed, and the facts of a random program that outlive its processes.
import type { ModelDelta } from '../src/message/model-delta.ts';
import { DeltaStream } from '../src/model/delta-stream.ts';
import { ChatModelBase, type ModelCallOptions, type ModelRequest } from '../src/model/chat-model-base.ts';
import { InMemoryStore } from '../src/session/in-memory-session.ts';
import { InMemoryVectorStore } from '../src/vector/in-memory-vector-store.ts';
import { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from '../src/testing/scripted-model.ts';

export const NAMES = ['ann', 'bob', 'cat'] as const;
export type Name = (typeof NAMES)[number];

/** Seeded random numbers (mulberry32): the same program for the same seed. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to `sides` - 1. */
  roll(sides: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  }

  pick<const T>(choices: readonly [T, ...T[]]): T {
    return choices[this.roll(choices.length)] ?? choices[0];
  }

  /** Waits for 0 to `max` - 1 turns of the event loop. */
  async wait(max: number): Promise<void> {
    for (let left = this.roll(max); left > 0; left--) await nextTurn();
  }
}

export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

interface Told {
  readonly name: string;
  readonly id: string;
  readonly text: string;
  /** Number of answers that were told when the agent call that made it began: others hear these before this one. */
  readonly after: number;
}

/** Counts of a random program, each 0. */
export const NO_COUNTS = {
  runs: 0,
  told: 0,
  asked: 0,
  stopped: 0,
  hooks: 0,
  requests: 0,
  batches: 0,
  spoken: 0,
  recorded: 0,
  streams: 0,
  ends: 0,
};

/** Facts that survive a "kill": the store, told answers, payments and faults. */
export class Chronicle {
  readonly dice: Dice;
  readonly store = new InMemoryStore();
  /** Records of long-term memories. */
  readonly notes = new InMemoryVectorStore();
  readonly faults: string[] = [];
  /** Ids of tool calls whose side effect happened. */
  readonly paid: string[] = [];
  /** Answers that a caller, a listener or the hub was told, in order. */
  readonly told: Told[] = [];
  /** Number of answers that were told when the agent call that made an answer began, by id of the answer. */
  readonly said = new Map<string, number>();
  /** Pending tool calls that were told and not decided since, by id. */
  readonly asked = new Map<string, Name>();
  /** Ids of the messages in each memory when the process ended. */
  readonly orders = new Map<Name, readonly string[]>();
  /** Text of all saves. */
  saved = '';
  /** States of agents whose process has ended in order: the next process finds the same. */
  readonly left = new Map<Name, string>();
  counts = { ...NO_COUNTS };
  #last = 0;

  constructor(seed: number) {
    this.dice = new Dice(seed);
  }

  number(): number {
    return ++this.#last;
  }
}

/** Answers at random: text with a secret, or tool calls. */
export class RandomModel extends ChatModelBase {
  static override readonly className: string = 'RandomModel';
  readonly #chronicle: Chronicle;
  readonly #dice: Dice;
  readonly #owner: string;
  readonly #onRequest: (request: ModelRequest) => void;

  constructor(owner: string, chronicle: Chronicle, onRequest: (request: ModelRequest) => void = () => {}) {
    super(`model-of-${owner}`);
    this.#owner = owner;
    this.#chronicle = chronicle;
    this.#dice = new Dice(chronicle.dice.roll(2 ** 31));
    this.#onRequest = onRequest;
  }

  override stream(
    request: ModelRequest,
    options: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    if (this.#dice.roll(2) === 0) return this.#deltas(request, options);
    return new DeltaStream((signal) => this.#batches(request, { ...options, signal }), options.signal);
  }

  /** The deltas in batches, as a model behind HTTP gives them. */
  async *#batches(
    request: ModelRequest,
    options: ModelCallOptions,
  ): AsyncGenerator<readonly ModelDelta[], void, void> {
    let batch: ModelDelta[] = [];
    try {
      for await (const delta of this.#deltas(request, options)) {
        batch.push(delta);
        if (this.#dice.roll(4) > 0) continue;
        this.#chronicle.counts.batches++;
        yield batch;
        batch = [];
      }
    } catch (error) {
      if (batch.length > 0) yield batch;
      throw error;
    }
    if (batch.length > 0) yield batch;
  }

  async *#deltas(request: ModelRequest, options: ModelCallOptions): AsyncGenerator<ModelDelta, void, void> {
    this.#chronicle.counts.requests++;
    this.#onRequest(request);
    await this.#dice.wait(4);
    for await (const delta of new ScriptedModel([this.#turn(request)]).stream(request, options)) {
      await this.#dice.wait(2);
      yield delta;
    }
  }

  #turn({ tools = [] }: ModelRequest): ScriptedTurn {
    const n = this.#chronicle.number();
    const thinking = this.#dice.roll(3) === 0 ? 'Hm.' : undefined;
    const text = `${this.#owner}-${n} SECRET`;
    if (this.#dice.roll(20) === 0) return { text: 'Half', error: new Error('The model is gone.') };
    const isStructured = tools.some(({ name }) => name === 'generate_response');
    const names = tools.map(({ name }) => name).filter((name) => name !== 'generate_response');
    if (names.length > 0 && this.#dice.roll(5) < 2) {
      const count = 1 + this.#dice.roll(3);
      return {
        thinking,
        text,
        toolCalls: Array.from({ length: count }, () => this.#toolCall(names)),
        chunkSize: 7,
      };
    }
    if (isStructured) {
      return { toolCalls: [{ name: 'generate_response', id: `g${n}`, input: { answer: n } }] };
    }
    return { thinking, text, chunkSize: 5 };
  }

  #toolCall(names: readonly string[]): ScriptedToolCall {
    const id = `t${this.#chronicle.number()}`;
    const name = names[this.#dice.roll(names.length)] ?? 'none';
    if (name === 'ask_user') return { id, name, input: { question: `What about ${id}?` } };
    if (name === 'agent_helper') return { id, name, input: { task: `Task ${id}` } };
    if (this.#dice.roll(12) === 0) return { id, name: 'nothing', input: {} };
    return { id, name, input: this.#dice.roll(12) === 0 ? '{"key": 3' : { key: id } };
  }
}
