import type { AgentBase } from '../agent/agent-base.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { addUsage, type Usage } from '../message/usage.ts';
import { ModelError } from '../model/model-error.ts';
import type { ModelRequest } from '../model/model-request.ts';
import type { RealtimeModelBase, RealtimeSetup } from '../realtime/realtime-model-base.ts';
import { toMsgUsage } from '../realtime/realtime-usage.ts';
import type { SpeechDetector } from '../realtime/speech-detector.ts';
import { TurnTaking } from '../realtime/turn-taking.ts';
import type { AudioPlayer } from '../tts/audio-player.ts';
import { abortable } from '../util/abort.ts';
import { settledWithin } from '../util/async/settled-within.ts';
import { splitAudio, type PcmAudio } from '../util/audio/pcm.ts';
import { startTimer } from '../util/clock.ts';
import { questionAbout, UNAVAILABLE_WHILE_PENDING } from './approval-question.ts';
import { PromptSync } from './prompt-sync.ts';
import { RealtimeLink, type ResponseTaker } from './realtime-link.ts';
import { SpokenResponse } from './spoken-response.ts';
import type { Talk } from './talk.ts';
import type { TalkEvent, TalkListener } from './talk-event.ts';
import { TalkAnnouncer } from './talk-announcer.ts';
import { Utterance } from './utterance.ts';
import type { VoiceDecision } from './voice-decision.ts';

/** Longest sound that a detector judges at once: shorter than the silence that ends a turn. */
const PIECE_MS = 100;

/** The agent of a conversation, as the conversation uses it. */
export interface TalkingAgent {
  readonly agent: AgentBase;
  /** Instructions, tools and history for a new connection. */
  setup(): Promise<RealtimeSetup>;
  /** Keeps messages until the pending tool calls are decided. */
  postpone(msgs: readonly Msg[]): void;
  /** Replaces the words beside tool calls by the heard words. */
  reviseWords(text: string): void;
}

export interface VoiceConversationOptions {
  readonly model: RealtimeModelBase;
  readonly player: AudioPlayer;
  readonly userName: () => string;
  readonly detector: SpeechDetector | undefined;
  readonly voiceDecision: VoiceDecision | undefined;
  readonly falseAlarmMs: number | undefined;
  readonly transcriptMs: number;
  readonly responseMs: number;
}

/**
 * One conversation of an agent with a person, over a realtime model: turns of both sides in order, barge-in, and what was heard. Each turn
 * of the agent is an agent call, whose model is this conversation (`answer`), so that hooks, tools, approvals and memory work as for
 * every agent. Sound does not wait for the agent call: it is played when it comes.
 */
export class VoiceConversation implements Talk {
  readonly #host: TalkingAgent;
  readonly #options: VoiceConversationOptions;
  readonly #link: RealtimeLink;
  readonly #turnTaking: TurnTaking;
  readonly #sync: PromptSync;
  readonly #listeners = new TalkAnnouncer();
  /** Turns that no agent call has taken yet, in order. */
  readonly #turns: (Utterance | SpokenResponse)[] = [];
  /** Turns of the person whose words are not complete. */
  readonly #utterances = new Map<string, Utterance>();
  /** Speaker of the turn that began last. */
  #speaker: { readonly itemId: string; readonly name: string } | undefined;
  /** Responses that are made or played. */
  readonly #responses = new Map<string, SpokenResponse>();
  #lastHeard = '';
  /** Response whose tool calls run. */
  #withTools: SpokenResponse | undefined;
  /** Turn of the person that is a barge-in or a false alarm. */
  #undecidedItem: string | undefined;
  /** Whether the person goes on with a sound that was judged a false alarm. */
  #isFalseAlarm = false;
  /** Whether tool results wait for a response that was not asked for yet. */
  #owesResponse = false;
  #isPumping = false;
  /** Whether something has changed since the last look at the turns. */
  #hasNews = false;
  #isBargingIn = false;
  #isClosed = false;
  #askedAbout: string | undefined;
  #usage: Usage | undefined;
  readonly #cleanUp: (() => void)[] = [];

