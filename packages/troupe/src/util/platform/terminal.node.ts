/**
 * Single reader of standard input.
 *
 * Lines that arrive early wait for the next question. Between questions nothing is read, the terminal is in
 * its normal mode (Ctrl-C is a signal), and standard input does not keep the process alive.
 *
 * During a question a terminal marks pasted text, if it can: pasted lines become one answer, which Enter sends.
 */
import type { Interface, Key, ReadLineOptions } from 'node:readline';

import { abortable } from '../abort.ts';
import type { Terminal } from './platform.ts';

/** Control sequences after which a terminal marks the start and the end of pasted text, or no longer does. */
const PASTE_MARKS = { on: '\u001b[?2004h', off: '\u001b[?2004l' };

let createInterface: ((options: ReadLineOptions) => Interface) | undefined;
const arrived: string[] = [];
let unfinished = ''; // typed ahead, after the last whole answer
let history: string[] = [];
let pipe: Interface | undefined; // kept between questions, because it may hold part of a line
let question: Question | undefined; // currently shown to the user
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
  const shown = (question = new Question(prompt));
  try {
    await nextLine(signal);
  } finally {
    question = undefined;
    unfinished = signal.aborted ? '' : shown.text;
    shown.close();
    if (arrived.length === 0 || unfinished !== '') process.stdout.write('\n'); // later output starts on a new line
  }
  return arrived.shift();
}

/** A question at a terminal, with the line that the user edits. */
class Question {
  readonly #prompt: string;
  readonly #lines: Interface;
  /** Pasted lines above the one that is edited. */
  #pasted: string[] = [];
  #isPasting = false;
  #isDropping = false;

  constructor(prompt: string) {
    const { stdin: input, stdout: output } = process;
    const lines = readLines({ input, output, prompt, history: [...history], terminal: true }, (line) =>
      this.#takeLine(line),
    );
    this.#prompt = prompt;
    this.#lines = lines;
    const onKey = (_text: string | undefined, key: Key): void => this.#noticePaste(key);
    const pasteMarks = process.env['TERM'] === 'dumb' ? { on: '', off: '' } : PASTE_MARKS;
    input.on('keypress', onKey);
    lines.on('close', () => {
      input.off('keypress', onKey);
      output.write(pasteMarks.off);
    });
    lines.on('history', (entries: string[]) => this.#keepHistory(entries));
    lines.on('SIGINT', () => this.#pressInterruptKey());
    output.write(pasteMarks.on);
    lines.prompt();
    this.#isPasting = true; // line feeds typed ahead are part of a text that was pasted
    lines.write(unfinished);
    this.#isPasting = false;
  }

  /** Text so far, which was not sent yet. */
  get text(): string {
    return [...this.#pasted, this.#lines.line].join('\n');
  }

  close(): void {
    this.#lines.close();
  }

  #noticePaste({ name }: Key): void {
    if (name === 'paste-start') this.#isPasting = true;
    if (name === 'paste-end') this.#isPasting = false;
  }

  #takeLine(line: string): void {
    if (this.#isDropping) return;
    if (this.#isPasting) {
      this.#pasted.push(line);
      this.#lines.setPrompt(''); // the prompt stands before the first line
      return;
    }
    const isLineFeed = line === '' && this.#pasted.length > 0; // the paste ended with one
    arrive([...this.#pasted, ...(isLineFeed ? [] : [line])].join('\n'));
    this.#startAnew();
  }

  /** Keeps the history of lines, without dropped ones and without single lines of a pasted text. */
  #keepHistory(entries: string[]): void {
    if (this.#isDropping || this.#isPasting || this.#pasted.length > 0)
      entries.splice(0, entries.length, ...history);
    else history = [...entries];
  }

  /** Handles Ctrl-C, for which the terminal sends no signal now: clears the text, or is the signal if there is none. */
  #pressInterruptKey(): void {
    if (this.text !== '') return this.#clear();
    if (process.emit('SIGINT', 'SIGINT')) return;
    this.close();
    process.kill(process.pid, 'SIGINT');
  }

  /** Drops the text so far, and asks again on a new line. Pasted text can be higher than the screen, so it is not erased. */
  #clear(): void {
    this.#lines.write(null, { ctrl: true, name: 'e' }); // to the end of the line
    process.stdout.write('^C');
    this.#isDropping = true;
    this.#lines.write(null, { name: 'return' });
    this.#isDropping = false;
    this.#startAnew();
    this.#lines.prompt();
  }

  #startAnew(): void {
    this.#isPasting = false;
    this.#pasted = [];
    this.#lines.setPrompt(this.#prompt);
  }
}

async function readPiped(prompt: string, signal: AbortSignal): Promise<string | undefined> {
  process.stdout.write(prompt);
  pipe ??= readLines({ input: process.stdin, crlfDelay: Infinity, terminal: false }, arrive).on(
    'close',
    () => {
      pipe = undefined;
    },
  );
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

function readLines(options: ReadLineOptions, onLine: (line: string) => void): Interface {
  if (createInterface === undefined) throw new Error('The terminal is not open.');
  const lines = createInterface(options);
  lines.on('line', onLine);
  for (const end of ['close', 'error']) lines.on(end, () => wake());
  return lines;
}

function arrive(answer: string): void {
  arrived.push(answer);
  wake();
}

/** Resolves when a line arrives or the input ends. */
function nextLine(signal: AbortSignal): Promise<void> {
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return abortable(woken, signal);
}
