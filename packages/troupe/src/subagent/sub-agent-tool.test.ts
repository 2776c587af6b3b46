// Guarantees of sub-agent tools: a new instance for each tool call, no output, restricted access, and
// failures as results.
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import type { Logger } from '../config/logger.ts';
import { withRunConfig } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { FileSystemHandle } from '../filesystem/file-system-handle.ts';
import { InMemoryFileSystem } from '../filesystem/in-memory-file-system.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from '../testing/scripted-model.ts';
import { isSuspended } from '../toolkit/call/tool-call-outcome.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import type { JsonObject } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import { ReActAgent } from '../react/react-agent.ts';
import type { ReActAgentOptions } from '../react/react-agent-options.ts';
import { makeSubagentTool } from './make-subagent-tool.ts';
import { registerSubAgent } from './register-sub-agent.ts';
import { SubAgentBase } from './sub-agent-base.ts';
import { SubAgentUnavailable } from './sub-agent-error.ts';
import type { SubAgentSpec } from './sub-agent-spec.ts';
import type { SubAgentInit } from './sub-agent.ts';
import { TaskSubAgent } from './task-sub-agent.ts';

/** Repeats its task, and records the instances. */
class Echo extends SubAgentBase {
  static readonly made: Echo[] = [];
  heard: readonly Msg[] = [];
  remembered: readonly Msg[] = [];

  constructor(init: SubAgentInit) {
    super(init);
    Echo.made.push(this);
  }

  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    this.heard = msgs;
    await this.memory.add(msgs);
    this.remembered = await this.memory.getMemory();
    const text = msgs.map((msg) => msg.text).join();
    await this.print(Msg.assistant(`about to say ${text}`, { name: this.name }));
    return Msg.assistant(`echo: ${text}`, { name: this.name });
  }
}

afterEach(() => void Echo.made.splice(0));
// loads the validator before the tests
beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

const SPEC: SubAgentSpec = { name: 'echo', description: 'Repeats things.' };
const ask = (name: string, input: JsonObject, id = `call_${name}`): ScriptedToolCall => ({ name, id, input });
const failing = (act: () => Promise<Msg>): typeof Echo =>
  class extends Echo {
    override reply(): Promise<Msg> {
      return act();
    }
  };

function hostWith(
  script: readonly (string | ScriptedTurn)[],
  options: Partial<ReActAgentOptions> = {},
): ReActAgent {
  const host = new ReActAgent({ name: 'boss', model: new ScriptedModel(script), ...options });
  host.setConsoleOutputEnabled(false);
  return host;
}

async function resultsOf(host: ReActAgent): Promise<readonly ToolResultBlock[]> {
  const memory = await host.memory.getMemory();
  expect(findHistoryFaults(memory)).toEqual([]);
  return memory.flatMap((msg) => msg.getContentBlocks('tool_result'));
}

function collectingLogger(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  return { lines, log: (level, message) => void lines.push(`${level}: ${message}`) };
}

/** The only tool result of a host that delegates once. */
async function delegatedTo(
  cls: typeof Echo | typeof TaskSubAgent,
  spec: Partial<SubAgentSpec> = {},
  input: JsonObject = { query: 'hello' },
): Promise<ToolResultBlock> {
  const host = hostWith([{ toolCalls: [ask('agent_echo', input)] }, 'done']);
  await registerSubAgent(host, cls, { ...SPEC, ...spec });
  expect((await host.call('go')).text).toBe('done');
  const [result, ...others] = await resultsOf(host);
  expect(others).toEqual([]);
  if (result === undefined) throw new Error('there is no result');
  return result;
}

