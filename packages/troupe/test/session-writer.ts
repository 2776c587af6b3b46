/**
 * A program that saves a session again and again, and ends, stops or is killed in the middle of it. What it does it
 * tells on standard output, a line each, at once.
 *
 * `session-writer.ts <kind> <place> kill <point> <n>`: kills itself at that point of the n-th save.
 * `session-writer.ts <kind> <place> stop <point>`: stops itself there, and goes on when it is told to.
 * `session-writer.ts <kind> <place> churn`: saves for ever, each time 200 kB that are new.
 * `session-writer.ts <kind> <place> append <name> <n>`: waits for a word, then adds n messages, trying again after each conflict.
 */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { SessionConflictError } from '../src/session/format/session-error.ts';
import type { Session } from '../src/session/session.ts';
import { openPlace, type PlaceKind } from './session-places.ts';
import { Diary } from './session-diary.ts';

const [kind = '', place = '', mode = '', ...rest] = process.argv.slice(2);

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

let armed: string | undefined;
function reached(point: string): void {
  if (point !== armed) return;
  armed = undefined;
  say(`at ${point}`);
  process.kill(process.pid, mode === 'stop' ? 'SIGSTOP' : 'SIGKILL');
}

const session = openPlace(kind as PlaceKind, place, reached);

async function load(from: Session): Promise<Diary> {
  const diary = new Diary();
  await from.load('diary', { diary });
  diary.check();
  return diary;
}

async function save(diary: Diary): Promise<void> {
  say(`saving ${diary.day}`);
  await session.save('diary', { diary });
  say(`saved ${diary.day}`);
}

async function killOrStop(point: string, saves: number): Promise<void> {
  const diary = await load(session);
  for (let i = 1; i <= saves; i++) {
    diary.write(2_000);
    if (i === saves) armed = point;
    await save(diary);
  }
}

async function churn(): Promise<never> {
  const diary = await load(session);
  for (;;) {
    diary.rewrite(200_000);
    await save(diary);
  }
}

async function append(name: string, count: number): Promise<void> {
  let conflicts = 0;
  await load(session);
  say('ready');
  await once(process.stdin, 'data');
  process.stdin.destroy();
  for (let i = 0; i < count;) {
    const diary = await load(session);
    diary.write(10, `${name} ${i}`);
    try {
      await session.save('diary', { diary });
      i++;
    } catch (error) {
      if (!(error instanceof SessionConflictError)) throw error;
      conflicts++;
    }
  }
  say(`conflicts ${conflicts}`);
}

try {
  const [first = '', second = '1'] = rest;
  if (mode === 'churn') await churn();
  else if (mode === 'append') await append(first, Number(second));
  else await killOrStop(first, Number(second));
} catch (error) {
  say(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}
await session.close();
say('end');
