import type { AgentBase, CallOptions } from '../../agent/agent-base.ts';
import { messageOf } from '../../errors.ts';
import type { AgentEvent, EventOf } from '../../event/agent-event.ts';
import { Msg } from '../../message/msg.ts';
import { addUsage, type Usage } from '../../message/usage.ts';
import type { SpeechDetector } from '../../realtime/speech-detector.ts';
import { TurnTaking } from '../../realtime/turn-taking.ts';
import type { SttModelBase } from '../../stt/stt-model-base.ts';
import type { AudioPlayer } from '../../tts/audio-player.ts';
import type { SpeakableFilter } from '../../tts/speech-text.ts';
import type { TtsModelBase } from '../../tts/tts-model-base.ts';
import { durationOf, splitAudio, type PcmAudio } from '../../util/audio/pcm.ts';
import { newId } from '../../util/ids.ts';
import { spokenQuestion } from '../approval-question.ts';
import type { Talk } from '../talk.ts';
import type { TalkEvent, TalkListener } from '../talk-event.ts';
import { TalkAnnouncer } from '../talk-announcer.ts';
import type { VoiceDecision } from '../voice-decision.ts';
import { keepHeard } from './heard-memory.ts';
import { Listening } from './listening.ts';
import { SpokenAnswer } from './spoken-answer.ts';

export interface PipelineTalkOptions {
  readonly agent: AgentBase;
  readonly sttModel: SttModelBase;
  readonly ttsModel: TtsModelBase;
  readonly player: AudioPlayer;
  readonly detector: SpeechDetector;
  readonly newFilter: (() => SpeakableFilter) | undefined;
  readonly userName: () => string;
  readonly voiceDecision: VoiceDecision | undefined;
  readonly falseAlarmMs: number | undefined;
  readonly maxTurnMs: number;
}

/** Sound before the detector notices speech, which belongs to the turn. */
const PRE_ROLL_MS = 400;
/** Longest sound that is judged at once: shorter than the silence that ends a turn. */
const PIECE_MS = 100;

/**
 * A conversation of any agent with a person: speech is written down, the agent is called with the words, and its text is spoken sentence by sentence.
 * Words of the person while the agent is heard are a barge-in. Words while the agent works in silence are handed to the running reply.
 */
export class PipelineTalk implements Talk {
  readonly agent: AgentBase;
  readonly #options: PipelineTalkOptions;
  readonly #turnTaking: TurnTaking;
  readonly #listeners = new TalkAnnouncer();
  /** Sound before the next turn of the person. */
  #preRoll: PcmAudio[] = [];
  #listening: Listening | undefined;
  /** Turns that have ended and are not dealt with. */
  readonly #ended = new Set<Listening>();
  /** Whether the person spoke on when the last turn had its longest length: the next piece begins a turn. */
  #goesOn = false;
  /** Turns of the person that are not dealt with, in order. Never rejects. */
  #turns: Promise<void> = Promise.resolve();
  /** Answers that are not played to their end, by the reply. */
  readonly #answers = new Map<string, SpokenAnswer>();
  /** The reply that began last, and the last one that was cut: the rest of its text is not spoken. */
  #replyId: string | undefined;
  #cutReplyId: string | undefined;
  /** Settles when the last barge-in is dealt with. */
  #cutting: Promise<void> | undefined;
  #questions = 0;
  /** Called when the agent is free. */
  #wake: () => void = () => {};
  #askedAbout: string | undefined;
  #isClosed = false;
  #usage: Usage | undefined;
  #bufferedBytes = 0;
  /** Calls of the person's turns, one after the other. Never rejects. */
  #calls: Promise<void> = Promise.resolve();
  readonly #cleanUp: (() => void)[];

