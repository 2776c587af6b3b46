// Needs its own process: it starts thousands, and watches the processes and files around.
// Every attempt of canaries.ts, confined and, where that is safe, without limits to show that it can take effect.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import type { SystemUser } from '../../src/tools/process/run-process.ts';
import { CANARIES } from './canaries.ts';
import { strideOf } from '../fair-sample.ts';
import { CanaryPlace, Listeners, SECRET } from './canary-place.ts';

const isRoot = process.getuid?.() === 0;
const STRIDE = strideOf('controls of canaries', 5);
/** A sample tries each canary as one of the users, in turns. */
const USER_STRIDE = isRoot ? strideOf('canaries as each user', 2) : 1;
const NOBODY = { uid: 65_534, gid: 65_534 };
const USERS: readonly (readonly [string, SystemUser | undefined])[] = isRoot
  ? [
      ['root', undefined],
      ['another user', NOBODY],
    ]
  : [['this user', undefined]];

let listeners: Listeners;
beforeAll(async () => {
  vi.stubEnv('TROUPE_CANARY', SECRET); // this process has a key
  listeners = await Listeners.start();
});
afterAll(() => {
  vi.unstubAllEnvs();
  listeners.stop();
});

describe.each(USERS)('as %s', (name, user) => {
  const column = name === 'root' ? 0 : 1;

  const tried = CANARIES.filter((_, i) => (i + column) % USER_STRIDE === 0);

  test.each(tried)('$id: $what', async ({ id, attempt, effect, control, expected, timeout }) => {
    const index = CANARIES.findIndex((one) => one.id === id);
    const isControlled =
      index % STRIDE === 0 && (control === 'both' || control === (column === 0 ? 'root' : 'user'));
    const attempted = async (run: 'confined' | 'free'): Promise<[effect: boolean, text: string]> => {
      const place = new CanaryPlace(user);
      try {
        if (id === 'N09' || id === 'N10')
          await listeners.at(place.at(id === 'N09' ? 'out/socket' : 'cwd/socket'));
        listeners.heard = 0;
        const command = attempt(place, listeners);
        const ran =
          run === 'free' ? await place.free(command) : await place.confined(command, 'accept_edits', timeout);
        if (/^[DP]0/.test(id)) await new Promise((resolve) => void setTimeout(resolve, 100)); // processes that stay behind
        return [effect(place, ran, listeners), ran.text];
      } finally {
        place.remove();
      }
    };
    const [tookEffect, text] = await attempted('confined');
    const verdict = tookEffect ? 'open' : /were set aside in/.test(text) ? 'set_aside' : 'held';
    expect([verdict, text]).toEqual([expected?.[column], text]);
    if (isControlled) expect((await attempted('free'))[0]).toBe(true);
  });

  /** Names, sizes, modes, times and contents of everything in a folder. */
  function look(folder: string): Record<string, string> {
    return Object.fromEntries(
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => {
        const { size, mode, mtimeMs, nlink } = lstatSync(join(folder, path));
        const isFile = (mode & 0o170000) === 0o100000;
        return [
          path,
          [size, mode, mtimeMs, nlink, isFile ? readFileSync(join(folder, path), 'latin1') : ''].join(' '),
        ];
      }),
    );
  }

  const CHANGES = [
    'echo x > new',
    'rm package.json',
    'mv src s2',
    'chmod 777 package.json',
    'touch package.json',
    'mkdir d',
    'ln -s a b',
    'ln package.json h',
    'git -c user.name=a -c user.email=a@b commit --allow-empty -m x',
    "sed -i 's/h/j/' src/a.txt",
    'truncate -s 0 src/a.txt',
    'setfattr -n user.x -v y src/a.txt',
    'python3 -c \'import os; os.utime("src/a.txt", (1, 1))\'',
    'mkfifo f',
    'cp src/a.txt src/b.txt',
    'echo x | tee src/a.txt',
  ];
  test.each(['explore', 'default'] as const)(
    'in %s nothing changes the working directory',
    async (profile) => {
      const place = new CanaryPlace(user);
      try {
        const before = look(place.cwd);
        const { stdout } = await place.confined(`${CHANGES.join('; ')}; echo end`, profile);
        expect(stdout).toMatch(/end\n$/);
        expect(look(place.cwd)).toEqual(before);
        const { text } = await place.confined('touch /tmp/x /dev/shm/x && echo made', profile);
        expect(text.includes('made')).toBe(profile === 'default');
        const edited = await place.confined(CHANGES.join('; '), 'accept_edits'); // the control
        expect([edited.metadata['confinement'], look(place.cwd)]).not.toEqual(['accept_edits', before]);
        expect(Object.keys(look(place.cwd))).toEqual(expect.arrayContaining(['new', 'd', 's2']));
      } finally {
        place.remove();
      }
    },
  );

  const EVERYDAY: Readonly<Record<string, string>> = {
    git: 'cd /tmp && git init -q r && cd r && echo a > a && git add a && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | grep -c x',
    node: `NODE -e 'new Worker("1", { eval: true }).on("exit", () => console.log(1))' 2>/dev/null || NODE -e 'const { Worker } = require("worker_threads"); new Worker("1", { eval: true }).on("exit", () => console.log(1))'`,
    'a local server': `NODE -e 'const s = http.createServer((q, r) => r.end("1")).listen(0, () => fetch("http://127.0.0.1:" + s.address().port).then((r) => r.text()).then((t) => { console.log(t); s.close(); }))'`,
    'network interfaces': `NODE -e 'console.log(Object.keys(os.networkInterfaces()).length >= 0 ? 1 : 0)'`,
    'a child with messages': `cd /tmp && echo 'process.send ? process.send(1) : require("child_process").fork(__filename).on("message", (m) => { console.log(m); process.exit(); })' > f.cjs && NODE f.cjs`,
    'Python processes': `cd /tmp && python3 -c 'import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-1])[0])'`,
    asyncio: `python3 -c 'import asyncio; print(asyncio.run(asyncio.sleep(0, 1)))'`,
    tar: 'cd /tmp && mkdir -p t/a && echo 1 > t/a/b && tar czf t.tgz t && tar xzf t.tgz -O t/a/b',
    sort: 'seq 20000 | sort -r | sort -n | head -1',
    mkfifo: 'cd /tmp && mkfifo p && (echo 1 > p &) && cat p',
    'a here-document': 'cat <<E\n1\nE',
    compiler: `cd /tmp && if command -v gcc >/dev/null; then echo 'int main() { return 0; }' > a.c && gcc a.c -o a && ./a && echo 1; else echo 1; fi`,
    'grep and find': 'grep -rl hello . | wc -l; find . -name a.txt | wc -l > /dev/null',
  };
  test.each(Object.entries(EVERYDAY))('%s works', async (_, command) => {
    const place = new CanaryPlace(user);
    try {
      const { NODE } = await import('./canary-place.ts');
      const { text, stdout } = await place.confined(command.replaceAll('NODE', NODE), 'default');
      expect([text, stdout.trim().split('\n').at(-1)]).toEqual([text, '1']);
    } finally {
      place.remove();
    }
  });
});

test('the canaries are those of the list', () => {
  expect(CANARIES).toHaveLength(104);
  expect(new Set(CANARIES.map(({ id }) => id)).size).toBe(104);
  expect(SECRET).not.toBe('');
});