describe('a sub-agent is a tool', () => {
  test('two of them are offered by their names, descriptions and arguments', async () => {
    const host = hostWith([]);
    const names = [
      await registerSubAgent(host, Echo, SPEC),
      await registerSubAgent(
        host,
        Echo,
        { ...SPEC, name: 'other', inputSchema: z.object({ url: z.string() }) },
        { toolName: 'fetcher' },
      ),
    ];
    expect(names).toEqual(['agent_echo', 'fetcher']);
    expect(host.toolkit.getJsonSchemas()).toMatchObject([
      {
        name: 'agent_echo',
        description: 'Repeats things.',
        parameters: {
          type: 'object',
          properties: { query: { type: 'string' }, context: { type: 'object' } },
          required: ['query'],
        },
      },
      { name: 'fetcher', parameters: { properties: { url: { type: 'string' } }, required: ['url'] } },
    ]);
  });

  test('the host without tools of its own gets one result, and none of what was said in between', async () => {
    const host = hostWith([{ toolCalls: [ask('agent_echo', { query: 'hello' })] }, 'done']);
    await registerSubAgent(host, Echo, SPEC);
    const events: AgentEvent[] = [];
    for await (const event of host.stream('go')) events.push(event);
    const [result] = await resultsOf(host);
    expect(result).toEqual({
      type: 'tool_result',
      id: 'call_agent_echo',
      name: 'agent_echo',
      output: 'echo: hello',
      status: 'ok',
      metadata: {
        subagent: 'echo',
        supervisor: 'boss',
        delegation_context: {
          task_summary: 'hello',
          recent_events: [
            {
              id: expect.any(String) as string,
              role: 'user',
              name: 'user',
              preview: 'go',
              timestamp: expect.any(String) as string,
            },
          ],
          long_term_refs: [],
          workspace_pointers: [],
          safety_flags: { max_depth: 0 },
        },
        tool_trace: [],
      },
    });
    expect(new Set(events.map(({ agentPath }) => agentPath.join('/')))).toEqual(new Set(['boss']));
    expect(JSON.stringify(events)).not.toContain('about to say');
  });

  test('of two, the one that is called works on what it is told, and the other one not at all', async () => {
    const models = { search: new ScriptedModel(['found it']), fetch: new ScriptedModel(['fetched it']) };
    const calls = [ask('agent_search', { task: 'How far?' }), ask('agent_fetch', { task: 'The page.' })].map(
      (call) => ({ toolCalls: [call] }),
    );
    const host = hostWith([...calls, 'done']);
    for (const [name, modelOverride] of Object.entries(models))
      await registerSubAgent(host, TaskSubAgent, { name, description: 'Works.', modelOverride });
    const events = host.stream('Use agent_search.');
    for await (const { type } of events) {
      if (type === 'tool_result') break;
    }
    expect([models.search.requests.length, models.fetch.requests.length]).toEqual([1, 0]);
    await host.call('Use agent_fetch.');
    const results = await resultsOf(host);
    expect(results.map(({ name, output, metadata }) => [name, output, metadata?.['subagent']])).toEqual([
      ['agent_search', 'found it', 'search'],
      ['agent_fetch', 'fetched it', 'fetch'],
    ]);
    expect(
      [models.search, models.fetch].map(({ requests }) =>
        requests.map(({ messages }) => messages.at(-1)?.text),
      ),
    ).toEqual([['How far?'], ['The page.']]);
  });

  test('every call has a new one, and the one that was asked for its health is none of them', async () => {
    const host = hostWith([
      { toolCalls: [ask('agent_echo', { query: 'a' }, 'c1')] },
      { toolCalls: [ask('agent_echo', { query: 'b' }, 'c2')] },
      'done',
    ]);
    await registerSubAgent(host, Echo, SPEC);
    await host.call('go');
    expect(Echo.made.map(({ heard }) => heard.map(({ text }) => text))).toEqual([[], ['a'], ['b']]);
    expect(new Set(Echo.made.map(({ id }) => id)).size).toBe(3);
  });

  test('the model’s own choice of groups changes nothing for the tools inside of it', async () => {
    const toolkit = new Toolkit();
    toolkit.createToolGroup('web', { description: 'the web' });
    toolkit.registerToolFunction({ name: 'search_web', group: 'web', execute: () => 'found' });
    const host = hostWith(
      [
        { toolCalls: [ask('reset_equipped_tools', {}, 'c1')] },
        { toolCalls: [ask('agent_echo', { task: 'x' }, 'c2')] },
        { toolCalls: [ask('search_web', {}, 'c3')] },
        'found it',
        'done',
      ],
      { toolkit, enableMetaTool: true },
    );
    await registerSubAgent(host, TaskSubAgent, { ...SPEC, toolsAllowlist: ['web'] });
    await host.call('go');
    const results = await resultsOf(host);
    expect(results.map(({ output }) => output).at(-1)).toBe('found it');
    expect(results.at(-1)?.metadata).toMatchObject({ tool_trace: ['search_web'] });
  });

  test('side by side they do not mix, and results are in the order of the calls', async () => {
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    class Slow extends Echo {
      override async reply(msgs: readonly Msg[]): Promise<Msg> {
        if (msgs[0]?.text === 'b') release();
        else await held; // the first can end only after the second has started
        return super.reply(msgs);
      }
    }
    const calls = ['a', 'b', 'c'].map((query) => ask('agent_echo', { query }, `c_${query}`));
    const host = hostWith([{ toolCalls: calls }, 'done'], { parallelToolCalls: true });
    await registerSubAgent(host, Slow, SPEC);
    await host.call('go');
    expect((await resultsOf(host)).map(({ id, output }) => [id, output])).toEqual([
      ['c_a', 'echo: a'],
      ['c_b', 'echo: b'],
      ['c_c', 'echo: c'],
    ]);
    for (const { remembered, heard } of Echo.made.slice(1)) {
      expect(remembered.map(({ text }) => text).slice(1)).toEqual(heard.map(({ text }) => text));
    }
  });

  test('the tool can be called without an agent', async () => {
    const host = hostWith([]);
    await registerSubAgent(host, Echo, SPEC);
    const call = { type: 'tool_use', id: 'c', name: 'agent_echo', input: { query: 'x' } } as const;
    expect(await host.toolkit.callToolFunction(call)).toMatchObject({ status: 'ok', output: 'echo: x' });
  });
});

