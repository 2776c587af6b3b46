import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { Msg } from '../message/msg.ts';
import type { GenerationOptions, ToolChoice, ToolSchema } from '../model/chat-model-base.ts';
import type { AgentBase } from './agent-base.ts';

/** Place of an agent call in its run. */
export interface ObservedPlace {
  readonly agentId: string;
  readonly runId: string;
  readonly replyId: string;
  /** Agent names from the outermost agent. */
  readonly agentPath: readonly string[];
}

/** Start of an agent call. */
export interface ObservedCall extends ObservedPlace {
  readonly agent: AgentBase;
  /** The input. */
  readonly msgs: readonly Msg[];
  /** Tool call of the agent around in which this agent call was made. */
  readonly toolCallId?: string | undefined;
}

/** Prompt of a model call of the loop, before formatting. */
export interface ObservedPrompt extends ObservedPlace {
  readonly purpose: string;
  readonly modelName: string;
  readonly messages: readonly Msg[];
  readonly tools: readonly ToolSchema[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly generation?: GenerationOptions | undefined;
}

/**
 * Sees all agents of a program: the start of each agent call, each event once, and each prompt. Called in the scope of the agent call, so
 * that `getRunConfig` gives its configuration. No run waits for an observer or fails by one.
 */
export interface ProgramObserver {
  onCall(call: ObservedCall): void;
  onEvent(event: AgentEvent, agent: AgentBase): void;
  onPrompt(prompt: ObservedPrompt): void;
}

/** Replaced by every change, so that a change during a notification counts from the next one on. */
let observers: readonly ProgramObserver[] = [];

/** Adds an observer of all agents of this program. The returned function removes the observer. */
export function observeProgram(observer: ProgramObserver): () => void {
  observers = [...observers, observer];
  return () => {
    observers = observers.filter((other) => other !== observer);
  };
}

/** Whether any observer watches the program: without one, nothing is collected. */
export function isProgramObserved(): boolean {
  return observers.length > 0;
}

/** Tells all observers. An error of an observer is logged. */
export function tellObservers(tell: (observer: ProgramObserver) => void): void {
  for (const observer of observers) {
    try {
      tell(observer);
    } catch (error) {
      getLogger().log('warn', `An observer of the program failed: ${messageOf(error)}`);
    }
  }
}
