import { expect, test } from 'vitest';

import { withRunConfig } from '../../config/run-config.ts';
import { McpClient } from './mcp-client.ts';

const SECRET = 'correct "horse" battery';
/** A server that repeats its environment in results, errors, logs and stderr. */
const SERVER = `
const { createInterface } = require('node:readline');
const text = 'wrong password: ' + process.env.PASSWORD;
console.error(text);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const say = (answer) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  if (method === 'initialize')
    say({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
  else if (method === 'tools/list')
    say({ result: { tools: ['fail', 'report'].map((name) => ({ name, inputSchema: { type: 'object' } })) } });
  else if (params.name === 'fail') say({ error: { code: -32000, message: text, data: { text } } });
  else say({ result: { isError: true, content: [{ type: 'text', text }] } });
});
`;

test('errors and log lines of a server do not repeat the values of its env', async () => {
  const logged: string[] = [];
  const logging = { log: (_level: string, message: string) => void logged.push(message) };
  await withRunConfig({ logging }, async () => {
    await using client = new McpClient({
      name: 's',
      transport: {
        type: 'stdio',
        command: process.execPath,
        args: ['-e', SERVER],
        env: { PASSWORD: SECRET, SHORT: 'on' },
      },
    });
    const failure = await client.callTool('fail').catch((error: unknown) => error);
    const report = await client.callTool('report');
    const shown = [String(failure), JSON.stringify(failure), JSON.stringify(report), ...logged].join('\n');
    expect(shown).toContain('wrong password');
    for (const word of ['correct', 'horse', 'battery']) expect(shown).not.toContain(word);
    expect(shown.match(/\[hidden\]/g)?.length).toBeGreaterThan(3);
  });
});
