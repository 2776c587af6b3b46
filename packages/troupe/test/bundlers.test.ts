/** Programs bundled by esbuild, Vite and webpack from the packed package, and run. Uses dist/, which `npm test` makes. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import * as esbuild from 'esbuild';
import { build as viteBuild } from 'vite';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { webpack, type Configuration } from 'webpack';

import { readMarkdown } from '../../../tools/lib/markdown.ts';
import { casesOf } from './fair-sample.ts';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const ROOT = join(PACKAGE, '../..');
const TIMEOUT_MS = 120_000; // webpack is slow on a busy machine
const MODULES = join(ROOT, 'node_modules');

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

let work: string;
let manifest: Manifest;

/** Installs the packed package in a new folder, with its dependencies and these packages, and without any other. */
async function newProject(...packages: readonly string[]): Promise<string> {
  const dir = await mkdtemp(join(work, 'project-'));
  await mkdir(join(dir, 'node_modules'));
  await cp(join(work, 'package'), join(dir, 'node_modules/troupe'), { recursive: true });
  for (const name of [...Object.keys(manifest.dependencies), ...packages]) {
    const link = join(dir, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(MODULES, name), link);
  }
  await writeFile(join(dir, 'package.json'), '{ "type": "module", "private": true }');
  return dir;
}

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'troupe-bundlers-'));
  manifest = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8')) as Manifest;
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', work], { cwd: PACKAGE });
  const [tarball = ''] = (await readdir(work)).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', tarball], { cwd: work });
}, TIMEOUT_MS);

afterAll(async () => {
  await esbuild.stop(); // its process
  await rm(work, { recursive: true, force: true });
});

/** Globals of a page in a browser that bundles use and Node has not. */
const BROWSER = `globalThis.self = globalThis;
globalThis.document = {
  currentScript: { tagName: 'SCRIPT', src: 'https://app.example/hello.js' },
  createElement: () => ({ relList: { supports: () => true } }),
};`;

/** Runs a program in a folder without packages. @returns its output */
async function output(program: readonly string[], ...flags: readonly string[]): Promise<string> {
  const [file = ''] = program;
  const env = { PATH: process.env['PATH'] ?? '' };
  const { stdout } = await run(process.execPath, [...flags, ...program], { cwd: dirname(file), env });
  return stdout;
}

async function runWebpack(config: Configuration): Promise<void> {
  const compiler = webpack(config);
  if (compiler === null) throw new Error('webpack made no compiler');
  const stats = await promisify(compiler.run.bind(compiler))();
  await promisify(compiler.close.bind(compiler))();
  expect(stats?.toJson({ all: false, errors: true }).errors).toEqual([]);
}

type Bundle = (dir: string, out: string) => Promise<string>;

/** Bundles the README's program: an entry, a place for the bundle, and nothing else. */
const FOR_BROWSERS: Readonly<Record<string, Bundle>> = {
  async esbuild(dir, out) {
    const outfile = join(out, 'hello.mjs');
    // The program awaits at its top level, which needs this format whatever is bundled.
    const options = { format: 'esm', bundle: true, logLevel: 'silent' } as const;
    await esbuild.build({ ...options, absWorkingDir: dir, entryPoints: ['hello.ts'], outfile });
    return outfile;
  },
  async vite(dir, out) {
    await writeFile(join(dir, 'index.html'), '<script type="module" src="/hello.ts"></script>');
    await viteBuild({ root: dir, configFile: false, logLevel: 'silent', build: { outDir: out } });
    const [script = ''] = (await readdir(join(out, 'assets'))).filter((name) => /^index.*\.js$/.test(name));
    await writeFile(join(out, 'package.json'), '{ "type": "module" }');
    return join(out, 'assets', script);
  },
  async webpack(dir, out) {
    await runWebpack({
      context: dir,
      mode: 'production',
      entry: './hello.js',
      output: { path: out, filename: 'hello.cjs' },
    });
    return join(out, 'hello.cjs');
  },
};

