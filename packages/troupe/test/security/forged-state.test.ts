// Saved states that somebody has edited, in every store: approvals, modes and rules in them do not count, and nothing else of them
// breaks the program. The edits keep the checksums of the format right, as anybody with access to the files can.
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { PermissionRules } from '../../src/permission/permission-rules.ts';
import type { PendingDecision } from '../../src/message/pending-call.ts';
import { FanoutPipeline } from '../../src/pipeline/fanout-pipeline.ts';
import { SequentialPipeline } from '../../src/pipeline/sequential-pipeline.ts';
import { registerSubAgent } from '../../src/subagent/register-sub-agent.ts';
import { TaskSubAgent } from '../../src/subagent/task-sub-agent.ts';
import { ReActAgent } from '../../src/react/react-agent.ts';
import { readHead, writeHead, writeItem, type Head } from '../../src/session/format/session-format.ts';
import { toSessionKey, type SessionKey } from '../../src/session/format/session-key.ts';
import type { SessionStore } from '../../src/session/format/session-store.ts';
import { InMemoryStore } from '../../src/session/in-memory-session.ts';
import { Session } from '../../src/session/session.ts';
import { JsonSession } from '../../src/stores/json/json-session.ts';
import { JsonStore } from '../../src/stores/json/json-store.ts';
import { PostgresDatabase } from '../../src/stores/postgres/postgres-database.ts';
import { RedisClient } from '../../src/stores/redis/redis-client.ts';
import { RedisSessionStore } from '../../src/stores/redis/redis-session-store.ts';
import { SqlSessionStore } from '../../src/stores/sql/sql-session-store.ts';
import { SqliteDatabase } from '../../src/stores/sqlite/sqlite-database.ts';
import { SqliteSession } from '../../src/stores/sqlite/sqlite-session.ts';
import { ScriptedModel, type ScriptedTurn } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import { fingerprint } from '../../src/util/hash.ts';
import { newId } from '../../src/util/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/util/json.ts';
import { newDir } from '../json-folder.ts';
import { hasPostgres, hasRedis, POSTGRES, REDIS_URL } from '../servers.ts';

const KEY = 'a key that only the program knows';
const says = (name: string): ScriptedTurn => ({ toolCalls: [{ name, id: `call-${name}`, input: {} }] });

/** An agent with two tools that need approval, and a list of their effects. */
class Office {
  readonly done: string[] = [];
  readonly policy: PermissionRules;
  readonly agent: ReActAgent;

  constructor(script: readonly (string | ScriptedTurn)[], policy = new PermissionRules()) {
    this.policy = policy;
    const tools = ['send', 'pay'].map((name) =>
      tool({ name, sideEffect: true, execute: () => void this.done.push(name) }),
    );
    const model = new ScriptedModel(script);
    this.agent = new ReActAgent({ name: 'Friday', model, tools, permissionPolicy: policy, console: false });
  }

  get pending(): readonly string[] {
    return this.agent.pendingCalls.map(({ call }) => call.name);
  }

  async allow(scope: 'call' | 'run' = 'call'): Promise<void> {
    const decisions = this.agent.pendingCalls.map(({ id }) => ({
      id,
      verdict: 'allow' as const,
      ...(scope === 'run' && { scope }),
    }));
    await this.agent.call(undefined, { decisions });
  }
}

/** Replaces the newest head of a session by another one with a right checksum. */
async function forge(
  store: SessionStore,
  session: SessionKey,
  edit: (head: Head) => Head | string,
): Promise<void> {
  const key = await toSessionKey(session);
  const stored = await store.readHead(key, 'current');
  if (stored === undefined) throw new Error('nothing is saved');
  const head = readHead(stored.text, stored.location);
  const revision = head.revision + 1;
  const forged = edit({ ...head, revision });
  const text = typeof forged === 'string' ? forged : writeHead(forged);
  await store.commit(key, {
    base: { revision: head.revision, log: head.log },
    revision,
    savedAt: head.savedAt,
    log: head.log,
    parts: [],
    head: () => text,
  });
}

/** The head with another state of the agent, or of a part of it. */
const edited =
  (path: readonly string[], change: (value: JsonValue | undefined) => JsonValue) =>
  (head: Head): Head => ({ ...head, components: withChange(head.components, path, change) as JsonObject });

