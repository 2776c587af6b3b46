/** What a worker is told. */
export interface JavaScriptJob {
  /** Where the package `quickjs-emscripten` is. */
  readonly quickjs: string;
  readonly code: string;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly maxOutputChars: number;
  /** Where an output has a tag of ours, and what takes the place of its beginning. */
  readonly tags: RegExp;
  readonly broken: string;
}

/** What a worker says first: that the interpreter is there, and the code begins. */
export const STARTED = 'started';

/** What came of it. */
export interface JavaScriptOutcome {
  /** 1 if the code threw; undefined if it took too long. */
  readonly returncode: 0 | 1 | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The value of the last expression, unless that is undefined. */
  readonly result: string | undefined;
}

/**
 * The program of the worker: an interpreter that lives for one piece of code. It is a text, because a worker starts from a file or
 * a text, and which files there are depends on how this library is bundled. Nothing of Node is reachable from inside of QuickJS:
 * the only door is `write`. The memory of QuickJS, its own and that of the code, can't grow beyond `memoryBytes`.
 */
export const JAVASCRIPT_WORKER = String.raw`
'use strict';
const { parentPort, workerData } = require('node:worker_threads');
const { quickjs, code, timeoutMs, memoryBytes, maxOutputChars, tags, broken } = workerData;
const PAGE = 2 ** 16;
const FIRST_PAGES = 256; // with fewer it doesn't start

// Runs inside of QuickJS. A promise is handed on as the list of its outcome.
const PRELUDE = ${'`'}(write) => {
  const { stringify } = JSON;
  const { apply } = Reflect;
  const { includes, replaceAll } = String.prototype;
  // A text ends at its first NUL on the way out.
  const whole = (text) => (apply(includes, text, ['\\0']) ? apply(replaceAll, text, ['\\0', '\\ufffd']) : text);
  const told = (error) => error.name + ': ' + error.message + (error.stack ? '\\n' + error.stack : '').trimEnd();
  // What JSON has no word for, by one that a reader understands.
  const inWords = () => {
    const around = [];
    return function (_, value) {
      while (around.length > 0 && around[around.length - 1] !== this) around.pop();
      if (typeof value === 'bigint') return value + 'n';
      if (typeof value === 'number' && value - value !== 0) return '' + value;
      if (typeof value !== 'object' || value === null) return value;
      if (around.includes(value)) return '[Circular]';
      if (value instanceof Error) return value.name + ': ' + value.message;
      if (value instanceof RegExp) return String(value);
      const shown = value instanceof Map ? { Map: [...value] } : value instanceof Set ? { Set: [...value] } : value;
      around.push(value, shown);
      return shown;
    };
  };
  const textOf = (value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'number') return '' + value;
    if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') return String(value);
    if (value instanceof Error) return told(value);
    if (value instanceof RegExp) return String(value);
    try { return stringify(value, inWords()) ?? String(value); } catch { return String(value); }
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
    const room = this.half - this.head.length;
    this.head += text.slice(0, room);
    this.tail += text.slice(room);
    if (this.tail.length > 4 * this.half) this.tail = this.tail.slice(-this.half);
  }
  toString() {
    const left = this.total - 2 * this.half;
    if (left <= 0) return (this.head + this.tail).replace(tags, broken);
    const note = '<system-info>' + left + ' of ' + this.total + ' characters are left out here.</system-info>';
    return this.head.replace(tags, broken) + '\n' + note + '\n' + this.tail.slice(-this.half).replace(tags, broken);
  }
}

async function main() {
  const { newQuickJSWASMModuleFromVariant, newVariant, RELEASE_SYNC } = require(quickjs);
  // The limit of QuickJS itself counts each piece of memory, but not their sum.
  const wasmMemory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: Math.floor(memoryBytes / PAGE) });
  const vm = (await newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, { wasmMemory }))).newContext();
  const { runtime } = vm;
  parentPort.postMessage('${STARTED}');
  const deadline = Date.now() + timeoutMs;
  const isLate = () => Date.now() > deadline;
  runtime.setMaxStackSize(256 * 1024);
  runtime.setInterruptHandler(isLate);
  const outputs = [new Kept(), new Kept()];
  // A text that there is no memory for comes as an empty one.
  const read = (text) => {
    const copy = vm.getString(text);
    return copy === '' && vm.getNumber(vm.getProp(text, 'length')) > 0 ? undefined : copy;
  };
  const write = vm.newFunction('write', (stream, text) => {
    if (isLate()) throw new Error('interrupted'); // QuickJS looks at the time only now and then
    const copy = read(text);
    if (copy === undefined) throw new Error('out of memory');
    outputs[vm.getNumber(stream)].push(copy);
  });
  const show = vm.unwrapResult(vm.callFunction(vm.unwrapResult(vm.evalCode('(' + PRELUDE + ')')), vm.undefined, write));
  const spare = vm.newArrayBuffer(new ArrayBuffer(PAGE)); // to say something when the code has left no memory
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
    const isNull = vm.eq(error, vm.null); // so it is when an error can't be made any more
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
