import { describe, expect, test } from 'vitest';

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

/** A server that prints its environment in pieces and other forms, and ends at once or fails in its tool. */
const TALKER = `
const { createInterface } = require('node:readline');
const { PASSWORD, KEY, NAME } = process.env;
const ascii = (text) => JSON.stringify(text).replace(/[^ -~]/g, (c) => '\\\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
const write = (text) => process.stderr.write(text);
for (const line of KEY.split('\\n')) write('> ' + line + '\\n');
write('name ' + ascii(NAME) + ' end');
if (process.argv[1] === 'die') process.exit(3);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') write(' password ' + PASSWORD.slice(0, 11));
  if (method === 'tools/list') write(PASSWORD.slice(11) + ' over\\n');
  const say = (result) => console.log(ascii({ jsonrpc: '2.0', id, result }));
  if (method === 'initialize')
    say({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
  else if (method === 'tools/list') say({ tools: [{ name: 'fail', inputSchema: { type: 'object' } }] });
  else say({ isError: true, content: [{ type: 'text', text: 'for ' + NAME }], structuredContent: { [PASSWORD]: '\\nabcdefgh' } });
});
`;

describe('a secret in pieces, in lines or in other letters', () => {
  const env = {
    PASSWORD: 'correct "horse" battery',
    KEY: '-----BEGIN-----\nMIIEvAIBADANBgkq\nhkiG9w0BAQEFAASC',
    NAME: 'Zoë Dvořák',
    ODD: 'nabcdefgh', // in JSON, a line break before "abcdefgh" looks like it
  };
  const words = ['correct', 'horse', 'battery', 'MIIEvAIB', 'hkiG9w0', 'Zo', 'Dvo'];

  async function told(...args: string[]): Promise<string> {
    const logged: string[] = [];
    const logging = { log: (_level: string, message: string) => void logged.push(message) };
    return withRunConfig({ logging }, async () => {
      const transport = {
        type: 'stdio',
        command: process.execPath,
        args: ['-e', TALKER, ...args],
        env,
      } as const;
      const client = new McpClient({ name: 's', transport });
      const outcome = await client.callTool('fail').catch((error: unknown) => error);
      await client.close();
      return [String(outcome), JSON.stringify(outcome), ...logged].join('\n');
    });
  }

  test('is hidden in the log and in the error of a server that dies', async () => {
    const shown = await told('die');
    expect(shown).toContain('Its last output: > [hidden] | > [hidden] | > [hidden] | name "[hidden]" end');
    for (const word of words) expect(shown).not.toContain(word);
  });

  test('is hidden in a failed result', async () => {
    const shown = await told();
    expect(shown).toContain('for [hidden]');
    expect(shown).toContain('name "[hidden]" end password [hidden] over');
    expect(shown).toContain(JSON.stringify('\nabcdefgh').slice(1, -1));
    for (const word of words) expect(shown).not.toContain(word);
  });
});
