import { TroupeError } from '../errors.ts';
import { timestamp } from '../util/clock.ts';
import { describe, type JsonObject } from '../util/json.ts';
import { writeOutput } from '#platform';
import { oneLine } from '../util/text.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Where the library writes what a developer may want to know. */
export interface Logger {
  log(level: LogLevel, message: string, details?: JsonObject): void;
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export const silentLogger: Logger = { log: () => {} };

/** Writes lines of text from a level upwards, by default to standard output. */
export function lineLogger(level: LogLevel, write: (line: string) => void = writeOutput): Logger {
  const least = LEVELS.indexOf(level);
  if (least === -1) {
    const found = typeof level === 'string' ? `'${String(level).slice(0, 64)}'` : describe(level);
    throw new TroupeError('invalid_config', `A log level is one of ${LEVELS.join(', ')}, not ${found}.`);
  }
  return {
    log(level, message, details) {
      if (LEVELS.indexOf(level) < least) return;
      const rest = details === undefined ? '' : ` ${JSON.stringify(details)}`;
      write(`${timestamp()} ${level.toUpperCase()} ${oneLine(message)}${rest}\n`);
    },
  };
}
