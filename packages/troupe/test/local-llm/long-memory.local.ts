/**
 * The real prompt of the extractor of long-term memories on a real, small model: what one person of the set tells, one remark after
 * another, and the questions about it. The quality of so small a model is reported, not judged.
 */
import { pathToFileURL } from 'node:url';

import { afterAll, expect, test } from 'vitest';

import { SimpleLongTermMemory } from '../../src/longterm/simple-long-term-memory.ts';
import { Msg } from '../../src/message/msg.ts';
import { LlamaCppModel } from '../../src/providers/llama-cpp/llama-cpp-model.ts';
import { longMemorySet } from '../knowledge/long-memory-set.ts';

/** `LOCAL_LLM_REMARKS` takes fewer remarks: the small model needs half a minute for each on a busy machine. */
const { LOCAL_LLM_WEIGHTS = '', LOCAL_LLM_LIBRARY = '', LOCAL_LLM_REMARKS = '1000' } = process.env;

const model = new LlamaCppModel({
  modelPath: LOCAL_LLM_WEIGHTS,
  library: () => import(pathToFileURL(LOCAL_LLM_LIBRARY).href),
  contextSize: 2048,
  threads: 1,
  generation: { temperature: 0, maxTokens: 220 },
});
afterAll(() => model.dispose());

test(
  'the extractor: every remark is taken, and the questions are counted',
  { timeout: 3_600_000 },
  async () => {
    const [person] = longMemorySet();
    const remarks = (person?.sessions ?? []).flat().filter(({ statement, replaces }) => {
      const isSmallTalk = statement?.startsWith('The user talked about') ?? replaces === undefined;
      return !isSmallTalk;
    });
    remarks.splice(Number(LOCAL_LLM_REMARKS));
    expect(remarks.length).toBeGreaterThan(5);
    const memory = new SimpleLongTermMemory({ userId: 'ann', model });
    const failures: string[] = [];
    for (const { said } of remarks)
      await memory.record([Msg.user(said)]).catch((error: unknown) => failures.push(String(error)));
    const kept = (await memory.list()).map(({ text }) => text).toReversed();
    const scores: Record<string, { asked: number; found: number; wrong: number }> = {};
    const told = remarks.map(({ statement }) => statement).join(' ');
    for (const { kind, question, expected, wrong } of person?.questions ?? []) {
      if (expected !== undefined && !told.includes(expected)) continue;
      const text = (await memory.retrieve([Msg.user(question)])).toLowerCase();
      const score = (scores[kind] ??= { asked: 0, found: 0, wrong: 0 });
      score.asked++;
      if (expected !== undefined && text.includes(expected.toLowerCase())) score.found++;
      if (wrong.some((one) => text.includes(one.toLowerCase()))) score.wrong++;
    }
    console.log(
      `${remarks.length} remarks, ${failures.length} without a valid answer\n`,
      kept,
      scores,
      failures[0],
    );
    expect(failures.filter((failure) => !failure.startsWith('StructuredOutputError'))).toEqual([]);
  },
);
