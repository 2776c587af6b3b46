// An agent that remembers you across runs: its long-term memory is a SQLite file. Each run is a process of its own.
//
//     node examples/remembering/main.ts <file.db> "I am Ann, and I drink green tea."
//     node examples/remembering/main.ts <file.db> "What do I drink?"
//
// Without arguments, it runs itself three times and checks what is remembered. Without a key the model is NotingModel,
// a few rules in place of a language model; with OPENAI_API_KEY it is a real one.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ChatModelBase, ReActAgent, type ModelRequest } from 'troupe';
import { SimpleLongTermMemory } from 'troupe/knowledge';
import { OpenAIChatModel } from 'troupe/openai';
import type { ModelDelta } from 'troupe/provider';
import { SqliteVectorStore } from 'troupe/stores/sqlite';

/** Makes notes of sentences such as `I drink green tea.`, and answers with what the long-term memory has. */
class NotingModel extends ChatModelBase {
  constructor() {
    super('noting');
  }

  override async *stream({ messages, tools = [] }: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    const texts = messages.map((msg) => msg.text);
    if (tools.some(({ name }) => name === 'generate_response')) {
      const changes = notesOf(texts.at(-1) ?? texts.join('\n'), texts.join('\n'));
      yield { type: 'tool_use_start', index: 0, name: 'generate_response' };
      yield { type: 'tool_input', index: 0, json: JSON.stringify({ changes }) };
      yield { type: 'tool_use_end', index: 0 };
      yield { type: 'finish', reason: 'tool_calls' };
      return;
    }
    const known = /<long_term_memory>([^]*)<\/long_term_memory>/.exec(texts.join('\n'))?.[1];
    yield {
      type: 'text',
      text: known === undefined ? 'I see.' : `As far as I remember: ${known.replaceAll('\n', ' ')}`,
    };
    yield { type: 'finish', reason: 'stop' };
  }
}

/** Changes of the memories: a new statement, or a new version of one that begins alike. */
function notesOf(text: string, prompt: string): readonly object[] {
  const known = [...prompt.matchAll(/<memory number="(\d+)">(.*?)<\/memory>/g)];
  const said = /<conversation>\n([^]*?)\n<\/conversation>/.exec(text)?.[1] ?? '';
  return [...said.matchAll(/\bI (drink|live in|work as) ([^.,!?]+)[.,!]/g)].map(
    ([, verb = '', rest = '']) => {
      const statement = `The user ${verb === 'drink' ? 'drinks' : verb.replace(/^(\w+)/, '$1s')} ${rest}.`;
      const start = statement.slice(0, statement.length - rest.length - 1);
      const old = known.find(([, , memory = '']) => memory.startsWith(start));
      return old === undefined
        ? { action: 'add', text: statement }
        : { action: 'update', memory: Number(old[1]), text: statement };
    },
  );
}

/** One run: the agent hears one thing, and answers. */
async function run(file: string, said: string): Promise<void> {
  const model = process.env['OPENAI_API_KEY']
    ? new OpenAIChatModel({ modelName: 'gpt-4o-mini' })
    : new NotingModel();
  await using store = new SqliteVectorStore(file);
  await using memory = new SimpleLongTermMemory({ userId: 'you', model, store, isBackground: true });
  const agent = new ReActAgent({
    name: 'friend',
    model,
    longTermMemory: memory,
    longTermMemoryMode: 'static_control',
    console: false,
  });
  console.log(`you: ${said}\nfriend: ${(await agent.call(said)).text}`);
  await memory.flush(); // recorded in the background; disposal would wait for it too
  console.log(`  remembered: ${(await memory.list()).map(({ text }) => text).join(' ')}`);
}

const [file, said] = process.argv.slice(2);
if (file !== undefined && said !== undefined) await run(file, said);
else {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-remembering-'));
  try {
    const outputs = [
      'I drink green tea, and I live in Rome.',
      'I drink coffee now.',
      'Tell me what I drink, and where I live.',
    ].map((sentence) => {
      const flags = process.execArgv;
      const args = [...flags, import.meta.filename, join(folder, 'memories.db'), sentence];
      const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      assert.equal(`${stderr}${status}`, '0');
      console.log(stdout);
      return stdout;
    });
    assert.match(outputs[0] ?? '', /remembered: .*green tea/);
    assert.match(outputs[2] ?? '', /friend: .*drinks coffee/);
    assert.doesNotMatch(outputs[2] ?? '', /green tea/);
    console.log('Three runs, one memory: what changed was replaced.');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
