import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import type { MsgInput } from '../../message/msg.ts';
import { EnergyDetector } from '../../realtime/speech-detector.ts';
import type { AudioSink } from '../../tts/audio-sink.ts';
import { SinkPlayer } from '../../tts/sink-player.ts';
import { checkNumber } from '../../util/check-number.ts';
import { bytesOf, type PcmAudio } from '../../util/audio/pcm.ts';
import { elapsedSince, monotonic, startTimer } from '../../util/clock.ts';
import type { Talk, Talker } from '../talk.ts';
import type { TalkEvent } from '../talk-event.ts';
import { RoomSink, type SpeakingRight } from './room-sink.ts';
import { FRAME_MS, ROOM_RATE, RoomSource } from './room-source.ts';

export interface VoiceRoomOptions {
  /** Where the voices of the agents are played, mixed. @default nowhere */
  readonly speaker?: AudioSink | undefined;
  /** Name of the person. @default 'user' */
  readonly userName?: string | undefined;
  /** Maximum turns of agents in a row. Then the agents no longer hear each other, until the person speaks. @default 8 */
  readonly maxTurns?: number | undefined;
}

export type RoomListener = (name: string, event: TalkEvent) => void;

/** Silence after which another agent may speak. */
const PAUSE_MS = 300;
/** Longest delay of the clock of a room that is caught up. */
const MAX_LATE_MS = 1000;

interface Member {
  readonly talk: Talk;
  readonly source: RoomSource;
  /** Name of the speaker that this member hears now, or has heard last. */
  readonly hearing: { name: string };
}

/**
 * A conversation of a person and several agents that hear each other. Every 20 ms each agent hears the mixed voices of all others, or silence, so that the
 * ends of turns are heard. One agent speaks at a time; another one waits, and reconsiders when words come. Folder `voice/room`: start here.
 *
 * @example
 * ```ts
 * import { RealtimeAgent, VoiceRoom } from 'troupe/realtime';
 * import { ScriptedRealtimeModel } from 'troupe/testing';
 *
 * const names = ['Alice', 'Bob'];
 * const agents = names.map((name) => new RealtimeAgent({ name, realtimeModel: new ScriptedRealtimeModel([{ text: 'Hi.' }]), console: false }));
 * await using room = await VoiceRoom.open(agents);
 * const answers = await room.say('Hello!');
 * console.log(answers.length); // 2
 * ```
 */
export class VoiceRoom implements AsyncDisposable {
  readonly #options: VoiceRoomOptions;
  readonly #members: Member[] = [];
  readonly #listeners = new Set<RoomListener>();
  readonly #person: RoomSource;
  readonly #detector = new EnergyDetector();
  /** The agent that speaks, or has spoken last. */
  #speaking: RoomSource | undefined;
  #silentMs = 0;
  #turns = 0;
  #whenFree = Promise.withResolvers<void>();
  #cancelTimer: (() => void) | undefined;
  #start = monotonic();
  #frames = 0;
  #isClosed = false;
  /** Whether the speaker has failed: one warning is enough. */
  #hasFailed = false;

  private constructor(options: VoiceRoomOptions) {
    checkNumber('maxTurns', options.maxTurns ?? 8, { least: 0 });
    this.#options = options;
    this.#person = new RoomSource(options.userName ?? 'user');
  }

  /** Connects all agents. Closes those that are connected if one can not be. @throws TroupeError, ModelError */
  static async open(talkers: readonly Talker[], options: VoiceRoomOptions = {}): Promise<VoiceRoom> {
    if (talkers.length === 0)
      throw new TroupeError('invalid_config', 'A VoiceRoom needs at least one agent.');
    const room = new VoiceRoom(options);
    try {
      for (const talker of talkers) await room.#add(talker);
    } catch (error) {
      await room.close();
      throw error;
    }
    room.#start = monotonic();
    room.#tick();
    return room;
  }

  /** The conversations of the agents. */
  get talks(): readonly Talk[] {
    return this.#members.map(({ talk }) => talk);
  }

