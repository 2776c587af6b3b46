/** Input of a worker. */
export interface JavaScriptJob {
  /** Path of the package `quickjs-emscripten`. */
  readonly quickjs: string;
  readonly code: string;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly maxOutputChars: number;
  /** Pattern of reserved tags in the output, and the replacement for their first character. */
  readonly tags: RegExp;
  readonly escaped: string;
}

/** First message of a worker: the interpreter is ready and the code starts. */
export const STARTED = 'started';

/** Result of running the code. */
export interface JavaScriptOutcome {
  /** 1 if the code threw; undefined after a timeout. */
  readonly returncode: 0 | 1 | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Value of the last expression as text; undefined for undefined. */
  readonly result: string | undefined;
}

/**
 * Source of the worker: an interpreter for one piece of code. A string, because workers start from a file or
 * a string, and bundlers change files. Code inside QuickJS can reach nothing of Node except `write`. The
 * memory of QuickJS with its code is limited to `memoryBytes`.
 */
export const JAVASCRIPT_WORKER = String.raw`
'use strict';
const { parentPort, workerData } = require('node:worker_threads');
const { quickjs, code, timeoutMs, memoryBytes, maxOutputChars, tags, escaped } = workerData;
const PAGE = 2 ** 16;
const FIRST_PAGES = 256; // minimum of the interpreter

// Runs inside QuickJS: defines console, and returns a function that converts values to text.
const PRELUDE = ${'`'}(write) => {
  const { stringify } = JSON;
  const { apply } = Reflect;
  const { includes, replaceAll } = String.prototype;
  // Strings that leave QuickJS end at their first NUL.
  const whole = (text) => (apply(includes, text, ['\\0']) ? apply(replaceAll, text, ['\\0', '\\ufffd']) : text);
  const errorText = (error) => error.name + ': ' + error.message + (error.stack ? '\\n' + error.stack : '').trimEnd();
  // Readable replacements for values that JSON can't represent.
  const replacer = () => {
    const parents = [];
    return function (_, value) {
      while (parents.length > 0 && parents[parents.length - 1] !== this) parents.pop();
      if (typeof value === 'bigint') return value + 'n';
      if (typeof value === 'number' && value - value !== 0) return '' + value;
      if (typeof value !== 'object' || value === null) return value;
      if (parents.includes(value)) return '[Circular]';
      if (value instanceof Error) return value.name + ': ' + value.message;
      if (value instanceof RegExp) return String(value);
      const shown = value instanceof Map ? { Map: [...value] } : value instanceof Set ? { Set: [...value] } : value;
      parents.push(value, shown);
      return shown;
    };
  };
  const textOf = (value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'number') return '' + value;
    if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') return String(value);
    if (value instanceof Error) return errorText(value);
    if (value instanceof RegExp) return String(value);
    try { return stringify(value, replacer()) ?? String(value); } catch { return String(value); }
  };
  const show = (value) => whole(textOf(value));
  const to = (stream) => (...values) => write(stream, values.map(show).join(' ') + '\\n');
  globalThis.console = { log: to(0), info: to(0), debug: to(0), warn: to(1), error: to(1) };
  return (value) => (value === undefined ? undefined : show(value));
}${'`'};

class Kept {
  head = '';
  tail = '';
  total = 0;
  half = Math.ceil(maxOutputChars / 2);
  push(text) {
    this.total += text.length;
    const space = this.half - this.head.length;
    this.head += text.slice(0, space);
    this.tail += text.slice(space);
    if (this.tail.length > 4 * this.half) this.tail = this.tail.slice(-this.half);
  }
  toString() {
    const left = this.total - 2 * this.half;
    if (left <= 0) return (this.head + this.tail).replace(tags, escaped);
    const note = '<system-info>' + left + ' of ' + this.total + ' characters are left out here.</system-info>';
    return this.head.replace(tags, escaped) + '\n' + note + '\n' + this.tail.slice(-this.half).replace(tags, escaped);
  }
}

async function main() {
  const { newQuickJSWASMModuleFromVariant, newVariant, RELEASE_SYNC } = require(quickjs);
  // QuickJS's own limit applies to single allocations, not to their sum.
  const wasmMemory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: Math.floor(memoryBytes / PAGE) });
  const vm = (await newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, { wasmMemory }))).newContext();
  const { runtime } = vm;
  parentPort.postMessage('${STARTED}');
  const deadline = performance.now() + timeoutMs;
  const isLate = () => performance.now() > deadline;
  runtime.setMaxStackSize(256 * 1024);
  runtime.setInterruptHandler(isLate);
  const outputs = [new Kept(), new Kept()];
  // A text too large for the memory arrives empty.
  const read = (text) => {
    const copy = vm.getString(text);
    return copy === '' && vm.getNumber(vm.getProp(text, 'length')) > 0 ? undefined : copy;
  };
  const write = vm.newFunction('write', (stream, text) => {
    if (isLate()) throw new Error('interrupted'); // QuickJS checks the time at intervals only
    const copy = read(text);
    if (copy === undefined) throw new Error('out of memory');
    outputs[vm.getNumber(stream)].push(copy);
  });
  const show = vm.unwrapResult(vm.callFunction(vm.unwrapResult(vm.evalCode('(' + PRELUDE + ')')), vm.undefined, write));
  const spare = vm.newArrayBuffer(new ArrayBuffer(PAGE)); // released to show an error when memory is exhausted
  const textOf = (value) => {
    if (spare.alive) spare.dispose();
    const shown = vm.callFunction(show, vm.undefined, value);
    if (shown.value && vm.typeof(shown.value) === 'undefined') return undefined;
    return (shown.value && read(shown.value)) ?? 'The value can not be shown.';
  };
  const answer = (returncode, result) => {
    parentPort.postMessage({ returncode, stdout: outputs[0].toString(), stderr: outputs[1].toString(), result });
  };
  const fail = (error) => {
    if (isLate()) return answer(undefined);
    const isNull = vm.eq(error, vm.null); // also if there is no memory for an error object
    outputs[1].push(isNull ? 'The code threw null, or has used up its memory.' : (textOf(error) ?? 'The code threw undefined.'));
    answer(1);
  };

  const evaluated = vm.evalCode(code, 'code.js');
  if (evaluated.error) return fail(evaluated.error);
  while (runtime.hasPendingJob()) {
    const jobs = runtime.executePendingJobs(1000);
    if (jobs.error) return fail(jobs.error);
  }
  const state = vm.getPromiseState(evaluated.value);
  if (isLate()) return answer(undefined);
  if (state.type === 'rejected') return fail(state.error);
  if (state.type === 'pending') {
    outputs[1].push('The code waits for something that never happens.');
    return answer(1);
  }
  const kept = new Kept();
  const result = textOf(state.value);
  if (isLate()) return answer(undefined);
  if (result === undefined) return answer(0);
  kept.push(result);
  answer(0, kept.toString());
}

main();
`;
