// Continuing an earlier task by its id.
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import type { ToolResultBlock } from '../message/blocks.ts';
import { InMemorySession } from '../session/in-memory-session.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { parseJson, type JsonObject } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import { ReActAgent } from '../react/react-agent.ts';
import type { SubAgentOptions } from './delegation.ts';
import type { SubAgentSpec } from './sub-agent-spec.ts';
import { TaskSubAgent } from './task-sub-agent.ts';
import { registerSubAgent } from './register-sub-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

type Script = readonly (string | ScriptedTurn)[];

async function hostWith(
  kid: ScriptedModel,
  script: Script,
  options: SubAgentOptions = {},
  spec: Partial<SubAgentSpec> = {},
): Promise<ReActAgent> {
  const host = new ReActAgent({
    name: 'boss',
    model: new ScriptedModel(script),
    onPending: 'close',
    parallelToolCalls: true,
  });
  host.setConsoleOutputEnabled(false);
  await registerSubAgent(
    host,
    TaskSubAgent,
    { name: 'kid', description: 'k', modelOverride: kid, continuable: true, ...spec },
    options,
  );
  return host;
}

const resultsOf = async (host: ReActAgent): Promise<readonly ToolResultBlock[]> =>
  (await host.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
const ask = (id: string, input: JsonObject): ScriptedTurn => ({
  toolCalls: [{ name: 'agent_kid', id, input }],
});
const idOf = (result: ToolResultBlock | undefined): string => String(result?.metadata?.['continue_id']);
const call = (input: JsonObject) => ({ type: 'tool_use', id: 'c', name: 'agent_kid', input }) as const;

describe('going on with an earlier task', () => {
  test('is off by default, and the model is not offered it', async () => {
    const host = await hostWith(new ScriptedModel(['one', 'two']), [], {}, { continuable: undefined });
    expect(JSON.stringify(host.toolkit.getJsonSchemas())).not.toContain('continue_id');
    const result = await host.toolkit.callToolFunction(call({ task: 'x' }));
    expect([result.output, result.metadata?.['continue_id']]).toEqual(['one', undefined]);
  });

  for (const where of ['its own session', 'the host’s session, after a restart']) {
    test(`the sub-agent knows what was said: ${where}`, async () => {
      const session = where.startsWith('its') ? undefined : new InMemorySession();
      const kid = new ScriptedModel(['My name is Kid.', 'As I said, Kid.']);
      let host = await hostWith(kid, [ask('c1', { task: 'Who are you?' }), 'done'], { session });
      await host.call('go');
      const id = idOf((await resultsOf(host))[0]);
      expect((await resultsOf(host))[0]?.output).toBe(`continue_id: ${id}\n\nMy name is Kid.`);
      if (session !== undefined) {
        expect((await session.list()).sessions.map((one) => one.session)).toEqual([`sub@kid@${id}`]);
        host = await hostWith(kid, [], { session });
      }
      const again = await host.toolkit.callToolFunction(call({ task: 'Again?', continue_id: id }));
      expect(again).toMatchObject({ output: `continue_id: ${id}\n\nAs I said, Kid.`, status: 'ok' });
      const texts = kid.requests[1]?.messages.filter(({ role }) => role !== 'system').map(({ text }) => text);
      expect(texts?.filter((text) => !text.startsWith('You work on'))).toEqual([
        'Who are you?',
        'My name is Kid.',
        'Again?',
      ]);
      await host.toolkit.callToolFunction(call({ task: 'New?' }));
      expect(kid.requests[2]?.messages.map(({ text }) => text)).not.toContain('Who are you?');
    });
  }

  test('without a session the last thousand tasks are kept; one that is gone on with is new again', async () => {
    const kid = new ScriptedModel([{ when: () => true, text: 'done' }]);
    const host = await hostWith(kid, []);
    const begin = async (): Promise<string> => idOf(await host.toolkit.callToolFunction(call({ task: 'x' })));
    const goOn = async (id: string | undefined): Promise<unknown> =>
      (await host.toolkit.callToolFunction(call({ task: 'x', continue_id: id ?? '?' }))).status;
    const ids: string[] = [];
    while (ids.length < 1000) ids.push(await begin());
    expect(await goOn(ids[0])).toBe('ok');
    await begin();
    expect([await goOn(ids[0]), await goOn(ids[1]), await goOn(ids[2])]).toEqual(['ok', 'unavailable', 'ok']);
  });

  test('an unknown id is refused, in any form', async () => {
    const kid = new ScriptedModel([]);
    const host = await hostWith(kid, []);
    for (const id of ['nope', '../../etc', 'a@b', 'x'.repeat(5000), '__proto__']) {
      const { metadata, output } = await host.toolkit.callToolFunction(call({ task: 'x', continue_id: id }));
      expect(metadata).toMatchObject({
        unavailable: true,
        error: id === 'nope' ? 'invalid_input' : (expect.any(String) as string),
      });
      expect(String(output).length).toBeLessThan(500);
    }
    expect(kid.requests.length).toBe(0);
  });

  test('two at once: one has to wait', async () => {
    const kid = new ScriptedModel(['one', 'two']);
    const host = await hostWith(kid, [ask('c1', { task: 'x' }), 'done']);
    await host.call('go');
    const id = idOf((await resultsOf(host))[0]);
    const results = await Promise.all([
      host.toolkit.callToolFunction(call({ task: 'y', continue_id: id })),
      host.toolkit.callToolFunction(call({ task: 'z', continue_id: id })),
    ]);
    expect(results.map(({ status, metadata }) => [status, metadata?.['error']])).toEqual([
      ['ok', undefined],
      ['unavailable', 'unavailable'],
    ]);
  });

  test('a task with an approval is kept when it is done', async () => {
    const remove = tool({ name: 'remove', schema: z.object({}), execute: () => 'removed' });
    const permissionPolicy = { decide: () => ({ behavior: 'ask' as const }) };
    const kid = new ScriptedModel([
      { toolCalls: [{ name: 'remove', id: 'k', input: {} }] },
      'Removed.',
      'Yes, removed.',
    ]);
    const session = new InMemorySession();
    const options = { session, permissionPolicy };
    const host = await hostWith(kid, [ask('c1', { task: 'x' })], options, { tools: [remove] });
    await host.call('go');
    const again = await hostWith(kid, ['done'], options, { tools: [remove] });
    again.loadStateDict(parseJson(JSON.stringify(host.stateDict())) as JsonObject);
    await again.call(undefined, {
      decisions: again.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const })),
    });
    const [result] = await resultsOf(again);
    expect(result?.output).toBe(`continue_id: ${idOf(result)}\n\nRemoved.`);
    const then = await again.toolkit.callToolFunction(call({ task: 'Sure?', continue_id: idOf(result) }));
    expect(then.output).toBe(`continue_id: ${idOf(result)}\n\nYes, removed.`);
  });

  test('an earlier task that waited for somebody, when it was gone on with, is the same one afterwards', async () => {
    const remove = tool({ name: 'remove', schema: z.object({}), execute: () => 'removed' });
    const options = {
      session: new InMemorySession(),
      permissionPolicy: { decide: () => ({ behavior: 'ask' as const }) },
    };
    const script: Script = [
      'One.',
      { toolCalls: [{ name: 'remove', id: 'k', input: {} }] },
      'Removed.',
      'Yes.',
    ];
    const kid = new ScriptedModel(script);
    const first = await hostWith(kid, [], options, { tools: [remove] });
    const id = idOf(await first.toolkit.callToolFunction(call({ task: 'x' })));
    const host = await hostWith(kid, [ask('c1', { task: 'y', continue_id: id })], options, {
      tools: [remove],
    });
    await host.call('go');
    const again = await hostWith(kid, ['done'], options, { tools: [remove] });
    again.loadStateDict(parseJson(JSON.stringify(host.stateDict())) as JsonObject);
    await again.call(undefined, {
      decisions: again.pendingCalls.map(({ id: one }) => ({ id: one, verdict: 'allow' as const })),
    });
    const [result] = await resultsOf(again);
    expect([result?.output, idOf(result)]).toEqual([`continue_id: ${id}\n\nRemoved.`, id]);
    await again.toolkit.callToolFunction(call({ task: 'z', continue_id: id }));
    const texts = kid.requests
      .at(-1)
      ?.messages.filter(({ role }) => role === 'assistant')
      .map(({ text }) => text);
    expect(texts).toEqual(['One.', '', 'Removed.']);
  });

  test('two programs at once: the first to be done is kept, and the other one has no id', async () => {
    const options = { session: new InMemorySession() };
    const doors = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const looking = doors.map(() => Promise.withResolvers<void>());
    const hosts = await Promise.all(
      doors.map(({ promise }, n) => {
        const execute = (): Promise<string> => {
          looking[n]?.resolve();
          return promise;
        };
        const look = tool({ name: 'look', execute });
        const kid = new ScriptedModel([
          { toolCalls: [{ name: 'look', id: 'l', input: {} }] },
          `${n} is done`,
        ]);
        return hostWith(kid, [], options, { tools: [look] });
      }),
    );
    const maker = await hostWith(new ScriptedModel(['One.', 'Both?']), [], options);
    const id = idOf(await maker.toolkit.callToolFunction(call({ task: 'x' })));
    const both = hosts.map(({ toolkit }) => toolkit.callToolFunction(call({ task: 'y', continue_id: id })));
    await Promise.all(looking.map(({ promise }) => promise));
    for (const [n, door] of doors.entries()) {
      door.resolve('seen');
      await both[n];
    }
    const outputs = (await Promise.all(both)).map(({ output }) => output);
    expect(outputs).toEqual([`continue_id: ${id}\n\n0 is done`, '1 is done']);
    expect(await options.session.revisionOf(`sub@kid@${id}`)).toBe(2);
  });

  test('a task that continues while it is pending becomes two tasks, and nothing is lost', async () => {
    const remove = tool({ name: 'remove', schema: z.object({}), execute: () => 'removed' });
    const permissionPolicy = { decide: () => ({ behavior: 'ask' as const }) };
    const options = { session: new InMemorySession(), permissionPolicy };
    const waits = { toolCalls: [{ name: 'remove', id: 'k', input: {} }] };
    const kid = new ScriptedModel(['One.', waits, 'Meanwhile.', 'Removed.', 'a', 'b']);
    const other = await hostWith(kid, [], options, { tools: [remove] });
    const id = idOf(await other.toolkit.callToolFunction(call({ task: 'x' })));
    const script = [ask('c1', { task: 'y', continue_id: id }), 'done'];
    const host = await hostWith(kid, script, options, { tools: [remove] });
    await host.call('go');
    expect(idOf(await other.toolkit.callToolFunction(call({ task: 'z', continue_id: id })))).toBe(id);
    await host.call(undefined, {
      decisions: host.pendingCalls.map(({ id: one }) => ({ id: one, verdict: 'allow' as const })),
    });
    const [result] = await resultsOf(host);
    expect(idOf(result)).not.toBe(id);
    const known = [];
    for (const continue_id of [id, idOf(result)]) {
      await other.toolkit.callToolFunction(call({ task: 'w', continue_id }));
      const msgs = kid.requests.at(-1)?.messages ?? [];
      known.push(msgs.filter(({ role }) => role === 'assistant').map(({ text }) => text));
    }
    expect(known).toEqual([
      ['One.', 'Meanwhile.'],
      ['One.', '', 'Removed.'],
    ]);
  });

  test('arguments that allow no others are no obstacle', async () => {
    const inputSchema = z.strictObject({ query: z.string() });
    const host = await hostWith(new ScriptedModel(['one', 'two']), [], {}, { inputSchema });
    const id = idOf(await host.toolkit.callToolFunction(call({ query: 'x' })));
    const result = await host.toolkit.callToolFunction(call({ query: 'y', continue_id: id }));
    expect(result.output).toBe(`continue_id: ${id}\n\ntwo`);
    await expect(
      hostWith(new ScriptedModel([]), [], {}, { inputSchema: z.object({ continue_id: z.string() }) }),
    ).rejects.toMatchObject({ code: 'invalid_config' });
  });
});