/** Bundles a program for Node: the same, with Node as the target. */
const FOR_NODE: Readonly<Record<string, Bundle>> = {
  async esbuild(dir, out) {
    const outfile = join(out, 'program.cjs');
    const options = { platform: 'node', bundle: true, logLevel: 'silent' } as const;
    await esbuild.build({ ...options, absWorkingDir: dir, entryPoints: ['program.js'], outfile });
    return outfile;
  },
  async vite(dir, out) {
    const build = { ssr: 'program.js', outDir: out };
    await viteBuild({ root: dir, configFile: false, logLevel: 'silent', ssr: { noExternal: true }, build });
    await writeFile(join(out, 'package.json'), '{ "type": "module" }');
    return join(out, 'program.js');
  },
  async webpack(dir, out) {
    await runWebpack({
      context: dir,
      mode: 'none', // minifying takes most of the time
      target: 'node',
      entry: './program.js',
      output: { path: out, filename: 'program.cjs' },
    });
    return join(out, 'program.cjs');
  },
};

const PRINTED = `assistant(thinking): The message has words of its description.
assistant → get_weather(city: "Lisbon")
assistant ← get_weather: It is sunny in Lisbon.
assistant: get_weather says: It is sunny in Lisbon.
(I am Troupe's offline stand-in: I follow simple rules, and no language model is behind me.)
`;

async function readmeProgram(): Promise<string> {
  const { fences } = readMarkdown(await readFile(join(ROOT, 'README.md'), 'utf8'));
  return fences.find(({ language }) => language === 'ts')?.code ?? '';
}

/** Bundles a program, and runs the bundle as on a page. @returns what it printed */
async function bundledHello(bundler: string, program: string): Promise<string> {
  const dir = await newProject('zod');
  for (const file of ['hello.ts', 'hello.js']) await writeFile(join(dir, file), program);
  const browser = join(dir, 'browser.cjs');
  await writeFile(browser, BROWSER);
  const bundled = await FOR_BROWSERS[bundler]?.(dir, await mkdtemp(join(work, 'out-')));
  return output([bundled ?? ''], '--require', browser);
}

const BROWSER_BUNDLERS = casesOf(
  "bundlers of the README's program (webpack is slow)",
  Object.keys(FOR_BROWSERS),
  2,
);

test.each(BROWSER_BUNDLERS)(
  "the README's program is bundled by %s without options, and runs",
  async (bundler) => {
    const printed = await bundledHello(bundler, await readmeProgram());
    expect(printed.replaceAll(/"call_\w+"/g, '"call"')).toBe(PRINTED);
  },
  TIMEOUT_MS,
);

test.each(BROWSER_BUNDLERS)(
  "the README's program with a real model is bundled by %s without options, and runs",
  async (bundler) => {
    const chunk = { choices: [{ index: 0, delta: { content: 'It is sunny.' }, finish_reason: 'stop' }] };
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const model = `new OpenAIChatModel({ modelName: 'm', apiKey: 'secret', baseUrl: 'http://127.0.0.1:${port}/v1' })`;
    const program = (await readmeProgram())
      .replace(
        "import { OfflineModel } from 'troupe/offline'",
        "import { OpenAIChatModel } from 'troupe/openai'",
      )
      .replace('new OfflineModel()', model);
    expect(await bundledHello(bundler, program)).toBe('assistant: It is sunny.\n');
  },
  TIMEOUT_MS,
);

/** Says something, and tells how many messages the session has by then. */
const CHAT = `
import { ReActAgent, SessionManager } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { JsonSession } from 'troupe/stores/json';

const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), console: false });
const session = SessionManager.forSessionId('chat').withSession(new JsonSession(process.argv[2])).addComponent(agent);
session.loadIfExists().then(async () => {
  await agent.call('Hello!');
  await session.saveSession();
  console.log(agent.constructor.name, await agent.memory.size());
});
`;

test(
  'a session of a minified program is loaded by one that is not, and the other way around',
  async () => {
    const dir = await newProject();
    await writeFile(join(dir, 'program.js'), CHAT);
    const bundled = async (minify: boolean): Promise<string> => {
      const outfile = join(dir, `program-${String(minify)}.cjs`);
      const options = { platform: 'node', bundle: true, logLevel: 'silent' } as const;
      await esbuild.build({ ...options, minify, absWorkingDir: dir, entryPoints: ['program.js'], outfile });
      return outfile;
    };
    const [plain, minified] = [await bundled(false), await bundled(true)];
    const sessions = join(dir, 'sessions');
    const said = [];
    for (const program of [minified, plain, minified])
      said.push((await output([program, sessions])).trim().split(' '));
    expect(said.map(([, size]) => size)).toEqual(['2', '4', '6']);
    expect(said.map(([name]) => name === 'ReActAgent')).toEqual([false, true, false]); // the name of the class is lost
  },
  TIMEOUT_MS,
);