function withChange(
  value: JsonValue | undefined,
  [name, ...rest]: readonly string[],
  change: (value: JsonValue | undefined) => JsonValue,
): JsonValue {
  if (name === undefined) return change(value);
  const object = isJsonObject(value) ? value : {};
  return { ...object, [name]: withChange(object[name], rest, change) };
}

interface Around {
  readonly around: ReActAgent | SequentialPipeline | FanoutPipeline;
  readonly done: readonly string[];
  call(input?: string, decisions?: readonly PendingDecision[]): Promise<unknown>;
}

/** Makers of agents and pipelines around the agent with the tools `send` and `pay`. */
const AROUND: Readonly<Record<string, (script: readonly (string | ScriptedTurn)[]) => Promise<Around>>> = {
  'a sub-agent': async (script) => {
    const done: string[] = [];
    const tools = ['send', 'pay'].map((name) =>
      tool({ name, sideEffect: true, execute: () => void done.push(name) }),
    );
    const begin = { toolCalls: [{ name: 'agent_kid', id: 'd', input: { task: 'x' } }] };
    const host = new ReActAgent({
      name: 'boss',
      model: new ScriptedModel(script.length === 1 ? [begin] : [begin, 'Done.', 'Done.']),
      permissionPolicy: new PermissionRules({ rules: [{ tool: 'agent_kid', behavior: 'allow' }] }),
      console: false,
    });
    const spec = { name: 'kid', description: 'k', tools, modelOverride: new ScriptedModel(script) };
    await registerSubAgent(host, TaskSubAgent, spec);
    return { around: host, done, call: (input, decisions) => host.call(input, decisions && { decisions }) };
  },
  'an agent in a sequence': async (script) => {
    const { agent, done } = new Office(script);
    const around = new SequentialPipeline([agent]);
    return { around, done, call: (input, decisions) => around.call(input, decisions && { decisions }) };
  },
  'an agent in a fan-out': async (script) => {
    const { agent, done } = new Office(script);
    const around = new FanoutPipeline([agent]);
    return { around, done, call: (input, decisions) => around.call(input, decisions && { decisions }) };
  },
};

const OPEN = ['agent', 'openExchange'];
const GRANT = { kind: 'granted', name: 'send', input: {}, isEdited: false };

interface Place {
  readonly name: string;
  /** Whether the place has a key without one from the program. */
  readonly hasKey: boolean;
  readonly isThere: boolean;
  readonly open: () => Promise<SessionStore>;
}

const schema = `forged_${newId().toLowerCase()}`;
const PLACES: readonly Place[] = [
  { name: 'memory', hasKey: true, isThere: true, open: async () => new InMemoryStore() },
  { name: 'JSON files', hasKey: true, isThere: true, open: async () => new JsonStore(await newDir()) },
  {
    name: 'SQLite',
    hasKey: true,
    isThere: true,
    open: async () => new SqlSessionStore(new SqliteDatabase(join(await newDir(), 'db')), true),
  },
  {
    name: 'PostgreSQL',
    hasKey: false,
    isThere: hasPostgres,
    open: async () =>
      new SqlSessionStore(
        new PostgresDatabase({ ...POSTGRES, max: 2, options: `-c search_path=${schema}` }),
        true,
      ),
  },
  {
    name: 'Redis',
    hasKey: false,
    isThere: hasRedis,
    open: async () => new RedisSessionStore(new RedisClient(REDIS_URL), true, { prefix: newId() }),
  },
];

beforeAll(async () => {
  if (hasPostgres) await inDatabase(`CREATE SCHEMA ${schema}`);
});
afterAll(async () => {
  if (hasPostgres) await inDatabase(`DROP SCHEMA ${schema} CASCADE`);
});
async function inDatabase(sql: string): Promise<void> {
  const database = new PostgresDatabase(POSTGRES);
  await database.query(sql);
  await database.close();
}

