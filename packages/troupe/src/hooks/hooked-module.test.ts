import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AgentBase } from '../agent/agent-base.ts';
import type { ContentBlock } from '../message/blocks.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { HookError, TroupeError } from '../errors.ts';
import { HookedModule, type hookTypes } from './hooked-module.ts';
import type { HookPoint, PostHook, PreHook } from './run-hooks.ts';

// Modules without any agent: a hook point of their own.

interface SayArgs {
  readonly words: readonly string[];
}

interface SpeakerHooks<Self> {
  preSay: PreHook<Self, SayArgs>;
  postSay: PostHook<Self, SayArgs, readonly string[]>;
  onSilence(module: Self): void;
}

const SPEAKER_POINTS: readonly HookPoint[] = [
  { method: 'say', pre: 'preSay', post: 'postSay', params: ['words'] },
];

class Speaker extends HookedModule {
  static override readonly hookPoints = SPEAKER_POINTS;
  static override readonly otherHookTypes: readonly string[] = ['onSilence'];
  declare readonly [hookTypes]?: SpeakerHooks<this>;

  async say(words: readonly string[]): Promise<readonly string[]> {
    return [...words, 'said'];
  }
}

const add =
  (word: string) =>
  (_: unknown, { words }: SayArgs): SayArgs => ({ words: [...words, word] });
const addAfter =
  (word: string) =>
  (_: unknown, __: SayArgs, result: readonly string[]): readonly string[] => [...result, word];

// Agents, as in AgentScope's own tests of hooks.

const block = (text: string): ContentBlock => ({ type: 'text', text });
const wordsOf = (msg: Msg | undefined): string[] =>
  msg?.getContentBlocks('text').map(({ text }) => text) ?? [];
const withWord = (msg: Msg, word: string): Msg =>
  msg.with({ content: [...msg.getContentBlocks(), block(word)] });
const zero = (): Msg => Msg.user([block('0')]);

class Marker extends AgentBase {
  readonly observed: Msg[] = [];
  failures = 0;

  constructor() {
    super({ name: 'Marker' });
    this.setConsoleOutputEnabled(false);
  }

  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    if (this.failures-- > 0) throw new Error('not now');
    const answer = withWord(msgs[0]!, 'mark');
    await this.print(answer);
    return answer;
  }

  override async observe(msgs: MsgInput): Promise<void> {
    this.observed.push(...Msg.list(msgs));
  }
}

/** Messages that an agent prints, read from its queue. */
async function printedBy(agent: AgentBase, run: () => Promise<unknown>): Promise<string[][]> {
  agent.setMsgQueueEnabled(true);
  await run();
  const printed: string[][] = [];
  while (agent.msgQueue!.size > 0) printed.push(wordsOf((await agent.msgQueue!.take())!.msg));
  return printed;
}

/** Notes the order of hooks that run. */
let ran: string[] = [];
beforeEach(() => {
  ran = [];
});
afterEach(() => {
  AgentBase.clearClassHooks();
  HookedModule.clearClassHooks();
  Speaker.clearClassHooks();
  Marker.clearClassHooks();
});

