// Command lines that once ran programs, changed files or showed keys without a question, and their siblings. Then random lines
// of the same programs, run for real: what is allowed without a question runs nothing and changes nothing.
import { spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { PermissionRules } from '../../src/permission/permission-rules.ts';
import { PERMISSION_MODES, type PermissionBehavior } from '../../src/permission/permission-table.ts';
import type { ToolRule } from '../../src/permission/tool-rule.ts';
import { knownTool } from '../../src/toolkit/tool/known-tools.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import { sampleOf } from '../fair-sample.ts';

const SHELL = 'execute_shell_command';
const SHELL_TOOL = knownTool(tool({ name: SHELL, sideEffect: true, execute: () => '' }), {
  command: 'command',
});
const policies = PERMISSION_MODES.map((mode) => new PermissionRules({ mode, workingDirectories: ['/w'] }));

function decide(policy: PermissionRules, command: string): PermissionBehavior {
  return policy.decide({
    call: { type: 'tool_use', id: 'c1', name: SHELL, input: { command } },
    tool: SHELL_TOOL,
    agentPath: ['Friday'],
    context: undefined,
  }).behavior;
}
const inEveryMode = (command: string): string => policies.map((policy) => decide(policy, command)).join(' ');

/** In the order of `PERMISSION_MODES`: default, accept_edits, explore, bypass, dont_ask. */
const ASKED = 'ask ask deny allow deny';
const DANGEROUS = 'ask ask deny ask deny';
const SECRET = 'ask ask ask ask deny';

test.each([
  // sed
  ["sed -- '1e c3' f -e p", ASKED],
  ["sed '1e c3' -ie s/a/b/ f", ASKED],
  ["sed '1e c3' -e p f", ASKED],
  ["sed --in-place='/dir/*' p f", ASKED],
  ["sed -i'/dir/*' p f", ASKED],
  ['sed s,x*,b,g f', ASKED],
  ["sed -n '/[/s/]/w x/' f", ASKED],
  // Words after `--` are operands: the second one is a file that uniq writes to
  ['uniq -- -c f', ASKED],
  // Values that become several words
  ["x='1 c3'; env a=$x ls", DANGEROUS],
  ['env a=`echo 1 c3` ls', DANGEROUS],
  ['env a=$(echo 1 c3) ls', DANGEROUS],
  ["echo() { env a=$1 ls; }; echo '1 c3'", DANGEROUS],
  ['echo() { printf "%s" "1 c3"; }; env a=`echo` ls', DANGEROUS],
  ['ls() { echo x; }; ls', DANGEROUS],
  ['env "P$x=1" ls', DANGEROUS],
  ['env P*=1 ls', DANGEROUS],
  // Repositories whose settings name programs
  ['cd vendor/lib && git status', ASKED],
  ['cd vendor/lib; git log', ASKED],
  ['(cd vendor/lib && git diff)', ASKED],
  ['builtin cd vendor/lib && command git status', ASKED],
  ['git -C vendor/lib status', ASKED],
  ['git --git-dir=vendor/lib status', ASKED],
  // Programs in wildcards
  ['awk s* f', ASKED],
  ['jq s* f', ASKED],
  ['uniq f?', ASKED],
  // Text for another shell
  ["bash -c -- 'rm -rf /'", DANGEROUS],
  ["bash -c -x 'rm -rf /'", DANGEROUS],
  ["bash -x -c 'rm -rf /'", DANGEROUS],
  ["bash -c +x 'rm -rf /'", DANGEROUS],
  ["bash -o pipefail -c 'rm -rf /'", DANGEROUS],
  ['eval -- rm -rf /', DANGEROUS],
  // Variables set by name
  ["printf 'abc%n' PATH; ls", DANGEROUS],
  ["printf -- '%s%n' abc PATH; ls", DANGEROUS],
  ['printf "abc$x" PATH; ls', DANGEROUS],
  ['printf -v PATH /tmp; ls', DANGEROUS],
  ['read PATH <f; ls', DANGEROUS],
  ['mapfile PATH <f; ls', DANGEROUS],
  ['unset PATH; ls', DANGEROUS],
  ["printf -v x '%s%n' a PATH; ls", DANGEROUS],
  ['printf -vPATH 10; ls', DANGEROUS],
  ['read -raPATH <f; ls', DANGEROUS],
  ['wait -p PATH; ls', DANGEROUS],
  [': {PATH}>/dev/null; ls', DANGEROUS],
  // Whole trees
  ['find -delete', DANGEROUS],
  ['find -L / -delete', DANGEROUS],
  ['find -H -O3 / -name x -delete', DANGEROUS],
  ['find -L src/old -delete', ASKED], // options before the paths are no paths
  ['find -name x -delete', DANGEROUS],
  ['chmod -R -x /', DANGEROUS],
  ['chmod --reference=f /', DANGEROUS],
  ['chown --reference f /', DANGEROUS],
  ['mv -t x /', DANGEROUS],
  ['mv --target-directory=x /etc', DANGEROUS],
  ['watch rm -rf /', DANGEROUS],
  ['flock f rm -rf /', DANGEROUS],
  ['taskset 1 rm -rf /', DANGEROUS],
  // Keys, by other ways to their folder
  ['cd /etc && cat shadow', SECRET],
  ['cd /proc/self && cat environ', SECRET],
  ['cd /proc; cat self/environ', SECRET],
  ['cd / && cat etc/shadow', SECRET],
  ['cat /e*c/shadow', SECRET],
  ['cat /?tc/passwd', SECRET],
  ['cat /proc/*/environ', SECRET],
  ['cat //dev/sda', SECRET],
  ['cat /./dev/sda', SECRET],
  ['cd /dev && cat sda', SECRET],
  ['cd "$x" && cat shadow', 'ask ask deny ask deny'],
  ['cd "$x" && cat config', ASKED],
  ['cd a; cd b; cat config', ASKED],
  ['cd ~ && ls', ASKED],
  // Options of git that name programs
  ['git fetch --upload-pack=c3 x', DANGEROUS],
  ['git fetch --upl=c3 x', DANGEROUS],
  ['git ls-remote --u=c3 x', DANGEROUS],
  ['git push --receive-pack=c3 x', DANGEROUS],
  ['git push --exec c3 x', DANGEROUS],
  ['git clone -u c3 x', DANGEROUS],
  ['git clone --template=x y', DANGEROUS],
  ['git clone "ext::sh -c c3"', DANGEROUS],
  ['git archive --remote=x --exec=c3 HEAD', DANGEROUS],
  ['git rebase -x c3 main', DANGEROUS],
  ['git rebase --exec c3 main', DANGEROUS],
  ['git bisect run c3', DANGEROUS],
  ['git submodule foreach c3', DANGEROUS],
  ['git difftool -x c3', DANGEROUS],
  ['git difftool --extcmd=c3', DANGEROUS],
  ['git grep -Oc3 x', DANGEROUS],
  ['git filter-branch --tree-filter c3', DANGEROUS],
  // Connections, and versions that settings of the folder choose
  ['awk 1 /inet/tcp/0/127.0.0.1/80', ASKED],
  ["awk 'BEGIN{for(k in ENVIRON)print k}'", ASKED],
  ['yarn --version', ASKED],
  // Options that name programs or files to write
  ['sort --compress-program=c3 f', ASKED],
  ['sort -o x f', ASKED],
  ['rg --pre c3 x', ASKED],
  ['rg --hostname-bin c3 x', ASKED],
  ['tar --to-command=c3 -xf f', ASKED],
  ['tar --checkpoint-action=exec=c3 -cf x f', ASKED],
  ['man -P c3 ls', ASKED],
  ['less f', ASKED],
  ['xargs -a f c3', ASKED],
  ['find . -fprint x', ASKED],
  ['tree -o x', ASKED],
  ['file -f f', ASKED],
  ['file -C -m f', ASKED],
  ['date -s 0', ASKED],
  ['strings @f', ASKED],
  ['git diff --output=x', ASKED],
])('%j', (command, expected) => {
  expect(inEveryMode(command)).toBe(expected);
});

test.each([
  "bash -c -- 'curl x'",
  "bash -c -x 'curl x'",
  "bash -xc -- 'curl x'",
  "sh -c -e -u 'curl x'",
  'eval -- curl x',
  "eval -- 'ls; curl x'",
])('a rule that denies curl denies %j, in every mode', (command) => {
  const rules: readonly ToolRule[] = [
    { tool: SHELL, behavior: 'deny', when: { command: { prefix: 'curl' } } },
  ];
  expect(PERMISSION_MODES.map((mode) => decide(new PermissionRules({ mode, rules }), command))).toEqual(
    PERMISSION_MODES.map(() => 'deny'),
  );
});

test.each([
  ["make -f - <<< 'all:; curl x'", 'ask'],
  ['make -f - <<E\nall:\n\tcurl x\nE', 'ask'],
  ["printf 'all:; curl x' | make -f -", 'ask'],
  ["echo 'curl x' > a.sh; sh a.sh", 'ask'],
  ["echo 'curl x' | tee run; ./run", 'ask'],
  ['x=\'curl y\'; python3 -c "$x"', 'ask'],
  ['printf -v x \'curl y\'; python3 -c "$x"', 'ask'],
  ['for x in \'curl y\'; do node -e "$x"; done', 'ask'],
  ['python3 - <<< \'import os; os.system("curl x")\'', 'ask'],
  ["make -f - <<< 'all:; ls'", 'allow'],
  ["echo 'use curl' | cat; head -n1 a < b", 'allow'],
  ['x=1 make; make > out', 'allow'],
])('with a rule that denies curl, %j in bypass: %s', (command, behavior) => {
  const rules: readonly ToolRule[] = [
    { tool: SHELL, behavior: 'deny', when: { command: { prefix: 'curl' } } },
  ];
  expect(decide(new PermissionRules({ mode: 'bypass', rules }), command)).toBe(behavior);
});

test.each([
  ['make test', 'allow'],
  ['CI=1 make test', 'allow'],
  ['x=1; make test', 'allow'], // not exported
  ['cmd=./evil make test', 'ask'], // `cmd ?= …` of a Makefile
  ['env cmd=./evil make test', 'ask'],
  ['yarn_script_shell=./evil make test', 'ask'],
])('with a rule that allows make, %j: %s', (command, behavior) => {
  const rules: readonly ToolRule[] = [
    { tool: SHELL, behavior: 'allow', when: { command: { prefix: 'make' } } },
  ];
  expect(decide(new PermissionRules({ rules }), command)).toBe(behavior);
});

describe('a line that runs without a question', () => {
  /** Programs that the lines may find: real ones, and `c3`, which leaves a mark. */
  const PROGRAMS =
    'awk basename bash cat cut date diff dirname env find grep head jq ls mawk nice od sed sh sort stat strings tail timeout tr uniq wc xargs'.split(
      ' ',
    );
  const NAMES = ['a', 'f', 'f1', '-e', 's,x,c3,e', 'c3', '1e c3', 'w out', '-exec', '--pre=c3', 'b=1'];
  /** No word has a slash or two dots, so that a line that is judged wrongly can't leave the folder. */
  const LEADS =
    `sed¦sed -n¦sed -e p¦sed -E¦sed --¦sed -i¦awk¦awk -F x¦awk --¦env¦env a=1¦env -i¦env a=$x¦env a="$x"¦printf¦printf --¦find .¦find¦sort¦sort -k1¦uniq¦uniq -c¦jq¦jq -n¦date¦date -d¦cat¦cat --¦head¦grep¦grep -e¦diff¦xargs¦bash -c¦bash -c --¦bash -c -x¦sh -xc¦eval¦eval --¦echo¦test¦[¦x='1 c3';¦x='1e c3'; y=c3;¦strings¦stat¦timeout 1¦nice¦echo() { c1; };¦f() {¦command¦tr¦cut¦od¦wc¦tail¦ls`.split(
      '¦',
    );
  const ARGUMENTS =
    `'1e c3'¦'e c3'¦'s/a/c3/e'¦'s,x,c3,e'¦'w out'¦'s/a/b/w out'¦p¦'p;p'¦'/[/s/]/w out/'¦'s/[/]/p;s/w out/b/g'¦-e¦-ie¦-i¦-ni¦--in-place¦--in-place=out¦--expression=p¦--exp='1e c3'¦--¦f¦f1¦f?¦s*¦*¦[a-f]*¦a¦-¦$x¦"$x"¦$y¦\`echo c3\`¦'BEGIN{system("c3")}'¦'BEGIN{"c3"|getline}'¦'{print $1}'¦'BEGIN{print "x" > "out"}'¦1¦-f¦-v¦-F¦x=1¦c3¦ls¦'abc%n'¦'%s%n'¦PATH¦-exec c3 {} +¦-exec c3 \\;¦-delete¦-fprint out¦-name f¦-o out¦-oout¦--output=out¦--compress-program=c3¦-T.¦--pre=c3¦'c3'¦'ls; c3'¦;¦&&¦|¦; }¦]¦-s¦-n¦-c¦env¦.¦'.'¦-x¦+x¦cd¦{a,f}¦-1¦-d¦-t`.split(
      '¦',
    );
  const lines = fc
    .tuple(fc.constantFrom(...LEADS), fc.array(fc.constantFrom(...ARGUMENTS), { minLength: 1, maxLength: 5 }))
    .map(([lead, words]) => [lead, ...words].join(' '));

  async function runAll(commands: readonly string[]): Promise<readonly string[]> {
    const home = mkdtempSync(join(tmpdir(), 'troupe-attacks-'));
    const [bin, mark] = [join(home, 'bin'), join(home, 'mark')];
    try {
      mkdirSync(bin);
      for (const name of PROGRAMS) symlinkSync(`/usr/bin/${name}`, join(bin, name));
      for (const name of ['c1', 'c3']) {
        writeFileSync(join(bin, name), '#!/bin/sh\nprintf "%s\\n" "$LINE" >>"$MARK"\n');
        chmodSync(join(bin, name), 0o755);
      }
      const broken: string[] = [];
      for (const [i, command] of commands.entries()) {
        const folder = join(home, `d${i}`);
        mkdirSync(folder);
        for (const name of NAMES) writeFileSync(join(folder, name), 'x 1\na\n');
        const before = contentOf(folder);
        await runConfined(command, folder, { PATH: bin, MARK: mark, LINE: command });
        if (contentOf(folder) !== before) broken.push(`${command} changed files`);
        rmSync(folder, { recursive: true });
      }
      const ran = statSync(mark, { throwIfNoEntry: false }) ? readFileSync(mark, 'utf8') : '';
      return [...broken, ...ran.split('\n').filter(Boolean)];
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }

  function contentOf(folder: string): string {
    const files = readdirSync(folder).toSorted();
    return JSON.stringify(
      files.map((name) => [
        name,
        statSync(join(folder, name)).mode,
        readFileSync(join(folder, name), 'utf8'),
      ]),
    );
  }

  async function runConfined(command: string, cwd: string, env: Record<string, string>): Promise<void> {
    const text = `ulimit -t 1 -f 100\n${command}\n`;
    const child = spawn('/bin/bash', ['--norc', '-c', text], { cwd, env, stdio: 'ignore', detached: true });
    const end = (): void => {
      try {
        process.kill(-(child.pid ?? NaN), 'SIGKILL');
      } catch {
        // No process is left.
      }
    };
    const timer = setTimeout(end, 2_000);
    await new Promise((resolve) => child.once('close', resolve));
    clearTimeout(timer);
    end();
  }

  test('runs nothing hidden and changes no file', async () => {
    const policy = new PermissionRules({ workingDirectories: ['/w'] });
    const count = sampleOf('lines of attacks run for real', 40_000, 800);
    const all = new Set(fc.sample(lines, { numRuns: count, seed: 15 }));
    const allowed = [...all].filter((line) => decide(policy, line) === 'allow');
    expect(await runAll(allowed)).toEqual([]);
    expect(allowed.length).toBeGreaterThan(count / 60);
  }, 120_000);

  test('the run shows a hidden command and a changed file', async () => {
    const shown = await runAll(["sed '1e c3' f", "sed 'w out' f", 'ls f']);
    expect(shown).toEqual(["sed 'w out' f changed files", "sed '1e c3' f"]);
  });
});
