// A chat with a folder of documents, offline, with citations. The documents are read, split and stored in one SQLite
// file; a second run reads them again and finds nothing to do. Without a terminal, it asks three questions itself.
//
//     node examples/knowledge/main.ts                        the documents of this example
//     node examples/knowledge/main.ts <folder> <file.db>     your documents, kept in a file
//
// Without a key it answers with the best sentence that was found: QuotingModel is no language model. With
// OPENAI_API_KEY it is a real one. Documents are found by their words; with an embedding model (see SimpleKnowledge),
// also by meaning.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';

import { ChatModelBase, ReActAgent, type ModelRequest, type Msg } from 'troupe';
import { SimpleKnowledge, TermReranker, type KnowledgeCitation } from 'troupe/knowledge';
import { OpenAIChatModel } from 'troupe/openai';
import type { ModelDelta } from 'troupe/provider';
import { readFolder } from 'troupe/readers';
import { SqliteVectorStore } from 'troupe/stores/sqlite';

/** Answers with the sentence that shares most words with the question, and the number of its document. */
class QuotingModel extends ChatModelBase {
  constructor() {
    super('quoting');
  }

  override async *stream({ messages }: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    const texts = messages.map((msg) => msg.text);
    const found = texts.findLast((text) => text.includes('<retrieved_knowledge>')) ?? '';
    const question = texts.findLast((text) => text !== found && text !== '') ?? '';
    const wanted = new Set(wordsOf(question));
    let best = { score: 0, text: 'The documents say nothing about that.' };
    for (const [, number, document = ''] of found.matchAll(/number="(\d+)"[^>]*>\n([^]*?)\n<\/document>/g)) {
      for (const sentence of document.replace(/^\|.*\n\| ---.*$/gm, '').split(/(?<=[.!?])\s+|\n+/)) {
        const score = wordsOf(sentence).filter((word) => wanted.has(word)).length;
        if (score > best.score && !sentence.startsWith('#'))
          best = { score, text: `${sentence.trim()} [${number}]` };
      }
    }
    yield { type: 'text', text: best.text };
    yield { type: 'finish', reason: 'stop' };
  }
}

function wordsOf(text: string): readonly string[] {
  return (text.toLowerCase().match(/[a-z]{4,}|\d+/g) ?? []).map((word) => word.replace(/s$/, ''));
}

const [folder = join(import.meta.dirname, 'documents'), database = ':memory:'] = process.argv.slice(2);
await using store = new SqliteVectorStore(database);
const knowledge = new SimpleKnowledge({ store, reranker: new TermReranker(), description: 'the documents' });
const sync = () =>
  knowledge.sync(readFolder(folder, { onError: (path, error) => console.log(`${path}: ${String(error)}`) }), {
    removeMissing: true,
  });
const first = await sync();
console.log(
  `${first.added} added, ${first.changed} changed, ${first.unchanged} unchanged, ${first.removed} removed`,
);

const agent = new ReActAgent({
  name: 'guide',
  sysPrompt: 'Answer from the documents, and cite them by their numbers, such as [1].',
  model: process.env['OPENAI_API_KEY']
    ? new OpenAIChatModel({ modelName: 'gpt-4o-mini' })
    : new QuotingModel(),
  knowledge,
  enableRewriteQuery: false,
  console: false,
});

async function ask(question: string): Promise<Msg> {
  const answer = await agent.call(question);
  console.log(`\nyou: ${question}\nguide: ${answer.text}`);
  for (const { number, metadata = {} } of citationsIn(answer)) {
    if (!answer.text.includes(`[${number}]`)) continue;
    const { source, heading, page, rows } = metadata;
    const place = [source, heading, page && `page ${page}`, rows && `rows ${rows}`].filter(Boolean);
    console.log(`  [${number}] ${place.join(', ')}`);
  }
  return answer;
}

function citationsIn({ metadata }: Msg): readonly KnowledgeCitation[] {
  return (metadata['citations'] ?? []) as readonly KnowledgeCitation[];
}

if (process.stdin.isTTY) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  for (;;) {
    const question = await terminal.question('\nyour question (empty to end): ');
    if (question.trim() === '') break;
    await ask(question);
  }
  terminal.close();
} else if (process.argv.length === 2) {
  const answers = [
    await ask('When do guided tours begin?'),
    await ask('What does a family ticket cost?'),
    await ask('Where does bus 14 leave from?'),
  ];
  assert.match(answers[1]?.text ?? '', /Family \| 20/);
  const cited = answers.map((answer) => {
    const number = Number(/\[(\d+)\]/.exec(answer.text)?.[1]);
    return citationsIn(answer).find((citation) => citation.number === number)?.documentId;
  });
  assert.deepEqual(cited, ['handbook.docx', 'prices.csv', 'getting-here.md']);
  const again = await sync();
  assert.deepEqual(
    { ...again, usage: undefined },
    { added: 0, changed: 0, unchanged: 3, removed: 0, embeddedChunks: 0, usage: undefined },
  );
  console.log('\nEvery answer names its document, and reading the folder again changes nothing.');
}