  constructor(options: PipelineTalkOptions) {
    this.agent = options.agent;
    this.#options = options;
    const { agent, player, falseAlarmMs } = options;
    this.#turnTaking = new TurnTaking(
      {
        isSpeaking: () => this.#isSpeaking,
        pause: () => {
          player.pause();
          this.#tell({ type: 'paused' });
        },
        resume: () => {
          player.resume();
          this.#tell({ type: 'resumed' });
        },
        bargeIn: () => void this.#bargeIn(),
      },
      false, // the words may come after the turn only
      { falseAlarmMs },
    );
    this.#cleanUp = [
      agent.on('*', (event) => this.#take(event)),
      agent.onSettled(() => this.#settled()),
      player.onEnd(({ itemId, isComplete }) => this.#itemEnded(itemId, isComplete)),
    ];
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** Bytes of ended turns that are not written down yet. The open turn is bounded by its longest length. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  onEvent(listener: TalkListener): () => void {
    return this.#listeners.add(listener);
  }

  hear(audio: PcmAudio): void {
    for (const piece of splitAudio(audio, PIECE_MS)) this.#hearPiece(piece);
  }

  #hearPiece(audio: PcmAudio): void {
    if (this.#isClosed) return;
    const change = this.#options.detector.feed(audio);
    if (this.#listening !== undefined) this.#listening.hear(audio);
    else this.#keepForTurn(audio);
    if (change === 'stopped') this.#goesOn = false;
    if (change === 'started' || (this.#goesOn && this.#listening === undefined)) this.#beginTurn();
    const isTooLong = (this.#listening?.ms ?? 0) >= this.#options.maxTurnMs;
    if (change === 'stopped' || isTooLong) this.commit();
    if (change === undefined && isTooLong) this.#goesOn = true;
  }

  commit(): void {
    const listening = this.#listening;
    if (listening === undefined) return;
    this.#listening = undefined;
    listening.end();
    this.#ended.add(listening);
    const { bytes } = listening;
    this.#bufferedBytes += bytes;
    const written = (): void => void (this.#bufferedBytes -= bytes);
    listening.text.then(written, written);
    this.#turnTaking.speechStopped();
    this.#tell({ type: 'speech_stopped', itemId: listening.itemId });
    this.#turns = this.#turns
      .then(() => this.#takeTurn(listening))
      .catch((error: unknown) => this.#fail(error))
      .finally(() => this.#ended.delete(listening));
  }

  respond(instructions?: string): void {
    const input = instructions === undefined ? undefined : Msg.system(instructions);
    if (!this.#isClosed) this.#call(input === undefined ? [] : [input]);
  }

  async interrupt(): Promise<void> {
    await this.#bargeIn();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listening?.abort();
    this.#listening = undefined;
    for (const listening of this.#ended) listening.abort();
    this.#wake();
    await this.#bargeIn();
    if (this.agent.isRunning) await this.agent.interrupt(); // the next call in the queue
    for (const undo of this.#cleanUp.splice(0)) undo();
    this.#preRoll = [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #isSpeaking(): boolean {
    return [...this.#answers.values()].some((answer) => answer.isSpeaking);
  }

  // The person

  #keepForTurn(audio: PcmAudio): void {
    this.#preRoll.push(audio);
    let ms = this.#preRoll.reduce((sum, piece) => sum + durationOf(piece), 0);
    for (;;) {
      const [oldest] = this.#preRoll;
      if (oldest === undefined || ms - durationOf(oldest) < PRE_ROLL_MS) return;
      ms -= durationOf(oldest);
      this.#preRoll.shift();
    }
  }

  #beginTurn(): void {
    const itemId = newId();
    const listening = new Listening(itemId, {
      userName: this.#options.userName(),
      sttModel: this.#options.sttModel,
      onText: (text) => {
        if (this.#isClosed) return;
        this.#tell({ type: 'input_transcript_delta', itemId, text });
        this.#turnTaking.heard(text);
      },
      onUsage: (usage) => (this.#usage = addUsage(this.#usage, usage)),
    });
    for (const audio of this.#preRoll.splice(0)) listening.hear(audio);
    this.#listening = listening;
    this.#tell({ type: 'speech_started', itemId });
    this.#turnTaking.speechStarted();
  }

  async #takeTurn({ itemId, userName, text: whole }: Listening): Promise<void> {
    let text = '';
    try {
      text = await whole;
    } catch (error) {
      this.#fail(error);
    }
    if (this.#isClosed) return;
    this.#tell({ type: 'input_transcript_done', itemId, text });
    this.#turnTaking.heardAll(text);
    await this.#cutting;
    if (this.#isClosed || !/[\p{L}\p{N}]/u.test(text)) return;
    const msg = Msg.user(text, { name: userName });
    const [pending] = this.agent.pendingCalls;
    if (pending !== undefined && !this.agent.isRunning) {
      const isAsked = pending.kind === 'approval' && pending.id === this.#askedAbout;
      const verdict = isAsked ? this.#options.voiceDecision?.(text) : undefined;
      if (this.#isSpeaking) await this.#bargeIn();
      if (this.#isClosed) return;
      if (verdict !== undefined) return this.#call([], { decisions: [{ id: pending.id, verdict }] });
      await this.agent.observe(msg);
      return this.#ask();
    }
    if (this.#isSpeaking) await this.#bargeIn();
    else if (this.agent.steer(msg)) return;
    this.#call([msg]);
  }

  /** Calls the agent when the earlier calls are done. A closed conversation calls it no more. */
  #call(msgs: readonly Msg[], options?: CallOptions): void {
    const call = async (): Promise<void> => {
      if (!this.#isClosed) await this.agent.call(msgs, { onBusy: 'queue', ...options });
    };
    this.#calls = this.#calls.then(call).catch((error: unknown) => this.#fail(error));
  }

  // The agent

  #take(event: AgentEvent): void {
    if (event.type === 'usage') this.#usage = addUsage(this.#usage, event.usage);
    if (this.#isClosed || event.replyId === this.#cutReplyId) return;
    switch (event.type) {
      case 'reply_start':
        this.#replyId = event.replyId;
        this.#begin(event.replyId);
        break;
      case 'text_delta':
        this.#answers.get(event.replyId)?.add(event.msgId, event.text);
        break;
      case 'block_end':
        this.#answers.get(event.replyId)?.endPart(event.msgId);
        break;
      case 'msg_reset':
        this.#answers.get(event.replyId)?.reset(event.msgId);
        break;
      case 'tool_start':
        this.#tell({
          type: 'tool_call',
          responseId: event.replyId,
          call: { id: event.call.id, name: event.call.name, json: JSON.stringify(event.call.input) },
        });
        break;
      case 'tool_result':
        this.#tell({ type: 'tool_result', result: event.result });
        break;
      case 'approval_needed':
        this.#tell({ type: 'approval_needed', pending: [event.pending] });
        break;
      case 'error':
        this.#tell({ type: 'error', message: event.error.message });
        break;
      case 'reply_end':
        this.#endReply(event);
        break;
      default:
        break;
    }
  }

  #endReply({ replyId, status }: EventOf<'reply_end'>): void {
    if (status === 'interrupted' || status === 'aborted') void this.#bargeIn(true);
    else this.#answers.get(replyId)?.complete();
    this.#forgetOver();
  }

  #begin(id: string): SpokenAnswer {
    const { ttsModel, player, newFilter } = this.#options;
    const answer = new SpokenAnswer(id, {
      ttsModel,
      player,
      newFilter,
      onSentence: ({ itemId, text }) =>
        this.#tell({ type: 'transcript_delta', responseId: id, itemId, text: `${text} ` }),
      onAudio: ({ itemId }, audio) => this.#tell({ type: 'audio_delta', responseId: id, itemId, audio }),
      onUsage: (usage) => (this.#usage = addUsage(this.#usage, usage)),
      onFailure: (error) => this.#fail(error),
    });
    this.#answers.set(id, answer);
    this.#tell({ type: 'response_created', responseId: id });
    void answer.spoken.then(() => {
      this.#forgetOver();
      this.#tell({ type: 'response_done', responseId: id, status: answer.isCut ? 'cancelled' : 'completed' });
    });
    return answer;
  }

  #itemEnded(itemId: string, isComplete: boolean): void {
    if (!isComplete) {
      if (this.#isSpeaking && this.#cutting === undefined) void this.#bargeIn(); // the loudspeaker was stopped by somebody else
      return;
    }
    for (const answer of this.#answers.values()) answer.itemPlayed(itemId);
    this.#forgetOver();
  }

  #forgetOver(): void {
    for (const [id, answer] of this.#answers) if (answer.isOver) this.#answers.delete(id);
  }

  // Pending tool calls

  #settled(): void {
    this.#wake();
    const [pending] = this.agent.pendingCalls;
    if (this.#isClosed || pending === undefined || pending.id === this.#askedAbout) return;
    this.#askedAbout = pending.id;
    this.#ask();
  }

  #ask(): void {
    const [pending] = this.agent.pendingCalls;
    if (pending?.kind !== 'approval' || this.#options.voiceDecision === undefined) return;
    const id = `question_${++this.#questions}`;
    const answer = this.#begin(id);
    answer.add(id, spokenQuestion(pending));
    answer.complete();
  }

  // Interrupts

  /** Ends what the agent says and does, and cuts its memory to what was heard. */
  #bargeIn(isByProgram = false): Promise<void> {
    if (this.#cutting !== undefined) return this.#cutting;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#cutting = promise;
    void this.#cut(isByProgram)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#cutting = undefined;
        resolve();
      });
    return promise;
  }

  /** @param isByProgram whether the program has interrupted the agent itself */
  async #cut(isByProgram: boolean): Promise<void> {
    this.#turnTaking.reset();
    const answers = [...this.#answers.values()].filter((answer) => !answer.isOver);
    this.#options.player.stop(); // from here on the position stands still
    const heard = new Map<string, string>();
    for (const answer of answers) {
      answer.cut();
      const texts = answer.msgIds.map((msgId) => [msgId, answer.heard(msgId)] as const);
      for (const [msgId, text] of texts) heard.set(msgId, text);
      const words = texts.map(([, text]) => text).join(' ');
      this.#tell({ type: 'cut', responseId: answer.id, heard: words.trim() });
    }
    this.#forgetOver();
    this.#cutReplyId = this.#replyId;
    const isStopped = isByProgram || (await this.agent.interrupt());
    while (isByProgram && this.agent.isRunning && !this.#isClosed)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    await keepHeard(this.agent, heard, isStopped);
  }

  #fail(error: unknown): void {
    if (!this.#isClosed) this.#tell({ type: 'error', message: messageOf(error) });
  }

  #tell(event: TalkEvent): void {
    this.#listeners.tell(event);
  }
}
