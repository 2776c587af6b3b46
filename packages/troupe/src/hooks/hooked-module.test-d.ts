// Checked by the compiler, never run: what a hook takes and returns follows from its type.

import { expectTypeOf } from 'vitest';
import { AgentBase } from '../agent/agent-base.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { Msg } from '../message/msg.ts';
import { HookedModule, type hookTypes } from './hooked-module.ts';
import type { PostHook, PreHook } from './run-hooks.ts';

class Echo extends AgentBase {
  readonly seen: string[] = [];
  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    return msgs[0] ?? Msg.assistant('');
  }
}

class LoudEcho extends Echo {
  volume = 11;
}

declare const echo: Echo;
declare const loud: LoudEcho;
declare const other: Msg;

// The agent is the very class on which the hook is registered.
echo.registerInstanceHook('preReply', 'a', (agent) => {
  expectTypeOf(agent.seen).toEqualTypeOf<string[]>();
});
loud.registerInstanceHook('preReply', 'a', (agent) => {
  expectTypeOf(agent.volume).toEqualTypeOf<number>();
});
LoudEcho.registerClassHook('postReply', 'a', (agent) => {
  expectTypeOf(agent.volume).toEqualTypeOf<number>();
});
AgentBase.registerClassHook('preReply', 'a', (agent) => {
  expectTypeOf(agent).toEqualTypeOf<AgentBase>();
});
// @ts-expect-error The hooks of a class know no more than the class.
Echo.registerClassHook('preReply', 'a', (agent) => void agent.volume);

// The arguments.
echo.registerInstanceHook('preReply', 'a', (_, args) => {
  expectTypeOf(args.msgs).toEqualTypeOf<readonly Msg[]>();
  expectTypeOf(args.turn).toEqualTypeOf<Turn>();
});
echo.registerInstanceHook('preObserve', 'a', (_, args) => {
  expectTypeOf(args.msgs).toEqualTypeOf<readonly Msg[]>();
});
echo.registerInstanceHook('prePrint', 'a', (_, args) => {
  expectTypeOf(args.msg).toEqualTypeOf<Msg>();
  expectTypeOf(args.last).toEqualTypeOf<boolean>();
});
echo.registerInstanceHook('postReply', 'a', (_, args, result) => {
  expectTypeOf(args.msgs).toEqualTypeOf<readonly Msg[]>();
  expectTypeOf(result).toEqualTypeOf<Msg>();
});
echo.registerInstanceHook('postCall', 'a', (_, __, result) => {
  expectTypeOf(result).toEqualTypeOf<Msg>();
});
echo.registerInstanceHook('error', 'a', (_, args) => {
  expectTypeOf(args.error).toEqualTypeOf<unknown>();
});
// @ts-expect-error The arguments are read-only.
echo.registerInstanceHook('preReply', 'a', (_, args) => void (args.msgs = []));
// @ts-expect-error So is the list.
echo.registerInstanceHook('preReply', 'a', (_, args) => void args.msgs.push(other));
// @ts-expect-error A print has no messages.
echo.registerInstanceHook('prePrint', 'a', (_, args) => void args.msgs);
// @ts-expect-error A pre hook gets no result.
echo.registerInstanceHook('preReply', 'a', (_, __, result: Msg) => void result);

// Return values of hooks: nothing or some of the arguments, a result, at once or later.
echo.registerInstanceHook('preReply', 'a', () => {});
echo.registerInstanceHook('preReply', 'a', async () => {});
echo.registerInstanceHook('preReply', 'a', () => undefined);
echo.registerInstanceHook('preReply', 'a', () => ({ msgs: [other] }));
echo.registerInstanceHook('preReply', 'a', async (_, { msgs }) => ({ msgs: [...msgs, other] }));
echo.registerInstanceHook('prePrint', 'a', () => ({ last: false }));
echo.registerInstanceHook('postReply', 'a', () => other);
echo.registerInstanceHook('postReply', 'a', async (_, __, result) => result.with({ content: '' }));
echo.registerInstanceHook('postPrint', 'a', async () => {});
// @ts-expect-error A pre hook returns arguments.
echo.registerInstanceHook('preReply', 'a', () => other);
// @ts-expect-error They have the types of the arguments.
echo.registerInstanceHook('preReply', 'a', () => ({ msgs: 'text' }));
// @ts-expect-error A post hook returns a result.
echo.registerInstanceHook('postReply', 'a', () => 'text');
// @ts-expect-error A post hook returns no arguments.
echo.registerInstanceHook('postReply', 'a', () => ({ msgs: [other] }));

// Types and names.
// @ts-expect-error No hook has this type.
echo.registerInstanceHook('pre_reply', 'a', () => {});
// @ts-expect-error No hook has this type.
Echo.registerClassHook('preActing', 'a', () => {});
// @ts-expect-error No hook has this type.
echo.removeInstanceHook('preActing', 'a');
// @ts-expect-error No hook has this type.
echo.clearInstanceHooks('preActing');
// @ts-expect-error No hook has this type.
Echo.clearClassHooks('preActing');
// @ts-expect-error A hook has a name.
echo.registerInstanceHook('preReply', () => {});
// @ts-expect-error A priority is a number.
echo.registerInstanceHook('preReply', 'a', () => {}, { priority: 'high' });
expectTypeOf(echo.registerInstanceHook('preReply', 'a', () => {}, { priority: 1 })).toEqualTypeOf<
  () => void
>();
expectTypeOf(Echo.registerClassHook('preReply', 'a', () => {})).toEqualTypeOf<() => void>();

// A module of one's own.
interface SayArgs {
  readonly words: string;
}

class Speaker extends HookedModule {
  declare readonly [hookTypes]?: {
    preSay: PreHook<Speaker, SayArgs>;
    postSay: PostHook<Speaker, SayArgs, number>;
  };
}

declare const speaker: Speaker;
speaker.registerInstanceHook('preSay', 'a', (agent, { words }) => {
  expectTypeOf(agent).toEqualTypeOf<Speaker>();
  return { words: `${words}!` };
});
Speaker.registerClassHook('postSay', 'a', (_, { words }, result) => {
  expectTypeOf(result).toEqualTypeOf<number>();
  return words.length;
});
// @ts-expect-error The result is a number.
speaker.registerInstanceHook('postSay', 'a', () => 'text');
// @ts-expect-error This module has no such hooks.
speaker.registerInstanceHook('preReply', 'a', () => {});
