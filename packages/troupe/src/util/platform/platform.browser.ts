/** Browser version of `platform.node.ts`, for hosts without Node's built-ins. */
import type { HttpPost, HttpResponse } from '../net/http.ts';
import type { AsyncScope, Terminal } from './platform.ts';

/**
 * Browsers can't track a value across awaits, so the scope ends at the first await. Pass `signal` to an agent
 * called inside another agent.
 */
export function createAsyncScope<T>(): AsyncScope<T> {
  const values: T[] = [];
  return {
    run(value, body) {
      values.push(value);
      try {
        return body();
      } finally {
        values.pop();
      }
    },
    getStore: () => values.at(-1),
  };
}

/** Browsers do not report when a request has its connection. */
export const reportsConnections = false;

export function watchConnection<T>(_origin: string | undefined, _onConnected: () => void, work: () => T): T {
  return work();
}

/** Browsers have fetch only. */
export function postByNode(_post: HttpPost): Promise<HttpResponse> | undefined {
  return undefined;
}

let line = '';

export function writeOutput(text: string): void {
  const lines = (line + text).split('\n');
  line = lines.pop() ?? '';
  for (const whole of lines) console.log(whole);
}

/** Undefined: browsers have no terminal. */
export function outputColumns(): number | undefined {
  return undefined;
}

export function hasOutputColors(): boolean {
  return false;
}

export function writeError(text: string): void {
  console.warn(text.replace(/\n$/, ''));
}

export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 0));
}

export function readEnv(_name: string): string | undefined {
  return undefined;
}

export async function openTerminal(_signal: AbortSignal): Promise<Terminal> {
  throw new Error('There is no terminal here. Give the UserAgent an input method of your own.');
}

/** No-op: browsers have no interrupt key. */
export function onInterruptKey(_handler: () => void): () => void {
  return () => {};
}

export function exitProgram(_code: number): void {}
