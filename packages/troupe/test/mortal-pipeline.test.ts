// Processes that run a pipeline and are killed at every moment: the next process resumes, has what was told, and pays nothing twice.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { findHistoryFaults } from '../src/message/history.ts';
import type { Msg } from '../src/message/msg.ts';
import type { ReActAgent } from '../src/react/react-agent.ts';
import { isJsonObject, parseJson, type JsonObject } from '../src/util/json.ts';
import { bundle } from './bundle.ts';
import { strideOf } from './fair-sample.ts';
import {
  PAID,
  pipelineStory,
  runStory,
  TOLD,
  type PipelineKind,
  type PipelineStory,
} from './mortal-pipeline-story.ts';

const MINUTE = 60_000;
let folder: string;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-mortal-'));
  program = await bundle('mortal-pipeline.ts', join(folder, 'out'), ['pg-native']);
}, MINUTE);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a pipeline until its process is killed at a moment. @returns the number of moments, if it came to its end before */
async function live(kind: PipelineKind, dir: string, moment: number): Promise<number | undefined> {
  const args = ['--disable-warning=ExperimentalWarning', program, kind, dir, String(moment)];
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'cache') };
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, args, { env }, (_error, stdout, stderr) => {
      if (stderr !== '') reject(new Error(stderr));
      else resolve(child.signalCode === 'SIGKILL' ? undefined : Number(stdout));
    });
  });
}

const linesOf = async (dir: string, name: string): Promise<string[]> => {
  const text = await readFile(join(dir, name), 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
};

async function toldIn(dir: string): Promise<JsonObject[]> {
  return (await linesOf(dir, TOLD)).map((line) => parseJson(line)).filter(isJsonObject);
}

async function historyOf(agent: ReActAgent): Promise<readonly Msg[]> {
  const history = await agent.memory.getMemory();
  expect(findHistoryFaults(history), agent.name).toEqual([]);
  return history;
}

/** Compares what a process was killed with and what the next one has loaded. */
async function checkLoaded(
  kind: PipelineKind,
  dir: string,
  { agents, pipeline }: PipelineStory,
): Promise<void> {
  const told = await toldIn(dir);
  const decided = new Set(told.map((line) => line['decided']));
  const pending = new Set<unknown>(pipeline.pendingCalls.map(({ id }) => id));
  for (const { agent: name, answer, asked } of told) {
    if (asked !== undefined && !decided.has(asked)) expect(pending, 'a question').toContain(asked);
    if (answer === undefined) continue;
    for (const agent of agents) {
      if (kind !== 'hub' && agent.name !== name) continue; // in a hub, all have heard the answer
      const ids = (await historyOf(agent)).map(({ id }) => id);
      expect(ids, `the answer of ${String(name)} in the memory of ${agent.name}`).toContain(answer);
    }
  }
}

/** Checks a pipeline that was resumed and has come to its end. */
async function checkEnd(dir: string, { agents, pipeline }: PipelineStory): Promise<void> {
  expect(pipeline.pendingCalls).toEqual([]);
  const paid = await linesOf(dir, PAID);
  expect(paid.toSorted(), 'paid').toEqual([...new Set(paid)].toSorted());
  for (const agent of agents) {
    const history = await historyOf(agent);
    const own = history.filter(({ name, role }) => name === agent.name && role === 'assistant');
    const results = history
      .flatMap((msg) => msg.getContentBlocks('tool_result'))
      .filter(({ name }) => name === 'pay')
      .map(({ status }) => (status === 'ok' ? 'ok' : 'unknown'));
    expect([agent.name, results], 'results').toEqual([agent.name, [expect.stringMatching('ok|unknown')]]);
    if (results[0] === 'ok') expect(paid).toContain(agent.name);
    expect(
      own.filter(({ text }) => text === `${agent.name} is done.`),
      `answers of ${agent.name}`,
    ).toHaveLength(1);
  }
}

test.each(['sequence', 'fanout', 'hub', 'stored'] as const)(
  '%s: killed at every moment, it is resumed, and nothing told is missing and nothing paid twice',
  async (kind) => {
    const stride = strideOf(`moments at which a pipeline is killed (${kind})`, 17);
    let resumed = 0;
    for (let moment = 1; ; moment += stride) {
      const dir = join(folder, `${kind}-${moment}`);
      await mkdir(dir);
      const end = await live(kind, dir, moment);
      const story = pipelineStory(kind, dir);
      const isThere = await story.manager.loadIfExists();
      story.manager.autoSave();
      try {
        await checkLoaded(kind, dir, story);
        const isFinished = isThere && story.pipeline.stateDict()['progress'] === null;
        if (!isFinished) await runStory(kind, dir, story);
        if (isThere && !isFinished) resumed++;
        await checkEnd(dir, story);
      } catch (error) {
        throw new Error(`Killed at moment ${moment}`, { cause: error });
      }
      await story.manager[Symbol.asyncDispose]();
      await rm(dir, { recursive: true });
      if (end === undefined) continue;
      expect(end).toBeGreaterThan(100);
      break;
    }
    expect(resumed).toBeGreaterThan(3);
  },
  10 * MINUTE,
);