  /** Takes sound of the person, at any rate. All agents hear the sound. */
  hear(audio: PcmAudio): void {
    if (this.#isClosed) return;
    if (this.#detector.feed(audio) === 'started') this.#turns = 0;
    this.#person.add(audio);
  }

  /** Says something to all agents as text. Resolves with the answers. An agent that fails does not affect the others. */
  async say(
    input: MsgInput,
  ): Promise<readonly PromiseSettledResult<Awaited<ReturnType<Talk['agent']['call']>>>[]> {
    this.#turns = 0;
    return Promise.allSettled(this.#members.map(({ talk }) => talk.agent.call(input, { onBusy: 'queue' })));
  }

  /** Calls the listener for each event, with the name of the agent. The returned function removes the listener. */
  onEvent(listener: RoomListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all conversations. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelTimer?.();
    await Promise.all(this.#members.map(({ talk }) => talk.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #add(talker: Talker): Promise<void> {
    const { agent } = talker;
    const source = new RoomSource(agent.name);
    const right: SpeakingRight = { take: () => this.#take(source), whenFree: () => this.#whenFree.promise };
    const sink = new RoomSink(
      right,
      (audio) => source.add(audio),
      () => this.#drop(source),
    );
    const hearing = { name: this.#person.name };
    const talk = await talker.connect({
      player: new SinkPlayer(sink),
      speakerName: () => hearing.name,
    });
    this.#members.push({ talk, source, hearing });
    talk.onEvent((event) => {
      for (const listener of this.#listeners) listener(agent.name, event);
    });
  }

  #take(source: RoomSource): boolean {
    if (this.#isClosed || this.#speaking === source) return true;
    if (this.#speaking !== undefined) return false;
    this.#speaking = source;
    this.#silentMs = 0;
    this.#turns++;
    return true;
  }

  #drop(source: RoomSource): void {
    source.clear();
    if (this.#speaking === source) this.#options.speaker?.flush();
  }

  #free(): void {
    this.#speaking = undefined;
    this.#whenFree.resolve();
    this.#whenFree = Promise.withResolvers();
  }

  /** Plays the frames that are due, and waits for the next one. */
  #tick(): void {
    if (this.#isClosed) return;
    const due = Math.floor(elapsedSince(this.#start) / FRAME_MS) + 1;
    if ((due - this.#frames) * FRAME_MS > MAX_LATE_MS) this.#frames = due - 1; // time that nobody can hear any more
    while (this.#frames < due && !this.#isClosed) {
      this.#frames++;
      this.#frame();
    }
    this.#cancelTimer = startTimer(FRAME_MS, () => this.#tick());
  }

  /** Plays a frame on the speaker. A speaker that fails does not stop the room. */
  async #play(audio: PcmAudio): Promise<void> {
    try {
      await this.#options.speaker?.write(audio);
    } catch (error) {
      if (!this.#hasFailed)
        getLogger().log('warn', `Sound of a room could not be played: ${messageOf(error)}`);
      this.#hasFailed = true;
    }
  }

  #frame(): void {
    const { maxTurns = 8 } = this.#options;
    const voices = new Map<RoomSource, Int16Array>();
    for (const source of [this.#person, ...this.#members.map((member) => member.source)]) {
      const samples = source.next();
      if (samples !== undefined) voices.set(source, samples);
    }
    const isHeard = ({ name }: RoomSource): boolean => name === this.#person.name || this.#turns < maxTurns;
    for (const member of this.#members) {
      const others = [...voices.keys()].filter((source) => source !== member.source && isHeard(source));
      member.hearing.name = others[0]?.name ?? member.hearing.name;
      member.talk.hear(mixed(others.map((source) => voices.get(source))));
    }
    const agents = [...voices].filter(([source]) => source !== this.#person).map(([, samples]) => samples);
    if (agents.length > 0) void this.#play(mixed(agents));
    if (this.#speaking === undefined) return;
    this.#silentMs = voices.has(this.#speaking) ? 0 : this.#silentMs + FRAME_MS;
    if (this.#silentMs >= PAUSE_MS) this.#free();
  }
}

/** The sum of frames, or silence. */
function mixed(frames: readonly (Int16Array | undefined)[]): PcmAudio {
  const sum = new Int16Array((ROOM_RATE * FRAME_MS) / 1000);
  for (const frame of frames)
    for (const [i, sample] of frame?.entries() ?? [])
      sum[i] = Math.max(-32768, Math.min(32767, (sum[i] ?? 0) + sample));
  return { data: bytesOf(sum), rate: ROOM_RATE };
}
