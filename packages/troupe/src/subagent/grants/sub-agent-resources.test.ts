// Resources shared with the host and resources of the sub-agent alone: one test for each row of the table.
// The docs have the same table.
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';

import { beforeAll, describe, expect, test } from 'vitest';

import type { Logger } from '../../config/logger.ts';
import { getLogger, getRunConfig, withRunConfig } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import { InMemoryFileSystem } from '../../filesystem/in-memory-file-system.ts';
import { LongTermMemoryBase } from '../../longterm/long-term-memory-base.ts';
import { Msg } from '../../message/msg.ts';
import { MsgHub } from '../../pipeline/msg-hub.ts';
import { InMemorySession } from '../../session/in-memory-session.ts';
import type { ChatModelBase } from '../../model/chat-model-base.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { fileTools } from '../../file-tools/file-tools.ts';
import { KnowledgeBase, type RetrievedDocument } from '../../rag/knowledge-base.ts';
import { CountedModel } from '../limits/counted-model.ts';
import { tool } from '../../toolkit/tool/tool.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import { validateWith } from '../../util/schema.ts';
import { ConsoleView } from '../../agent/printing/console-view.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import { SubAgentBase } from '../sub-agent-base.ts';
import {
  SUBAGENT_RESOURCES,
  type SubAgentResource,
  type SubAgentResourceName,
} from './sub-agent-resources.ts';
import type { SubAgentSpec } from '../sub-agent-spec.ts';
import type { SubAgentInit } from '../sub-agent.ts';
import type { Tracer, TraceSpan } from '../../tracing/tracer.ts';
import { registerSubAgent } from '../register-sub-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

class Books extends KnowledgeBase {
  override async retrieve(): Promise<readonly RetrievedDocument[]> {
    return [];
  }
}

class Notes extends LongTermMemoryBase {
  async retrieve(): Promise<string> {
    return '';
  }

  async record(): Promise<void> {}
}

interface Span {
  readonly name: string;
  readonly parent: string | undefined;
  readonly notes: unknown[];
}

/** Spans like those of OpenTelemetry: a span started inside of another is its child. */
class FakeTracer implements Tracer {
  readonly spans: Span[] = [];
  readonly #active = new AsyncLocalStorage<Span>();

  startActiveSpan<T>(name: string, _options: object, run: (span: TraceSpan) => T): T {
    const notes: unknown[] = [];
    const span: Span = { name, parent: this.#active.getStore()?.name, notes };
    this.spans.push(span);
    const recorder: TraceSpan = {
      setAttribute: (key, value) => notes.push([key, value]),
      setStatus: (status) => notes.push(status),
      recordException: (exception) => void notes.push(exception),
      end: () => void notes.push('end'),
    };
    return this.#active.run(span, () => run(recorder));
  }
}

/** The model inside of the counting model. */
function modelIn({ model }: SubAgentBase): ChatModelBase | undefined {
  return model instanceof CountedModel ? model.model : model;
}

/** One resource of each kind, and the form in which a sub-agent gets it. */
class World {
  readonly logger: Logger & { readonly lines: string[] };
  readonly tracer = new FakeTracer();
  readonly filesystem = new FileSystemHandle(new InMemoryFileSystem());
  readonly session = new InMemorySession();
  readonly longTermMemory = new Notes();
  readonly knowledge = new Books();
  readonly permissionPolicy = { decide: () => ({ behavior: 'allow' as const }) };
  readonly safetyLimits = { maxTokens: 1000, forbiddenTools: ['shell'] };
  readonly model = new ScriptedModel(
    [{ toolCalls: [{ name: 'agent_kid', id: 'c', input: { query: 'hi' } }] }, 'done'],
    'host',
  );
  readonly hookCalls: string[] = [];
  readonly heard: string[] = [];
  readonly printed: string[] = [];
  readonly onConsole: string[] = [];
  readonly kids: SubAgentBase[] = [];
  readonly host: ReActAgent;
  /** Work of the sub-agent. */
  task: (kid: SubAgentBase) => Promise<void> = async () => {};

  constructor() {
    const lines: string[] = [];
    this.logger = { lines, log: (_level, message) => void lines.push(message) };
    const { permissionPolicy, longTermMemory, knowledge, model } = this;
    const toolkit = new Toolkit({ tools: [tool({ name: 'look', execute: () => 'seen' })] });
    this.host = new ReActAgent({
      name: 'boss',
      model,
      toolkit,
      permissionPolicy,
      longTermMemory,
      longTermMemoryMode: 'agent_control',
      knowledge,
      enableRewriteQuery: false,
    });
    this.host.setConsoleOutputEnabled(false);
    this.host.registerInstanceHook('preReply', 'host', (agent) => void this.hookCalls.push(agent.name));
  }