describe('hooks of an agent, as in AgentScope', () => {
  test('reply: two of four pre hooks change the message, two of four post hooks the answer', async () => {
    const agent = new Marker();
    agent.registerInstanceHook('preReply', 'pre_1', async (_, { msgs }) => {
      ran.push('pre_1');
      return { msgs: [withWord(msgs[0]!, 'pre_1')] };
    });
    agent.registerInstanceHook('preReply', 'pre_2', async (_, { msgs }) => {
      ran.push('pre_2');
      withWord(msgs[0]!, 'pre_2');
    });
    agent.registerInstanceHook('preReply', 'pre_3', (_, { msgs }) => {
      ran.push('pre_3');
      return { msgs: [withWord(msgs[0]!, 'pre_3')] };
    });
    agent.registerInstanceHook('preReply', 'pre_4', (_, { msgs }) => {
      ran.push('pre_4');
      withWord(msgs[0]!, 'pre_4');
    });
    expect(wordsOf(await agent.call(zero()))).toEqual(['0', 'pre_1', 'pre_3', 'mark']);
    expect(ran).toEqual(['pre_1', 'pre_2', 'pre_3', 'pre_4']);

    agent.registerInstanceHook('postReply', 'post_1', async (_, __, answer) => {
      ran.push('post_1');
      return withWord(answer, 'post_1');
    });
    agent.registerInstanceHook('postReply', 'post_2', async (_, __, answer) => {
      ran.push('post_2');
      withWord(answer, 'post_2');
    });
    agent.registerInstanceHook('postReply', 'post_3', (_, __, answer) => {
      ran.push('post_3');
      return withWord(answer, 'post_3');
    });
    agent.registerInstanceHook('postReply', 'post_4', (_, __, answer) => {
      ran.push('post_4');
      withWord(answer, 'post_4');
    });
    ran = [];
    expect(wordsOf(await agent.call(zero()))).toEqual(['0', 'pre_1', 'pre_3', 'mark', 'post_1', 'post_3']);
    expect(ran).toEqual(['pre_1', 'pre_2', 'pre_3', 'pre_4', 'post_1', 'post_2', 'post_3', 'post_4']);

    agent.clearInstanceHooks();
    expect(wordsOf(await agent.call(zero()))).toEqual(['0', 'mark']);
  });

  test('print: hooks change the printed message', async () => {
    const agent = new Marker();
    agent.registerInstanceHook('prePrint', 'pre_1', async (_, { msg, last }) => {
      ran.push(`pre_1 ${last}`);
      return { msg: withWord(msg, 'pre_1') };
    });
    agent.registerInstanceHook('prePrint', 'pre_2', async (_, { msg }) => void withWord(msg, 'pre_2'));
    agent.registerInstanceHook('prePrint', 'pre_3', (_, { msg }) => ({ msg: withWord(msg, 'pre_3') }));
    agent.registerInstanceHook('prePrint', 'pre_4', (_, { msg }) => void withWord(msg, 'pre_4'));
    agent.registerInstanceHook(
      'postPrint',
      'post_1',
      async (_, { msg }) => void ran.push(`post_1 ${wordsOf(msg).join()}`),
    );
    agent.registerInstanceHook(
      'postPrint',
      'post_2',
      (_, { msg }) => void ran.push(`post_2 ${wordsOf(msg).join()}`),
    );
    expect(await printedBy(agent, () => agent.call(zero()))).toEqual([['0', 'mark', 'pre_1', 'pre_3']]);
    expect(ran).toEqual(['pre_1 true', 'post_1 0,mark,pre_1,pre_3', 'post_2 0,mark,pre_1,pre_3']);
    agent.clearInstanceHooks('prePrint');
    agent.clearInstanceHooks('postPrint');
    expect(await printedBy(agent, () => agent.call(zero()))).toEqual([['0', 'mark']]);
  });

  test('observe: hooks change the stored messages, unless they return undefined', async () => {
    const agent = new Marker();
    agent.registerInstanceHook('preObserve', 'pre_1', async (_, { msgs }) => ({
      msgs: [withWord(msgs[0]!, 'pre_1')],
    }));
    agent.registerInstanceHook(
      'preObserve',
      'pre_2',
      async (_, { msgs }) => void withWord(msgs[0]!, 'pre_2'),
    );
    agent.registerInstanceHook('preObserve', 'pre_3', (_, { msgs }) => ({
      msgs: [withWord(msgs[0]!, 'pre_3')],
    }));
    agent.registerInstanceHook('preObserve', 'pre_4', (_, { msgs }) => void withWord(msgs[0]!, 'pre_4'));
    agent.registerInstanceHook(
      'postObserve',
      'post_1',
      async (_, { msgs }) => void ran.push(...wordsOf(msgs[0])),
    );
    await agent.observe(zero());
    expect(agent.observed.map(wordsOf)).toEqual([['0', 'pre_1', 'pre_3']]);
    expect(ran).toEqual(['0', 'pre_1', 'pre_3']);
    agent.clearInstanceHooks();
    await agent.observe(zero());
    expect(agent.observed.map(wordsOf)).toEqual([['0', 'pre_1', 'pre_3'], ['0']]);
  });

  test('observe: hooks always receive a list', async () => {
    const agent = new Marker();
    agent.registerInstanceHook('preObserve', 'count', (_, { msgs }) => void ran.push(String(msgs.length)));
    for (const input of [undefined, 'text', zero(), [zero(), zero()]]) await agent.observe(input);
    expect(ran).toEqual(['0', '1', '1', '2']);
    await expect(agent.observe(7 as never)).rejects.toThrow(
      'Expected a Msg, a list of Msg, a string or nothing, not a number.',
    );
  });

  test('a hook can not change its arguments in place', async () => {
    const agent = new Marker();
    agent.registerInstanceHook('preReply', 'push', (_, { msgs }) => void (msgs as Msg[]).push(zero()));
    await expect(agent.call([zero()])).rejects.toThrow(
      new HookError('preReply', 'push', 'failed: Cannot add property 1, object is not extensible'),
    );
  });

  class Second extends Marker {
    override async reply(msgs: readonly Msg[]): Promise<Msg> {
      return withWord(await super.reply(msgs), 'second');
    }
    override async observe(msgs: MsgInput): Promise<void> {
      await super.observe(msgs);
    }
    override async print(msg: Msg, last?: boolean): Promise<void> {
      await super.print(withWord(msg, 'second'), last);
    }
  }
  class Third extends Second {
    override async reply(msgs: readonly Msg[]): Promise<Msg> {
      return withWord(await super.reply(msgs), 'third');
    }
    override async observe(msgs: MsgInput): Promise<void> {
      await super.observe(msgs);
    }
    override async print(msg: Msg, last?: boolean): Promise<void> {
      await super.print(withWord(msg, 'third'), last);
    }
  }

  test.each<[string, new () => Marker, string[], string[]]>([
    ['1', Marker, ['0', 'mark'], ['0', 'mark']],
    ['2', Second, ['0', 'mark', 'second'], ['0', 'mark', 'second']],
    ['3', Third, ['0', 'mark', 'second', 'third'], ['0', 'mark', 'third', 'second']],
  ])('a chain of %s overrides runs its hooks once', async (_, Agent, answer, printed) => {
    const agent = new Agent();
    for (const point of ['Reply', 'Observe', 'Print'] as const) {
      agent.registerInstanceHook(`pre${point}`, 'count', () => void ran.push(`pre${point}`));
      agent.registerInstanceHook(`post${point}`, 'count', () => void ran.push(`post${point}`));
    }
    let reply: Msg | undefined;
    expect(await printedBy(agent, async () => (reply = await agent.call(zero())))).toEqual([printed]);
    expect(wordsOf(reply)).toEqual(answer);
    await agent.observe(zero());
    expect(ran).toEqual(['preReply', 'prePrint', 'postPrint', 'postReply', 'preObserve', 'postObserve']);
    expect(agent.observed).toHaveLength(1);
  });

  test('an exception leaves no state behind, and skips the post hooks', async () => {
    const agent = new Third();
    agent.registerInstanceHook('preReply', 'pre', () => void ran.push('pre'));
    agent.registerInstanceHook('postReply', 'post', () => void ran.push('post'));
    agent.failures = 1;
    await expect(agent.call(zero())).rejects.toThrow('not now');
    expect(ran).toEqual(['pre']);
    expect(wordsOf(await agent.call(zero()))).toEqual(['0', 'mark', 'second', 'third']);
    expect(ran).toEqual(['pre', 'pre', 'post']);
  });

  test('`this.reply` inside a reply runs the hooks again', async () => {
    class Again extends Marker {
      override async reply(msgs: readonly Msg[]): Promise<Msg> {
        return msgs.length > 1 ? this.reply(msgs.slice(1)) : super.reply(msgs);
      }
    }
    const agent = new Again();
    agent.registerInstanceHook('preReply', 'count', (_, { msgs }) => void ran.push(String(msgs.length)));
    expect(wordsOf(await agent.call([zero(), zero(), Msg.user([block('last')])]))).toEqual(['last', 'mark']);
    expect(ran).toEqual(['3', '2', '1']);
  });

  test('call hooks surround reply hooks; the error hook receives the error', async () => {
    const agent = new Marker();
    const before =
      (type: string) =>
      (_: Marker, { msgs }: { readonly msgs: readonly Msg[] }) => {
        ran.push(type);
        return { msgs: [withWord(msgs[0]!, type)] };
      };
    const after = (type: string) => (_: Marker, __: object, answer: Msg) => {
      ran.push(type);
      return withWord(answer, type);
    };
    agent.registerInstanceHook('preReply', 'a', before('preReply'));
    agent.registerInstanceHook('preCall', 'a', before('preCall'));
    agent.registerInstanceHook('postReply', 'a', after('postReply'));
    agent.registerInstanceHook('postCall', 'a', after('postCall'));
    agent.registerInstanceHook(
      'error',
      'a',
      (_, { error, msgs }) => void ran.push((error as Error).message, ...wordsOf(msgs[0])),
    );
    expect(wordsOf(await agent.call(zero()))).toEqual([
      '0',
      'preCall',
      'preReply',
      'mark',
      'postReply',
      'postCall',
    ]);
    expect(ran).toEqual(['preCall', 'preReply', 'postReply', 'postCall']);
    ran = [];
    agent.failures = 1;
    await expect(agent.call(zero())).rejects.toThrow('not now');
    expect(ran).toEqual(['preCall', 'preReply', 'not now', '0']);
  });

  test('concurrent prints each run their hooks', async () => {
    const agent = new Marker();
    agent.setMsgQueueEnabled(true);
    agent.registerInstanceHook('prePrint', 'slow', async (_, { msg }) => {
      await Promise.resolve();
      ran.push(wordsOf(msg).join());
      return { msg: withWord(msg, 'hooked') };
    });
    await Promise.all([1, 2, 3].map((n) => agent.print(Msg.user([block(`${n}`)]))));
    expect(ran.toSorted()).toEqual(['1', '2', '3']);
    const printed = await Promise.all(
      [1, 2, 3].map(async () => wordsOf((await agent.msgQueue!.take())!.msg)),
    );
    expect(printed.toSorted((a, b) => (a[0]! < b[0]! ? -1 : 1))).toEqual([
      ['1', 'hooked'],
      ['2', 'hooked'],
      ['3', 'hooked'],
    ]);
  });

  test.each(['preCall', 'preReply', 'postReply', 'postCall', 'prePrint', 'postPrint'] as const)(
    'a %s hook that never settles can be interrupted',
    async (type) => {
      const agent = new Marker();
      let reached = (): void => {};
      const isReached = new Promise<void>((resolve) => {
        reached = resolve;
      });
      agent.registerInstanceHook(type, 'stuck', () => {
        ran.push('stuck');
        reached();
        return ran.length > 1 ? undefined : new Promise<undefined>(() => {});
      });
      const call = agent.call(zero());
      await isReached;
      await agent.interrupt();
      const answer = await call;
      expect([answer.metadata['_is_interrupted'] ?? false, ran[0], agent.isRunning]).toEqual([
        true,
        'stuck',
        false,
      ]);
      agent.clearInstanceHooks();
      expect(wordsOf(await agent.call(zero()))).toEqual(['0', 'mark']);
    },
  );
});

