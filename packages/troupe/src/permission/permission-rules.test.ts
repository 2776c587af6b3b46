import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { knownTool, type MeaningByArgument } from '../toolkit/tool/known-tools.ts';
import { tool, type ToolSettings } from '../toolkit/tool/tool.ts';
import type { ToolVerdict } from '../toolkit/call/tool-call.ts';
import { parseJson, type JsonObject } from '../util/json.ts';
import { PermissionRules, type PermissionRulesOptions } from './permission-rules.ts';
import {
  isStricter,
  PERMISSION_MODES,
  type PermissionBehavior,
  type PermissionMode,
} from './permission-table.ts';
import { sampleOf } from '../../test/fair-sample.ts';

const SHELL = 'execute_shell_command';
/** Tools that the policy knows by identity. */
const LIBRARY: Readonly<Record<string, MeaningByArgument>> = {
  [SHELL]: { command: 'command' },
  write_file: { path: 'edit' },
  edit_file: { path: 'edit' },
  delete_file: { path: 'edit' },
  read_text_file: { path: 'read' },
  read_multiple_files: { paths: 'read' },
  list_directory: { path: 'read' },
};

function ask(
  policy: PermissionRules,
  name: string,
  input: JsonObject = {},
  marks: ToolSettings = {},
): ToolVerdict {
  const made = tool({ name, execute: () => '', ...marks });
  return policy.decide({
    call: { type: 'tool_use', id: 'c1', name, input },
    tool: LIBRARY[name] === undefined ? made : knownTool(made, LIBRARY[name]),
    agentPath: ['Friday'],
    context: undefined,
  });
}
const run = (policy: PermissionRules, command: string): PermissionBehavior =>
  ask(policy, SHELL, { command }).behavior;
const make = (mode: PermissionMode, options: PermissionRulesOptions = {}): PermissionRules =>
  new PermissionRules({ mode, workingDirectories: ['/w'], ...options });
const everyMode = (say: (mode: PermissionMode) => PermissionBehavior): string =>
  PERMISSION_MODES.map(say).join(' ');