describe('the memory of a sub-agent', () => {
  test('has the context and the task, which the host’s has not, and is emptied afterwards', async () => {
    const host = hostWith([{ toolCalls: [ask('agent_echo', { query: 'hello' })] }, 'done']);
    await registerSubAgent(host, Echo, SPEC);
    await host.call('go');
    const child = Echo.made.at(-1);
    expect(child?.remembered.map(({ role, name, metadata }) => [role, name, Object.keys(metadata)])).toEqual([
      ['user', 'boss', ['delegation_context']],
      ['user', 'boss', ['delegation_context']],
    ]);
    expect(child?.remembered[1]?.text).toBe('hello');
    expect(await child?.memory.size()).toBe(0);
    const texts = (await host.memory.getMemory()).map(({ text }) => text);
    expect(texts).toEqual(['go', '', '', 'done']);
  });

  test('is told a summary of a long history, not the history', async () => {
    const host = hostWith([{ toolCalls: [ask('agent_echo', { query: 'hello' })] }, 'done']);
    for (let i = 0; i < 50; i++) await host.observe(Msg.user(`old news ${i} ${'x'.repeat(1000)}`));
    await registerSubAgent(host, Echo, SPEC);
    const before = JSON.stringify(await host.memory.getMemory());
    await host.call('go');
    const { remembered = [] } = Echo.made.at(-1) ?? {};
    const told = remembered.map(({ text }) => text).join('\n');
    expect(told.match(/old news \d+/g)).toEqual(['old news 47', 'old news 48', 'old news 49']); // of 50
    expect(told.length).toBeLessThan(1000); // the history has 50 000 characters
    expect(JSON.stringify(remembered).length).toBeLessThan(5000);
    expect(JSON.stringify((await host.memory.getMemory()).slice(0, 50))).toBe(before);
  });

  test('is told what the last four tools gave, in a few words', async () => {
    const look = tool({
      name: 'look',
      schema: z.object({ n: z.number() }),
      execute: ({ n }) => `seen ${n} ${'y'.repeat(500)}`,
    });
    const host = hostWith(
      [
        ...[1, 2, 3, 4, 5].map((n) => ({ toolCalls: [ask('look', { n }, `l${n}`)] })),
        { toolCalls: [ask('agent_echo', { query: 'hello' })] },
        'done',
      ],
      { toolkit: new Toolkit({ tools: [look] }) },
    );
    await registerSubAgent(host, Echo, SPEC);
    await host.call('go');
    const context = Echo.made.at(-1)?.heard[0]?.metadata['delegation_context'];
    const { recent_events: events } = context as { recent_events: { preview: string }[] };
    expect(events.map(({ preview }) => [preview.slice(0, 17), preview.length])).toEqual(
      [2, 3, 4, 5].map((n) => [`look (ok): seen ${n}`, 200]),
    );
  });

  test('takes the same context once', async () => {
    await delegatedTo(Echo);
    const child = Echo.made.at(-1);
    const context = child?.heard[0]?.metadata['delegation_context'];
    if (child === undefined || context === undefined) throw new Error('nothing was delegated');
    await child.loadDelegationContext(context as Parameters<Echo['loadDelegationContext']>[0]);
    await child.loadDelegationContext(context as Parameters<Echo['loadDelegationContext']>[0]);
    expect(await child.memory.size()).toBe(1);
  });
});

