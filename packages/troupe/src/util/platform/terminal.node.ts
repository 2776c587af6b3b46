/**
 * Single reader of standard input.
 *
 * Lines that arrive early wait for the next question. Between questions nothing is read, the terminal is in
 * its normal mode (Ctrl-C is a signal), and standard input does not keep the process alive.
 */
import type { Interface, ReadLineOptions } from 'node:readline';

import { abortable } from '../abort.ts';
import type { Terminal } from './platform.ts';

let createInterface: ((options: ReadLineOptions) => Interface) | undefined;
const arrived: string[] = [];
let unfinished = ''; // typed ahead, after the last whole line
let history: string[] = [];
let pipe: Interface | undefined; // kept between questions, because it may hold part of a line
let question: Interface | undefined; // currently shown to the user
let wake: () => void = () => {};
let whenFree: Promise<void> = Promise.resolve();

/** Opens the terminal as soon as it is free. The signal cancels the wait and all questions. */
export async function openTerminal(signal: AbortSignal): Promise<Terminal> {
  const before = whenFree;
  let close = (): void => {};
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  whenFree = before.then(() => closed);
  try {
    createInterface ??= (await import('node:readline')).createInterface; // loaded on first use
    await abortable(before, signal);
  } catch (error) {
    close();
    throw error;
  }
  return {
    ask: (prompt) => ask(prompt, signal),
    say: (line) => void process.stdout.write(`${line}\n`),
    close,
  };
}

/**
 * Calls back for every Ctrl-C, which then does not end the program, until the returned function is called.
 */
export function onInterruptKey(handler: () => void): () => void {
  // A new function each time, so that each registration is removed on its own.
  const listener = (): void => handler();
  process.on('SIGINT', listener);
  return () => void process.off('SIGINT', listener);
}

/** Exits after restoring the terminal. */
export function exitProgram(code: number): void {
  if (question !== undefined) {
    question.close();
    process.stdout.write('\n');
  }
  process.exit(code);
}

async function ask(prompt: string, signal: AbortSignal): Promise<string | undefined> {
  signal.throwIfAborted();
  if (arrived.length === 0 && process.stdin.readable) {
    if (process.stdin.isTTY && process.stdout.isTTY) return readTyped(prompt, signal);
    return readPiped(prompt, signal);
  }
  process.stdout.write(prompt);
  return takeShown();
}

async function readTyped(prompt: string, signal: AbortSignal): Promise<string | undefined> {
  const { stdin: input, stdout: output } = process;
  const lines = readLines({ input, output, prompt, history, terminal: true });
  lines.on('history', (entries: string[]) => {
    history = entries;
  });
  lines.on('SIGINT', pressInterruptKey);
  question = lines;
  lines.prompt();
  lines.write(unfinished);
  try {
    await nextLine(signal);
  } finally {
    question = undefined;
    unfinished = signal.aborted ? '' : lines.line;
    lines.close();
    if (arrived.length === 0 || unfinished !== '') output.write('\n'); // later output starts on a new line
  }
  return arrived.shift();
}

async function readPiped(prompt: string, signal: AbortSignal): Promise<string | undefined> {
  process.stdout.write(prompt);
  pipe ??= readLines({ input: process.stdin, crlfDelay: Infinity, terminal: false }).on('close', () => {
    pipe = undefined;
  });
  pipe.resume();
  try {
    await nextLine(signal);
  } catch (error) {
    process.stdout.write('\n');
    throw error;
  } finally {
    pipe?.pause();
  }
  return takeShown();
}

/** Returns the next line of a pipe or of early input, and prints the line like typed text. */
function takeShown(): string | undefined {
  const line = arrived.shift();
  process.stdout.write(`${line ?? ''}\n`);
  return line;
}

function readLines(options: ReadLineOptions): Interface {
  if (createInterface === undefined) throw new Error('The terminal is not open.');
  const lines = createInterface(options);
  lines.on('line', (line) => {
    arrived.push(line);
    wake();
  });
  for (const end of ['close', 'error']) lines.on(end, () => wake());
  return lines;
}

/** Resolves when a line arrives or the input ends. */
function nextLine(signal: AbortSignal): Promise<void> {
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return abortable(woken, signal);
}

/** Handles Ctrl-C during a question, when the terminal sends no signal. */
function pressInterruptKey(): void {
  if (process.emit('SIGINT', 'SIGINT')) return;
  question?.close();
  process.kill(process.pid, 'SIGINT');
}
