// Random conversations with approvals: calls in turn or side by side, in an agent or in one in its tool, decided in every way and bit by bit,
// with or without a restart in between. What ran is held against what was said.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';

import { agentTool } from '../src/subagent/agent-tool.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import type { PendingCall, PendingDecision } from '../src/message/pending-call.ts';
import type { PermissionPolicy } from '../src/permission/permission-policy.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';
import { sampleOf } from './fair-sample.ts';

const KINDS = ['free', 'asked', 'each time', 'denied'] as const;
const ANSWERS = ['allow', 'run', 'edit', 'deny', 'result', 'leave'] as const;
type Answer = (typeof ANSWERS)[number];
interface Call {
  readonly tool: 'paint' | 'sign';
  readonly kind: (typeof KINDS)[number];
}

const thoughts = fc.array(
  fc.array(fc.record<Call>({ tool: fc.constantFrom('paint', 'sign'), kind: fc.constantFrom(...KINDS) }), {
    minLength: 1,
    maxLength: 4,
  }),
  { maxLength: 3 },
);
const conversations = fc.record({
  outer: thoughts,
  inner: thoughts,
  parallelToolCalls: fc.constantFrom(false, true, 2),
  answers: fc.array(fc.constantFrom(...ANSWERS), { minLength: 1, maxLength: 12 }),
  restarts: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
});

const permissionPolicy: PermissionPolicy = {
  decide: ({ call: { input } }) => {
    const [kind = 'free'] = String(input['what'] ?? 'free').split('/');
    if (kind === 'free' || kind === 'denied') return { behavior: kind === 'free' ? 'allow' : 'deny' };
    return { behavior: 'ask', isAskedEachTime: kind === 'each time' };
  },
};

function scriptOf(name: string, calls: readonly (readonly Call[])[]): ScriptedTurn[] {
  return calls.map((thought, i) => ({
    toolCalls: thought.map((call, j) => {
      const id = `${name}${i}${j}`;
      return { name: call.tool, id, input: { what: `${call.kind}/${id}` } };
    }),
  }));
}

/** Decisions about a pending tool call, and the runs that these allow or forbid. */
class Person {
  readonly allowed = new Set<string>();
  readonly refused = new Set<string>();
  /** The tools that somebody has allowed for the run, by their agents. */
  readonly forRun = new Set<string>();

  decide({ id, call, agentPath }: PendingCall, answer: Answer): PendingDecision {
    const what = String(call.input['what']);
    if (answer === 'deny' || answer === 'result' || answer === 'edit') this.refused.add(what);
    if (answer === 'deny') return { id, verdict: 'deny' };
    if (answer === 'result') return { id, verdict: 'result', output: 'by hand' };
    const next = answer === 'edit' ? `${what}+` : what;
    this.allowed.add(next);
    if (answer === 'edit') return { id, verdict: 'allow', input: { what: next } };
    if (answer === 'run') this.forRun.add(`${String(agentPath.at(-1))} ${call.name}`);
    return { id, verdict: 'allow', scope: answer === 'run' ? 'run' : 'once' };
  }

  mayRun(agent: string, name: string, what: string): boolean {
    if (this.refused.has(what) || what.startsWith('denied')) return false;
    if (what.startsWith('free') || this.allowed.has(what)) return true;
    return what.startsWith('asked') && this.forRun.has(`${agent} ${name}`);
  }
}

test('all allowed tool calls ran once, and no others', async () => {
  let questions = 0;
  const property = fc.asyncProperty(conversations, async (one) => {
    const { parallelToolCalls, answers, restarts } = one;
    const ran: string[] = [];
    const person = new Person();
    const scripts = {
      inner: [...scriptOf('i', one.inner), 'Inside.'],
      outer: [
        ...scriptOf('o', one.outer),
        { toolCalls: [{ name: 'inner', id: 'o', input: { query: '' } }] },
        'Done.',
      ],
    };
    const used = { inner: 0, outer: 0 };
    const make = (name: 'inner' | 'outer', inside: readonly ReActAgent[]): ReActAgent => {
      const tools = (['paint', 'sign'] as const).map((toolName) =>
        tool({
          name: toolName,
          schema: z.object({ what: z.string() }),
          sideEffect: toolName === 'sign',
          execute: ({ what }) => {
            if (!person.mayRun(name, toolName, what)) throw new Error(`${what} ran without leave`);
            ran.push(what);
            return what;
          },
        }),
      );
      const model = new ScriptedModel(scripts[name].slice(used[name]));
      const toolkit = new Toolkit({
        tools: [...tools, ...inside.map((agent) => agentTool(agent, { description: '' }))],
      });
      const agent = new ReActAgent({ name, model, toolkit, permissionPolicy, parallelToolCalls });
      agent.registerInstanceHook('postReasoning', 'count', () => void used[name]++);
      agent.setConsoleOutputEnabled(false);
      return agent;
    };
    let inner = make('inner', []);
    let outer = make('outer', [inner]);
    let answer = await outer.call('go');
    for (let round = 0, at = 0; outer.pendingCalls.length > 0; round++) {
      const pending = outer.pendingCalls;
      questions += pending.length;
      if (restarts[round % restarts.length]) {
        const saved = parseJson(JSON.stringify(outer.stateDict())) as JsonObject;
        inner = make('inner', []);
        outer = make('outer', [inner]);
        outer.loadStateDict(saved);
        expect(outer.pendingCalls).toEqual(pending);
      }
      const said = pending.map((call) => [call, answers[at++ % answers.length] ?? 'allow'] as const);
      const decided = said.filter(([, how], i) => how !== 'leave' || i === 0); // somebody always says something
      const decisions = decided.map(([call, how]) => person.decide(call, how === 'leave' ? 'allow' : how));
      answer = await outer.call(undefined, { decisions });
    }
    expect(answer.text).toBe('Done.');
    expect(new Set(ran).size).toBe(ran.length);
    expect([...person.allowed].filter((what) => !ran.includes(what))).toEqual([]);
    for (const agent of [inner, outer]) {
      const history = await agent.memory.getMemory();
      expect(findHistoryFaults(history)).toEqual([]);
      expect(JSON.stringify(history)).not.toContain('without leave');
    }
  });
  const numRuns = sampleOf('conversations with pending tool calls', 300, 100);
  await fc.assert(property, { numRuns });
  expect(questions).toBeGreaterThan(numRuns);
});