describe('the tools of a sub-agent', () => {
  const search = tool({ name: 'search_web', execute: () => 'found' });
  const remove = tool({ name: 'remove', execute: () => 'removed' });

  test('are those of the allow-list, and its own, which the host does not see', async () => {
    const host = hostWith([], { toolkit: new Toolkit({ tools: [search, remove] }) });
    await registerSubAgent(host, Echo, {
      ...SPEC,
      toolsAllowlist: ['search_web'],
      tools: [tool({ name: 'http_request', execute: () => 'ok' })],
    });
    expect(Echo.made[0]?.toolkit.getJsonSchemas().map(({ name }) => name)).toEqual([
      'search_web',
      'http_request',
    ]);
    expect(host.toolkit.getJsonSchemas().map(({ name }) => name)).toEqual([
      'search_web',
      'remove',
      'agent_echo',
    ]);
  });

  test('are none by default', async () => {
    const host = hostWith([], { toolkit: new Toolkit({ tools: [search] }) });
    await registerSubAgent(host, Echo, SPEC);
    expect(Echo.made[0]?.toolkit.names).toEqual([]);
  });

  test('are a toolkit of its own: what it registers or removes is not seen by the host', async () => {
    class Grabby extends Echo {
      constructor(init: SubAgentInit) {
        super(init);
        this.toolkit.registerToolFunction(remove);
        this.toolkit.removeToolFunction('search_web');
        this.toolkit.registerMiddleware(() => 'never');
      }
    }
    const host = hostWith([], { toolkit: new Toolkit({ tools: [search] }) });
    await registerSubAgent(host, Grabby, { ...SPEC, toolsAllowlist: ['search_web'] });
    expect(host.toolkit.names).toEqual(['search_web', 'agent_echo']);
    const call = { type: 'tool_use', id: 'c', name: 'search_web', input: {} } as const;
    expect(await host.toolkit.callToolFunction(call)).toMatchObject({ output: 'found' });
  });

  test('are called through the middleware of the host', async () => {
    const toolkit = new Toolkit({ tools: [search] });
    toolkit.registerMiddleware(async (_call, next) => {
      const result = await next();
      return isSuspended(result) ? result : `${String(result.output)}, as allowed`;
    });
    const host = hostWith([], { toolkit });
    await registerSubAgent(host, Echo, { ...SPEC, toolsAllowlist: ['search_web'] });
    const call = { type: 'tool_use', id: 'c', name: 'search_web', input: {} } as const;
    expect(await Echo.made[0]?.toolkit.callToolFunction(call)).toMatchObject({ output: 'found, as allowed' });
  });

  test('can be made for its own files', async () => {
    const filesystem = new FileSystemHandle(new InMemoryFileSystem());
    const host = hostWith([
      { toolCalls: [ask('agent_echo', { task: 'note' })] },
      { toolCalls: [ask('note', {})] },
      'noted',
      'done',
    ]);
    const spec: SubAgentSpec = {
      ...SPEC,
      tools: ({ filesystem, home }) => [
        tool({ name: 'note', execute: () => filesystem?.write(`${home}/notes.txt`, 'hello') }),
      ],
    };
    await registerSubAgent(host, TaskSubAgent, spec, { filesystem });
    await host.call('go');
    expect(await filesystem.readText('/workspace/subagents/echo/notes.txt')).toBe('hello');
  });

  test('that the host does not have are an error at once', async () => {
    const host = hostWith([]);
    await expect(registerSubAgent(host, Echo, { ...SPEC, toolsAllowlist: ['serch'] })).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining("'serch', but boss has no such tool") as string,
    });
    expect(host.toolkit.names).toEqual([]);
  });
});

describe('files of a sub-agent', () => {
  test('are in its own folder, plus the files granted by the host', async () => {
    const files = new InMemoryFileSystem({ '/userinput/brief.txt': 'brief' });
    const filesystem = new FileSystemHandle(files);
    await filesystem.write('/workspace/secret.txt', 'secret');
    const host = hostWith([]);
    await registerSubAgent(host, Echo, SPEC, { filesystem });
    const reader = {
      ...SPEC,
      name: 'reader',
      fileGrants: [{ path: '/userinput/', operations: ['read'] as const }],
    };
    await registerSubAgent(host, Echo, reader, { filesystem });
    const [echo, other] = Echo.made.map(({ permissions }) => permissions.filesystem);
    await echo?.write('/workspace/subagents/echo/a.txt', 'mine');
    expect(await filesystem.readText('/workspace/subagents/echo/a.txt')).toBe('mine');
    for (const path of [
      '/workspace/secret.txt',
      '/workspace/subagents/reader/a.txt',
      '/workspace/subagents/echo2/a.txt',
      '/userinput/brief.txt',
      '/internal/x',
    ]) {
      await expect(echo?.readText(path)).rejects.toMatchObject({ kind: 'access_denied' });
      await expect(echo?.write(path, 'x')).rejects.toMatchObject({ kind: 'access_denied' });
    }
    expect(await other?.readText('/userinput/brief.txt')).toBe('brief');
    await expect(other?.write('/userinput/brief.txt', 'x')).rejects.toMatchObject({ kind: 'access_denied' });
    await expect(other?.readText('/workspace/subagents/echo/a.txt')).rejects.toMatchObject({
      kind: 'access_denied',
    });
  });

  test('are pointed at in the context', async () => {
    const host = hostWith([{ toolCalls: [ask('agent_echo', { query: 'hello' })] }, 'done']);
    await registerSubAgent(host, Echo, SPEC, { filesystem: new FileSystemHandle(new InMemoryFileSystem()) });
    await host.call('go');
    expect(Echo.made.at(-1)?.heard[0]?.metadata['delegation_context']).toMatchObject({
      workspace_pointers: ['/workspace/subagents/echo/'],
    });
  });
});

