import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import { silentLogger, type Logger } from './logger.ts';
import type * as RunConfigModule from './run-config.ts';

type Config = typeof RunConfigModule;

/** A fresh copy of the module: its root configuration was never asked for. */
async function freshConfig(): Promise<Config> {
  vi.resetModules();
  const config = await import('./run-config.ts');
  const { useClock } = await import('../util/clock.ts');
  const { useIdSource } = await import('../util/ids.ts');
  let count = 0;
  useIdSource(() => `id-${++count}-${'x'.repeat(20)}`);
  useClock({ now: () => Date.UTC(2026, 0, 31, 9, 30, 15), monotonic: () => 0, startTimer: () => () => {} });
  return config;
}

const DEFAULT = {
  runId: `id-1-${'x'.repeat(20)}`,
  project: 'UnnamedProject_At20260131',
  name: '093015_id-2',
  createdAt: '2026-01-31T09:30:15.000Z',
};

function collector(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  return { lines, log: (level, message) => void lines.push(`${level} ${message}`) };
}

let config: Config;
beforeEach(async () => {
  config = await freshConfig();
});
afterEach(() => vi.restoreAllMocks());

describe('the run configuration', () => {
  test('has ids and names by default, and a silent logger', () => {
    const { logger, ...rest } = config.getRunConfig();
    expect(rest).toEqual(DEFAULT);
    expect(config.getRunConfig()).toBe(config.getRunConfig());
    expect(Object.isFrozen(config.getRunConfig())).toBe(true);
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    logger.log('error', 'Nobody hears this.');
    config.getLogger().log('error', 'Nor this.');
    expect(write).not.toHaveBeenCalled();
  });

  test('changes in parts', () => {
    config.setRunConfig({ project: 'Zoo' });
    const { logger: _, ...rest } = config.setRunConfig({ name: 'first', runId: 'r1' });
    expect(rest).toEqual({ ...DEFAULT, project: 'Zoo', name: 'first', runId: 'r1' });
    expect({ ...config.getRunConfig() }).toMatchObject(rest);
  });

  test('stays as it is where nothing is said, or nothing but an empty text', () => {
    const before = config.setRunConfig({ project: 'Zoo' });
    expect(config.setRunConfig()).toEqual(before);
    expect(config.setRunConfig({})).toEqual(before);
    expect(config.setRunConfig({ project: '', name: '', runId: '' })).toEqual(before);
  });

  test('does not change a configuration that somebody holds', () => {
    const before = config.getRunConfig();
    config.setRunConfig({ project: 'Zoo' });
    expect(before.project).toBe(DEFAULT.project);
    for (const held of [
      before,
      config.getRunConfig(),
      config.withRunConfig({}, () => config.getRunConfig()),
    ]) {
      expect(() => ((held as { project: string }).project = 'Other')).toThrow(TypeError);
    }
  });

  test('takes a logger, which gets everything', () => {
    const logger = collector();
    config.setRunConfig({ logging: logger });
    config.getLogger().log('debug', 'a');
    config.setRunConfig({ project: 'Zoo' });
    config.getLogger().log('error', 'b');
    expect(logger.lines).toEqual(['debug a', 'error b']);
  });

  test('takes a level, which writes to standard error', () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    config.setRunConfig({ logging: 'warn' });
    config.getLogger().log('info', 'a');
    config.getLogger().log('warn', 'b');
    const lines = write.mock.calls.map(([text]) => String(text));
    vi.restoreAllMocks();
    expect(lines).toEqual(['2026-01-31T09:30:15.000Z WARN b\n']);
  });

  test.each<[object, string]>([
    [{ project: 7 }, 'project must be a string, not a number.'],
    [{ name: null }, 'name must be a string, not null.'],
    [{ runId: {} }, 'runId must be a string, not an object.'],
    [{ logging: 'loud' }, "A log level is one of debug, info, warn, error, silent, not 'loud'."],
    [{ logging: 7 }, 'A log level is one of debug, info, warn, error, silent, not a number.'],
    [{ logging: null }, 'A log level is one of debug, info, warn, error, silent, not null.'],
    [{ logging: {} }, 'A log level is one of debug, info, warn, error, silent, not an object.'],
    [{ logging: { log: 'x' } }, 'A log level is one of debug, info, warn, error, silent, not an object.'],
  ])('refuses %j, and stays as it is', (options, message) => {
    const before = config.getRunConfig();
    let error: unknown;
    try {
      config.setRunConfig({ project: 'Zoo', ...options });
    } catch (thrown) {
      error = thrown;
    }
    expect(TroupeError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ code: 'invalid_config', message });
    expect(config.getRunConfig()).toBe(before);
  });
});

