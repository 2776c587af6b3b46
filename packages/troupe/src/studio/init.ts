import { setRunConfig, type InitOptions, type RunConfig } from '../config/run-config.ts';
import { StudioConnection } from './studio-connection.ts';

export interface StudioInitOptions extends InitOptions {
  /**
   * Address of a Studio, of troupe or of AgentScope. Everything that agents do is shown there, and `UserAgent`s ask there.
   * @default no Studio
   */
  readonly studioUrl?: string | undefined;
  /** Token of the Studio. @default found by itself for a Studio of the same user on the same machine */
  readonly studioToken?: string | undefined;
}

/** Connections by address: one for each Studio. */
const connections = new Map<string, StudioConnection>();

/**
 * Sets parts of the configuration, for what runs after this in the same scope: the
 * program, or the innermost `withRunConfig` or agent call around it. With `studioUrl`, also connects the program to a Studio.
 *
 * @example
 * ```ts
 * import { getRunConfig, init } from 'troupe';
 *
 * init({ project: 'weather', name: 'nightly', logging: 'warn' });
 * console.log(getRunConfig().project); // weather
 * ```
 */
export function init({ studioUrl, studioToken, ...options }: StudioInitOptions = {}): RunConfig {
  const config = setRunConfig(options);
  if (studioUrl !== undefined && !connections.has(studioUrl))
    connections.set(studioUrl, new StudioConnection({ studioUrl, studioToken }));
  return config;
}

/** Sends the rest of the buffers, then closes all connections of `init`. */
export async function disconnectStudio(): Promise<void> {
  const open = [...connections.values()];
  connections.clear();
  await Promise.all(open.map((connection) => connection.close()));
}
