import { afterEach, describe, expect, test, vi } from 'vitest';
import { TroupeError } from '../errors.ts';
import { useClock } from '../util/clock.ts';
import { lineLogger, silentLogger, type Logger, type LogLevel } from './logger.ts';

let restoreClock = (): void => {};
afterEach(() => {
  restoreClock();
  vi.restoreAllMocks();
});

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

function linesOf(level: LogLevel, use: (logger: Logger) => void): string[] {
  restoreClock = useClock({
    now: () => Date.UTC(2026, 0, 31, 9, 30),
    monotonic: () => 0,
    startTimer: () => () => {},
  });
  const lines: string[] = [];
  use(lineLogger(level, (line) => lines.push(line)));
  return lines;
}

describe('lineLogger', () => {
  test('writes a line with time, level, message and details', () => {
    expect(
      linesOf('debug', (logger) => {
        logger.log('info', 'It works.');
        logger.log('error', 'It does not.', { agent: 'Ann', tries: [1, 2] });
      }),
    ).toEqual([
      '2026-01-31T09:30:00.000Z INFO It works.\n',
      '2026-01-31T09:30:00.000Z ERROR It does not. {"agent":"Ann","tries":[1,2]}\n',
    ]);
  });

  test.each<[LogLevel, LogLevel[]]>([
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
  ])('from %s upwards writes %j', (least, written) => {
    const lines = linesOf(least, (logger) => LEVELS.forEach((level) => logger.log(level, level)));
    expect(lines.map((line) => line.split(' ')[2]?.trim())).toEqual(written);
  });

  test.each<[unknown, string]>([
    ['loud', "'loud'"],
    ['INFO', "'INFO'"],
    ['toString', "'toString'"],
    ['x'.repeat(1000), `'${'x'.repeat(64)}'`],
    [undefined, 'undefined'],
    [2, 'a number'],
    [{}, 'an object'],
  ])('%j is no level', (level, found) => {
    expect(() => lineLogger(level as LogLevel)).toThrow(
      new TroupeError(
        'invalid_config',
        `A log level is one of debug, info, warn, error, silent, not ${found}.`,
      ),
    );
  });

  test('a message is one line, with any content', () => {
    const forged = 'Ann failed: a\r\n2026-01-31T09:30:00.000Z ERROR All is lost.\u001b[31m\u009b';
    expect(linesOf('debug', (logger) => logger.log('warn', forged, { text: 'b\nc' }))).toEqual([
      '2026-01-31T09:30:00.000Z WARN Ann failed: a 2026-01-31T09:30:00.000Z ERROR All is lost. [31m  {"text":"b\\nc"}\n',
    ]);
  });

  test('writes to standard error by default', () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    lineLogger('info').log('info', 'Hello.');
    const lines = write.mock.calls.map(([text]) => String(text));
    vi.restoreAllMocks();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/ INFO Hello\.\n$/);
  });
});

test('the silent logger writes nothing', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  for (const level of LEVELS) silentLogger.log(level, 'Hello.', { a: 1 });
  expect(write).not.toHaveBeenCalled();
});