/** Code that uses every entry of the package. */
function everyEntry(): string {
  const entries = Object.entries(manifest.exports).filter(([, target]) => typeof target === 'object');
  const imports = entries.map(([path], i) => `import * as entry${i} from '${posix.join('troupe', path)}';`);
  return `${imports.join('\n')}\nglobalThis.entries = [${entries.map((_, i) => `entry${i}`).join(', ')}];`;
}

/** Uses every feature with an optional package, and prints the errors. */
const WITHOUT_PACKAGES = `
import { Msg, Toolkit } from 'troupe';
import { A2AAgent, serveA2A } from 'troupe/a2a';
import { LlamaCppModel } from 'troupe/llama-cpp';
import { McpClient, McpServer } from 'troupe/mcp';
import { OfflineModel } from 'troupe/offline';
import { OpenAITokenCounter } from 'troupe/openai';
import { SkillSet } from 'troupe/skills';
import { PostgresSession } from 'troupe/stores/postgres';
import { RedisSession } from 'troupe/stores/redis';
import { javascriptTool } from 'troupe/tools';
import { enableTracing } from 'troupe/tracing';
import { setupTracing } from 'troupe/tracing/otlp';

const card = { name: 'a', description: 'b', version: '1', supportedInterfaces: [] };
const attempts = {
  mcpClient: () => new McpClient({ name: 'c', transport: { type: 'http', url: 'http://127.0.0.1:9' } }).connect(),
  mcpServer: () => new McpServer(new Toolkit()).fetch(new Request('http://localhost/mcp')),
  a2aClient: () => new A2AAgent({ card, console: false }).call('Hello'),
  a2aServer: () => serveA2A(() => undefined, { card }).fetch(new Request('http://localhost/')),
  tokens: () => new OpenAITokenCounter('gpt-5').count([Msg.user('Hello')]),
  oldTokens: () => new OpenAITokenCounter('gpt-4').count([Msg.user('Hello')]),
  skills: () => new SkillSet({ toolkit: new Toolkit() }).add(process.argv[2]),
  postgres: () => new PostgresSession('postgres://127.0.0.1:9/none').list(),
  redis: () => new RedisSession('redis://127.0.0.1:9').list(),
  javascript: () => javascriptTool().execute({ code: '1' }, { signal: new AbortController().signal }),
  llama: () => new LlamaCppModel({ modelPath: process.argv[1] }).call({ messages: [] }, {}),
  tracing: () => enableTracing(),
  otlp: () => setupTracing({ endpoint: 'http://127.0.0.1:9/v1/traces' }),
};
async function main() {
  const problems = {};
  for (const [name, attempt] of Object.entries(attempts))
    problems[name] = await Promise.resolve().then(attempt).then(() => 'worked', (error) => [error.code, error.message]);
  console.log(JSON.stringify(problems));
}
main();
`;

const A2A = 'A2A needs the package @a2a-js/sdk, which could not be loaded. Run: npm install @a2a-js/sdk';
const MCP = (name: string): string =>
  `MCP needs the package ${name}, which could not be loaded. Run: npm install ${name}`;
const TOKENS =
  'OpenAITokenCounter needs the package gpt-tokenizer: npm install gpt-tokenizer. Without it, use EstimateTokenCounter.';

