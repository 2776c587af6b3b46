import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { Terminal } from './platform.ts';
import type * as Reader from './terminal.node.ts';

/** The keyboard of a terminal, as Node shows it. */
class Keyboard extends PassThrough {
  readonly isTTY = true;
  isRaw = false;

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw;
    return this;
  }
}

class Screen extends Writable {
  readonly isTTY = true;
  readonly columns = 80;
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }

  get lines(): string[] {
    return stripVTControlCharacters(this.text).replaceAll('\r', '').split('\n');
  }
}

const CTRL_C = '\x03';
const CTRL_D = '\x04';
const ARROW_UP = '\x1b[A';
const never = new AbortController().signal;

let keyboard: Keyboard;
let screen: Screen;
let terminal: typeof Reader;
let open: Terminal;

beforeEach(async () => {
  keyboard = new Keyboard();
  screen = new Screen();
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(keyboard as never);
  vi.spyOn(process, 'stdout', 'get').mockReturnValue(screen as never);
  vi.resetModules(); // the reader is one for the whole process
  terminal = await import('./terminal.node.ts');
  open = await terminal.openTerminal(never);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Whether the terminal is as the shell left it, and nothing of it is read. */
const isAtRest = (): boolean => !keyboard.isRaw && keyboard.isPaused();

describe('a person at a terminal', () => {
  test('types lines, and the terminal is at rest between the questions', async () => {
    const first = open.ask('name? ');
    expect([keyboard.isRaw, isAtRest()]).toEqual([true, false]);
    keyboard.write('Adam\b\b');
    keyboard.write('a\r');
    expect(await first).toBe('Ada');
    expect(isAtRest()).toBe(true);
    open.say('hello');
    const second = open.ask('age? ');
    keyboard.write('36\n');
    expect(await second).toBe('36');
    expect(isAtRest()).toBe(true);
    expect(screen.lines.at(-2)).toBe('age? 36');
    expect(screen.lines).toContain('hello');
  });

  test('finds earlier answers again', async () => {
    for (const line of ['one', 'two']) {
      const answer = open.ask('? ');
      keyboard.write(`${line}\r`);
      await answer;
    }
    const again = open.ask('? ');
    keyboard.write(ARROW_UP);
    keyboard.write(`${ARROW_UP}\r`);
    expect(await again).toBe('one');
  });

  test('types several lines at once: each answers a question, and an unfinished one goes on', async () => {
    const first = open.ask('1? ');
    keyboard.write('one\rtwo\rth');
    expect([await first, await open.ask('2? ')]).toEqual(['one', 'two']);
    const third = open.ask('3? ');
    keyboard.write('ree\r');
    expect(await third).toBe('three');
    expect(screen.lines.filter((line) => line.includes('?'))).toEqual(['1? one', '2? two', '3? three']);
  });

  test('keeps the lines for waiting questions', async () => {
    const first = open.ask('1? ');
    keyboard.write('one\rtwo\r');
    await first;
    open.close();
    const asker = new AbortController();
    const late = await terminal.openTerminal(asker.signal);
    asker.abort(new Error('too late'));
    await expect(late.ask('2? ')).rejects.toThrow('too late');
    late.close();
    expect(await (await terminal.openTerminal(never)).ask('3? ')).toBe('two');
    expect(screen.text).not.toContain('2? ');
  });

  test('ends one question with Ctrl-D, not the next', async () => {
    const ended = open.ask('? ');
    keyboard.write(CTRL_D);
    expect(await ended).toBeUndefined();
    expect(isAtRest()).toBe(true);
    expect(screen.text.endsWith('\n')).toBe(true);
    const next = open.ask('? ');
    keyboard.write('more\r');
    expect(await next).toBe('more');
  });

  test('after the end of input answers no question', async () => {
    const ended = open.ask('? ');
    keyboard.end();
    expect([await ended, await open.ask('? ')]).toEqual([undefined, undefined]);
  });

  test('loses what was typed when the question is withdrawn', async () => {
    open.close();
    const asker = new AbortController();
    const impatient = await terminal.openTerminal(asker.signal);
    const withdrawn = impatient.ask('? ');
    keyboard.write('half a li');
    asker.abort(new Error('withdrawn'));
    await expect(withdrawn).rejects.toThrow('withdrawn');
    await expect(impatient.ask('? ')).rejects.toThrow('withdrawn');
    expect([isAtRest(), screen.text.endsWith('\n')]).toEqual([true, true]);
    impatient.close();
    const patient = await terminal.openTerminal(never);
    const next = patient.ask('? ');
    keyboard.write('whole\r');
    expect(await next).toBe('whole');
  });

  test('presses Ctrl-C at a question: who listens is told, and the question stays open', async () => {
    const pressed = vi.fn<() => void>();
    const stop = terminal.onInterruptKey(pressed);
    const answer = open.ask('? ');
    keyboard.write(CTRL_C);
    expect(pressed).toHaveBeenCalledTimes(1);
    stop();
    keyboard.write('x\r');
    expect(await answer).toBe('x');
  });

  test('presses Ctrl-C at a question while nobody listens: the program gets the signal', async () => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    vi.spyOn(process, 'emit').mockReturnValue(false as never);
    const answer = open.ask('? ');
    keyboard.write(CTRL_C);
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGINT']]);
    expect(keyboard.isRaw).toBe(false);
    expect(await answer).toBeUndefined();
  });

  test('finds the terminal in order when the program leaves', async () => {
    const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
    const answer = open.ask('? ');
    terminal.exitProgram(130);
    expect(exit.mock.calls).toEqual([[130]]);
    expect(keyboard.isRaw).toBe(false);
    expect(screen.text.endsWith('\n')).toBe(true);
    expect(await answer).toBeUndefined();
    const written = screen.text;
    terminal.exitProgram(0);
    expect(screen.text).toBe(written);
  });

  test('leaves no listener behind, however many questions there are', async () => {
    const count = (): number =>
      [keyboard, screen]
        .flatMap((stream) => stream.eventNames().map((name) => stream.listenerCount(name)))
        .reduce((a, b) => a + b);
    const ask = async (): Promise<void> => {
      const answer = open.ask('? ');
      keyboard.write('x\r');
      await answer;
    };
    await ask();
    const before = count();
    for (let i = 0; i < 50; i++) await ask();
    expect(count()).toBe(before);
  });
});

describe('text pasted at a terminal', () => {
  const paste = (text: string): string => `\x1b[200~${text}\x1b[201~`;

  test('is one answer with all its lines, which Enter sends', async () => {
    const answer = open.ask('? ');
    keyboard.write(paste('one\r\ttwo\r\n\nthr'));
    keyboard.write('eee\b\r');
    expect(await answer).toBe('one\n\ttwo\n\nthree');
    expect(screen.lines).toEqual(['? one', '\ttwo', '', expect.stringContaining('three'), '']);
    expect(isAtRest()).toBe(true);
  });

  test('is the same answer, however its bytes arrive', async () => {
    const answer = open.ask('? ');
    for (const byte of Buffer.from(`so: ${paste('ä €\r日本\r')}\r`)) keyboard.write(Buffer.of(byte));
    expect(await answer).toBe('so: ä €\n日本'); // a line feed at the end is not part of it
  });

  test('is one answer of several, and the line after it another', async () => {
    const first = open.ask('1? ');
    keyboard.write(`${paste('a\rb')}\rc\r${paste('d\re')}`);
    expect([await first, await open.ask('2? ')]).toEqual(['a\nb', 'c']);
    const third = open.ask('3? ');
    keyboard.write('!\r');
    expect(await third).toBe('d\ne!');
  });

  test('of one line can be edited, and is found again; of several lines it is not', async () => {
    for (const text of ['typed', paste('pasted'), paste('two\rlines')]) {
      const answer = open.ask('? ');
      keyboard.write(`${text}\r`);
      await answer;
    }
    for (const [keys, expected] of [
      [ARROW_UP, 'pasted'],
      [ARROW_UP + ARROW_UP, 'typed'],
    ]) {
      const again = open.ask('? ');
      keyboard.write(`${keys}\r`);
      expect(await again).toBe(expected);
    }
  });

  test('is marked by the terminal only while a question is open', async () => {
    const marks = (): string[] => screen.text.match(/\x1b\[\?2004[hl]/g) ?? [];
    const answer = open.ask('? ');
    expect(marks()).toEqual(['\x1b[?2004h']);
    keyboard.write('x\r');
    await answer;
    expect(marks()).toEqual(['\x1b[?2004h', '\x1b[?2004l']);
    vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
    void open.ask('? ');
    terminal.exitProgram(0);
    expect(marks().slice(2)).toEqual(['\x1b[?2004h', '\x1b[?2004l']);
  });

  test('is not marked by a terminal that knows no control sequences', async () => {
    vi.stubEnv('TERM', 'dumb');
    const answer = open.ask('? ');
    keyboard.write('x\r');
    expect(await answer).toBe('x');
    expect(screen.text).not.toContain('2004');
    vi.unstubAllEnvs();
  });
});

describe('Ctrl-C at a question', () => {
  test.each([
    ['half a line', 'half a li', ['? half a li^C']],
    ['a line, from its middle', 'half a li\x1b[D\x1b[D', ['? half a li^C']],
    ['pasted lines', '\x1b[200~one\rtwo\x1b[201~ more', ['? one', 'two more^C']],
    ['a paste that does not end', '\x1b[200~one\rtwo', ['? one', 'two^C']],
    ['a pasted line feed', '\x1b[200~\r\x1b[201~', ['? ', '^C']],
  ])('clears %s, and nobody is told; the next one is for those who listen', async (_, text, shown) => {
    const pressed = vi.fn<() => void>();
    const stop = terminal.onInterruptKey(pressed);
    const answer = open.ask('? ');
    keyboard.write(text);
    keyboard.write(CTRL_C);
    expect(pressed).not.toHaveBeenCalled();
    expect(screen.lines).toEqual([...shown, '? ']);
    keyboard.write(CTRL_C);
    expect(pressed).toHaveBeenCalledTimes(1);
    stop();
    keyboard.write(`other${CTRL_C}whole\r`);
    expect(await answer).toBe('whole');
    expect(screen.lines).toEqual([...shown, '? other^C', '? whole', '']);
  });

  test('keeps what it clears out of the history', async () => {
    const first = open.ask('? ');
    keyboard.write('one\r');
    await first;
    const second = open.ask('? ');
    keyboard.write(`two${CTRL_C}${ARROW_UP}\r`);
    expect(await second).toBe('one');
  });
});

test('each listener to Ctrl-C is told, until it has ended its own listening', () => {
  const before = process.listenerCount('SIGINT');
  const handler = vi.fn<() => void>();
  const stops = [terminal.onInterruptKey(handler), terminal.onInterruptKey(handler)];
  expect(process.listenerCount('SIGINT')).toBe(before + 2);
  stops[0]?.();
  stops[0]?.();
  expect(process.listenerCount('SIGINT')).toBe(before + 1);
  stops[1]?.();
  expect(process.listenerCount('SIGINT')).toBe(before);
});

test('waiting for the terminal can be aborted, without blocking others', async () => {
  const first = open;
  const impatient = new AbortController();
  const second = terminal.openTerminal(impatient.signal);
  const third = terminal.openTerminal(never);
  impatient.abort(new Error('too late'));
  await expect(second).rejects.toThrow('too late');
  const order: string[] = [];
  const opened = third.then((terminal) => {
    order.push('third opens');
    return terminal;
  });
  await Promise.resolve();
  order.push('first closes');
  first.close();
  (await opened).close();
  expect(order).toEqual(['first closes', 'third opens']);
});