describe('a subclass without code for hooks', () => {
  test('has hooks', async () => {
    class Plain extends Speaker {
      override async say(words: readonly string[]): Promise<readonly string[]> {
        return [...words, 'plainly'];
      }
    }
    const plain = new Plain();
    plain.registerInstanceHook('preSay', 'a', add('pre'));
    plain.registerInstanceHook('postSay', 'b', addAfter('post'));
    expect(await plain.say(['0'])).toEqual(['0', 'pre', 'plainly', 'post']);
  });

  test('may override a method by a sync method', async () => {
    class Sync extends Speaker {
      override say(words: readonly string[]): Promise<readonly string[]> {
        if (words.length === 0) throw new Error('nothing to say');
        return Promise.resolve(words);
      }
    }
    const sync = new Sync();
    sync.registerInstanceHook('postSay', 'b', addAfter('post'));
    expect(await sync.say(['0'])).toEqual(['0', 'post']);
    await expect(sync.say([])).rejects.toThrow('nothing to say');
  });
});

describe('registering', () => {
  test('a known name replaces the hook in its position', async () => {
    const speaker = new Speaker();
    speaker.registerInstanceHook('preSay', 'a', add('a1'));
    speaker.registerInstanceHook('preSay', 'b', add('b'));
    speaker.registerInstanceHook('preSay', 'a', add('a2'));
    expect(await speaker.say([])).toEqual(['a2', 'b', 'said']);
  });

  test('a lower priority runs first, among instance hooks and among class hooks', async () => {
    class Child extends Speaker {}
    const child = new Child();
    child.registerInstanceHook('preSay', 'a', add('i100'));
    child.registerInstanceHook('preSay', 'b', add('i1'), { priority: 1 });
    Child.registerClassHook('preSay', 'a', add('c100'));
    Speaker.registerClassHook('preSay', 'a', add('s50'), { priority: 50 });
    Speaker.registerClassHook('preSay', 'b', add('s100'));
    expect(await child.say([])).toEqual(['i1', 'i100', 's50', 'c100', 's100', 'said']);
  });

  test('the returned function removes exactly that hook', async () => {
    const speaker = new Speaker();
    const removeFirst = speaker.registerInstanceHook('preSay', 'a', add('first'));
    const removeSecond = speaker.registerInstanceHook('preSay', 'a', add('second'));
    removeFirst();
    expect(await speaker.say([])).toEqual(['second', 'said']);
    removeSecond();
    removeSecond();
    expect(await speaker.say([])).toEqual(['said']);
    speaker.registerInstanceHook('preSay', 'a', add('third'));
    removeSecond();
    expect(await speaker.say([])).toEqual(['third', 'said']);
    const hook = add('same');
    const remove = Speaker.registerClassHook('preSay', 'a', hook);
    remove();
    Speaker.registerClassHook('preSay', 'a', hook);
    remove();
    expect(await speaker.say([])).toEqual(['third', 'same', 'said']);
  });

  test('hooks are removed by name, by type, or all at once', async () => {
    const speaker = new Speaker();
    const build = (): void => {
      speaker.registerInstanceHook('preSay', 'a', add('a'));
      speaker.registerInstanceHook('preSay', 'b', add('b'));
      speaker.registerInstanceHook('postSay', 'c', addAfter('c'));
      Speaker.registerClassHook('preSay', 'd', add('d'));
      Speaker.registerClassHook('postSay', 'e', addAfter('e'));
    };
    build();
    speaker.removeInstanceHook('preSay', 'a');
    Speaker.removeClassHook('postSay', 'e');
    expect(await speaker.say([])).toEqual(['b', 'd', 'said', 'c']);
    speaker.clearInstanceHooks('preSay');
    Speaker.clearClassHooks('preSay');
    expect(await speaker.say([])).toEqual(['said', 'c']);
    build();
    speaker.clearInstanceHooks();
    expect(await speaker.say([])).toEqual(['d', 'said', 'e']);
    Speaker.clearClassHooks();
    expect(await speaker.say([])).toEqual(['said']);
  });

  test('removing an unknown hook fails with the list of registered hooks', () => {
    const speaker = new Speaker();
    const none = new TroupeError('hook_not_found', "There is no preSay hook 'x'. Registered: none.");
    expect(() => speaker.removeInstanceHook('preSay', 'x')).toThrow(none);
    expect(() => Speaker.removeClassHook('preSay', 'x')).toThrow(none);
    speaker.registerInstanceHook('preSay', 'a', add('a'));
    speaker.registerInstanceHook('preSay', 'b', add('b'));
    expect(() => speaker.removeInstanceHook('preSay', 'x')).toThrow(
      new TroupeError('hook_not_found', "There is no preSay hook 'x'. Registered: 'a', 'b'."),
    );
    class Child extends Speaker {}
    Speaker.registerClassHook('preSay', 'x', add('x'));
    expect(() => Child.removeClassHook('preSay', 'x')).toThrow(none);
  });

  test('an unknown hook type fails with the list of hook types', () => {
    const speaker = new Speaker();
    const unknown = new TroupeError(
      'invalid_hook',
      "Speaker has no hook type 'pre_say'. It has: preSay, postSay, onSilence.",
    );
    const type = 'pre_say' as 'preSay';
    const hook = add('x');
    for (const attempt of [
      () => speaker.registerInstanceHook(type, 'a', hook),
      () => speaker.removeInstanceHook(type, 'a'),
      () => speaker.clearInstanceHooks(type),
      () => Speaker.registerClassHook(type, 'a', hook),
      () => Speaker.removeClassHook(type, 'a'),
      () => Speaker.clearClassHooks(type),
    ]) {
      expect(attempt).toThrow(unknown);
    }
    expect(() => new Marker().registerInstanceHook('preActing' as 'preReply', 'a', () => {})).toThrow(
      "Marker has no hook type 'preActing'. It has: preReply, postReply, preObserve, postObserve, prePrint, postPrint, preCall, postCall, error.",
    );
  });

  test('hook types without a method can be registered and found', () => {
    const speaker = new Speaker();
    const hook = (): void => {};
    speaker.registerInstanceHook('onSilence', 'a', hook);
    expect(speaker.hooksOf('onSilence')).toEqual([{ name: 'a', hook, priority: 100 }]);
  });

  test('the empty list of hooks is shared', () => {
    expect(new Speaker().hooksOf('preSay')).toBe(new Speaker().hooksOf('preSay'));
  });
});

