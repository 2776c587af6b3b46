import type { HookPoint, ResultKind } from '../hooks/run-hooks.ts';
import type { AudioBlock } from '../message/blocks.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import type { AgentBase } from './agent-base.ts';
import { currentControlOf } from './turn/current-turn.ts';
import type { AnySchema } from '../util/schema.ts';
import { observeInOrder } from './observations.ts';
import { ControlledTurn, signalBeforeAnswer, signalOfTurn } from './turn/controlled-turn.ts';
import type { Turn } from './turn/turn.ts';

type Maybe<T> = T | undefined | void;
export type MaybeAsync<T> = Maybe<T> | Promise<Maybe<T>>;

interface CallArgs {
  readonly msgs: readonly Msg[];
}

interface ReplyArgs {
  readonly msgs: readonly Msg[];
  readonly turn: Turn;
  /** Schema of the structured output that the caller wants. */
  readonly structuredModel: AnySchema | undefined;
}

interface ObserveArgs {
  readonly msgs: readonly Msg[];
}

interface PrintArgs {
  readonly msg: Msg;
  readonly last: boolean;
  /** The next piece of the message's speech, if it is spoken. */
  readonly speech?: AudioBlock | undefined;
}

interface ErrorArgs {
  readonly error: unknown;
  readonly msgs: readonly Msg[];
}

/**
 * The hooks of every agent. A `pre` hook may return replacements for some of the arguments, a `post` hook a new result. Returning
 * nothing changes nothing.
 */
export interface AgentHooks<Agent> {
  /** Runs before the reply of a call, outside of `preReply`. */
  preCall(agent: Agent, args: CallArgs): MaybeAsync<Partial<CallArgs>>;
  /** Runs after the reply of a call, unless the call was interrupted or failed. */
  postCall(agent: Agent, args: CallArgs, result: Msg): MaybeAsync<Msg>;
  preReply(agent: Agent, args: ReplyArgs): MaybeAsync<Partial<ReplyArgs>>;
  postReply(agent: Agent, args: ReplyArgs, result: Msg): MaybeAsync<Msg>;
  preObserve(agent: Agent, args: ObserveArgs): MaybeAsync<Partial<ObserveArgs>>;
  postObserve(agent: Agent, args: ObserveArgs): MaybeAsync<void>;
  prePrint(agent: Agent, args: PrintArgs): MaybeAsync<Partial<PrintArgs>>;
  postPrint(agent: Agent, args: PrintArgs): MaybeAsync<void>;
  /** Runs when a call failed. The caller gets the error whatever the hook does. */
  error(agent: Agent, args: ErrorArgs): MaybeAsync<void>;
}

const NOTHING: ResultKind = { name: 'nothing', includes: () => false };

export const A_MSG: ResultKind = { name: 'nothing or a Msg', includes: (value) => value instanceof Msg };

export const REPLY: HookPoint = {
  method: 'reply',
  pre: 'preReply',
  post: 'postReply',
  params: ['msgs', 'turn'],
  normalize: toMsgList,
  context: {
    get: ({ turn }) => ({ structuredModel: ControlledTurn.partsOf(turn)?.reply.structuredModel }),
    set: ({ turn, structuredModel }) => {
      const reply = ControlledTurn.partsOf(turn)?.reply;
      if (reply !== undefined) reply.structuredModel = structuredModel as AnySchema | undefined;
    },
  },
  result: A_MSG,
  signalOf: signalOfTurn,
  postSignalOf: signalBeforeAnswer,
};

export const PRINT: HookPoint = {
  method: 'print',
  pre: 'prePrint',
  post: 'postPrint',
  params: ['msg', 'last', 'speech'],
  result: NOTHING,
  signalOf: (_args, agent) => currentControlOf((agent as { readonly id?: string }).id ?? '')?.signal,
  normalize: ([msg, last = true, ...rest]) => [msg, last, ...rest],
};

export const AGENT_HOOK_POINTS: readonly HookPoint[] = [
  REPLY,
  {
    method: 'observe',
    pre: 'preObserve',
    post: 'postObserve',
    params: ['msgs'],
    result: NOTHING,
    normalize: toMsgList,
    around: (agent, run) => observeInOrder(agent as AgentBase, async () => run()),
  },
  PRINT,
];

/** Makes a list of messages from any form that callers and hooks may pass. */
function toMsgList([input, ...rest]: readonly unknown[]): unknown[] {
  return [Msg.list(input as MsgInput), ...rest];
}

/** Hook types without a method. */
export const CALL_HOOK_TYPES: readonly string[] = ['preCall', 'postCall', 'error'];