  constructor(host: TalkingAgent, options: VoiceConversationOptions) {
    this.#host = host;
    this.#options = options;
    const { model, player, falseAlarmMs } = options;
    this.#sync = new PromptSync(model, host.agent.name);
    this.#turnTaking = new TurnTaking(
      {
        isSpeaking: () => [...this.#responses.values()].some((response) => !response.isPlayed),
        pause: () => {
          player.pause();
          this.#tell({ type: 'paused' });
        },
        resume: () => this.#falseAlarm(),
        bargeIn: () => this.#bargeIn(),
      },
      model.capabilities.liveTranscript,
      { falseAlarmMs },
    );
    this.#link = new RealtimeLink({
      model,
      setup: async () => {
        const setup = await host.setup();
        this.#sync.restart(setup);
        return setup;
      },
      onEvent: (event, taker) => this.#take(event, taker),
      onReconnecting: () => this.#tell({ type: 'reconnecting' }),
      onReconnected: () => this.#reconnected(),
      onLost: (error) => this.#lost(error),
      isIdle: () => this.#isIdle,
    });
    this.#cleanUp.push(
      player.onEnd(({ itemId, isComplete }) => this.#itemEnded(itemId, isComplete)),
      host.agent.onSettled(() => this.#settled()),
    );
  }

  /** @throws ModelError */
  async open(): Promise<void> {
    try {
      await this.#link.open();
    } catch (error) {
      this.#isClosed = true;
      for (const undo of this.#cleanUp.splice(0)) undo();
      throw error;
    }
  }

  get agent(): AgentBase {
    return this.#host.agent;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Tokens and costs of all responses so far. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  get bufferedBytes(): number {
    return this.#link.bufferedBytes;
  }

  /** Calls the listener for each event. It must not throw. The returned function removes it. */
  onEvent(listener: TalkListener): () => void {
    return this.#listeners.add(listener);
  }

  /** Takes sound of the person, at any rate. */
  hear(audio: PcmAudio): void {
    const { detector } = this.#options;
    for (const piece of detector === undefined ? [audio] : splitAudio(audio, PIECE_MS))
      this.#hearPiece(piece);
  }

  #hearPiece(audio: PcmAudio): void {
    if (this.#isClosed) return;
    const change = this.#options.detector?.feed(audio);
    if (change === 'started') {
      this.#link.use((connection) => connection.beginTurn());
      this.#take({ type: 'speech_started' });
    }
    this.#link.sendAudio(audio);
    if (change === 'stopped') this.commit();
  }

  /** Ends a turn of the person, where the model does not find its end by itself. */
  commit(): void {
    this.#link.use((connection) => connection.commit());
  }

  /** Asks for a response, such as a greeting. */
  respond(instructions?: string): void {
    if (!this.#isClosed) this.#link.ask(this.#pumped(), instructions);
  }

  /** Ends what the agent says and does now. */
  async interrupt(): Promise<void> {
    this.silence();
    await this.#host.agent.interrupt();
  }

  /** Ends all sound at what was heard. The responses that are made end too. */
  silence(): void {
    if (this.#isBargingIn) return;
    this.#cutAll();
  }

  /** Ends the conversation. What was heard stays in memory. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#turnTaking.reset();
    this.#cutAll();
    this.#link.close();
    for (const undo of this.#cleanUp.splice(0)) undo();
    if (this.#host.agent.isRunning) await this.#host.agent.interrupt();
    const said = this.#turns.splice(0).flatMap((turn) => (turn instanceof Utterance ? [turn.toMsg()] : []));
    if (said.length > 0) await this.#host.agent.observe(said);
    this.#utterances.clear();
    this.#responses.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The next response as deltas of a model message, after what is new in the prompt has been sent. */
  async *answer(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, void> {
    if (this.#isClosed) throw this.#closedError();
    const sent = this.#sync.send(request, this.#link);
    const queued = sent.hasRequest ? undefined : this.#takeQueued();
    const respondsAlone = sent.results > 0 && this.#options.model.capabilities.respondsToToolResults;
    if (queued !== undefined && sent.results > 0 && !respondsAlone) this.#owesResponse = true;
    const response = queued ?? (await this.#request(signal, respondsAlone));
    try {
      yield* response.deltas(signal, () => this.#interruptForBargeIn());
      if (response.calls.length > 0) this.#withTools = response;
    } finally {
      this.#lastHeard = response.heard;
    }
  }

  /** Heard words of the response that an agent call has read last. */
  get lastHeard(): string {
    return this.#lastHeard;
  }

  /** Turns of the person before the next response, for an agent call that goes on. */
  async takeUtterances(): Promise<readonly Msg[]> {
    const next = this.#turns.find((turn) => turn instanceof SpokenResponse);
    return next === undefined ? [] : this.#utterancesBefore(next);
  }

  /** Waits until the words beside the current tool calls were heard or cut off. */
  async wordsHeard(signal: AbortSignal): Promise<void> {
    const response = this.#withTools;
    if (response !== undefined) await abortable(response.played(), signal).catch(() => {});
  }

  tellResult(event: Extract<TalkEvent, { readonly type: 'tool_result' }>): void {
    this.#tell(event);
  }

  // Events of the model

  #take(event: TalkEvent, taker?: ResponseTaker): void {
    if (this.#isClosed) return;
    switch (event.type) {
      case 'response_created': {
        const { player, model } = this.#options;
        const vendorName = model.vendorName ?? model.modelName;
        const response = new SpokenResponse(event.responseId, { player, vendorName, pricing: model.pricing });
        this.#responses.set(event.responseId, response);
        if (taker === undefined) this.#queue(response);
        else taker.created(event.responseId);
        break;
      }
      case 'audio_delta':
      case 'audio_done':
      case 'transcript_delta':
      case 'transcript_done':
      case 'tool_call_delta':
      case 'tool_call':
        this.#responses.get(event.responseId)?.take(event);
        break;
      case 'response_done':
        this.#responses.get(event.responseId)?.take(event);
        if (event.usage !== undefined)
          this.#usage = addUsage(this.#usage, toMsgUsage(event.usage, this.#options.model.pricing));
        this.#forgetPlayed();
        break;
      case 'speech_started':
        this.#speaker = { itemId: event.itemId ?? '', name: this.#options.userName() };
        this.#isFalseAlarm = false;
        this.#turnTaking.speechStarted();
        break;
      case 'interrupted':
        if (!this.#turnTaking.isPersonSpeaking) {
          this.#turnTaking.speechStarted();
          this.#turnTaking.speechStopped();
        }
        break;
      case 'speech_stopped':
        this.#personStopped(event.itemId);
        break;
      case 'input_transcript_delta':
        this.#utterance(event.itemId).add(event.text);
        this.#turnTaking.heard(event.text);
        break;
      case 'input_transcript_done':
        this.#personSaid(event.itemId, event.text);
        break;
      case 'tool_calls_cancelled':
        if (this.#withTools?.calls.some(({ id }) => event.ids.includes(id)))
          void this.#host.agent.interrupt();
        break;
      default:
        break;
    }
    this.#tell(event);
  }

  #personStopped(itemId: string): void {
    this.#turnTaking.speechStopped();
    const utterance = this.#utterance(itemId);
    if (this.#isFalseAlarm && utterance.text.trim() === '') return this.#discard(itemId);
    if (this.#options.model.capabilities.respondsToSpeech) return;
    if (this.#turnTaking.isUndecided) this.#undecidedItem = itemId;
    else if (!this.#waitsForDecision || utterance.isDone) this.#link.ask(this.#pumped());
  }

  #personSaid(itemId: string, text: string): void {
    const utterance = this.#utterance(itemId);
    utterance.finish(text);
    this.#utterances.delete(itemId);
    if (!this.#options.model.capabilities.respondsToSpeech && this.#waitsForDecision)
      if (this.#decisionIn(utterance) === undefined) this.#link.ask(this.#pumped());
    this.#turnTaking.heardAll(text);
    void this.#pump();
  }

  #utterance(itemId: string): Utterance {
    const known = this.#utterances.get(itemId);
    if (known !== undefined) return known;
    const isNewest = this.#speaker !== undefined && ['', itemId].includes(this.#speaker.itemId);
    const name = isNewest ? this.#speaker?.name : undefined;
    const utterance = new Utterance(itemId, name ?? this.#options.userName());
    this.#utterances.set(itemId, utterance);
    this.#turns.push(utterance);
    return utterance;
  }

  #itemEnded(itemId: string, isComplete: boolean): void {
    for (const response of this.#responses.values()) {
      if (!response.has(itemId)) continue;
      if (isComplete) response.itemPlayed(itemId);
      else if (!response.isHeld) this.#cutAll(); // the loudspeaker was stopped by somebody else
    }
    this.#forgetPlayed();
    this.#link.renewIfIdle();
  }

  #forgetPlayed(): void {
    for (const [id, response] of this.#responses)
      if (response.isDone && response.isPlayed) this.#responses.delete(id);
  }

  // Whose turn it is

  #falseAlarm(): void {
    this.#isFalseAlarm = this.#turnTaking.isPersonSpeaking;
    if (this.#undecidedItem !== undefined) this.#discard(this.#undecidedItem);
    this.#options.player.resume();
    this.#tell({ type: 'resumed' });
  }

  #discard(itemId: string): void {
    this.#undecidedItem = undefined;
    this.#link.use((connection) => connection.discard(itemId));
    const at = this.#turns.findIndex((turn) => turn instanceof Utterance && turn.itemId === itemId);
    if (at !== -1) this.#turns.splice(at, 1);
    this.#utterances.get(itemId)?.finish('');
    this.#utterances.delete(itemId);
  }

  #bargeIn(): void {
    const isAsked = this.#undecidedItem !== undefined;
    this.#undecidedItem = undefined;
    this.#cutAll();
    if (isAsked) this.#link.ask(this.#pumped());
  }

  /** Ends all responses at what was heard, for the loudspeaker, the model and the memory. */
  #cutAll(): void {
    this.#turnTaking.reset();
    const spoken = [...this.#responses.values()].filter((response) => !response.isPlayed);
    for (const response of spoken) response.hold();
    this.#options.player.stop(); // from here on the position stands still
    for (const response of spoken) {
      response.cut();
      if (!response.isDone) this.#link.cancel(response.id);
      for (const { itemId, playedMs, totalMs } of response.playedItems())
        if (playedMs < totalMs - 0.5)
          this.#link.use((connection) => connection.truncate(itemId, Math.floor(playedMs)));
      if (response === this.#withTools) this.#host.reviseWords(response.heard);
      this.#tell({ type: 'cut', responseId: response.id, heard: response.heard });
    }
    this.#forgetPlayed();
  }

  #interruptForBargeIn(): void {
    this.#isBargingIn = true; // responses to the new turn are not cut
    void this.#host.agent.interrupt();
    this.#isBargingIn = false;
  }

  // Agent calls

  #queue(response: SpokenResponse): void {
    this.#turns.push(response);
    void this.#pump();
  }

  /** Puts a response into the queue of turns: the next agent call reads the response. */
  #pumped(): ResponseTaker {
    return {
      created: (id) => {
        const response = this.#responses.get(id);
        if (response !== undefined) this.#queue(response);
      },
      failed: (error) => this.#tell({ type: 'error', message: messageOf(error) }),
    };
  }

  #request(signal: AbortSignal, respondsAlone: boolean): Promise<SpokenResponse> {
    const made = new Promise<SpokenResponse>((resolve, reject) => {
      const tooLate = startTimer(this.#options.responseMs, () => {
        reject(this.#error(`gave no response in ${this.#options.responseMs / 1000} s.`, 'timeout'));
      });
      const taker: ResponseTaker = {
        created: (id) => {
          tooLate();
          const response = this.#responses.get(id);
          if (response === undefined) return;
          if (!signal.aborted) return resolve(response);
          response.cut(); // nobody reads it any more
          this.#link.cancel(id);
        },
        failed: (error) => {
          tooLate();
          reject(error instanceof Error ? error : new Error(messageOf(error)));
        },
      };
      signal.addEventListener('abort', tooLate, { once: true });
      if (respondsAlone) this.#link.expect(taker);
      else this.#link.ask(taker);
    });
    return abortable(made, signal);
  }

  #takeQueued(): SpokenResponse | undefined {
    const at = this.#turns.findIndex((turn) => turn instanceof SpokenResponse);
    const [response] = at === -1 ? [] : this.#turns.splice(at, 1);
    return response instanceof SpokenResponse ? response : undefined;
  }

  /** Makes agent calls until every turn is taken. */
  async #pump(): Promise<void> {
    const { agent } = this.#host;
    this.#hasNews = true;
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (this.#hasNews && !this.#isClosed && !agent.isRunning) {
        this.#hasNews = false;
        while (!this.#isClosed && !agent.isRunning && (await this.#callOnce()));
      }
    } catch (error) {
      getLogger().log('warn', `The conversation with ${agent.name}: ${messageOf(error)}`);
      this.#tell({ type: 'error', message: messageOf(error) });
    } finally {
      this.#isPumping = false;
    }
  }

  /** @returns whether there may be more to do */
  async #callOnce(): Promise<boolean> {
    const { agent } = this.#host;
    if (agent.pendingCalls.length > 0) return this.#takeWhilePending();
    const response = this.#turns.find((turn) => turn instanceof SpokenResponse);
    if (response === undefined && !this.#owesResponse) return false;
    if (response?.isCut && response.heard === '' && response.calls.length === 0) {
      this.#turns.splice(this.#turns.indexOf(response), 1); // nothing of it was heard
      return true;
    }
    const msgs = response === undefined ? [] : await this.#utterancesBefore(response);
    if (this.#isClosed) {
      if (msgs.length > 0) await agent.observe(msgs);
      return false;
    }
    this.#owesResponse = false;
    try {
      await agent.call(msgs, { onBusy: 'queue' });
    } catch (error) {
      this.#tell({ type: 'error', message: messageOf(error) });
    } finally {
      const at = response === undefined ? -1 : this.#turns.indexOf(response);
      if (at !== -1) this.#turns.splice(at, 1); // the agent call failed before it was read
    }
    return true;
  }

  /** Turns of the person before a response, when their words are there, or nothing can wait for them. */
  async #utterancesBefore(response: SpokenResponse): Promise<readonly Msg[]> {
    const before = this.#turns.slice(0, this.#turns.indexOf(response));
    const utterances = before.filter((turn) => turn instanceof Utterance);
    const words = Promise.all(utterances.map(({ done }) => done));
    const isThere = await settledWithin(Promise.race([words, response.urgent()]), this.#options.transcriptMs);
    if (isThere) await settledWithin(words, this.#options.transcriptMs);
    const msgs = utterances.map((utterance) => utterance.toMsg());
    for (const utterance of utterances) {
      const at = this.#turns.indexOf(utterance);
      if (at !== -1) this.#turns.splice(at, 1);
      this.#utterances.delete(utterance.itemId);
    }
    this.#sync.knows(msgs);
    return msgs;
  }

  // Pending tool calls

  get #waitsForDecision(): boolean {
    return this.#options.voiceDecision !== undefined && this.#host.agent.pendingCalls.length > 0;
  }

  /** Asks about pending tool calls when an agent call has ended with them. */
  #settled(): void {
    const [pending] = this.#host.agent.pendingCalls;
    if (pending !== undefined && pending.id !== this.#askedAbout && !this.#isClosed) {
      this.#askedAbout = pending.id;
      this.#tell({ type: 'approval_needed', pending: this.#host.agent.pendingCalls });
      if (this.#options.voiceDecision !== undefined && pending.kind === 'approval')
        this.#link.ask(this.#pumped(), questionAbout(pending));
    }
    if (pending === undefined) this.#withTools = undefined;
    void this.#pump();
  }

  #decisionIn(utterance: Utterance): PendingDecision | undefined {
    const [pending] = this.#host.agent.pendingCalls;
    if (pending?.kind !== 'approval' || pending.id !== this.#askedAbout) return undefined;
    const verdict = this.#options.voiceDecision?.(utterance.text);
    return verdict === undefined ? undefined : { id: pending.id, verdict };
  }

  /** Keeps turns for the time after the pending tool calls, and reads decisions. @returns whether there may be more to do */
  async #takeWhilePending(): Promise<boolean> {
    const { agent } = this.#host;
    const [turn] = this.#turns;
    if (turn === undefined) return false;
    if (turn instanceof Utterance) {
      await settledWithin(turn.done, this.#options.transcriptMs);
      const decision = this.#decisionIn(turn);
      this.#turns.splice(this.#turns.indexOf(turn), 1);
      const msg = turn.toMsg();
      this.#sync.knows([msg]);
      this.#host.postpone([msg]);
      if (decision === undefined) return true;
      await agent.call(undefined, { decisions: [decision], onBusy: 'queue' });
      return true;
    }
    await turn.played();
    const at = this.#turns.indexOf(turn);
    if (at === -1) return true;
    this.#turns.splice(at, 1);
    for (const { id, name } of turn.calls)
      this.#link.use((connection) =>
        connection.sendToolResult({
          type: 'tool_result',
          id,
          name,
          output: UNAVAILABLE_WHILE_PENDING,
          status: 'unavailable',
        }),
      );
    if (turn.heard !== '') {
      const msg = Msg.assistant(turn.heard, { name: agent.name });
      if (agent.pendingCalls.length > 0) this.#host.postpone([msg]);
      else await agent.observe(msg);
    }
    return true;
  }

  // The connection

  get #isIdle(): boolean {
    const { isPersonSpeaking, isUndecided } = this.#turnTaking;
    return (
      !isPersonSpeaking && !isUndecided && [...this.#responses.values()].every(({ isPlayed }) => isPlayed)
    );
  }

  #reconnected(): void {
    this.#tell({ type: 'reconnected' });
    // The new connection knows only texts: turns whose words never come any more are over.
    const isUnanswered = this.#turns.at(-1) instanceof Utterance;
    for (const utterance of this.#utterances.values()) utterance.finish();
    this.#utterances.clear();
    const said = this.#turns.filter((turn) => turn instanceof Utterance).map((turn) => turn.toMsg());
    if (said.length > 0) this.#link.use((connection) => said.forEach((msg) => connection.sendMsg(msg)));
    if (isUnanswered) this.#link.ask(this.#pumped());
  }

  #lost(error: Error): void {
    this.#tell({ type: 'closed', message: messageOf(error), canReconnect: false });
    void this.close().catch((failure: unknown) => getLogger().log('warn', messageOf(failure)));
  }

  #closedError(): ModelError {
    return this.#error('is not connected. Call connect() of the agent first.', 'bad_request');
  }

  #error(problem: string, kind: 'timeout' | 'bad_request'): ModelError {
    const { vendorName, modelName, host } = this.#options.model;
    return new ModelError(`${modelName} ${problem}`, { kind, vendor: vendorName, model: modelName, host });
  }

  #tell(event: TalkEvent): void {
    this.#listeners.tell(event);
  }
}