describe('while hooks run', () => {
  test('registering and removing affects the next run only', async () => {
    const speaker = new Speaker();
    speaker.registerInstanceHook('preSay', 'a', (self, { words }) => {
      self.registerInstanceHook('preSay', 'new', add('new'));
      self.registerInstanceHook('postSay', 'new', addAfter('new after'));
      Speaker.registerClassHook('preSay', 'new', add('new of class'));
      self.removeInstanceHook('preSay', 'b');
      return { words: [...words, 'a'] };
    });
    speaker.registerInstanceHook('preSay', 'b', add('b'));
    expect(await speaker.say([])).toEqual(['a', 'b', 'said']);
    speaker.registerInstanceHook('preSay', 'a', add('a'));
    expect(await speaker.say([])).toEqual(['a', 'new', 'new of class', 'said', 'new after']);
  });

  test('a hook may remove itself', async () => {
    const speaker = new Speaker();
    const remove = speaker.registerInstanceHook('preSay', 'once', (_, { words }) => {
      remove();
      return { words: [...words, 'once'] };
    });
    speaker.registerInstanceHook('preSay', 'always', add('always'));
    expect(await speaker.say([])).toEqual(['once', 'always', 'said']);
    expect(await speaker.say([])).toEqual(['always', 'said']);
  });

  test('concurrent agent calls each run their hooks', async () => {
    const speaker = new Speaker();
    const gates: (() => void)[] = [];
    speaker.registerInstanceHook('preSay', 'gate', async (_, { words }) => {
      ran.push(`pre ${words.join()}`);
      await new Promise<void>((resolve) => gates.push(resolve));
      return { words: [...words, 'pre'] };
    });
    speaker.registerInstanceHook('postSay', 'post', (_, { words }, result) => {
      ran.push(`post ${words.join()}`);
      return [...result, 'post'];
    });
    const calls = ['a', 'b', 'c'].map((word) => speaker.say([word]));
    await Promise.resolve();
    expect(ran).toEqual(['pre a', 'pre b', 'pre c']);
    gates.toReversed().forEach((open) => open());
    expect(await Promise.all(calls)).toEqual(['a', 'b', 'c'].map((word) => [word, 'pre', 'said', 'post']));
    expect(ran.slice(3)).toEqual(['post c,pre', 'post b,pre', 'post a,pre']);
  });

  test('a throwing hook fails the agent call, and later hooks do not run', async () => {
    const speaker = new Speaker();
    const broken = new Error('broken');
    speaker.registerInstanceHook('preSay', 'fine', () => void ran.push('fine'));
    const repair = speaker.registerInstanceHook('preSay', 'broken', () => {
      throw broken;
    });
    speaker.registerInstanceHook('preSay', 'later', () => void ran.push('later'));
    speaker.registerInstanceHook('postSay', 'post', () => void ran.push('post'));
    const error = await speaker.say([]).catch((error: unknown) => error as HookError);
    expect(error).toEqual(new HookError('preSay', 'broken', 'failed: broken', { cause: broken }));
    expect((error as HookError).cause).toBe(broken);
    expect(ran).toEqual(['fine']);
    repair();
    expect(await speaker.say([])).toEqual(['said']);
    expect(ran).toEqual(['fine', 'fine', 'later', 'post']);
  });
});

