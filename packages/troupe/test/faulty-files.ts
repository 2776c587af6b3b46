/** File operations of which one fails, and which are counted. */
import * as nodeFiles from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { Files } from '../src/stores/json/durable-file.ts';

/** Fault of one operation: an error, an error after the work was done, or half of a write. */
export type Fault = 'before' | 'after' | 'half';

export class FaultyFiles {
  /** The names of the operations so far. */
  readonly operations: string[] = [];
  #failAt: number;
  readonly #fault: Fault;
  readonly #code: string;

  /** @param failAt the number of the operation that fails, from 1 on */
  constructor(failAt = Infinity, fault: Fault = 'before', code = 'EIO') {
    this.#failAt = failAt;
    this.#fault = fault;
    this.#code = code;
  }

  /** Lets nothing fail any more. */
  heal(): void {
    this.#failAt = Infinity;
  }

  readonly files: Files = new Proxy(nodeFiles, {
    get: (target, name) => {
      const operation: unknown = Reflect.get(target, name);
      if (typeof operation !== 'function') return operation;
      return async (...args: unknown[]) => {
        const result: unknown = await this.#run(String(name), () => operation.apply(target, args) as unknown);
        return name === 'open' ? this.#handle(result as FileHandle) : result;
      };
    },
  });

  #handle(handle: FileHandle): FileHandle {
    return new Proxy(handle, {
      get: (target, name) => {
        const operation: unknown = Reflect.get(target, name, target);
        if (typeof operation !== 'function') return operation;
        return (...args: unknown[]) => {
          const call = (): unknown => operation.apply(target, args) as unknown;
          if (name === 'close') return call(); // a handle that is never closed would be a leak of the test
          const half = (): unknown =>
            name === 'write' || name === 'writeFile' ? target.write(halfOf(args[0])) : undefined;
          return this.#run(`handle.${String(name)}`, call, half);
        };
      },
    });
  }

  async #run(name: string, call: () => unknown, half: () => unknown = () => undefined): Promise<unknown> {
    this.operations.push(name);
    if (this.operations.length !== this.#failAt) return call();
    if (this.#fault === 'after') await ((await call()) as FileHandle | undefined)?.close?.();
    if (this.#fault === 'half') await half();
    throw Object.assign(new Error(`${this.#code}: injected, ${name}`), { code: this.#code });
  }
}

function halfOf(data: unknown): string {
  const text = String(data);
  return text.slice(0, text.length / 2);
}
