import { messageOf, TroupeError } from '../errors.ts';
import { timestamp } from '../util/clock.ts';
import { describe, type JsonObject } from '../util/json.ts';
import { readEnv, writeError } from '#platform';
import { oneLine } from '../util/text.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Receives log entries of the library. */
export interface Logger {
  log(level: LogLevel, message: string, details?: JsonObject): void;
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export const silentLogger: Logger = { log: () => {} };

/** Environment variable of the default log level. */
const LEVEL_VARIABLE = 'TROUPE_LOG';

/** The logger without any configuration: warnings and errors, one line each. `TROUPE_LOG` names another level, or 'silent'. */
export function defaultLogger(): Logger {
  const level = readEnv(LEVEL_VARIABLE);
  if (level === undefined || level === '') return lineLogger('warn');
  try {
    return loggerOf(level as LogLevel | 'silent');
  } catch (error) {
    const logger = lineLogger('warn');
    logger.log('warn', `${LEVEL_VARIABLE} is ignored: ${messageOf(error)}`);
    return logger;
  }
}

/** The logger of a level. @throws TroupeError for an unknown level */
export function loggerOf(level: LogLevel | 'silent'): Logger {
  return level === 'silent' ? silentLogger : lineLogger(level);
}

/** Writes entries of a level and above, one line each, by default to standard error. @throws TroupeError for an unknown level */
export function lineLogger(level: LogLevel, write: (line: string) => void = writeError): Logger {
  const least = LEVELS.indexOf(level);
  if (least === -1) {
    const found = typeof level === 'string' ? `'${String(level).slice(0, 64)}'` : describe(level);
    throw new TroupeError(
      'invalid_config',
      `A log level is one of ${LEVELS.join(', ')}, silent, not ${found}.`,
    );
  }
  return {
    log(level, message, details) {
      if (LEVELS.indexOf(level) < least) return;
      const rest = details === undefined ? '' : ` ${JSON.stringify(details)}`;
      write(`${timestamp()} ${level.toUpperCase()} ${oneLine(message)}${rest}\n`);
    },
  };
}