describe('health', () => {
  test('a sub-agent that is not well is not registered, which is logged', async () => {
    class Ill extends Echo {
      override healthcheck(): boolean {
        return false;
      }
    }
    for (const [cls, spec] of [
      [Ill, SPEC],
      [Echo, { ...SPEC, healthcheck: async () => false }],
      [Echo, { ...SPEC, healthcheck: () => Promise.reject(new Error('no network')) }],
    ] as const) {
      const logger = collectingLogger();
      const host = hostWith([]);
      await withRunConfig({ logging: logger }, async () => {
        expect(await registerSubAgent(host, cls, spec)).toBeUndefined();
      });
      expect(host.toolkit.names).toEqual([]);
      expect(logger.lines).toEqual([
        expect.stringMatching(/^warn: The sub-agent 'echo' is unavailable: .* It was not registered\.$/),
      ]);
      await expect(makeSubagentTool(cls, spec, { host })).rejects.toBeInstanceOf(SubAgentUnavailable);
    }
  });

  test('that fails is reported without keys', async () => {
    const healthcheck = () => Promise.reject(new Error('no access with sk-abcdefgh12345678abcdefgh'));
    await expect(
      makeSubagentTool(Echo, { ...SPEC, healthcheck }, { host: hostWith([]) }),
    ).rejects.toMatchObject({
      message: "The sub-agent 'echo' is unavailable: its health check failed: no access with [redacted]",
    });
  });

  test('is asked about once, not at every call', async () => {
    let checks = 0;
    const host = hostWith([{ toolCalls: [ask('agent_echo', { query: 'a' })] }, 'done']);
    await registerSubAgent(host, Echo, { ...SPEC, healthcheck: () => ++checks > 0 });
    await host.call('go');
    expect(checks).toBe(1);
  });

  test('that hangs counts as failed', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const registered = registerSubAgent(hostWith([]), Echo, {
      ...SPEC,
      healthcheck: () => new Promise(() => {}),
    });
    await clock.advance(10_000);
    expect(await registered).toBeUndefined();
  });

  test('a throwing constructor is an error at registration', async () => {
    class Broken extends SubAgentBase {
      constructor(init: SubAgentInit) {
        super(init);
        throw new Error('no key');
      }

      override reply(): Promise<Msg> {
        throw new Error('never');
      }
    }
    await expect(makeSubagentTool(Broken, SPEC, { host: hostWith([]) })).rejects.toMatchObject({
      message: "The sub-agent 'echo' is unavailable: it can't be made: no key",
    });
  });

  test('a sub-agent without a model is none', async () => {
    const logger = collectingLogger();
    await withRunConfig({ logging: logger }, async () => {
      expect(
        await registerSubAgent({ name: 'x', toolkit: new Toolkit() }, TaskSubAgent, SPEC),
      ).toBeUndefined();
    });
    expect(logger.lines.join()).toContain('has no model');
  });
});