describe('a scope', () => {
  test('has its own configuration, and starts with the one around it', () => {
    config.setRunConfig({ project: 'Zoo' });
    const seen = config.withRunConfig({ name: 'inner' }, () => {
      config.setRunConfig({ runId: 'r-inner' });
      return config.withRunConfig({ project: 'Circus' }, () => config.getRunConfig());
    });
    expect(seen).toMatchObject({ project: 'Circus', name: 'inner', runId: 'r-inner' });
    expect(config.getRunConfig()).toMatchObject({ project: 'Zoo', name: DEFAULT.name, runId: DEFAULT.runId });
  });

  test('keeps its configuration through awaits, separate from others', async () => {
    const open: (() => void)[] = [];
    const gate = (): Promise<void> => new Promise((resolve) => open.push(resolve));
    const log: string[] = [];
    const task = (id: string): Promise<void> =>
      config.withRunConfig({}, async () => {
        config.setRunConfig({ runId: id });
        await gate();
        log.push(config.getRunConfig().runId);
        await Promise.resolve();
        config.setRunConfig({ name: `name of ${id}` });
        await gate();
        log.push(config.getRunConfig().name);
      });
    const tasks = [task('a'), task('b')];
    while (open.length > 0) {
      for (const next of open.splice(0).toReversed()) next();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(tasks);
    expect(log).toEqual(['b', 'a', 'name of a', 'name of b']);
    expect(config.getRunConfig()).toMatchObject({ runId: DEFAULT.runId, name: DEFAULT.name });
  });

  test('ends with its body, also if that throws', async () => {
    const fail = (): never => {
      throw new Error('broken');
    };
    expect(() => config.withRunConfig({ project: 'Zoo' }, fail)).toThrow('broken');
    await expect(config.withRunConfig({ project: 'Zoo' }, async () => fail())).rejects.toThrow('broken');
    expect(config.getRunConfig().project).toBe(DEFAULT.project);
  });

  test('checks its options before it starts', () => {
    const body = vi.fn<() => void>();
    expect(() => config.withRunConfig({ logging: 'loud' as never }, body)).toThrow("not 'loud'");
    expect(body).not.toHaveBeenCalled();
  });

  test('has its own logger', () => {
    const [outer, inner] = [collector(), collector()];
    config.setRunConfig({ logging: outer });
    config.withRunConfig({ logging: inner }, () => config.getLogger().log('info', 'inner'));
    config.withRunConfig({}, () => config.getLogger().log('info', 'inherited'));
    config.withRunConfig({ logging: silentLogger }, () => config.getLogger().log('info', 'lost'));
    expect([outer.lines, inner.lines]).toEqual([['info inherited'], ['info inner']]);
  });

  test('is what a call of an agent is', async () => {
    const { setRunConfig, getRunConfig } = await import('./run-config.ts');
    const { AgentBase: Base } = await import('../agent/agent-base.ts');
    const { Msg: FreshMsg } = await import('../message/msg.ts');
    class Tester extends Base {
      override async reply(): Promise<Msg> {
        setRunConfig({ project: 'Inner' });
        await Promise.resolve();
        return FreshMsg.assistant(getRunConfig().project);
      }
    }
    setRunConfig({ project: 'Outer' });
    expect((await new Tester({ name: 'a' }).call()).text).toBe('Inner');
    expect(getRunConfig().project).toBe('Outer');
  });
});

test('importing it reads no clock, makes no id, and writes nothing', async () => {
  vi.resetModules();
  const spies = [
    vi.spyOn(crypto, 'getRandomValues'),
    vi.spyOn(Date, 'now'),
    vi.spyOn(process.stderr, 'write').mockReturnValue(true),
    vi.spyOn(process.stderr, 'write').mockReturnValue(true),
  ];
  const { getRunConfig } = await import('./run-config.ts');
  const calls = spies.map((spy) => spy.mock.calls.length);
  getRunConfig();
  const [random, clock] = spies.map((spy) => spy.mock.calls.length);
  vi.restoreAllMocks();
  expect(calls).toEqual([0, 0, 0, 0]);
  expect([random, clock]).toEqual([1, 1]);
});
