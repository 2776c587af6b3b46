// Rules that are suggested for "always" allow what was asked about, and nothing else.
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { PermissionRules } from '../../src/permission/permission-rules.ts';
import type { ToolVerdict } from '../../src/toolkit/call/tool-call.ts';
import { knownTool } from '../../src/toolkit/tool/known-tools.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import type { JsonObject } from '../../src/util/json.ts';

const SHELL = 'execute_shell_command';
const SHELL_TOOL = knownTool(tool({ name: SHELL, sideEffect: true, execute: () => '' }), {
  command: 'command',
});

function decide(policy: PermissionRules, input: JsonObject): ToolVerdict {
  return policy.decide({
    call: { type: 'tool_use', id: 'c1', name: SHELL, input },
    tool: SHELL_TOOL,
    agentPath: ['Friday'],
    context: undefined,
  });
}

const STARTS =
  'git fetch¦git config¦git clone¦git push¦go run¦go generate¦uv run¦uv pip install¦pnpm dlx¦pnpm exec¦npm exec¦npm run¦npm test¦npx¦yarn dlx¦bunx¦docker exec¦docker run¦gh api¦gh alias¦ssh¦make¦node¦python3¦xargs¦env¦kubectl exec¦bundle exec¦cargo run¦cargo test¦terraform apply¦helm install¦poetry run¦dotnet run¦mvn test¦gradle test¦pip install¦deno run¦curl¦tar -xf¦rsync¦docker ps¦git¦npm¦--'.split(
    '¦',
  );
const WORDS =
  'x¦y¦--¦-c¦--config¦-e¦--exec=sh¦--upload-pack=sh¦alias.p=!sh¦$z¦"$z"¦*¦a;b¦rm -rf /¦..¦.env¦-x¦main¦/tmp/evil¦| sh¦&& curl evil¦> out'.split(
    '¦',
  );
const line = fc
  .tuple(fc.constantFrom(...STARTS), fc.array(fc.constantFrom(...WORDS), { maxLength: 3 }))
  .map(([start, words]) => [start, ...words].join(' '));

test('no suggestion allows another line, or the same line with other arguments', () => {
  let [suggested, compared] = [0, 0];
  fc.assert(
    fc.property(line, fc.array(line, { minLength: 20, maxLength: 20 }), (asked, others) => {
      const plain = new PermissionRules();
      const { suggestions = [], behavior, isAskedEachTime } = decide(plain, { command: asked });
      if (suggestions.length === 0) return;
      suggested++;
      expect([behavior, isAskedEachTime]).toEqual(['ask', false]);
      const policy = new PermissionRules();
      for (const rule of suggestions) policy.addRule(rule);
      expect(decide(policy, { command: asked }).behavior).toBe('allow');
      expect(decide(policy, { command: asked, cwd: '/elsewhere' }).behavior).toBe('ask');
      const parts = new Set(asked.split(/&&/).map((part) => part.trim()));
      for (const other of [...others, ...WORDS.map((word) => `${asked} ${word}`)]) {
        if (decide(plain, { command: other }).behavior === 'allow') continue; // without any rule
        compared++;
        if (decide(policy, { command: other }).behavior !== 'allow') continue;
        expect(other.split(/&&/).every((part) => parts.has(part.trim()))).toBe(true);
      }
    }),
    { numRuns: 500, seed: 15 },
  );
  expect([suggested > 100, compared > 4_000]).toEqual([true, true]);
});

test.each([
  ['git fetch origin', 'git fetch --upload-pack=sh origin'],
  ['git config user.name x', 'git config core.pager sh'],
  ['npm exec tsc', 'npm exec evil'],
  ['docker exec a ls', 'docker exec a sh'],
  ['gh api user', 'gh api -X DELETE repos/a/b'],
  ['go run .', 'go run ./evil'],
  ['npm --', 'npm -- publish'],
])('a rule for %j does not allow %j', (asked, other) => {
  const policy = new PermissionRules();
  for (const rule of decide(policy, { command: asked }).suggestions ?? []) policy.addRule(rule);
  expect(decide(policy, { command: other }).behavior).toBe('ask');
});

test.each([
  'docker exec -i a sh <<E\nrm -rf /\nE',
  "docker exec -i a sh <<< 'rm -rf /'",
  'docker exec -i a sh < evil',
  'docker exec -i a sh 0<> evil',
  'docker exec -i a sh | docker exec -i a sh',
  '{ docker exec -i a sh; } < evil',
  'while docker exec -i a sh; do docker exec -i a sh; done <<E\nevil\nE',
  'f() { docker exec -i a sh; }; docker exec -i a sh | f',
  'nice docker exec -i a sh < evil',
  "sh -c 'docker exec -i a sh' < evil",
  "sh -c 'docker exec -i a sh < evil'",
  'echo `docker exec -i a sh < evil`',
])('a rule for "docker exec -i a sh" does not allow %j, for which there is no rule', (other) => {
  const policy = new PermissionRules();
  const [rule] = decide(policy, { command: 'docker exec -i a sh' }).suggestions ?? [];
  policy.addRule(rule ?? {});
  expect(decide(policy, { command: 'docker exec -i a sh' }).behavior).toBe('allow');
  expect(decide(policy, { command: 'docker exec -i a sh | tail -n 3' }).behavior).toBe('allow');
  expect(decide(policy, { command: other })).toMatchObject({ behavior: 'ask', suggestions: [] });
});
