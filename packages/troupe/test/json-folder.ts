/** Sessions in files, for tests. What is made goes when the test is over. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { InMemoryMemory } from '../src/memory/in-memory-memory.ts';
import { Msg } from '../src/message/msg.ts';
import { JsonSession } from '../src/stores/json/json-session.ts';

export async function newDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-json-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export async function remember(memory: InMemoryMemory, ...texts: readonly string[]): Promise<InMemoryMemory> {
  await memory.add(texts.map((text) => Msg.user(text)));
  return memory;
}

export async function textsOf(memory: InMemoryMemory): Promise<readonly string[]> {
  return (await memory.getMemory({ prependSummary: false })).map((msg) => msg.text);
}

export async function loadTexts(dir: string, id = 's'): Promise<readonly string[]> {
  const memory = new InMemoryMemory();
  if (!(await new JsonSession(dir).load(id, { memory }))) return ['nothing'];
  return textsOf(memory);
}

export async function thrown(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** A session with two saves: one message, then two. */
export async function twoSaves(
  dir: string,
): Promise<{ session: JsonSession; memory: InMemoryMemory; folder: string }> {
  const session = new JsonSession(dir);
  const memory = await remember(new InMemoryMemory(), 'one');
  await session.save('s', { memory });
  await session.save('s', { memory: await remember(memory, 'two') });
  return { session, memory, folder: join(dir, 'sessions', 's') };
}

export async function filesIn(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [name, await readFile(join(folder, name), 'latin1')] as const),
    ),
  );
}

/** List 0 of the log. */
export const logIn = async (folder: string): Promise<string> =>
  join(folder, (await readdir(folder)).find((name) => /^[^.]+\.jsonl$/.test(name)) ?? 'no log');