describe('failures are results', () => {
  const failure = (result: ToolResultBlock): unknown => {
    const { unavailable, error, subagent, supervisor } = result.metadata ?? {};
    expect({ unavailable, subagent, supervisor }).toEqual({
      unavailable: true,
      subagent: 'echo',
      supervisor: 'boss',
    });
    expect(String(result.output)).not.toMatch(/\n|\bat \S+:\d+/); // one line, no stack
    return [result.status, error, result.output];
  };

  test('thrown errors', async () => {
    const broken = failing(() => Promise.reject(new Error('the disk\nis full')));
    expect(failure(await delegatedTo(broken))).toEqual([
      'unavailable',
      'exception',
      '[subagent_exception] echo failed: the disk is full',
    ]);
  });

  test('a key in a thrown error is redacted', async () => {
    const broken = failing(() => Promise.reject(new Error('bad key sk-abcdefgh12345678abcdefgh')));
    expect(failure(await delegatedTo(broken))).toEqual([
      'unavailable',
      'exception',
      '[subagent_exception] echo failed: bad key [redacted]',
    ]);
  });

  test('an invalid answer', async () => {
    const wrong = failing(() => Promise.resolve('no message' as unknown as Msg)); // a subclass in plain JavaScript
    expect(failure(await delegatedTo(wrong))).toEqual([
      'unavailable',
      'invalid_reply',
      expect.stringContaining('must return a Msg'),
    ]);
    const empty = failing(async () => Msg.assistant([{ type: 'thinking', thinking: 'hm' }]));
    expect(failure(await delegatedTo(empty))).toEqual([
      'unavailable',
      'invalid_reply',
      '[subagent_invalid_reply] echo gave an answer without content.',
    ]);
  });

  test('invalid arguments', async () => {
    expect(failure(await delegatedTo(Echo, {}, { qery: 'x' }))).toEqual([
      'unavailable',
      'invalid_input',
      expect.stringMatching(/^\[subagent_invalid_input\] echo can't read the arguments\. .*query/),
    ]);
    expect(Echo.made.length).toBe(1); // only the instance of the health check
  });

  test('a step too many, with what was found so far', async () => {
    class Short extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init, { maxIters: 1 });
      }
    }
    const model = new ScriptedModel([{ toolCalls: [ask('look', {})] }, 'I saw the sea.']);
    const tools = [tool({ name: 'look', execute: () => 'sea' })];
    expect(failure(await delegatedTo(Short, { modelOverride: model, tools }, { task: 'x' }))).toEqual([
      'unavailable',
      'max_iters',
      '[subagent_max_iters] echo ran out of steps. What it found so far: I saw the sea.',
    ]);
  });

  test('a step too many, and a failure of megabytes: no key is told or logged, and no more than can be read', async () => {
    const logger = collectingLogger();
    const key = 'sk-live-0123456789abcdef';
    class Short extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init, { maxIters: 1 });
      }
    }
    const modelOverride = new ScriptedModel([{ toolCalls: [ask('look', {})] }, `The key is ${key}.`]);
    const tools = [tool({ name: 'look', execute: () => 'sea' })];
    const long = failing(() => Promise.reject(new Error(`sk-${'a'.repeat(10_000_000)}`)));
    await withRunConfig({ logging: logger }, async () => {
      const short = await delegatedTo(Short, { modelOverride, tools }, { task: 'x' });
      expect([short.metadata?.['error'], short.output]).toEqual([
        'max_iters',
        '[subagent_max_iters] echo ran out of steps. What it found so far: The key is [redacted].',
      ]);
      const { output } = await delegatedTo(long);
      expect(output).toBe('[subagent_exception] echo failed: [redacted]…');
    });
    expect(logger.lines).toEqual([
      'warn: The sub-agent echo of boss ran out of steps. What it found so far: The key is [redacted].',
      'warn: The sub-agent echo of boss failed: [redacted]…',
    ]);
  });

  test('too much time; it is stopped, and the host goes on', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const hanging = failing(() => new Promise(() => {}));
    const delegated = delegatedTo(hanging, { timeoutMs: 30_000 });
    await clock.advance(29_999);
    const child = Echo.made.at(-1);
    expect(child?.isRunning).toBe(true);
    await clock.advance(1);
    expect(failure(await delegated)).toEqual([
      'unavailable',
      'timeout',
      '[subagent_timeout] echo gave no answer within 30 s. Try again later, or do without it.',
    ]);
    for (let turn = 0; turn < 20 && child?.isRunning; turn++) await clock.advance(10);
    expect(child?.isRunning).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  test('no time limit but its own', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const delegated = delegatedTo(
      failing(() => new Promise(() => {})),
      { timeoutMs: 3_600_000 },
    );
    await clock.advance(3_599_999);
    expect(Echo.made.at(-1)?.isRunning).toBe(true);
    await clock.advance(1);
    expect((await delegated).metadata).toMatchObject({ error: 'timeout' });
    for (let turn = 0; turn < 20; turn++) await clock.advance(10);
  });

  test('a sub-agent that can no longer be made', async () => {
    let made = 0;
    class Once extends Echo {
      constructor(init: SubAgentInit) {
        super(init);
        if (++made > 1) throw new Error('no more');
      }
    }
    expect(failure(await delegatedTo(Once))).toEqual([
      'unavailable',
      'unavailable',
      "[subagent_unavailable] echo can't be used now: The sub-agent 'echo' is unavailable: it can't be made: no more",
    ]);
  });

  test('a model that fails, and the warning is logged once', async () => {
    const logger = collectingLogger();
    const model = new ScriptedModel([{ error: new Error('overloaded') }]);
    await withRunConfig({ logging: logger }, async () => {
      expect(failure(await delegatedTo(TaskSubAgent, { modelOverride: model }, { task: 'x' }))).toEqual([
        'unavailable',
        'exception',
        '[subagent_exception] echo failed: overloaded',
      ]);
    });
    expect(logger.lines).toEqual(['warn: The sub-agent echo of boss failed: overloaded']);
  });
});

