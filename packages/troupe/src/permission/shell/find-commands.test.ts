import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { findCommands } from './find-commands.ts';
import { commandText } from './match-command.ts';

const RUNS = 150;

test.each([
  ['sudo -n rm x', ['*sudo -n rm x', 'rm x']],
  ['sudo -u bob A=1 rm x', ['*sudo -u bob A=1 rm x', 'rm x']],
  [
    'env -i -u B A=1 nice -n5 timeout -k 1 5 rm x',
    [
      '*env -i -u B A=1 nice -n5 timeout -k 1 5 rm x',
      '*nice -n5 timeout -k 1 5 rm x',
      '*timeout -k 1 5 rm x',
      'rm x',
    ],
  ],
  ['command -v rm', ['*command -v rm']],
  ['command rm x', ['*command rm x', 'rm x']],
  ['ls | xargs -0 -n 1 rm -f', ['ls', '*xargs -0 -n 1 rm -f', 'rm -f …']],
  ['xargs -I{} rm {}', ['*xargs -I{} rm {}', 'rm {} …']],
  ["sh -c 'a; b'", ['*sh -c a; b', 'a', 'b']],
  ['/bin/bash -ec \'sh -c "a"\'', ['*/bin/bash -ec sh -c "a"', '*sh -c a', 'a']],
  ['eval a "b; c"', ['*eval a b; c', 'a b', 'c']],
  ['find . -exec a {} \\; -exec b {} +', ['find . -exec a {} ; -exec b {} +', 'a {}', 'b {}']],
  ['sh build.sh x', ['sh build.sh x']],
  ['a > out', ['a', '> out']],
  ['env', ['env']],
  ['env ~a=1 =b rm x', ['*env ~a=1 =b rm x', 'rm x']],
  ['command - x', ['*command - x', '- x']],
  ["SH -c 'rm x'", ['SH -c rm x', 'rm x']],
  ['set -euo pipefail; set -- $x', ['set -euo pipefail', 'set -- …']],
  ['[ -f "$x" ] && [[ $x == y ]]', ['[ -f … ]', '[[ … == y ]]']],
  ['git -c color.ui=never -C x log -c', ['git -c color.ui=never -C x log -c']],
  ['. ./env.sh', ['. ./env.sh']],
  ['env - rm x', ['*env - rm x', 'rm x']],
  ['./env rm x', ['./env rm x', 'rm x']],
  ["/opt/sh -c 'rm x'", ['/opt/sh -c rm x', 'rm x']],
  ['export -n A=1 B', ['export -n A=1 B', '']],
])('%j runs %j', (text, lines) => {
  const { commands, problem } = findCommands(text);
  const shown = commands.map((command) => (command.isWrapper ? '*' : '') + commandText(command));
  expect([shown, problem]).toEqual([lines, undefined]);
});

test.each([
  '$x y',
  '"$x" y',
  '/bin/r? x',
  'sh',
  'curl x | sh',
  'sh -s x',
  'sh -c',
  'sh -c "$x"',
  'sh -ic ls',
  "zsh -c 'ls'",
  'fish x',
  'export $x',
  'bash --rcfile x',
  'eval "$x"',
  'env -S "rm x"',
  'env $x',
  'sudo -s',
  'sudo -u',
  'xargs sh -c',
  'xargs env',
  'xargs -I% % x',
  'timeout $t ls',
  'find . -exec rm {}',
  'find . -exec rm + -name x',
  'alias ls=rm',
  "trap 'rm x' EXIT",
  'hash -p /tmp/evil ls',
  'enable -f x y',
  "a['x']=1",
  'PATH+=/x',
  'a+=/x rm x',
  'let x',
  '[[ x -eq 0 ]]',
  '[[ -v x ]]',
  '[ -v "$x" ]',
  '[ "$x" "$y" ]',
  'printf -v "$x" 1',
  'printf "$x" 1',
  'unset "$x"',
  "read 'a[$(b)]'",
  'declare -i x',
  'declare -n x=y',
  "local 'x=($(a))'",
  'mapfile -C a',
  'wait -p "$x"',
  "compgen -W '$(a)'",
  'shopt -s dotglob',
  'set -k',
  'set $x',
  'git -c alias.p=!a p',
  'git -c core.pager=a log',
  'git -c "$x" log',
  'git $x log',
  'git --config-env=core.pager=X log',
  'git --exec-path=x log',
  'git -C x -c core.fsmonitor=a status',
  'git clone -c core.sshCommand=a b',
  'git clone --config=core.sshCommand=a b',
  '. /dev/stdin',
  'source <(a)',
  'bash /dev/fd/0',
  'sh /proc/self/fd/0',
  'a+=1 rm x',
  "sh -c 'ls (x'",
  `${'nice '.repeat(20)}ls`,
])('%j can’t be known', (text) => {
  expect(findCommands(text).problem).toEqual(expect.any(String));
});