describe('hooks of classes', () => {
  class Parent extends Speaker {}
  class Child extends Parent {}
  class Sibling extends Parent {}
  class Uncle extends Speaker {}
  afterEach(() => {
    for (const each of [Parent, Child, Sibling, Uncle]) each.clearClassHooks();
  });
  const sayAll = async (): Promise<Record<string, readonly string[]>> => ({
    speaker: await new Speaker().say([]),
    parent: await new Parent().say([]),
    child: await new Child().say([]),
    sibling: await new Sibling().say([]),
    uncle: await new Uncle().say([]),
  });

  test('apply to the class and its subclasses only', async () => {
    Parent.registerClassHook('preSay', 'a', add('hooked'));
    expect(await sayAll()).toEqual({
      speaker: ['said'],
      parent: ['hooked', 'said'],
      child: ['hooked', 'said'],
      sibling: ['hooked', 'said'],
      uncle: ['said'],
    });
    Parent.clearClassHooks();
    Child.registerClassHook('preSay', 'a', add('hooked'));
    expect(await sayAll()).toEqual({
      speaker: ['said'],
      parent: ['said'],
      child: ['hooked', 'said'],
      sibling: ['said'],
      uncle: ['said'],
    });
  });

  test('apply to existing instances, until they are removed', async () => {
    const child = new Child();
    expect(await child.say([])).toEqual(['said']);
    const remove = Parent.registerClassHook('preSay', 'a', add('hooked'));
    expect(await child.say([])).toEqual(['hooked', 'said']);
    remove();
    expect(await child.say([])).toEqual(['said']);
  });

  test('run after instance hooks: first of the class, then of base classes', async () => {
    const child = new Child();
    Speaker.registerClassHook('preSay', 'a', add('speaker'));
    Parent.registerClassHook('preSay', 'a', add('parent'));
    Child.registerClassHook('preSay', 'a', add('child'));
    child.registerInstanceHook('preSay', 'a', add('instance'));
    Speaker.registerClassHook('postSay', 'a', addAfter('speaker'));
    Parent.registerClassHook('postSay', 'a', addAfter('parent'));
    Child.registerClassHook('postSay', 'a', addAfter('child'));
    child.registerInstanceHook('postSay', 'a', addAfter('instance'));
    const order = ['instance', 'child', 'parent', 'speaker'];
    expect(await child.say([])).toEqual([...order, 'said', ...order]);
    Parent.clearClassHooks('preSay');
    expect(await child.say([])).toEqual(['instance', 'child', 'speaker', 'said', ...order]);
  });

  test('with one name in two classes are two hooks', async () => {
    Parent.registerClassHook('preSay', 'a', add('parent'));
    Child.registerClassHook('preSay', 'a', add('child'));
    Parent.registerClassHook('preSay', 'a', add('parent again'));
    expect(await new Child().say([])).toEqual(['child', 'parent again', 'said']);
    Child.removeClassHook('preSay', 'a');
    expect(await new Child().say([])).toEqual(['parent again', 'said']);
  });

  test('of AgentBase apply to every agent', async () => {
    AgentBase.registerClassHook('preReply', 'all', (agent) => void ran.push(agent.name));
    await new Marker().call(zero());
    expect(ran).toEqual(['Marker']);
  });
});