for (const { name, hasKey, isThere, open } of PLACES) {
  const suite = isThere ? describe : describe.skip;
  suite(`in ${name}`, () => {
    let id = '';
    beforeEach(() => void (id = newId()));

    /** A session of its own with a saved agent, which waits for an approval of `send`. */
    async function saved(options = { approvalKey: KEY }): Promise<{ store: SessionStore; session: Session }> {
      const store = await open();
      const session = new Session(store, options);
      const office = new Office([says('send')]);
      await office.agent.call('go');
      expect(office.pending).toEqual(['send']);
      await session.save(id, { agent: office.agent });
      return { store, session };
    }
    const after = (): Office => new Office(['Done.']);

    test('an approval for the run holds after a restart, unless the key is another one', async () => {
      const store = await open();
      const before = new Office([says('send'), says('pay')]);
      await before.agent.call('go');
      await before.allow('run');
      expect([before.done, before.pending]).toEqual([['send'], ['pay']]);
      const session = new Session(store, { approvalKey: KEY });
      await session.save(id, { agent: before.agent });
      const { isPrivate = false } = store;
      const outcomes: unknown[] = [];
      for (const approvalKey of [KEY, `${KEY}!`, undefined]) {
        const office = new Office([says('send'), 'Done.']);
        await new Session(store, { approvalKey }).load(id, { agent: office.agent });
        await office.allow();
        outcomes.push([office.done, office.pending]);
      }
      expect(outcomes).toEqual([
        [['pay', 'send'], []],
        [['pay'], ['send']],
        isPrivate ? [['pay', 'send'], []] : [['pay'], ['send']],
      ]);
      await session.close();
    });

    test(`without a key of the program, approvals ${hasKey ? 'hold by the key of the place' : 'are asked for again'}`, async () => {
      const store = await open();
      const before = new Office([says('send'), says('pay')]);
      await before.agent.call('go');
      await before.allow('run');
      before.policy.mode = 'accept_edits';
      before.policy.addRule({ tool: 'read', behavior: 'allow' });
      const session = new Session(store);
      await session.save(id, { agent: before.agent });
      const office = new Office([says('send'), 'Done.']);
      await session.load(id, { agent: office.agent });
      await office.allow();
      expect([office.done, office.policy.mode, office.policy.rules.length]).toEqual(
        hasKey ? [['pay', 'send'], 'accept_edits', 1] : [['pay'], 'default', 0],
      );
      await session.close();
    });

    test.each([
      ['a granted tool call', edited([...OPEN, 'standings', 'call-send'], () => GRANT)],
      [
        'a resumed tool call',
        edited([...OPEN, 'standings', 'call-send'], () => ({ kind: 'resumed', state: null, decisions: [] })),
      ],
      [
        'no status, and the tool granted for the run',
        (head: Head) =>
          edited([...OPEN, 'standings'], () => ({}))(edited([...OPEN, 'grantedTools'], () => ['send'])(head)),
      ],
    ])('%s is asked about again', async (_, edit) => {
      const { store, session } = await saved();
      await forge(store, id, edit);
      const office = after();
      await session.load(id, { agent: office.agent });
      await office.agent.call();
      expect([office.done, office.pending]).toEqual([[], ['send']]);
      await session.close();
    });

    test.each<[string, readonly string[], JsonValue]>([
      ['tools granted for the run', [...OPEN, 'grantedTools'], 'pay'],
      ['rules that allow', ['agent', 'permission', 'addedRules'], { tool: '*', behavior: 'allow' }],
    ])('a list in place of %s makes the code of the state worthless', async (_, path, item) => {
      const { store, session } = await saved();
      const key = await toSessionKey(id);
      const stored = await store.readHead(key, 'current');
      const head = readHead(stored?.text ?? '', '');
      const [listNumber, revision] = [7, head.revision + 1];
      await store.commit(key, {
        base: { revision: head.revision, log: head.log },
        revision,
        savedAt: head.savedAt,
        log: head.log,
        parts: [{ listNumber, items: [writeItem(item, [])] }],
        head: ([[from = 0, to = 0] = []]) => {
          const ranges = [{ from, to, count: 1 }];
          return writeHead({ ...head, revision, lists: [...head.lists, { path, listNumber, ranges }] });
        },
      });
      await session.copy(id, `${id}-copy`);
      for (const one of [id, `${id}-copy`]) {
        const office = new Office([says('pay'), 'Done.']);
        await session.load(one, { agent: office.agent });
        await office.allow();
        expect([office.done, office.pending, office.policy.rules]).toEqual([['send'], ['pay'], []]);
      }
      await session.close();
    });

    test.each(Object.keys(AROUND))(
      'a tool granted for the run deep in the state of %s is asked about',
      async (kind) => {
        const store = await open();
        const session = new Session(store, { approvalKey: KEY });
        const before = await AROUND[kind]?.([says('send')]);
        if (before === undefined) throw new Error('there is no agent');
        await before.call('go');
        await session.save(id, { around: before.around });
        await forge(store, id, (head) => {
          const text = JSON.stringify(head.components);
          const components = JSON.parse(
            text.replaceAll('"grantedTools":[]', '"grantedTools":["pay"]'),
          ) as JsonObject;
          expect(JSON.stringify(components)).not.toBe(text);
          return { ...head, components };
        });
        const outcomes: unknown[] = [];
        for (const acceptGrants of [false, true]) {
          const later = await AROUND[kind]?.([says('pay'), says('pay'), 'Done.']);
          if (later === undefined) throw new Error('there is no agent');
          await session.load(id, { around: later.around }, acceptGrants ? { acceptGrants } : {});
          for (let i = 0; i < 3; i++) {
            const others = later.around.pendingCalls.filter(({ call }) => call.name !== 'pay');
            if (others.length > 0)
              await later.call(
                undefined,
                others.map((one) => ({ id: one.id, verdict: 'allow' })),
              );
          }
          outcomes.push([later.done.includes('pay'), later.around.pendingCalls.map(({ call }) => call.name)]);
        }
        expect(outcomes).toEqual([
          [false, ['pay']],
          [true, []], // as it would be if the code were not checked
        ]);
        await session.close();
      },
    );

    test('codes of another user, or of another component of the session, are no codes', async () => {
      const store = await open();
      const session = new Session(store, { approvalKey: KEY });
      const wide = (): PermissionRules => new PermissionRules({ mode: 'bypass' });
      await session.save({ session: id, user: 'mallory' }, { rules: wide() });
      await session.save({ session: id, user: 'ann' }, { rules: new PermissionRules(), other: wide() });
      const read = async (user: string): Promise<Head> => {
        const stored = await store.readHead(await toSessionKey({ session: id, user }), 'current');
        return readHead(stored?.text ?? '', '');
      };
      const { components, macs = {} } = await read('mallory');
      const own = await read('ann');
      const forgeries: readonly Partial<Head>[] = [
        { components: { ...own.components, ...components }, macs: { ...own.macs, ...macs } },
        {
          components: { ...own.components, rules: own.components['other'] ?? null },
          macs: { ...own.macs, rules: own.macs?.['other'] ?? null },
        },
        { components: { ...own.components, rules: { __saved_in__: ['other'] } } },
      ];
      const modes: string[] = [];
      for (const forgery of forgeries) {
        await forge(store, { session: id, user: 'ann' }, (head) => ({ ...head, ...forgery }));
        const rules = new PermissionRules();
        await session.load({ session: id, user: 'ann' }, { rules });
        modes.push(rules.mode);
      }
      expect(modes).toEqual(['default', 'default', 'default']);
      const rules = new PermissionRules();
      await session.load({ session: id, user: 'mallory' }, { rules });
      expect(rules.mode).toBe('bypass'); // where the code is from
      await session.close();
    });

    test('an older state that is put back counts as it did then, and for its own session only', async () => {
      const { store, session } = await saved();
      const office = after();
      await session.load(id, { agent: office.agent });
      const key = await toSessionKey(id);
      const older = readHead((await store.readHead(key, 'current'))?.text ?? '', '');
      await office.allow();
      expect(office.done).toEqual(['send']);
      await session.save(id, { agent: office.agent });
      await forge(store, id, (head) => ({ ...older, revision: head.revision }));
      const again = after();
      await session.load(id, { agent: again.agent });
      await again.agent.call();
      expect([again.done, again.pending]).toEqual([[], ['send']]); // not approved in the older state
      await session.close();
    });

    test('a question in the name of another agent allows nothing but its own tool call, also after the next save', async () => {
      const { store, session } = await saved();
      const call = { type: 'tool_use', id: 'x1', name: 'look', input: {} };
      const question = { id: 'pending_x', agentPath: ['Friday', 'x'], kind: 'approval', call, reason: '' };
      const status = { kind: 'nested', state: null, pending: [question] };
      await forge(
        store,
        id,
        edited([...OPEN, 'standings', 'call-send'], () => status),
      );
      const first = after();
      await session.load(id, { agent: first.agent });
      await session.save(id, { agent: first.agent });
      const office = after();
      await session.load(id, { agent: office.agent });
      expect(office.pending).toEqual(['look']);
      await office.allow();
      expect([office.done, office.pending]).toEqual([[], ['send']]);
      await session.close();
    });

    test('a saved question has no suggestions that somebody may have edited', async () => {
      const { store, session } = await saved();
      const wide = [{ tool: '*', behavior: 'allow' }];
      await forge(
        store,
        id,
        edited([...OPEN, 'standings', 'call-send', 'pending', 'suggestions'], () => wide),
      );
      const office = after();
      await session.load(id, { agent: office.agent });
      expect(office.agent.pendingCalls).toMatchObject([{ call: { name: 'send' } }]);
      expect(office.agent.pendingCalls[0]).not.toHaveProperty('suggestions');
      await session.close();
    });

    test('a wider mode and rules that allow do not count, also not after the next save', async () => {
      const { store, session } = await saved();
      const permission = { mode: 'bypass', addedRules: [{ tool: '*', behavior: 'allow' }] };
      await forge(
        store,
        id,
        edited(['agent', 'permission'], () => permission),
      );
      for (let loads = 0; loads < 2; loads++) {
        const office = after();
        await session.load(id, { agent: office.agent });
        expect([office.policy.mode, office.policy.rules]).toEqual(['default', []]);
        await session.save(id, { agent: office.agent });
      }
      await session.close();
    });

    test('codes of another session, another component or none are no codes', async () => {
      const { store, session } = await saved();
      const other = new Office([says('send')], new PermissionRules({ mode: 'bypass' }));
      await session.save(`${id}-other`, { agent: other.agent });
      const stolen = await store.readHead(await toSessionKey(`${id}-other`), 'current');
      const { macs = {}, components } = readHead(stolen?.text ?? '', '');
      const tries: readonly (JsonObject | undefined)[] = [
        macs,
        { agent: '' },
        JSON.parse('{"__proto__":{"agent":"x"},"constructor":"x"}') as JsonObject,
        { agent: 7 as never },
        undefined,
      ];
      for (const forged of tries) {
        await forge(store, id, ({ macs: _, ...head }) => ({
          ...head,
          components,
          ...(forged && { macs: forged }),
        }));
        const office = after();
        await session.load(id, { agent: office.agent });
        expect(office.policy.mode).toBe('default');
      }
      await session.close();
    });

    test('a copy of an edited session is as little believed', async () => {
      const { store, session } = await saved();
      await session.copy(id, `${id}-clean`);
      await forge(
        store,
        id,
        edited(['agent', 'permission', 'mode'], () => 'bypass'),
      );
      await session.copy(id, `${id}-copy`);
      await session.restorePrevious(id);
      const modes: string[] = [];
      for (const one of [`${id}-copy`, id, `${id}-clean`]) {
        const office = new Office(['Done.'], new PermissionRules({ mode: 'explore' }));
        await session.load(one, { agent: office.agent });
        modes.push(office.policy.mode);
      }
      expect(modes).toEqual(['explore', 'default', 'default']);
      await session.close();
    });

    test('a key that stands twice in the text changes nothing', async () => {
      const { store, session } = await saved();
      await forge(store, id, (head) => {
        const body = /"head":(.*)\}\n$/s.exec(writeHead(head))?.[1] ?? '';
        const twice = body.replace('"mode":"default"', '"mode":"default","mode":"bypass"');
        expect(twice).not.toBe(body);
        return `{"format":"troupe-session","version":1,"checksum":"${fingerprint(`1 ${twice}`)}","head":${twice}}\n`;
      });
      const office = after();
      await session.load(id, { agent: office.agent }).catch(() => {}); // a store may refuse it, too
      expect(office.policy.mode).toBe('default');
      await session.close();
    });

    test.each<[string, readonly string[], JsonValue]>([
      ['a huge iteration', [...OPEN, 'iteration'], 1e308],
      ['a negative iteration', [...OPEN, 'iteration'], -1],
      ['a huge time', [...OPEN, 'standings', 'call-send', 'ms'], 1e308],
      ['the status of a tool call that does not exist', [...OPEN, 'standings', 'constructor'], GRANT],
      ['names of prototypes', [...OPEN, 'grantedTools'], ['__proto__', 'constructor', 'toString']],
      ['a mode by the name of a prototype', ['agent', 'permission', 'mode'], 'constructor'],
      [
        'a rule with a prototype',
        ['agent', 'permission', 'addedRules'],
        [{ tool: 'x', behavior: '__proto__' }],
      ],
      ['rules that are no list', ['agent', 'permission', 'addedRules'], { length: 1e9 }],
      ['an open exchange that is a list', OPEN, []],
      ['spending without end', [...OPEN, 'spent'], { usage: { inputTokens: 1e308 }, cost: -1e308 }],
    ])('%s runs nothing', async (_, path, value) => {
      const { store, session } = await saved();
      await forge(
        store,
        id,
        edited(path, () => value),
      );
      const office = after();
      await session.load(id, { agent: office.agent }).catch(() => {});
      await office.agent.call().catch(() => {});
      expect([office.done, office.policy.mode]).toEqual([[], 'default']);
      expect(Object.prototype).not.toHaveProperty('agent');
      await session.close();
    });
  });
}