describe('names', () => {
  const hostile = [
    '',
    '.',
    '..',
    '../x',
    'a/b',
    'a\\b',
    'a\0b',
    '%2e%2e',
    '~',
    'x'.repeat(1024),
    'con',
    'nul',
    'com1',
    'a.',
    'a ',
    ' a',
    'caf\u00e9',
    'cafe\u0301',
    '__proto__',
    'Echo',
    '1a',
    'a@b',
    'a\nb',
    'x'.repeat(33),
    7,
    null,
    undefined,
  ];

  test('that are unsafe are refused before anything is created, and shown shortened', async () => {
    let asked = 0;
    const filesystem = new FileSystemHandle(
      new Proxy(new InMemoryFileSystem(), { get: (target, key) => (asked++, Reflect.get(target, key)) }),
    );
    for (const name of hostile) {
      const error = await registerSubAgent(
        hostWith([]),
        Echo,
        { ...SPEC, name: name as string },
        { filesystem },
      ).catch((thrown: unknown) => thrown);
      expect(TroupeError.isInstance(error) && error.code).toBe('invalid_id');
      expect(String((error as Error).message).split('no device name; got ')[1]?.length).toBeLessThan(64);
    }
    expect(Echo.made).toEqual([]);
    expect(asked).toBe(0);
  });

  test('need a description, and are taken once', async () => {
    const host = hostWith([]);
    await expect(registerSubAgent(host, Echo, { ...SPEC, description: ' ' })).rejects.toMatchObject({
      code: 'invalid_config',
    });
    await registerSubAgent(host, Echo, SPEC);
    await expect(registerSubAgent(host, Echo, SPEC)).rejects.toMatchObject({ code: 'invalid_config' });
  });
});

describe('watching', () => {
  test('an event listener sees all events with their paths; a broken one does no harm', async () => {
    const seen: AgentEvent[] = [];
    const host = hostWith([{ toolCalls: [ask('agent_echo', { query: 'hello' })] }, 'done']);
    await registerSubAgent(host, Echo, SPEC, {
      onEvent: (event) => {
        seen.push(event);
        throw new Error('the studio is gone');
      },
    });
    expect((await host.call('go')).text).toBe('done');
    expect(new Set(seen.map(({ agentPath }) => agentPath.join('/')))).toEqual(new Set(['boss/echo']));
    expect(seen.map(({ type }) => type)).toContain('text_delta');
    expect(seen.at(-1)?.type).toBe('run_end');
    expect((await resultsOf(host))[0]?.output).toBe('echo: hello');
  });

  test('with `nested`, the host’s own stream has them too', async () => {
    const host = hostWith([{ toolCalls: [ask('agent_echo', { query: 'hello' })] }, 'done']);
    await registerSubAgent(host, Echo, SPEC);
    const paths = new Set<string>();
    for await (const { agentPath } of host.stream('go', { nested: true })) paths.add(agentPath.join('/'));
    expect(paths).toEqual(new Set(['boss', 'boss/echo']));
  });
});

