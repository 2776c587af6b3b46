import { describe, expect, test } from 'vitest';
import { HookError } from '../errors.ts';
import type { AnyHook, NamedHook } from './hook-table.ts';
import { callHook, runPostHooks, runPreHooks, installHookPrototype, type HookPoint } from './run-hooks.ts';

const SAY: HookPoint = {
  method: 'say',
  pre: 'preSay',
  post: 'postSay',
  params: ['words', 'loud'],
  normalize: ([words, loud = false, ...rest]) => [words, loud, ...rest],
};

/** An object with hooks, and nothing else. */
class Speaker {
  readonly hooks: Record<string, readonly NamedHook[]> = {};
  readonly said: unknown[][] = [];

  constructor() {
    installHookPrototype(this, new.target, [SAY]);
  }

  hooksOf(type: string): readonly NamedHook[] {
    return this.hooks[type] ?? [];
  }

  async say(words: string, loud?: boolean): Promise<string> {
    this.said.push([words, loud]);
    return loud ? words.toUpperCase() : words;
  }
}

const named = (...hooks: ((...args: any[]) => unknown)[]): NamedHook[] =>
  hooks.map((hook, i) => ({ name: `hook${i + 1}`, hook: hook as AnyHook, priority: 100 }));

describe('a hookPrototype method', () => {
  test('is the method of the class while there are no hooks', async () => {
    const speaker = new Speaker();
    expect(speaker).toBeInstanceOf(Speaker);
    expect(speaker.constructor).toBe(Speaker);
    expect(Object.keys(speaker)).toEqual(['hooks', 'said']);
    expect(speaker.say.name).toBe('say');
    expect([await speaker.say('a'), await speaker.say('b', true), speaker.said]).toEqual([
      'a',
      'B',
      [
        ['a', false],
        ['b', true],
      ],
    ]);
  });

  test('shares one prototype among all instances of a class, and has another for a subclass', () => {
    class Loud extends Speaker {}
    const [a, b, loud] = [new Speaker(), new Speaker(), new Loud()];
    expect(Object.getPrototypeOf(a)).toBe(Object.getPrototypeOf(b));
    expect(Object.getPrototypeOf(a)).not.toBe(Object.getPrototypeOf(loud));
    expect([a.say === b.say, a.say === loud.say]).toEqual([true, false]);
    expect(Object.hasOwn(a, 'say')).toBe(false);
  });

  test('runs hooks with the instance, the arguments by name and the result', async () => {
    const speaker = new Speaker();
    const log: unknown[] = [];
    speaker.hooks['preSay'] = named((agent, args) => {
      log.push(['pre', agent === speaker, { ...args }, Object.isFrozen(args)]);
      return { words: `${args.words}!` };
    });
    speaker.hooks['postSay'] = named((agent, args, result) => {
      log.push(['post', agent === speaker, { ...args }, result]);
      return `<${result}>`;
    });
    expect(await speaker.say('a')).toBe('<a!>');
    expect(log).toEqual([
      ['pre', true, { words: 'a', loud: false }, true],
      ['post', true, { words: 'a!', loud: false }, 'a!'],
    ]);
  });

  test('finds an inherited method, also if it is added later', async () => {
    class Loud extends Speaker {}
    const loud = new Loud();
    loud.hooks['postSay'] = named((_, __, result) => `<${result}>`);
    expect(await loud.say('a')).toBe('<a>');
    Object.defineProperty(Loud.prototype, 'say', { value: async () => 'patched', configurable: true });
    expect(await loud.say('a')).toBe('<patched>');
  });

  test('receives arguments without a name, with and without hooks', async () => {
    class Wordy extends Speaker {
      override async say(words: string, loud?: boolean, ...more: string[]): Promise<string> {
        this.said.push(more);
        return super.say(words, loud);
      }
    }
    const wordy = new Wordy();
    await wordy.say('a', false, 'b', 'c');
    wordy.hooks['preSay'] = named(() => undefined);
    await wordy.say('a', false, 'b', 'c');
    expect(wordy.said.filter((args) => args.includes('b'))).toEqual([
      ['b', 'c'],
      ['b', 'c'],
    ]);
  });

  test('rejects for invalid arguments, and never throws', async () => {
    class Strict {
      constructor() {
        const normalize = (): never => {
          throw new TypeError('wrong');
        };
        installHookPrototype(this, new.target, [{ ...SAY, normalize }]);
      }
      hooksOf(): readonly NamedHook[] {
        return [];
      }
      async say(_words?: string): Promise<void> {}
    }
    const said = new Strict().say();
    await expect(said).rejects.toThrow('wrong');
  });

  test('does not wait for hooks after the signal is aborted', async () => {
    const controller = new AbortController();
    class Stoppable {
      readonly hooks: Record<string, readonly NamedHook[]> = {};
      constructor() {
        const signalOf = ({ words }: { readonly words?: unknown }): AbortSignal => words as AbortSignal;
        installHookPrototype(this, new.target, [{ ...SAY, signalOf }]);
      }
      hooksOf(type: string): readonly NamedHook[] {
        return this.hooks[type] ?? [];
      }
      async say(_signal: AbortSignal): Promise<string> {
        return 'said';
      }
    }
    const speaker = new Stoppable();
    speaker.hooks['preSay'] = named(() => undefined);
    expect(await speaker.say(controller.signal)).toBe('said');
    speaker.hooks['postSay'] = named(() => new Promise(() => {}));
    const said = speaker.say(controller.signal);
    controller.abort(new Error('stopped'));
    await expect(said).rejects.toThrow('stopped');
  });
});

