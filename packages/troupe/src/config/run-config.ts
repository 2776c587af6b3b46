import { TroupeError } from '../errors.ts';
import { timestamp } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import { describe } from '../util/json.ts';
import { createAsyncScope } from '#platform';
import { defaultLogger, loggerOf, type Logger, type LogLevel } from './logger.ts';

/** Configuration of a whole program, or of one scope. Folder `config`: start here. */
export interface RunConfig {
  readonly runId: string;
  readonly project: string;
  readonly name: string;
  readonly createdAt: string;
  readonly logger: Logger;
}

export interface InitOptions {
  /** Project name. @default a name with the date */
  readonly project?: string;
  /** Name of this run. @default a name with the time */
  readonly name?: string;
  /** @default a new id */
  readonly runId?: string;
  /**
   * A level writes lines to standard error, 'silent' writes nothing, and a logger gets every entry.
   * @default 'warn', or the level in the environment variable `TROUPE_LOG`
   */
  readonly logging?: LogLevel | 'silent' | Logger;
}

const scopes = createAsyncScope<{ config: RunConfig }>();
let root: { config: RunConfig } | undefined;

/** The configuration of the current scope. */
export function getRunConfig(): RunConfig {
  return currentScope().config;
}

export function getLogger(): Logger {
  return currentScope().config.logger;
}

/** Sets parts of the configuration of the current scope. `init` of the root entry calls it. */
export function setRunConfig(options: InitOptions = {}): RunConfig {
  const scope = currentScope();
  scope.config = changed(scope.config, options);
  return scope.config;
}

/** Runs `body` with a configuration of its own; outside of it nothing changes. */
export function withRunConfig<T>(options: InitOptions, body: () => T): T {
  return scopes.run({ config: changed(getRunConfig(), options) }, body);
}

/** Runs `body` in a scope of its own, where `init` changes nothing outside. */
export function forkRunConfig<T>(body: () => T): T {
  return scopes.run({ config: getRunConfig() }, body);
}

function currentScope(): { config: RunConfig } {
  return scopes.getStore() ?? (root ??= { config: defaultConfig() });
}

function defaultConfig(): RunConfig {
  const createdAt = timestamp();
  const [day = '', time = ''] = createdAt.split('T');
  return Object.freeze({
    runId: newId(),
    project: `UnnamedProject_At${day.replaceAll('-', '')}`,
    name: `${time.slice(0, 8).replaceAll(':', '')}_${newId().slice(0, 4)}`,
    createdAt,
    logger: defaultLogger(),
  });
}

function changed(config: RunConfig, options: InitOptions): RunConfig {
  for (const key of ['project', 'name', 'runId'] as const) {
    const value: unknown = options[key];
    if (value !== undefined && typeof value !== 'string') {
      throw new TroupeError('invalid_config', `${key} must be a string, not ${describe(value)}.`);
    }
  }
  return Object.freeze({
    ...config,
    project: options.project || config.project,
    name: options.name || config.name,
    runId: options.runId || config.runId,
    logger: toLogger(options.logging) ?? config.logger,
  });
}

function toLogger(logging: InitOptions['logging']): Logger | undefined {
  if (logging === undefined) return undefined;
  if (typeof logging === 'object' && typeof logging?.log === 'function') return logging;
  return loggerOf(logging as LogLevel | 'silent');
}