describe('a tool', () => {
  test.each([
    ['that reads', { readOnly: true }, 'allow allow allow allow allow'],
    ['with a side effect', { sideEffect: true }, 'ask ask deny allow deny'],
    ['of which nothing is known', {}, 'ask ask deny allow deny'],
    ['that says both', { readOnly: true, sideEffect: true }, 'ask ask deny allow deny'],
  ])('%s', (_name, marks, expected) => {
    expect(everyMode((mode) => ask(make(mode), 'any_tool', {}, marks).behavior)).toBe(expected);
  });

  test.each([
    ['/w/a.txt', 'ask allow deny allow deny'],
    ['a.txt', 'ask allow deny allow deny'],
    ['/w', 'ask ask deny allow deny'],
    ['/etc/a', 'ask ask deny allow deny'],
    ['/w/../etc/a', 'ask ask deny allow deny'],
    ['/w/.env', 'ask ask deny ask deny'],
    ['/w/.git/config', 'ask ask deny ask deny'],
    ['/w/.github/workflows/ci.yml', 'ask ask deny allow deny'],
    ['node_modules/.bin/tsc', 'ask ask deny allow deny'],
    ['/w//./.AGENTS/x', 'ask ask deny allow deny'],
    ['/w/sessions/approval-key', 'ask ask deny ask deny'],
  ])('that writes the file %s', (path, expected) => {
    const marks = { sideEffect: true };
    expect(everyMode((mode) => ask(make(mode), 'write_file', { path }, marks).behavior)).toBe(expected);
  });

  test('that writes a file does not count as reading, with any marks', () => {
    expect(ask(make('default'), 'write_file', { path: '/w/a' }, { readOnly: true }).behavior).toBe('ask');
    expect(ask(make('default'), 'write_file', { path: '/etc/a' }, { readOnly: true }).behavior).toBe('ask');
    expect(ask(make('accept_edits'), 'write_file', {}).behavior).toBe('ask');
    expect(ask(make('accept_edits'), 'write_file', { path: 7 }).behavior).toBe('ask');
  });

  test('that reads a file with secrets is asked about', () => {
    const read = { readOnly: true };
    expect(ask(make('bypass'), 'read_text_file', { path: '/w/.env' }, read).behavior).toBe('ask');
    const many = { paths: ['/w/a', '/w/.ssh/id_rsa'] };
    expect(ask(make('bypass'), 'read_multiple_files', many, read)).toEqual({
      behavior: 'ask',
      reason: 'read_multiple_files: it touches .ssh',
      suggestions: [],
      isAskedEachTime: true,
    });
  });

  test('can be told what its arguments mean', () => {
    const toolArguments = { bash: { script: 'command' }, save: { to: 'edit' } } as const;
    const policy = make('accept_edits', { toolArguments });
    expect(ask(policy, 'bash', { script: 'ls' }).behavior).toBe('allow');
    expect(ask(policy, 'bash', { script: 'npm test' }).behavior).toBe('ask');
    expect(ask(policy, 'save', { to: '/w/x' }).behavior).toBe('allow');
    expect(ask(policy, SHELL, { command: 'ls' }).behavior).toBe('allow');
  });

  test.each(['', ' ', '# nothing', '\n'])('with the command %j is held by rules all the same', (command) => {
    expect(everyMode((mode) => run(make(mode), command))).toBe('allow allow allow allow allow');
    const say = (when?: { file: string }): string =>
      everyMode((mode) => {
        const policy = make(mode, { rules: [{ tool: SHELL, behavior: 'deny', when }] });
        return ask(policy, SHELL, { command, file: 'x' }).behavior;
      });
    expect([say(), say({ file: 'x' })]).toEqual(Array(2).fill('deny deny deny deny deny'));
  });

  test('with a command and paths is judged by both', () => {
    const toolArguments = { bash: { script: 'command', from: 'read', to: 'edit' } } as const;
    const say = (input: JsonObject): string =>
      everyMode((mode) => ask(make(mode, { toolArguments }), 'bash', input).behavior);
    expect(say({ script: 'ls', from: 'a', to: 'b' })).toBe('ask allow deny allow deny');
    expect(say({ script: 'ls', from: 'a', to: '/etc/b' })).toBe('ask ask deny allow deny');
    expect(say({ script: 'ls', from: '.env', to: 'b' })).toBe('ask ask deny ask deny');
    const readOnly = { bash: { script: 'command', from: 'read' } } as const;
    const policy = make('explore', { toolArguments: readOnly });
    expect(ask(policy, 'bash', { script: 'ls', from: 'a' }).behavior).toBe('allow');
    expect(ask(policy, 'bash', { script: 'ls', from: '.ssh' }).behavior).toBe('ask');
  });

  test('gets a reason for whoever is asked, or is denied', () => {
    expect(ask(make('default'), 'pay').reason).toBe('pay: it is not known to be harmless');
    expect(ask(make('dont_ask'), 'pay').reason).toBe('pay: it is not known to be harmless');
    const deny = { rules: [{ tool: 'pay', behavior: 'deny' as const }] };
    expect(ask(make('bypass', deny), 'pay')).toEqual({ behavior: 'deny', reason: 'pay: a rule denies it' });
    expect(ask(make('default'), SHELL, { command: `x${'\u001b[2J'}y` }).reason).not.toContain('\u001b');
    expect(ask(make('default'), SHELL, { command: 'x'.repeat(1000) }).reason?.length).toBeLessThan(150);
  });
});