test('skips post hooks if the method has no result yet', async () => {
  const unfinished = { kind: 'suspended' };
  const seen: unknown[] = [];
  class Asker {
    constructor() {
      installHookPrototype(this, Asker, [{ ...SAY, isUnfinished: (returned) => returned === unfinished }]);
    }

    hooksOf(type: string): readonly NamedHook[] {
      return type === 'postSay' ? named((_agent, _args, result) => void seen.push(result)) : [];
    }

    async say(words: string): Promise<unknown> {
      return words === 'later' ? unfinished : words;
    }
  }
  const asker = new Asker();
  expect(await asker.say('later')).toBe(unfinished);
  expect(await asker.say('now')).toBe('now');
  expect(seen).toEqual(['now']);
});

describe('pre hooks', () => {
  const run = (...hooks: ((...args: any[]) => unknown)[]): Promise<unknown> =>
    runPreHooks({}, 'preSay', named(...hooks), { words: 'a', loud: false });

  test('change only the arguments that they return, one after the other', async () => {
    const seen: unknown[] = [];
    const note = (change: object | undefined) => (_: unknown, args: object) => {
      seen.push(args);
      return change;
    };
    expect(
      await run(note({ words: 'b' }), note(undefined), note({ loud: true }), note({}), note(undefined)),
    ).toEqual({
      words: 'b',
      loud: true,
    });
    expect(seen).toEqual([
      { words: 'a', loud: false },
      { words: 'b', loud: false },
      { words: 'b', loud: false },
      { words: 'b', loud: true },
      { words: 'b', loud: true },
    ]);
  });

  test('can not write to the arguments', async () => {
    const write = (_: unknown, args: { words: string }): void => {
      args.words = 'changed';
    };
    await expect(run(write)).rejects.toThrow(
      new HookError(
        'preSay',
        'hook1',
        "failed: Cannot assign to read only property 'words' of object '#<Object>'",
      ),
    );
  });

  const expected = 'must return nothing or an object with some of: words, loud; not';
  test.each<[unknown, string]>([
    [null, 'null'],
    [true, 'a boolean'],
    ['b', 'a string'],
    [[], 'an array'],
    [['b'], 'an array'],
    [() => {}, 'a function'],
    [{ word: 'b' }, 'word'],
    [{ words: 'b', volume: 1 }, 'volume'],
    [{ toString: 1 }, 'toString'],
    [JSON.parse('{"__proto__":{"words":"b"}}'), '__proto__'],
  ])('that return %j are told so by name', async (value, found) => {
    await expect(
      run(
        () => undefined,
        () => value,
      ),
    ).rejects.toThrow(new HookError('preSay', 'hook2', `${expected} ${found}.`));
    await expect(
      run(
        () => undefined,
        async () => value,
      ),
    ).rejects.toThrow(HookError);
  });
});

describe('post hooks', () => {
  const run = (...hooks: ((...args: any[]) => unknown)[]): Promise<unknown> =>
    runPostHooks({}, 'postSay', named(...hooks), { words: 'a' }, 'result');

  test('change the result one after the other', async () => {
    expect(
      await run(
        (_, __, result) => `${result} 1`,
        () => undefined,
        async (_, __, result) => `${result} 3`,
        async () => {},
      ),
    ).toBe('result 1 3');
  });

  test('may be absent: the result stays', async () => {
    expect(await run()).toBe('result');
  });
});

describe('a throwing hook', () => {
  test.each<[string, unknown, string]>([
    ['an error', new Error('broken'), 'broken'],
    ['an error without a message', new TypeError(), 'TypeError'],
    ['text', 'broken', 'broken'],
    ['null', null, 'null'],
    ['nothing', undefined, 'undefined'],
    ['what can not be text', { toString: 'no' }, 'an error without a message'],
    ['many lines', new Error('a\nb\r\n  c'), 'a b c'],
    ['a very long message', new Error('x'.repeat(1_000_000)), `${'x'.repeat(300)}…`],
  ])('%s is named, and what it threw is the cause', async (_, thrown, text) => {
    const [hook] = named(() => {
      throw thrown;
    });
    const [slow] = named(async () => {
      throw thrown;
    });
    for (const each of [hook!, slow!]) {
      const error = await callHook('preSay', each, []).catch((error: unknown) => error as HookError);
      expect(error).toBeInstanceOf(HookError);
      expect(error).toMatchObject({
        code: 'hook_failed',
        hookType: 'preSay',
        hookName: 'hook1',
        message: `The preSay hook 'hook1' failed: ${text}`,
      });
      expect((error as HookError).cause).toBe(thrown);
    }
  });

  test('stops the later hooks', async () => {
    const ran: number[] = [];
    const hooks = named(
      () => void ran.push(1),
      () => {
        throw new Error('broken');
      },
      () => void ran.push(3),
    );
    await expect(runPreHooks({}, 'preSay', hooks, {})).rejects.toThrow(
      "The preSay hook 'hook2' failed: broken",
    );
    expect(ran).toEqual([1]);
  });
});
