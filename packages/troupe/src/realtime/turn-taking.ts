import { startTimer } from '../util/clock.ts';

export interface TurnTakingOptions {
  /** Time in which words must come after a person begins to speak over the agent; otherwise the agent goes on. @default 2000 */
  readonly falseAlarmMs?: number | undefined;
}

/** Effects of turn taking on the agent's sound. */
export interface TurnTakingActions {
  /** Whether the agent is speaking: sound is played, or waits to be played. */
  isSpeaking(): boolean;
  pause(): void;
  resume(): void;
  /** The person has taken the turn. */
  bargeIn(): void;
}

const FALSE_ALARM_MS = 2000;

/**
 * Decides whether a sound of the person while the agent speaks is a barge-in or a false alarm. The agent pauses at the first sound. Words
 * make it a barge-in. Without words in two seconds the agent goes on, unless the person still speaks and the words can only come later.
 */
export class TurnTaking {
  readonly #actions: TurnTakingActions;
  readonly #falseAlarmMs: number;
  readonly #hasLiveTranscript: boolean;
  #cancelTimer: (() => void) | undefined;
  #isPersonSpeaking = false;

  constructor(
    actions: TurnTakingActions,
    hasLiveTranscript: boolean,
    { falseAlarmMs = FALSE_ALARM_MS }: TurnTakingOptions = {},
  ) {
    this.#actions = actions;
    this.#hasLiveTranscript = hasLiveTranscript;
    this.#falseAlarmMs = falseAlarmMs;
  }

  /** Whether the agent is paused until words come, or the time is over. */
  get isUndecided(): boolean {
    return this.#cancelTimer !== undefined;
  }

  get isPersonSpeaking(): boolean {
    return this.#isPersonSpeaking;
  }

  speechStarted(): void {
    this.#isPersonSpeaking = true;
    if (this.isUndecided || !this.#actions.isSpeaking()) return;
    this.#actions.pause();
    this.#cancelTimer = startTimer(this.#falseAlarmMs, () => this.#timeIsOver());
  }

  speechStopped(): void {
    this.#isPersonSpeaking = false;
  }

  /** Takes words of the person, as they are written down. */
  heard(text: string): void {
    if (!/[\p{L}\p{N}]/u.test(text)) return;
    if (this.isUndecided || (this.#isPersonSpeaking && this.#actions.isSpeaking())) this.#decide(true);
  }

  /** Takes the end of a transcript: without words it was a false alarm. */
  heardAll(text: string): void {
    this.heard(text);
    if (this.isUndecided && !this.#isPersonSpeaking) this.#decide(false);
  }

  /** Ends the timer, without a decision. */
  reset(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #timeIsOver(): void {
    this.#decide(this.#isPersonSpeaking && !this.#hasLiveTranscript);
  }

  #decide(isBargeIn: boolean): void {
    this.reset();
    if (isBargeIn) this.#actions.bargeIn();
    else this.#actions.resume();
  }
}
