import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Msg, ReActAgent } from '../src/index.ts';
import { JsonSession } from '../src/stores/json/json-session.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../src/util/json.ts';
import { goldenAgents } from './golden-agents.ts';

/** Agents saved by version 0.1.0, and the messages that version 0.1.0 added afterwards. */
const GOLDEN = join(import.meta.dirname, 'golden', 'session-v2');

interface GoldenState {
  readonly state: JsonObject;
  /** The state of an agent right after loading. */
  readonly loaded: JsonObject;
  readonly pendingCalls: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
  readonly answer: JsonObject;
  readonly added: readonly JsonObject[];
}

const dirs: string[] = [];

afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
});

async function goldenState(name: string): Promise<GoldenState> {
  return JSON.parse(await readFile(join(GOLDEN, 'states', `${name}.json`), 'utf8')) as GoldenState;
}

const messagesOf = async (agent: ReActAgent): Promise<JsonObject[]> =>
  (await agent.memory.getMemory()).map((msg) => msg.toJSON());

/** Without the ids and times that differ in each run. */
const masked = (json: unknown): unknown =>
  JSON.parse(
    JSON.stringify(json)
      .replaceAll(/\b\w{22}\b/g, '<id>')
      .replaceAll(/"2026-[^"]*Z"/g, '"<time>"'),
  );

/** JSON of version 0.1.0 as it is now: what messages said about themselves in their metadata is in fields. */
function modern(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(modern);
  if (!isJsonObject(json)) return json;
  const { metadata } = json;
  const rest = Object.fromEntries(Object.entries(json).map(([key, value]) => [key, modern(value)]));
  if (!isJsonObject(metadata) || typeof metadata['_end_reason'] !== 'string') return rest;
  const { _end_reason: endReason, _pending: pending, _is_raw: _, ...others } = metadata;
  return { ...rest, metadata: others, endReason, ...(pending !== undefined && { pending }) };
}

/** A message that was added by version 0.1.0, as the same message is added now: with what is saved besides since then. */
function addedNow(json: JsonValue, saysWhyItStopped: boolean): JsonValue {
  const msg = modern(json);
  if (!isJsonObject(msg)) return msg;
  const content = Array.isArray(msg['content']) ? (msg['content'] as readonly JsonValue[]) : [];
  const blocks = content.map((block) => {
    const metadata = isJsonObject(block) ? block['metadata'] : undefined;
    if (!isJsonObject(metadata) || metadata['answer'] === undefined) return block;
    return { ...(block as JsonObject), metadata: { ...metadata, form: 'object' } };
  });
  const isCalling =
    msg['endReason'] === 'structured' ||
    content.some((block) => isJsonObject(block) && block['type'] === 'tool_use');
  const finishReason = isCalling ? 'tool_calls' : 'stop';
  const { metadata } = msg;
  const isSummary = isJsonObject(metadata) && metadata['_compress_meta'] !== undefined;
  const isSaid = msg['role'] === 'assistant' && (isCalling || msg['endReason'] === 'finished');
  return {
    ...msg,
    ...(isSummary && msg['name'] === 'assistant' && { name: 'Friday' }), // summaries have the agent's name
    ...(content.length > 0 && { content: blocks }),
    ...(saysWhyItStopped && isSaid && { finishReason }),
  };
}

/** A state loaded by version 0.1.0, with all of the saved usage: version 0.1.0 kept only a part of the usage. */
function withUsage(loaded: JsonValue, saved: JsonValue | undefined): JsonValue {
  if (!isJsonObject(loaded) || !isJsonObject(saved)) return loaded;
  const entries = Object.entries(loaded).map(([key, value]) => {
    const isUsage = key === 'usage' && 'iterations' in loaded;
    return [key, isUsage ? { cost: 0, ...(saved[key] as JsonObject) } : withUsage(value, saved[key])];
  });
  return Object.fromEntries(entries) as JsonObject;
}

