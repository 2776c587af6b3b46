// A supervisor works out the time that Eliud Kipchoge would run to the Moon. Its only tools are two sub-agents: one searches
// the web, one fetches pages and records findings in the shared long-term memory. The web is a small
// server in this program, and the models are scripted; everything else is real. At the end the server hangs:
// the sub-agent is stopped by its time limit, a warning is logged, and the supervisor answers without it.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import {
  findHistoryFaults,
  LongTermMemoryBase,
  ReActAgent,
  TaskSubAgent,
  tool,
  withRunConfig,
  type Msg,
  type SubAgentInit,
  type SubAgentSpec,
  type ToolResultBlock,
  registerSubAgent,
} from 'troupe';
import { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from 'troupe/testing';
import { z } from 'zod';

const QUESTION =
  'If Kipchoge kept the pace of his marathon record, how many thousand hours to the Moon at its closest? Round to 1000 hours.';

let isHanging = false;
const requests: string[] = [];
const server = createServer((request, response) => {
  requests.push(request.url ?? '');
  if (isHanging) return; // from now on no request is answered
  response.end(
    request.url?.startsWith('/search')
      ? 'Kipchoge, Berlin Marathon 2018: 2:01:09 for 42.195 km. Moon perigee: see /wiki/Moon.'
      : '<h1>Moon</h1><p>Minimum perigee distance: 363300 km</p>',
  );
});
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
const web = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const searchWeb = tool({
  name: 'search_web',
  description: 'Searches the web.',
  schema: z.object({ terms: z.string() }),
  execute: async ({ terms }, { signal }) =>
    (await fetch(`${web}/search?q=${encodeURIComponent(terms)}`, { signal })).text(),
});
const httpRequest = tool({
  name: 'http_request',
  description: 'Fetches a page.',
  schema: z.object({ path: z.string() }),
  execute: async ({ path }, { signal }) => (await fetch(new URL(path, web), { signal })).text(),
});

/** Long-term memory shared by the supervisor and its sub-agents. */
class Notes extends LongTermMemoryBase {
  override readonly id = 'notes';
  override readonly description = 'Distances and where they were found.';
  readonly facts: string[] = [];

  override async retrieve(): Promise<string> {
    return this.facts.join('\n');
  }

  override async record(msgs: readonly Msg[]): Promise<void> {
    this.facts.push(...msgs.map(({ text }) => text).filter((text) => text.startsWith('Minimum perigee')));
  }
}

const notes = new Notes();
const made: TaskSubAgent[] = [];

/** ReAct agent, made anew for each task. */
class WebSearchSubAgent extends TaskSubAgent {
  constructor(init: SubAgentInit) {
    super(init);
    made.push(this);
  }
}

/** Sub-agent that also records its findings. */
class HttpFetchSubAgent extends TaskSubAgent {
  constructor(init: SubAgentInit) {
    const { longTermMemory } = init.permissions;
    super(init, { longTermMemory });
    made.push(this);
  }
}

class ResearchSupervisor extends ReActAgent {}

const inputSchema = z.object({ query: z.string().describe('What to find out, in full.') });
const call = (name: string, input: ScriptedToolCall['input']): ScriptedTurn => ({
  toolCalls: [{ name, input }],
});

/** Supervisor and sub-agents with scripted models. */
async function supervisorWith(script: readonly (string | ScriptedTurn)[]): Promise<ResearchSupervisor> {
  const supervisor = new ResearchSupervisor({
    name: 'ResearchSupervisor',
    model: new ScriptedModel(script),
    console: false,
  });
  const search: SubAgentSpec = {
    name: 'web_search',
    description: 'Finds public sources.',
    sysPrompt: 'Find what you are asked for, and say where you found it.',
    tags: ['web'],
    inputSchema,
    tools: [searchWeb], // only this sub-agent has the tool
    modelOverride: new ScriptedModel([
      call('search_web', { terms: 'Kipchoge marathon record, Moon perigee' }),
      'Kipchoge ran 42.195 km in 2:01:09. The perigee of the Moon is on /wiki/Moon.',
    ]),
  };
  const fetchPage: SubAgentSpec = {
    name: 'http_fetch',
    description: 'Reads a page of the web.',
    sysPrompt: 'Fetch the page, and quote what was asked for.',
    tags: ['web'],
    inputSchema,
    tools: [httpRequest],
    timeoutMs: 500,
    modelOverride: new ScriptedModel([
      call('http_request', { path: '/wiki/Moon' }),
      'Minimum perigee distance: 363300 km (/wiki/Moon).',
    ]),
  };
  const heap = { longTermMemory: notes };
  assert.equal(await registerSubAgent(supervisor, WebSearchSubAgent, search, heap), 'agent_web_search');
  assert.equal(await registerSubAgent(supervisor, HttpFetchSubAgent, fetchPage, heap), 'agent_http_fetch');
  return supervisor;
}

const textOf = ({ output }: ToolResultBlock): string =>
  typeof output === 'string' ? output : JSON.stringify(output);

/** Asks the supervisor, and shows the delegations. */
async function ask(
  supervisor: ResearchSupervisor,
): Promise<{ text: string; results: readonly ToolResultBlock[] }> {
  console.log(`you: ${QUESTION}`);
  for await (const event of supervisor.stream(QUESTION)) {
    if (event.type === 'tool_start') console.log(`  ${event.call.name} ${JSON.stringify(event.call.input)}`);
    if (event.type === 'tool_result') console.log(`    ${event.result.status}: ${textOf(event.result)}`);
  }
  const memory = await supervisor.memory.getMemory();
  assert.deepEqual(findHistoryFaults(memory), []);
  const text = memory.at(-1)?.text ?? '';
  console.log(`supervisor: ${text}\n`);
  return { text, results: memory.flatMap((msg) => msg.getContentBlocks('tool_result')) };
}

const delegations = [
  call('agent_web_search', {
    query: 'The time of Kipchoge’s marathon record, and a source for the perigee of the Moon.',
  }),
  call('agent_http_fetch', { query: 'The minimum perigee distance on /wiki/Moon.' }),
];

const good = await supervisorWith([...delegations, 'About 17000 hours.']);
const { text, results } = await ask(good);

// The supervisor's answer uses the results of its sub-agents.
const [record = '', page = ''] = results.map(textOf);
const [, km, hours, minutes, seconds] = /ran ([\d.]+) km in (\d+):(\d+):(\d+)/.exec(record) ?? [];
const perigee = Number(/distance: (\d+) km/.exec(page)?.[1]);
const speed = Number(km) / (Number(hours) + Number(minutes) / 60 + Number(seconds) / 3600);
const answer = Math.round(perigee / speed / 1000) * 1000;
assert.equal(answer, 17_000);
assert.ok(text.includes(String(answer)));
assert.deepEqual(
  results.map(({ metadata }) => [metadata?.['subagent'], metadata?.['supervisor'], metadata?.['tool_trace']]),
  [
    ['web_search', 'ResearchSupervisor', ['search_web']],
    ['http_fetch', 'ResearchSupervisor', ['http_request']],
  ],
);
for (const { metadata } of results) {
  const context = metadata?.['delegation_context']; // the complete delegation context
  assert.deepEqual(Object.keys(context ?? {}), [
    'task_summary',
    'recent_events',
    'long_term_refs',
    'workspace_pointers',
    'safety_flags',
  ]);
  assert.deepEqual(metadata?.['tags'], ['web']);
  assert.deepEqual(Object(context).long_term_refs, [
    { kind: 'long_term_memory', id: 'notes', description: 'Distances and where they were found.' },
  ]);
}
// the supervisor has no other tools
assert.deepEqual(good.toolkit.names, ['agent_web_search', 'agent_http_fetch']);
assert.equal(requests.length, 2);
assert.ok(!JSON.stringify(await good.memory.getMemory()).includes('<h1>')); // and has seen no page
// the memories of the sub-agents are cleared
for (const { memory } of made) assert.equal(await memory.size(), 0);
// the long-term memory is kept
assert.deepEqual(notes.facts, ['Minimum perigee distance: 363300 km (/wiki/Moon).']);

isHanging = true;
const late = await supervisorWith([
  delegations[1] ?? '',
  'I could not look up the distance: the page did not answer in time.',
]);
const warnings: string[] = [];
const { results: failures } = await withRunConfig(
  { logging: { log: (_level, line) => void warnings.push(line) } },
  () => ask(late),
);
assert.deepEqual(
  failures.map(({ status, metadata }) => [status, metadata?.['unavailable'], metadata?.['error']]),
  [['unavailable', true, 'timeout']],
);
assert.match(
  failures.map(textOf).join('\n'),
  /^\[subagent_timeout\] http_fetch gave no answer within 0\.5 s\./,
);

assert.deepEqual(warnings, [
  'The sub-agent http_fetch of ResearchSupervisor gave no answer within 0.5 s. Try again later, or do without it.',
]);

server.closeAllConnections();
server.close();