const MISSING = {
  mcpClient: ['invalid_config', MCP('@modelcontextprotocol/client')],
  mcpServer: ['invalid_config', MCP('@modelcontextprotocol/server')],
  a2aClient: ['invalid_config', A2A],
  a2aServer: ['invalid_config', A2A],
  tokens: ['invalid_config', TOKENS],
  oldTokens: ['invalid_config', TOKENS],
  skills: ['invalid_config', 'Skills need the package yaml: npm install yaml.'],
  postgres: ['invalid_config', "PostgreSQL needs the package 'pg'. Install it: npm install pg"],
  redis: ['invalid_config', "Redis needs the package 'redis'. Install it: npm install redis"],
  javascript: [
    'invalid_config',
    'The JavaScript tool needs the package quickjs-emscripten, which is not installed. Run: npm install quickjs-emscripten',
  ],
  llama: [
    'invalid_config',
    'A local model needs the package node-llama-cpp, which could not be loaded. Run: npm install node-llama-cpp',
  ],
  tracing: [
    'invalid_config',
    'Tracing needs the package @opentelemetry/api, which could not be loaded. Run: npm install @opentelemetry/api',
  ],
  otlp: [
    'invalid_config',
    'The export of spans needs packages of OpenTelemetry. Run: npm install @opentelemetry/api @opentelemetry/sdk-trace @opentelemetry/resources @opentelemetry/context-async-hooks @opentelemetry/exporter-trace-otlp-proto',
  ],
};

const SKILL = '---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n';

test.each(Object.keys(FOR_NODE))(
  'bundled by %s without the optional packages, each use of one says what to install',
  async (bundler) => {
    const dir = await newProject();
    await mkdir(join(dir, 'greet'));
    await writeFile(join(dir, 'greet/SKILL.md'), SKILL);
    await writeFile(join(dir, 'program.js'), everyEntry() + WITHOUT_PACKAGES);
    const bundled = await FOR_NODE[bundler]?.(dir, await mkdtemp(join(work, 'out-')));
    expect(JSON.parse(await output([bundled ?? '', join(dir, 'greet')]))).toEqual(MISSING);
  },
  TIMEOUT_MS,
);

/** Uses optional packages that are installed where the program is bundled, and not where it runs. */
const WITH_PACKAGES = `
import { AgentBase, Msg, tool, Toolkit } from 'troupe';
import { A2AAgent, serveA2A, WellKnownAgentCardResolver } from 'troupe/a2a';
import { McpClient, McpServer } from 'troupe/mcp';
import { OpenAITokenCounter } from 'troupe/openai';
import { SkillSet } from 'troupe/skills';

class Echo extends AgentBase {
  async reply(msgs) { return Msg.assistant('You said: ' + msgs[0].text, { name: this.name }); }
}
async function main() {
  const schema = { type: 'object', properties: {} };
  const tools = new McpServer(new Toolkit({ tools: [tool({ name: 'ping', schema, execute: () => 'pong' })] }));
  const client = new McpClient({ name: 'c', transport: { type: 'http', url: await tools.listen() } });
  const { content } = await client.callTool('ping');
  await client.close();
  await tools.close();
  const agents = serveA2A(new Echo({ name: 'echo', console: false }), { card: { description: 'Echoes.' } });
  const card = new WellKnownAgentCardResolver(await agents.listen());
  const remote = new A2AAgent({ name: 'remote', card, console: false });
  const answer = await remote.call('Hello');
  await agents.close();
  const tokens = await new OpenAITokenCounter('gpt-5').count([Msg.user('Hello')]);
  const skill = await new SkillSet({ toolkit: new Toolkit() }).add(process.argv[2]);
  console.log(JSON.stringify({ mcp: content, a2a: answer.text, tokens, skill }));
}
main();
`;

test.each(
  casesOf('bundlers of a program with optional packages (webpack is slow)', Object.keys(FOR_NODE), 2),
)(
  'bundled by %s with optional packages, the bundle holds them',
  async (bundler) => {
    const mcp = ['@modelcontextprotocol/client', '@modelcontextprotocol/server'];
    const dir = await newProject(...mcp, '@a2a-js/sdk', 'gpt-tokenizer', 'yaml');
    await mkdir(join(dir, 'greet'));
    await writeFile(join(dir, 'greet/SKILL.md'), SKILL);
    await writeFile(join(dir, 'program.js'), WITH_PACKAGES);
    const bundled = await FOR_NODE[bundler]?.(dir, await mkdtemp(join(work, 'out-')));
    expect(JSON.parse(await output([bundled ?? '', join(dir, 'greet')]))).toEqual({
      mcp: 'pong',
      a2a: 'You said: Hello',
      tokens: 8,
      skill: 'greet',
    });
  },
  TIMEOUT_MS,
);