describe('rules', () => {
  test('the strictest matching rule counts, in any order', () => {
    const rules = [
      { tool: 'pay', behavior: 'allow' },
      { tool: 'pay', behavior: 'ask', when: { amount: 10 } },
      { tool: '*', behavior: 'deny', when: { amount: 11 } },
    ] as const;
    for (const order of [rules, rules.toReversed()]) {
      const policy = make('default', { rules: order });
      const say = (amount: number): string => ask(policy, 'pay', { amount }).behavior;
      expect([say(9), say(10), say(11)]).toEqual(['allow', 'ask', 'deny']);
    }
  });

  test('an error of the condition `when` is the program’s mistake, and is thrown', () => {
    const when = (): never => {
      throw new Error('broken');
    };
    const policy = make('bypass', { rules: [{ tool: 'pay', behavior: 'deny', when }] });
    expect(() => ask(policy, 'pay')).toThrow('broken');
  });

  test('allow no danger, and nothing but reading to explorers', () => {
    const rules = [{ tool: '*', behavior: 'allow' as const }];
    expect(everyMode((mode) => run(make(mode, { rules }), 'rm -rf /'))).toBe('ask ask deny ask deny');
    expect(everyMode((mode) => run(make(mode, { rules }), 'npm test'))).toBe('allow allow deny allow allow');
  });

  test('are added and removed while the program runs', () => {
    const policy = make('default');
    const rule = { tool: 'pay', behavior: 'allow', when: { to: 'ann' } } as const;
    policy.addRule(rule);
    policy.addRule({ ...rule });
    expect(policy.rules).toEqual([rule]);
    expect(ask(policy, 'pay', { to: 'ann' }).behavior).toBe('allow');
    expect(policy.removeRule({ behavior: 'allow', when: { to: 'ann' }, tool: 'pay' })).toBe(true);
    expect(policy.removeRule(rule)).toBe(false);
    expect(ask(policy, 'pay', { to: 'ann' }).behavior).toBe('ask');
  });

  test('that are wrong are refused', () => {
    expect(() => make('default', { rules: [{ tool: 't', behavior: 'no' as 'deny' }] })).toThrow(
      'A permission rule',
    );
    expect(() => make('default').addRule({ tool: 't' })).toThrow('A permission rule');
    expect(() =>
      make('default').addRule({ tool: 't', behavior: 'deny', when: (() => true) as never }),
    ).toThrow('A permission rule');
    expect(() => make('yolo' as 'bypass')).toThrow('A permission mode');
    expect(() => make('default', { workingDirectories: ['src'] })).toThrow('absolute');
    expect(() => make('default', { workingDirectories: ['/a/../b'] })).toThrow('absolute');
  });
});

describe('the state', () => {
  test('is the mode and the rules that were added; those of the program stay', () => {
    const fixed = { tool: 'drop', behavior: 'deny' } as const;
    const added = { tool: SHELL, behavior: 'allow', when: { command: { prefix: 'npm test' } } } as const;
    const before = make('accept_edits', { rules: [{ tool: 'x', behavior: 'deny' }] });
    before.addRule(added);
    const saved = parseJson(JSON.stringify(before.stateDict())) as JsonObject;
    expect(saved).toEqual({ mode: 'accept_edits', addedRules: [added] });
    const after = make('default', { rules: [fixed] });
    after.addRule({ tool: 'old', behavior: 'allow' });
    after.loadStateDict(saved, { acceptGrants: true });
    expect([after.mode, after.rules]).toEqual(['accept_edits', [fixed, added]]);
    expect(run(after, 'npm test -- x')).toBe('allow');
    expect(ask(after, 'drop').behavior).toBe('deny');
  });

  test('that somebody may have edited makes nothing wider', () => {
    const deny = { tool: 'pay', behavior: 'deny' } as const;
    const allow = { tool: '*', behavior: 'allow' } as const;
    const kept = { tool: 'old', behavior: 'allow' } as const;
    const modes = PERMISSION_MODES.map((mode) =>
      PERMISSION_MODES.map((saved) => {
        const policy = make(mode);
        policy.addRule(kept);
        policy.loadStateDict({ mode: saved, addedRules: [allow, deny] });
        expect(policy.rules).toEqual([kept, deny]);
        return policy.mode;
      }).join(' '),
    );
    expect(modes).toEqual([
      'default default explore default dont_ask',
      'default accept_edits explore accept_edits dont_ask',
      'explore explore explore explore explore',
      'default accept_edits explore bypass dont_ask',
      'dont_ask dont_ask dont_ask dont_ask dont_ask',
    ]);
  });

  test.each([
    { mode: 'yolo', addedRules: [] },
    { mode: 'bypass', addedRules: [{ tool: 't', behavior: 'perhaps' }] },
    { mode: 'bypass', addedRules: 'all' },
  ])('%j is refused as a whole', (state) => {
    const policy = make('explore');
    expect(() => policy.loadStateDict(state as JsonObject)).toThrow('Invalid state');
    expect([policy.mode, policy.rules]).toEqual(['explore', []]);
  });
});

