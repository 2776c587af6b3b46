// For the tests: our server over stdio. The first argument chooses what it serves: tools, or an agent.

import { ReActAgent } from '../../src/react/react-agent.ts';
import { McpServer } from '../../src/mcp/index.ts';
import { ScriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';

const aborted: string[] = [];

function tools(): Toolkit {
  const toolkit = new Toolkit();
  toolkit.createToolGroup('more', { description: 'More.' });
  const schema = {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  } as const;
  toolkit.registerToolFunction(
    tool({
      name: 'add',
      description: 'Adds.',
      schema,
      readOnly: true,
      execute: ({ a, b }) => Number(a) + Number(b),
    }),
  );
  toolkit.registerToolFunction(
    tool({
      name: 'count',
      sideEffect: true,
      async *execute() {
        yield 'one';
        yield 'one, two';
      },
    }),
  );
  toolkit.registerToolFunction(
    tool({
      name: 'hang',
      execute: (_input, { signal, emit }) => {
        emit('hanging');
        signal.addEventListener('abort', () => aborted.push('hang'));
        return new Promise(() => {});
      },
    }),
  );
  toolkit.registerToolFunction(tool({ name: 'aborted', execute: () => aborted.join() }));
  toolkit.registerToolFunction(
    tool({
      name: 'print',
      execute: () => {
        console.log('{"jsonrpc":"2.0","method":"notifications/fake"}');
        process.stdout.write('no protocol at all\n');
        return 'printed';
      },
    }),
  );
  toolkit.registerToolFunction(
    tool({
      name: 'fail',
      execute: () => {
        throw new Error('no luck');
      },
    }),
  );
  toolkit.registerToolFunction(
    tool({
      name: 'media',
      execute: () => [
        { type: 'text', text: 'look' },
        { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'aGk=' } },
        { type: 'image', source: { type: 'url', url: 'https://pictures.example/a.png' } },
        {
          type: 'file',
          filename: 'a b.txt',
          source: { type: 'base64', mediaType: 'text/plain', data: 'aGk=' },
        },
      ],
    }),
  );
  toolkit.registerToolFunction(
    tool({ name: 'unlock', execute: () => toolkit.updateToolGroups(['more'], true) }),
  );
  toolkit.registerToolFunction(tool({ name: 'extra', group: 'more', execute: () => 'extra' }));
  return toolkit;
}

function agent(): ReActAgent {
  const model = new ScriptedModel([
    { text: 'Let me see.', toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] },
    { text: 'It is three, of course.', chunkSize: 4 },
    { text: 'Wait', stall: true },
    'I am still here.',
  ]);
  return new ReActAgent({ name: 'Mr. Friday', sysPrompt: '', model, toolkit: tools() });
}

const source = process.argv[2] === 'agent' ? agent() : tools();
await new McpServer(source, { name: 'ours', version: '2', instructions: 'Be kind.' }).serveStdio();
process.stderr.write('served\n');