test('commands in commands take no more than their length', () => {
  expect(findCommands('env '.repeat(24_000)).problem).toBe('it is nested too deeply');
  expect(findCommands('eval '.repeat(19_000)).problem).toBe('it is nested too deeply');
});

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Texts that hide the commands c1 to c3 in every supported way. */
const scripts = fc.letrec<{ script: string; simple: string }>((tie) => {
  const inner = tie('script').filter((text) => text.length < 300);
  const join = (...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
    fc
      .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
      .map((all) => all.join(''));
  const gap = fc.constantFrom(' ', '  ', '\t', ' \\\n ');
  const word = fc.constantFrom(
    'x',
    "'a;c3'",
    '"b & c3"',
    '\\;',
    'd#e',
    '-f',
    '"\\"c3"',
    "''",
    '$y',
    '"${y}"',
    '*',
  );
  const operator = fc.constantFrom(' && ', ' || ', '; ', ' & ', ' | ', '\n', ';', '&&', '\n\n', ' # c3\n');
  return {
    simple: join(
      fc.constantFrom('c1', "'c2'", 'c\\3', '"c1"', 'A=1 c2', '>out c3', '! c1'),
      gap,
      word,
      gap,
      word,
    ),
    script: fc.oneof(
      { maxDepth: 4, depthSize: 'medium' },
      tie('simple'),
      join(inner, operator, inner),
      join('(', inner, ')'),
      join('{ ', inner, '\n}'),
      join('if ', inner, '\nthen ', inner, '\nfi'),
      join('for y in 1 2; do ', inner, '\ndone'),
      join('case x in a) ', inner, '\n;; *) ', inner, '\n;; esac'),
      inner.map((text) => `f${text.length}() { ${text}\n}; f${text.length}`), // none calls itself
      join('echo $(', inner, '\n)'),
      join('echo "$(', inner, '\n)"'),
      join('cat <<E\n$(', inner, '\n)\nE\n'),
      join("cat <<'E'\n$(c3)\nE\n", inner),
      join('eval ', inner.map(quoted)),
      join('/bin/sh -c ', inner.map(quoted)),
      join('exec ', tie('simple')),
      join('command ', tie('simple')),
    ),
  };
});

/** Runs a text in its own process group, and ends all remaining processes. */
async function runToEnd(
  shell: string,
  text: string,
  cwd: string,
  env: Record<string, string>,
): Promise<void> {
  const child = spawn(shell, ['-c', text], { cwd, env, stdio: 'ignore', detached: true });
  const end = (): void => {
    try {
      process.kill(-(child.pid ?? NaN), 'SIGKILL');
    } catch {
      // No process is left.
    }
  };
  const timer = setTimeout(end, 5_000);
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  end();
}

describe.each(['/bin/sh', '/bin/bash'])('as %s reads it', (shell) => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-shell-'));
    mkdirSync(join(folder, 'bin'));
    for (const name of ['c1', 'c2', 'c3']) {
      const file = join(folder, 'bin', name);
      writeFileSync(file, `#!/bin/sh\necho ${name} >>"$LOG"\n`);
      chmodSync(file, 0o755);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('no command is run that was not found', async () => {
    let [ran, unread, count] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(
        scripts.script,
        fc.nat(),
        fc.constantFrom('', '', '', ...'\' " ` $ ( ) { } ; & | \\ # < > \n'.split(' ')),
        async (text, place, noise) => {
          const at = place % (text.length + 1);
          const given = text.slice(0, at) + noise + text.slice(at);
          const { commands, problem } = findCommands(given);
          if (problem !== undefined) {
            unread++;
            return;
          }
          const log = join(folder, `log-${++count}`); // its own folder: background processes may write later
          writeFileSync(log, '');
          const env = { PATH: join(folder, 'bin'), LOG: log };
          await runToEnd(shell, `${given}\nwait`, folder, env);
          const names = new Set(commands.map(({ words }) => words[0]?.text));
          const run = readFileSync(log, 'utf8').split('\n').filter(Boolean);
          ran += run.length;
          expect(run.filter((name) => !names.has(name))).toEqual([]);
        },
      ),
      { numRuns: RUNS, seed: 7 },
    );
    expect(ran).toBeGreaterThan(50);
    expect(unread).toBeLessThan(RUNS / 2);
  });
});