describe('an instance by itself', () => {
  async function made(cls: typeof Echo = Echo): Promise<Echo> {
    await registerSubAgent(hostWith([]), cls, SPEC);
    const [child] = Echo.made;
    if (child === undefined) throw new Error('nobody was made');
    return child;
  }

  test('can be given a task, or be called like any agent; its memory is emptied after a task', async () => {
    const child = await made();
    expect(await child.delegate('again')).toMatchObject({ status: 'ok', content: 'echo: again' });
    expect(await child.memory.size()).toBe(0);
    await child.delegate('and again', undefined, { ephemeralMemory: false });
    expect(await child.memory.size()).toBe(2);
    expect((await child.call('directly')).text).toBe('echo: directly');
  });

  test('works on one task at a time: another one is refused, and does no harm to the first', async () => {
    const model = new ScriptedModel([{ toolCalls: [ask('look', {}, 'l')] }, 'first', 'third']);
    const [isLooking, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const execute = (): Promise<string> => {
      isLooking.resolve();
      return seen.promise;
    };
    const made: TaskSubAgent[] = [];
    class Kept extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init);
        made.push(this);
      }
    }
    const spec = { ...SPEC, modelOverride: model, tools: [tool({ name: 'look', execute })] };
    await registerSubAgent(hostWith([]), Kept, spec);
    const [agent] = made;
    const first = agent?.delegate('one');
    const refused = { status: 'unavailable', metadata: { unavailable: true, error: 'unavailable' } };
    expect(await agent?.delegate('two')).toMatchObject(refused); // while the context is still loading
    await isLooking.promise;
    expect(await agent?.delegate('two')).toMatchObject(refused);
    seen.resolve('seen');
    expect(await first).toMatchObject({ status: 'ok', content: 'first' });
    expect(model.requests[1]?.messages.map(({ text }) => text)).toContain('one');
    expect(await agent?.delegate('three')).toMatchObject({ status: 'ok', content: 'third' });
    expect(model.requests[2]?.messages.map(({ text }) => text)).not.toContain('one');
  });

  test('rejects when its caller is stopped', async () => {
    const child = await made(failing(() => new Promise(() => {})));
    const stop = new AbortController();
    const delegated = child.delegate('wait', undefined, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(delegated).rejects.toThrow('enough');
  });

  test('is told no more than it may be, whatever its class makes of the context', async () => {
    class Chatty extends Echo {
      static override preContextCompress(): ReturnType<typeof SubAgentBase.preContextCompress> {
        const event = { id: 'e', role: 'user', name: 'u', preview: 'p'.repeat(1000), timestamp: '' };
        return {
          safety_flags: {},
          task_summary: 't'.repeat(9000),
          recent_events: Array.from({ length: 9 }, (_, n) => ({ ...event, id: `e${n}` })),
          long_term_refs: [],
          workspace_pointers: [],
          mood: 'fine',
        };
      }
    }
    const { metadata } = await delegatedTo(Chatty);
    const context = metadata?.['delegation_context'] as Record<
      string,
      { id: string; preview: string }[] & string
    >;
    expect(Object.keys(context)).toEqual([
      'task_summary',
      'recent_events',
      'long_term_refs',
      'workspace_pointers',
      'safety_flags',
      'mood',
    ]);
    expect(context['recent_events']?.map(({ id, preview }) => [id, preview.length])).toEqual(
      [5, 6, 7, 8].map((n) => [`e${n}`, 200]),
    );
    expect(context['task_summary']?.length).toBe(2000);
  });
});

describe('the permission policy of the host', () => {
  test('holds for a tool that was only made, too', async () => {
    const host = hostWith([{ toolCalls: [ask('agent_echo', { task: 'x' })] }], {
      permissionPolicy: { decide: ({ call }) => ({ behavior: call.name === 'remove' ? 'ask' : 'allow' }) },
    });
    const modelOverride = new ScriptedModel([{ toolCalls: [ask('remove', {})] }]);
    const tools = [tool({ name: 'remove', execute: () => 'removed' })];
    host.toolkit.registerToolFunction(
      await makeSubagentTool(TaskSubAgent, { ...SPEC, modelOverride, tools }, { host }),
    );
    await host.call('go');
    expect(host.pendingCalls).toMatchObject([{ agentPath: ['boss', 'echo'], call: { name: 'remove' } }]);
  });
});

describe('sub-agents of sub-agents', () => {
  test("have files inside the files of their host, and report events to the host's observer", async () => {
    const seen = new Set<string>();
    const filesystem = new FileSystemHandle(new InMemoryFileSystem());
    const host = hostWith([{ toolCalls: [ask('agent_mid', { task: 'x' })] }, 'done']);
    const options = { host, safetyLimits: { maxDepth: 2 } };
    const inner = await makeSubagentTool(Echo, SPEC, options);
    const modelOverride = new ScriptedModel([{ toolCalls: [ask('agent_echo', { query: 'hi' })] }, 'helped']);
    await registerSubAgent(
      host,
      TaskSubAgent,
      { name: 'mid', description: 'm', tools: [inner], modelOverride },
      { ...options, filesystem, onEvent: ({ agentPath }) => void seen.add(agentPath.join('/')) },
    );
    await host.call('go');
    const { permissions } = Echo.made.at(-1) ?? {};
    expect(permissions?.supervisorName).toBe('mid');
    expect(permissions?.filesystem?.allowedDirectories.map(({ path }) => path)).toEqual([
      '/workspace/subagents/mid/subagents/echo/',
    ]);
    expect(seen).toEqual(new Set(['boss/mid', 'boss/mid/echo']));
  });
});
