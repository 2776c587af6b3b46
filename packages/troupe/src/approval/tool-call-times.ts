import { elapsedSince, monotonic } from '../util/clock.ts';

/** Measures the time spent on each tool call of an exchange, without the time in which the tool call was pending. */
export class ToolCallTimes {
  /** When tool calls began or were resumed, by tool call id. */
  readonly #runningSince = new Map<string, number>();
  /** Time spent on tool calls that have a result, by tool call id. */
  readonly #ended = new Map<string, number>();

  /** Starts the time of a tool call, or goes on with it. */
  begin(toolCallId: string): void {
    this.#runningSince.set(toolCallId, monotonic());
  }

  /** Time spent on a tool call. @param earlierMs time before it was suspended */
  spentOn(toolCallId: string, earlierMs: number): number {
    const since = this.#runningSince.get(toolCallId);
    return this.#ended.get(toolCallId) ?? earlierMs + (since === undefined ? 0 : elapsedSince(since));
  }

  /** Stops the time of a tool call that is suspended. @returns the time spent so far */
  pause(toolCallId: string, earlierMs: number): number {
    const ms = this.spentOn(toolCallId, earlierMs);
    this.#runningSince.delete(toolCallId);
    return ms;
  }

  /** Stops the time of a tool call that has its result. */
  end(toolCallId: string, earlierMs: number): void {
    this.#ended.set(toolCallId, this.spentOn(toolCallId, earlierMs));
  }
}
