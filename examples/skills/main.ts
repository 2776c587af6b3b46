// A skill with its own tool. The model first sees only a description of the skill; reading the skill gives
// the instructions, and activates its tool. The ScriptedModel first tries the tool without reading, and then
// tries to read a file outside of the skill.

import assert from 'node:assert/strict';
import { join } from 'node:path';

import { findHistoryFaults, ReActAgent, tool, Toolkit } from 'troupe';
import { SkillSet } from 'troupe/skills';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

const makeSlug = tool({
  name: 'make_slug',
  description: 'Turns a title into a slug.',
  schema: z.object({ title: z.string() }),
  execute: ({ title }) =>
    title
      .toLowerCase()
      .replace(/\b(?:the|a|an)\b/g, '')
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 40),
});

const toolkit = new Toolkit();
const skills = new SkillSet({ toolkit });
// setup.js of the skill is not run
await skills.add(join(import.meta.dirname, 'slugs'), { tools: [makeSlug] });

const call = (name: string, input: Record<string, string>) => ({ toolCalls: [{ name, input }] });
const model = new ScriptedModel([
  call('make_slug', { title: 'The Making of a Troupe' }), // not offered yet
  call('read_skill', { skill: 'slugs' }),
  call('read_skill', { skill: 'slugs', path: 'rules.md' }),
  call('read_skill', { skill: 'slugs', path: '../main.ts' }),
  call('make_slug', { title: 'The Making of a Troupe' }),
  'The address ends in making-of-troupe.',
]);
const agent = new ReActAgent({
  name: 'editor',
  model,
  toolkit,
  sysPrompt: () => skills.appendTo('You look after a web site.'),
  console: false,
});

const answer = await agent.call('What is the address of "The Making of a Troupe"?');

console.log(`${model.requests[0]?.messages[0]?.text}\n`);
const memory = await agent.memory.getMemory();
const results = memory.flatMap((msg) => msg.getContentBlocks('tool_result'));
for (const { name, status, output } of results) console.log(`${name} ${status}: ${JSON.stringify(output)}`);
console.log(`\n${answer.text}`);

assert.deepEqual(
  results.map(({ status }) => status),
  ['unavailable', 'ok', 'ok', 'error', 'ok'],
);
assert.match(JSON.stringify(results[1]?.output), /Read `rules.md` first.*make_slug/s);
assert.match(
  JSON.stringify(results[3]?.output),
  /There is no file '..\/main.ts'.*There are: SKILL.md, rules.md, setup.js/,
);
assert.equal(results[4]?.output, 'making-of-troupe');
const offered = model.requests.map(({ tools = [] }) => tools.map(({ name }) => name).join());
assert.deepEqual(offered.slice(0, 3), ['read_skill', 'read_skill', 'read_skill,make_slug']);
assert.deepEqual(findHistoryFaults(memory), []);