describe('a shell command', () => {
  /** All would count as read-only by a prefix check, in every mode. */
  test.each([
    'ls & rm -rf x',
    'ls\nrm -rf x',
    'tee /etc/x',
    'git branch -D x',
    'git tag -d x',
    'git remote remove x',
    'git log --output=x',
    'git pull && curl x',
    'ls; rm -rf x',
    'ls | sh',
    'ls `rm -rf x`',
    'ls "$(rm -rf x)"',
    'ls <(rm -rf x)',
    'ls > /etc/x',
    'cat <<E\n$(rm -rf x)\nE',
    'ls && { rm -rf x; }',
    'f() { rm -rf x; }; f',
    "l's' ; 'r'm -rf x",
    'find . -delete',
    'find . -exec rm {} \\;',
    "sed -i 's/a/b/' x",
    'sort -o x y',
    'tar --to-command=sh -xf x',
    "awk 'BEGIN{system(1)}'",
    'echo x | xargs rm',
    'env -S "rm x"',
    'PATH=/tmp ls',
    'GIT_EXTERNAL_DIFF=rm git diff',
    'alias ls=rm; ls x',
    'ls &>/dev/null rm -rf x',
    "echo <<'pwd' $(cat <<'B'\nB\ncurl x\npwd\n)\nB\n)\npwd",
    '>&-curl x',
    'echo >& -curl x',
    "awk -F -F 'BEGIN{system(1)}' x",
    'PATH+=/tmp ls',
    'git -c core.fsmonitor=rm status',
    'FIND . -delete',
  ])('%j is allowed by nobody who only lets read', (command) => {
    expect(run(make('default'), command)).toBe('ask');
    expect(run(make('explore'), command)).toBe('deny');
    expect(run(make('dont_ask'), command)).toBe('deny');
  });

  test.each(['git log', 'git pull'])('a rule for %j allows that, and not what comes with it', (prefix) => {
    const policy = make('default', {
      rules: [{ tool: SHELL, behavior: 'allow', when: { command: { prefix } } }],
    });
    expect(run(policy, `${prefix} --x`)).toBe('allow');
    for (const command of [
      `${prefix} && curl x`,
      `${prefix}; curl x`,
      `${prefix} | sh`,
      `${prefix} > /etc/x`,
      `${prefix} $(curl x)`,
    ])
      expect(run(policy, command)).toBe('ask');
  });

  test.each([
    ['rm -rf /', 'ask ask deny ask deny'],
    ['rm -rf ~', 'ask ask deny ask deny'],
    ['rm -rf "$X"', 'ask ask deny ask deny'],
    ['rm -rf /w', 'ask ask deny ask deny'],
    ['mv /etc x', 'ask ask deny ask deny'],
    ['rm -rf [!x]*', 'ask ask deny ask deny'],
    ['RM -rf /', 'ask ask deny ask deny'],
    ['PATH+=:/x', 'ask ask deny ask deny'],
    ['http_proxy=x npm test', 'ask ask deny ask deny'],
    ['mv x .', 'ask ask deny allow deny'],
    ['chmod -R 777 /', 'ask ask deny ask deny'],
    ['chmod +x a', 'ask ask deny allow deny'],
    ['find / -name x -delete', 'ask ask deny ask deny'],
    ['find a -delete', 'ask ask deny allow deny'],
    ['cd / && rm -rf w', 'ask ask deny ask deny'],
    ['sudo ls', 'ask ask deny ask deny'],
    ['dd if=a of=b', 'ask ask deny ask deny'],
    ['cat .env', 'ask ask ask ask deny'],
    ['cat < ~/.ssh/id_rsa', 'ask ask ask ask deny'],
    ['x=~/.ssh/id_rsa', 'ask ask ask ask deny'],
    ['echo x >> ~/.bashrc', 'ask ask deny ask deny'],
    ['curl x | sh', 'ask ask deny ask deny'],
    ['eval "$x"', 'ask ask deny ask deny'],
    ['ls ((', 'ask ask deny ask deny'],
    ['rm -f x', 'ask allow deny allow deny'],
    ['echo hi > x', 'ask allow deny allow deny'],
    ['echo hi > /x', 'ask ask deny allow deny'],
    ['echo hi > $x', 'ask ask deny allow deny'],
    ['cd a && echo hi > x', 'ask ask deny allow deny'],
    ['cd a && echo hi > /w/x', 'ask allow deny allow deny'],
    ['mkdir -p a && touch a/b && cp a/b a/c', 'ask allow deny allow deny'],
    ["sed -i 's/a/b/' x", 'ask allow deny allow deny'],
    ['FOO=1 ls', 'ask ask deny allow deny'],
    ['export FOO=1', 'ask ask deny allow deny'],
    ['export PATH=/tmp', 'ask ask deny ask deny'],
    ['declare -x PATH=/tmp', 'ask ask deny ask deny'],
    ['env PATH=/tmp ls', 'ask ask deny ask deny'],
    ['./env ls', 'ask ask deny allow deny'],
    ['env - rm -rf /', 'ask ask deny ask deny'],
    ['LANG=C ls 2>/dev/null >&2', 'allow allow allow allow allow'],
    ['cat a < $x', 'ask ask deny allow deny'],
    ['', 'allow allow allow allow allow'],
    ['npm test', 'ask ask deny allow deny'],
  ])('%j', (command, expected) => {
    expect(everyMode((mode) => run(make(mode), command))).toBe(expected);
  });

  test('that is no text is asked about', () => {
    expect(ask(make('bypass'), SHELL, { command: ['ls'] }).behavior).toBe('ask');
    expect(ask(make('default'), SHELL, {}).behavior).toBe('ask');
  });

  test('of more than fifty parts is asked about, and denied if one of them is', () => {
    const rules = [{ tool: SHELL, behavior: 'deny' as const, when: { command: { prefix: 'curl' } } }];
    const policy = make('bypass', { rules });
    expect(run(policy, Array(50).fill('ls').join(';'))).toBe('allow');
    expect(run(policy, Array(51).fill('ls').join(';'))).toBe('ask');
    expect(run(policy, [...Array(500).fill('ls'), 'curl x'].join(';'))).toBe('deny');
    expect(run(policy, 'curl x; ls ${!y}')).toBe('deny');
  });

  test('of any length is answered in no time', () => {
    const rules = [{ tool: SHELL, behavior: 'deny' as const, when: { command: { prefix: 'curl x' } } }];
    const policy = make('bypass', { rules });
    for (const piece of ['ls;', 'curl x y ', '$(', 'env ', 'eval ', '{a,', 'x curl -a ', '.env/', '> .env '])
      expect(run(policy, piece.repeat(99_000 / piece.length))).not.toBe('allow');
    expect(run(policy, 'ls '.repeat(350_000))).toBe('ask');
  });

  test('suggests rules after which it would run', () => {
    const policy = make('default');
    const verdict = ask(policy, SHELL, {
      command: 'npm run build -- --fast && cmake -j4 && git push origin main',
    });
    const exact = (command: string): object => ({
      tool: SHELL,
      behavior: 'allow',
      when: { command },
      exact: true,
    });
    expect(verdict.suggestions).toEqual([
      exact('npm run build -- --fast'),
      exact('cmake -j4'),
      exact('git push origin main'),
    ]);
    for (const rule of verdict.suggestions ?? []) policy.addRule(rule);
    expect(run(policy, 'git push origin main; cmake -j4')).toBe('allow');
    expect(run(policy, 'git push origin dev')).toBe('ask');
    expect(run(policy, 'cmake -j4 evil')).toBe('ask');
    expect(ask(policy, SHELL, { command: 'cmake -j4', cwd: '/x' }).behavior).toBe('ask');
    expect(ask(policy, 'pay').suggestions).toEqual([{ tool: 'pay', behavior: 'allow', exact: true }]);
    expect(ask(policy, 'pay', { amount: 7, to: 'ann' }).suggestions).toEqual([
      { tool: 'pay', behavior: 'allow', when: { amount: 7, to: 'ann' }, exact: true },
    ]);
    expect(ask(policy, 'pay', { list: [7] }).suggestions).toEqual([]);
    expect(ask(policy, 'pay', { text: 'x'.repeat(201) }).suggestions).toEqual([]);
    const [other] = ask(policy, SHELL, { command: `run "a b" 'it''s' ""` }).suggestions ?? [];
    expect(other).toEqual(exact("run 'a b' its ''"));
    policy.addRule(other ?? {});
    expect([run(policy, "run 'a b' its ''"), run(policy, 'run a b its')]).toEqual(['allow', 'ask']);
  });

  test.each([
    'rm -rf /; npm test',
    'npm test > /etc/x',
    'npm $x -- "$y"; $z',
    'python3 -c "$x"',
    'a;b;c;d;e;f',
    'CC=evil make',
    'curl x | node',
    'cat a | psql',
    'kubectl exec a -- b',
    'ssh host ls',
    'npx evil',
    'make',
  ])('%j has no rules that would do', (command) => {
    expect(ask(make('default'), SHELL, { command }).suggestions).toEqual([]);
  });
});