  async run(spec: Partial<SubAgentSpec> = {}): Promise<SubAgentBase> {
    const { kids, onConsole, task } = this;
    class Kid extends SubAgentBase {
      readonly config = getRunConfig();

      constructor(init: SubAgentInit) {
        super(init);
        this.setMsgQueueEnabled(true); // tries to print to the queue
        this.setConsoleOutputEnabled(true, new ConsoleView((text) => void onConsole.push(text)));
        kids.push(this);
      }

      override async reply(): Promise<Msg> {
        getLogger().log('info', 'the kid speaks');
        await task(this);
        await this.print(Msg.assistant('so far', { name: this.name }));
        return Msg.assistant('from the kid', { name: this.name });
      }
    }
    const { logger, tracer, filesystem, session, safetyLimits, host } = this;
    const listener = new ReActAgent({ name: 'listener', model: new ScriptedModel([]) });
    listener.observe = async (msgs) => void this.heard.push(...Msg.list(msgs).map(({ text }) => text));
    host.setMsgQueueEnabled(true);
    await withRunConfig({ logging: logger, name: 'this run' }, async () => {
      await registerSubAgent(
        host,
        Kid,
        { name: 'kid', description: 'kid', ...spec },
        { tracer, filesystem, session, safetyLimits },
      );
      await using _hub = await MsgHub.open({ participants: [host, listener] });
      await host.call('go');
    });
    host.setMsgQueueEnabled(false);
    for await (const { msg } of host.msgQueue ?? []) this.printed.push(msg.text);
    const kid = kids.at(-1);
    if (kid === undefined || kids.length !== 2)
      throw new Error('one should have been made, after one that was asked for its health');
    return kid;
  }
}

/** Policy of each resource as observed by a sub-agent. */
const HOW: Readonly<Record<SubAgentResourceName, (kid: SubAgentBase, world: World) => unknown>> = {
  config: (kid, world) =>
    kid.permissions.logger === world.logger &&
    world.logger.lines.includes('the kid speaks') &&
    Reflect.get(kid, 'config').name === 'this run'
      ? 'inherited'
      : 'other',
  tracer: (kid, { tracer }) =>
    kid.permissions.tracer === tracer ? 'inherited' : kid.permissions.tracer === undefined ? 'off' : 'own',
  filesystem: (kid) =>
    kid.permissions.filesystem === undefined
      ? 'off'
      : kid.permissions.filesystem.allowedDirectories.map(({ path }) => path).join() ===
          '/workspace/subagents/kid/'
        ? 'inherited'
        : 'too much',
  session: (kid) => (kid.permissions.session === undefined ? 'off' : 'inherited'),
  longTermMemory: (kid, { longTermMemory }) =>
    kid.permissions.longTermMemory === longTermMemory
      ? 'inherited'
      : kid.permissions.longTermMemory === undefined
        ? 'off'
        : 'own',
  knowledge: (kid, { knowledge }) =>
    kid.permissions.knowledge?.[0] === knowledge
      ? 'inherited'
      : kid.permissions.knowledge === undefined
        ? 'off'
        : 'own',
  permissionPolicy: (kid, { permissionPolicy }) =>
    kid.permissions.permissionPolicy === permissionPolicy ? 'inherited' : 'other',
  safetyLimits: (kid, { safetyLimits }) =>
    kid.permissions.safetyLimits.maxTokens === safetyLimits.maxTokens &&
    Object(kid.permissions.safetyLimits) !== safetyLimits
      ? 'inherited'
      : 'other',
  model: (kid, { model }) => (modelIn(kid) === model ? 'inherited' : 'own'),
  toolkit: (kid, { host, filesystem }) =>
    Object(kid.toolkit) !== host.toolkit &&
    kid.toolkit.names.every((name) => fileTools(filesystem).some((one) => one.name === name))
      ? 'own'
      : 'inherited',
  memory: (kid, { host }) => (kid.memory !== host.memory ? 'own' : 'inherited'),
  hooks: (_kid, { hookCalls }) => (hookCalls.join() === 'boss' ? 'own' : 'inherited'),
  runState: (kid, { kids }) =>
    new Set(kids.map(({ id }) => id)).size === 2 && !kid.isRunning ? 'own' : 'other',
  console: (_kid, { onConsole }) => (onConsole.length === 0 ? 'off' : 'own'),
  msgQueue: (kid, { printed }) => (kid.msgQueue === undefined && !printed.includes('so far') ? 'off' : 'own'),
  msgHub: (_kid, { heard }) => (heard.join() === 'done' ? 'off' : 'inherited'),
};

const ROWS = Object.entries(SUBAGENT_RESOURCES) as readonly [SubAgentResourceName, SubAgentResource][];

describe('the table of resources', () => {
  test.each(ROWS)('%s', async (resource, { policy }) => {
    const world = new World();
    expect(HOW[resource](await world.run(), world)).toBe(policy);
  });

  test.each(ROWS.filter(([resource, { mayBe }]) => mayBe.length > 0 && resource !== 'model'))(
    '%s can be off',
    async (resource) => {
      const world = new World();
      expect(HOW[resource](await world.run({ resources: { [resource]: 'off' } }), world)).toBe('off');
    },
  );

  test('a model of its own', async () => {
    const modelOverride = new ScriptedModel([], 'own');
    expect(modelIn(await new World().run({ modelOverride }))).toBe(modelOverride);
    expect((await new World().run({ resources: { model: 'own' } })).model).toBeUndefined();
  });

  test.each(ROWS)('%s can not be had in another way', async (resource, { policy, mayBe }) => {
    for (const wanted of ['inherited', 'own', 'off', 'x'] as const) {
      if (wanted === policy || mayBe.some((one) => one === wanted)) continue;
      const error = await new World()
        .run({ resources: { [resource]: wanted as 'off' } })
        .catch((thrown: unknown) => thrown);
      expect(TroupeError.isInstance(error) && error.code).toBe('invalid_config');
    }
  });

  test('resources that do not exist are told', async () => {
    for (const name of ['filesytem', '__proto__', 'constructor']) {
      const resources = JSON.parse(`{"${name}": "off"}`) as object;
      await expect(new World().run({ resources })).rejects.toMatchObject({ code: 'invalid_config' });
    }
  });

  test('is the one in the docs', () => {
    const page = readFileSync(
      new URL('../../../../../docs/reference/sub-agents.md', import.meta.url),
      'utf8',
    );
    const lines = ROWS.map(
      ([name, { policy, mayBe, meaning }]) =>
        `| \`${name}\` | ${policy} | ${mayBe.join(', ') || '–'} | ${meaning} |`,
    );
    expect(page.split('\n').filter((line) => lines.includes(line))).toEqual(lines);
  });
});

describe('the host is unaffected', () => {
  /** Everything reachable from an object, as one text. */
  const snapshot = async (host: ReActAgent): Promise<string> =>
    JSON.stringify([
      host.stateDict(),
      await host.memory.getMemory(),
      host.toolkit.names,
      host.toolkit.getJsonSchemas(),
      host.toolkit.activeGroups,
      host.sysPrompt,
      host.name,
    ]);

  test('by changes of a sub-agent to its resources', async () => {
    class Vandal extends SubAgentBase {
      override async reply(msgs: readonly Msg[]): Promise<Msg> {
        await this.memory.clear();
        await this.memory.add(Msg.user('mine'));
        this.toolkit.clear();
        this.toolkit.createToolGroup('g', { description: 'g', active: true });
        this.toolkit.registerToolFunction({ name: 'look', group: 'g', execute: () => 'changed' });
        this.toolkit.registerMiddleware(() => 'changed');
        this.name = 'boss';
        this.registerInstanceHook('preReply', 'x', () => {});
        for (const target of [
          this.permissions,
          this.permissions.safetyLimits,
          msgs,
          msgs[0],
          msgs[0]?.metadata,
        ]) {
          expect(Reflect.set(Object(target) as object, 'changed', true)).toBe(false); // frozen
        }
        return Msg.assistant('done', { name: this.name });
      }
    }
    const toolkit = new Toolkit({ tools: [tool({ name: 'look', execute: () => 'seen' })] });
    const turn = {
      toolCalls: [{ name: 'agent_vandal', id: 'c', input: { query: 'x', context: { a: [1] } } }],
    };
    const make = (): ReActAgent =>
      new ReActAgent({ name: 'boss', sysPrompt: 'p', model: new ScriptedModel([turn, 'done']), toolkit });
    const host = make();
    host.setConsoleOutputEnabled(false);
    await registerSubAgent(host, Vandal, { name: 'vandal', description: 'v', toolsAllowlist: ['look'] });
    const before = await snapshot(host);
    const call = {
      type: 'tool_use',
      id: 'c',
      name: 'agent_vandal',
      input: { query: 'x', context: { a: [1] } },
    } as const;
    expect(await host.toolkit.callToolFunction(call)).toMatchObject({ status: 'ok', output: 'done' });
    expect(await snapshot(host)).toBe(before);
    const direct = { type: 'tool_use', id: 'd', name: 'look', input: {} } as const;
    expect(await host.toolkit.callToolFunction(direct)).toMatchObject({ output: 'seen' });
  });

  test('the long-term memory is not saved with a sub-agent, nor set back with it', async () => {
    const world = new World();
    const { longTermMemory } = world;
    class Keeper extends SubAgentBase {
      readonly notes = this.permissions.longTermMemory;

      override async reply(): Promise<Msg> {
        return Msg.assistant(JSON.stringify(Object.keys(this.stateDict())));
      }
    }
    await registerSubAgent(world.host, Keeper, { name: 'kid', description: 'k' }, { longTermMemory });
    await world.host.call('go');
    const [result] = (await world.host.memory.getMemory()).flatMap((msg) =>
      msg.getContentBlocks('tool_result'),
    );
    expect(result?.output).toBe('["toolkit","memory"]');
  });
});

describe('sessions of sub-agents', () => {
  test('have the same store and ids of their own, which nobody else reaches by accident', async () => {
    const world = new World();
    let saved: Promise<void> | undefined;
    world.task = (kid) => (saved = savesIn(kid, world));
    await world.run();
    expect(saved).toBeDefined();
    await saved;
    expect(await world.session.exists('s1')).toBe(true); // the store is still open
  });

  async function savesIn(kid: SubAgentBase, world: World): Promise<void> {
    const { session } = kid.permissions;
    await session?.save('s1', { memory: kid.memory });
    await world.session.save('s1', { memory: world.host.memory });
    expect(await session?.exists('s1')).toBe(true);
    expect(await world.session.exists('sub@kid@s1')).toBe(true);
    expect((await session?.list())?.sessions.map(({ session: id }) => id)).toEqual(['s1']);
    expect((await world.session.list()).sessions.map(({ session: id }) => id).sort()).toEqual([
      's1',
      'sub@kid@s1',
    ]);
    expect(await session?.exists('sub@kid@s1')).toBe(false);
    expect(await session?.exists('../s1')).toBe(false);
    expect(await session?.delete('s1')).toBe(true);
    expect(await world.session.exists('s1')).toBe(true);
    await session?.scoped('grandkid@').save('s1', { memory: kid.memory });
    expect(await world.session.exists('sub@kid@grandkid@s1')).toBe(true);
    expect(await session?.exists('s1')).toBe(false);
    await session?.close();
  }
});

describe('tracing', () => {
  test('a delegation is a span under the one around it; a failure is told by its code alone', async () => {
    const world = new World();
    await world.tracer.startActiveSpan('request', {}, () => world.run());
    expect(world.tracer.spans.map(({ name, parent }) => [name, parent])).toEqual([
      ['request', undefined],
      ['register subagent', 'request'],
      ['subagent kid', 'request'],
    ]);
    expect(world.tracer.spans.slice(1).map(({ notes }) => notes)).toEqual([['end'], ['end']]);
  });

  test('a failure is told by its code, without what was said', async () => {
    const world = new World();
    class Broken extends SubAgentBase {
      override reply(): Promise<Msg> {
        return Promise.reject(new Error('private matters'));
      }
    }
    await registerSubAgent(world.host, Broken, { name: 'kid', description: 'k' }, { tracer: world.tracer });
    await world.host.call('go');
    expect(world.tracer.spans.at(-1)?.notes).toEqual([
      ['subagent.error', 'exception'],
      { code: 2, message: 'exception' },
      { name: 'exception', message: 'kid: exception' },
      'end',
    ]);
  });

  test('a sub-agent that is not well is a failed span', async () => {
    const world = new World();
    class Ill extends SubAgentBase {
      override reply(): Promise<Msg> {
        return Promise.reject(new Error('never'));
      }

      override healthcheck(): boolean {
        return false;
      }
    }
    await registerSubAgent(world.host, Ill, { name: 'kid', description: 'k' }, { tracer: world.tracer });
    expect(world.tracer.spans.map(({ name, notes }) => [name, notes.length, notes[0], notes.at(-1)])).toEqual(
      [['register subagent', 4, ['subagent.error', 'unavailable'], 'end']],
    );
  });
});
