/** Platform functions for Node. `platform.browser.ts` is the version for browsers. */
import { AsyncLocalStorage } from 'node:async_hooks';

import type { AsyncScope } from './platform.ts';

export function createAsyncScope<T>(): AsyncScope<T> {
  return new AsyncLocalStorage<T>();
}

export function writeOutput(text: string): void {
  process.stdout.write(text);
}

/** Width of standard output; undefined where it is no terminal. */
export function outputColumns(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}

/** Whether standard output shows colours: on a terminal without `NO_COLOR`, or as `FORCE_COLOR` says. */
export function hasOutputColors(): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = process.env;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return !NO_COLOR && TERM !== 'dumb' && Boolean(process.stdout.isTTY);
}

export function writeError(text: string): void {
  process.stderr.write(text);
}

export function readEnv(name: string): string | undefined {
  return process.env[name];
}

/** Lets pending timers and input run first. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

export { postByNode } from './node-http.node.ts';
export { reportsConnections, watchConnection } from './connection.node.ts';
export { exitProgram, onInterruptKey, openTerminal } from './terminal.node.ts';