describe('the key of a place', () => {
  const places = {
    JsonSession: (dir: string) => [new JsonSession(dir), join(dir, 'approval-key')] as const,
    SqliteSession: (dir: string) =>
      [new SqliteSession(join(dir, 'db')), join(dir, 'db.approval-key')] as const,
  };

  describe.each(Object.entries(places))('%s', (_, openIn) => {
    test('is a private file, made when there is something to protect', async () => {
      const [session, path] = openIn(await newDir());
      await session.save('plain', { agent: new ReActAgent({ name: 'x', model: new ScriptedModel([]) }) });
      await expect(stat(path)).rejects.toThrow('ENOENT');
      await session.save('with', { agent: new Office([]).agent });
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await readFile(path, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
      await session.close();
    });

    test.each([
      ['that others can read', (path: string) => chmod(path, 0o644)],
      [
        'that is a link',
        async (path: string) => {
          const text = await readFile(path);
          await writeFile(`${path}-moved`, text, { mode: 0o600 });
          await rm(path);
          await symlink(`${path}-moved`, path);
        },
      ],
      ['that was replaced', (path: string) => writeFile(path, `${'0'.repeat(64)}\n`)],
      ['that is no key', (path: string) => writeFile(path, '')],
      [
        'that is a pipe',
        async (path: string) => {
          await rm(path);
          execFileSync('mkfifo', ['-m', '600', path]);
        },
      ],
      [
        'that is a folder',
        async (path: string) => {
          await rm(path);
          await mkdir(path, { mode: 0o700 });
        },
      ],
    ])('%s protects nothing', async (_name, spoil) => {
      const dir = await newDir();
      const [session, path] = openIn(dir);
      await session.save('s', { agent: new Office([], new PermissionRules({ mode: 'accept_edits' })).agent });
      await session.close();
      await spoil(path);
      const [again] = openIn(dir);
      const office = new Office([]);
      await again.load('s', { agent: office.agent });
      expect(office.policy.mode).toBe('default');
      await again.close();
    });
  });

  test.each(Object.entries(places))('%s: is one, also if several make it at once', async (_, openIn) => {
    const dir = await newDir();
    const all = ['a', 'b', 'c', 'd'].map((id) => ({ id, session: openIn(dir)[0] }));
    await Promise.all(
      all.map(({ id, session }) =>
        session.save(id, { rules: new PermissionRules({ mode: 'accept_edits' }) }),
      ),
    );
    await Promise.all(all.map(({ session }) => session.close()));
    const [again] = openIn(dir);
    for (const { id } of all) {
      const rules = new PermissionRules();
      await again.load(id, { rules });
      expect([id, rules.mode]).toEqual([id, 'accept_edits']);
    }
    await again.close();
  });

  test('must be long enough', () => {
    expect(() => new JsonSession('x', { approvalKey: 'short' })).toThrow('at least 16 bytes');
  });
});
