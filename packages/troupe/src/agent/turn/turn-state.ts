import type { InterruptedError } from '../../errors.ts';
import type { Msg } from '../../message/msg.ts';

/** An interrupt in effect. */
export interface AcceptedInterrupt {
  readonly error: InterruptedError;
  /** Messages passed with the interrupt. */
  readonly msgs: readonly Msg[];
}

/**
 * State of an agent call. An abort from outside is no state of its own: the signal of the call carries it.
 *
 * - `running` → `interrupted` by an interrupt, → `decided` by an answer or a failure, → `suspended` by a question for an approval
 * - `interrupted` → `decided` when `handleInterrupt` has answered
 * - `decided` → `interrupted` when a late interrupt has cut off the hooks of the answer
 * - `decided` → `running` when a follow-up begins the next reply
 * - every state → `over`, the last one
 */
export type TurnState =
  | { readonly tag: 'running' }
  | {
      readonly tag: 'interrupted';
      readonly interrupt: AcceptedInterrupt;
      /** Whether `handleInterrupt` has begun: messages of further interrupts come too late for it. */
      readonly isHandled: boolean;
    }
  | {
      readonly tag: 'decided';
      /** Undefined if the call failed, or if `handleInterrupt` has answered. */
      readonly answer: Msg | undefined;
      readonly interrupt: AcceptedInterrupt | undefined;
      /** Whether the hooks after the reply have run: from then on nothing changes the answer. */
      readonly isFinal: boolean;
      /** Interrupt between the answer and the end of its hooks: in effect only if the hooks do not end in time. */
      readonly late: AcceptedInterrupt | undefined;
    }
  /** The answer is a question for decisions about pending tool calls. */
  | { readonly tag: 'suspended'; readonly answer: Msg }
  | {
      readonly tag: 'over';
      readonly answer: Msg | undefined;
      readonly interrupt: AcceptedInterrupt | undefined;
    };

/** The committed answer, if any. */
export function answerIn(state: TurnState): Msg | undefined {
  return 'answer' in state ? state.answer : undefined;
}

/** The accepted interrupt, if any. */
export function interruptIn(state: TurnState): AcceptedInterrupt | undefined {
  return 'interrupt' in state ? state.interrupt : undefined;
}
