import { Msg } from '../message/msg.ts';
import { isJsonObject, type JsonValue } from '../util/json.ts';

/** Input of a pipeline call, and the answers of the agents so far, by the index of the agent. */
export class PipelineProgress {
  readonly input: readonly Msg[];
  readonly #answers: (Msg | null)[];

  /** @param agentCount number of agents in the pipeline */
  constructor(input: readonly Msg[], agentCount: number, answers: readonly (Msg | null)[] = []) {
    this.input = input;
    this.#answers = Array.from({ length: agentCount }, (_, i) => answers[i] ?? null);
  }

  /** Answer or question of an agent; undefined before its call has ended. */
  answerOf(index: number): Msg | undefined {
    return this.#answers[index] ?? undefined;
  }

  /** Whether an agent has unfinished tool calls: pending ones, or those before which a hook has stopped the agent. */
  isSuspended(index: number): boolean {
    const answer = this.answerOf(index);
    const isStopped = answer?.endReason === 'stopped' && answer.hasContentBlocks('tool_use');
    return isStopped || answer?.pending !== undefined;
  }

  hasAnswered(index: number): boolean {
    return this.answerOf(index) !== undefined && !this.isSuspended(index);
  }

  record(index: number, answer: Msg): void {
    this.#answers[index] = answer;
  }

  /** Answers and questions, in the order of the agents. */
  get answers(): Msg[] {
    return this.#answers.filter((answer) => answer !== null);
  }

  /** Index of the next agent to call in a sequence: the suspended one, or the one after the last answer. */
  get position(): number {
    const last = this.#answers.findLastIndex((answer) => answer !== null);
    return this.isSuspended(last) ? last : last + 1;
  }

  toJSON(): JsonValue {
    return {
      input: this.input.map((msg) => msg.toJSON()),
      answers: this.#answers.map((answer) => answer?.toJSON() ?? null),
    };
  }

  /** Reads the result of `toJSON`. @throws TypeError if it is not readable, or of a pipeline with other agents */
  static from(json: JsonValue, agentCount: number): PipelineProgress {
    const { input, answers } = isJsonObject(json) ? json : {};
    if (!Array.isArray(input) || !Array.isArray(answers)) throw new TypeError('it has no input and answers');
    if (answers.length !== agentCount)
      throw new TypeError(`it is of a pipeline with ${answers.length} agents, not ${agentCount}`);
    const read = (answers as readonly JsonValue[]).map((answer) =>
      answer === null ? null : Msg.from(answer),
    );
    return new PipelineProgress(
      (input as readonly JsonValue[]).map((msg) => Msg.from(msg)),
      agentCount,
      read,
    );
  }
}