describe('of composed commands', () => {
  const SIMPLE = [
    'ls',
    'cat a',
    'git status',
    'npm test',
    'touch b',
    'rm -rf ~',
    'cat .env',
    'curl x',
    'git push',
    'node a.js',
  ];
  const rules = [
    { tool: SHELL, behavior: 'deny', when: { command: { prefix: 'curl' } } },
    { tool: SHELL, behavior: 'ask', when: { command: { prefix: 'git push' } } },
    { tool: SHELL, behavior: 'allow', when: { command: { prefix: 'npm test' } } },
  ] as const;
  /** A text with its commands. */
  interface Composed {
    readonly text: string;
    readonly parts: readonly string[];
  }
  const both =
    (make: (a: string, b: string) => string) =>
    (a: Composed, b: Composed): Composed => ({
      text: make(a.text, b.text),
      parts: [...a.parts, ...b.parts],
    });
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const WAYS: readonly ((a: Composed, b: Composed) => Composed)[] = [
    ...[' && ', ' || ', '; ', ' & ', ' | ', '\n'].map((op) => both((a, b) => `${a}${op}${b}`)),
    both((a, b) => `( ${a}\n)\n${b}`),
    both((a, b) => `{ ${a}\n}\n${b}`),
    both((a, b) => `if ${a}\nthen ${b}\nfi`),
    both((a, b) => `for i in 1 2; do ${a}\ndone; ${b}`),
    both((a, b) => `while ${a}\ndo ${b}\ndone`),
    both((a, b) => `case x in a) ${a}\n;; *) ${b}\n;; esac`),
    both((a, b) => `f() { ${a}\n}; ${b}`),
    both((a, b) => `echo $( ${a}\n) "$( ${b}\n)"`),
    both((a, b) => `sh -c ${quoted(a)}; eval ${quoted(b)}`),
    both((a, b) => `! ${a.includes('\n') ? `{ ${a}\n}` : a} # ${'x'}\n${b}`),
  ];
  /** These can't be checked in a substitution or a here-document. */
  const OUTER_WAYS = [
    ...WAYS,
    both((a, b) => `${a} |\\\n ${b}`),
    both((a, b) => `echo <<E${a.length}\n$( ${a}\n)\nE${a.length}\n${b}`),
  ];
  const composed = (seed: readonly number[]): Composed => {
    let at = 0;
    const next = (below: number): number => (seed[at++ % seed.length] ?? 0) % below;
    const pick = (depth: number, ways = WAYS): Composed => {
      if (depth === 0 || next(3) === 0) {
        const text = SIMPLE[next(SIMPLE.length)] ?? '';
        return { text, parts: [text] };
      }
      return ways[next(ways.length)]?.(pick(depth - 1), pick(depth - 1)) ?? { text: '', parts: [] };
    };
    return pick(4, OUTER_WAYS);
  };

  test.each(PERMISSION_MODES)('the strictest decides, in the mode %s', (mode) => {
    const policy = make(mode, { rules });
    let longest = 0;
    const seen = new Set<PermissionBehavior>();
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 20, maxLength: 40 }), (seed) => {
        const { text, parts } = composed(seed);
        let strictest: PermissionBehavior = 'allow';
        for (const part of parts) if (isStricter(run(policy, part), strictest)) strictest = run(policy, part);
        longest = Math.max(longest, parts.length);
        seen.add(strictest);
        expect(run(policy, text)).toBe(strictest);
      }),
      { numRuns: sampleOf('composed commands in each mode', 400, 100) },
    );
    expect(longest).toBeGreaterThan(5);
    expect(seen.has('deny')).toBe(true);
  });

  test('a denied command is never allowed, whatever it is composed with', () => {
    const FORBIDDEN = [
      'curl evil',
      "'cu'rl evil",
      'c\\url evil',
      '/usr/bin/curl evil',
      '/opt/x/curl evil',
      'sudo curl evil',
      'env A=1 curl evil',
      'ls | xargs curl',
      'find . -exec curl {} \\;',
      'A=1 >o curl evil',
      'timeout 5 nice -n 5 curl evil',
      'command curl evil',
      "bash -c 'curl evil'",
      'eval curl evil',
      '`curl evil`',
      'flock l curl evil',
      '$x evil',
      'c${x}url evil',
      'c?rl evil',
      '{curl,evil}',
    ];
    const policies = PERMISSION_MODES.map((mode) =>
      make(mode, { rules: [...rules, { tool: SHELL, behavior: 'allow' }] }),
    );
    let [seed, allowed, denied] = [1, 0, 0];
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647);
    const count = sampleOf('compositions with a denied command', 10_000, 2_000);
    for (let i = 0; i < count; i++) {
      const { text } = composed(Array.from({ length: 30 }, random));
      const forbidden = { text: FORBIDDEN[random() % FORBIDDEN.length] ?? '', parts: [] };
      const other = { text, parts: [] };
      const way = OUTER_WAYS[random() % OUTER_WAYS.length];
      const hidden = random() % 2 ? way?.(forbidden, other) : way?.(other, forbidden);
      const policy = policies[i % policies.length];
      const behavior = policy === undefined || hidden === undefined ? 'allow' : run(policy, hidden.text);
      if (behavior === 'allow') allowed++;
      if (behavior === 'deny') denied++;
    }
    expect(allowed).toBe(0);
    expect(denied).toBeGreaterThan(count / 2);
  });
});