async function expectLoaded(agent: ReActAgent, golden: GoldenState): Promise<void> {
  expect(agent.stateDict()).toStrictEqual(modern(withUsage(golden.loaded, golden.state)));
  expect(agent.pendingCalls).toStrictEqual(golden.pendingCalls);
  expect(await messagesOf(agent)).toStrictEqual(modern(golden.messages));
}

/** Goes on as the version that saved the state did, with the same outcome. */
async function expectToGoOn(name: string, agent: ReActAgent, golden: GoldenState): Promise<Msg> {
  const answer = await goldenAgents[name]?.goOn(agent);
  if (answer === undefined) throw new Error(`no such agent: ${name}`);
  const saysWhyItStopped = name !== 'auto-context'; // its model doesn't
  expect(masked(answer)).toStrictEqual(masked(addedNow(golden.answer, saysWhyItStopped)));
  const kept = new Set(golden.messages.map(({ id }) => id));
  const added = (await messagesOf(agent)).filter(({ id }) => !kept.has(id ?? ''));
  const expected = golden.added.map((json) => {
    const isSaved = JSON.stringify(golden.state).includes(`"${String(json['id'])}"`);
    return addedNow(json, saysWhyItStopped && !isSaved);
  });
  expect(masked(added)).toStrictEqual(masked(expected));
  expect(agent.pendingCalls).toStrictEqual([]);
  return answer;
}

test('the rules and the mode of version 0.1.0 have no MAC: what they allow is asked about again', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-golden-'));
  dirs.push(dir);
  await cp(join(GOLDEN, 'json'), dir, { recursive: true });
  await using session = new JsonSession(dir);
  const agent = await goldenAgents['permission']?.make('after');
  if (agent === undefined) throw new Error('no such agent');
  await session.load({ user: 'golden', session: 'permission' }, { agent });
  expect(agent.stateDict()['permission']).toEqual({
    mode: 'default',
    addedRules: [{ tool: 'look', behavior: 'deny' }],
  });
  await agent.call('Remove it.');
  expect(agent.pendingCalls).toMatchObject([{ call: { name: 'remove' } }]);
});

test('the golden states are all there, and none of them is empty', async () => {
  const names = Object.keys(goldenAgents);
  expect(names).toHaveLength(14);
  let pending = 0;
  for (const name of names) {
    const golden = await goldenState(name);
    pending += golden.pendingCalls.length;
    expect(golden.added.length).toBeGreaterThan(1);
  }
  expect(pending).toBe(4);
});

describe.each(Object.keys(goldenAgents))('the agent %s of version 0.1.0', (name) => {
  const make = async (): Promise<ReActAgent> => {
    const agent = await goldenAgents[name]?.make('after');
    if (agent === undefined) throw new Error(`no such agent: ${name}`);
    return agent;
  };

  test('loads from its state, and goes on', async () => {
    const golden = await goldenState(name);
    const agent = await make();
    agent.loadStateDict(golden.state, { acceptGrants: true });
    await expectLoaded(agent, golden);
    await expectToGoOn(name, agent, golden);
  });

  test('loads from its session, is saved in the present form, loads again and goes on', async () => {
    const golden = await goldenState(name);
    const dir = await mkdtemp(join(tmpdir(), 'troupe-golden-'));
    dirs.push(dir);
    await cp(join(GOLDEN, 'json'), dir, { recursive: true });
    const session = new JsonSession(dir);
    const key = { user: 'golden', session: name };
    const first = await make();
    expect(await session.load(key, { agent: first }, { acceptGrants: true })).toBe(true); // a state without a MAC
    await expectLoaded(first, golden);
    await session.save(key, { agent: first });
    await session.save({ ...key, session: 'copy' }, { agent: first }, { overwrite: true });
    for (const saved of [key, { ...key, session: 'copy' }]) {
      const again = await make();
      await session.load(saved, { agent: again });
      await expectLoaded(again, golden);
      await expectToGoOn(name, again, golden);
    }
    await session.close();
  });
});
