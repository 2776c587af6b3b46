import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  linkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { findSandbox, isSandbox, type SandboxSearch } from '../find-sandbox.ts';
import { fixedCommand } from './fixed-commands.ts';
import { launcherProblem } from './launcher-errors.ts';
import { moveAway } from './move-away.ts';
import { fromText } from './scan-folder.ts';
import { isOwnFolder, sandboxLine, type SandboxView } from './sandbox-line.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { WritableFolders } from './writable-folders.ts';

let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-test-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const reasonOf = (search: SandboxSearch): string => (isSandbox(search) ? '' : search.reason);

describe('the seccomp filter', () => {
  /** Runs the filter as the kernel does. */
  function run(filter: Uint8Array, data: { arch: number; nr: number; args?: readonly number[] }): string {
    const view = new DataView(filter.buffer);
    const { arch, nr, args = [] } = data;
    const read = (offset: number): number =>
      offset === 0 ? nr : offset === 4 ? arch : (args[(offset - 16) / 8] ?? 0);
    let value = 0;
    for (let at = 0; ; at++) {
      const [code, k] = [view.getUint16(at * 8, true), view.getUint32(at * 8 + 4, true)];
      const [ifTrue, ifFalse] = [view.getUint8(at * 8 + 2), view.getUint8(at * 8 + 3)];
      if (code === 0x20) value = read(k);
      else if (code === 0x54) value = (value & k) >>> 0;
      else if (code === 0x06)
        return { 0x7fff0000: 'allow', 0x80000000: 'kill', 0x50001: 'EPERM', 0x50026: 'ENOSYS' }[k] ?? '?';
      else
        at += (code === 0x15 ? value === k : code === 0x25 ? value > k : (value & k) !== 0)
          ? ifTrue
          : ifFalse;
    }
  }

  test.each([
    [
      'x64',
      0xc000_003e,
      {
        socket: 41,
        socketpair: 53,
        clone: 56,
        ioctl: 16,
        fchmodat: 268,
        openat: 257,
        mknodat: 259,
        read: 0,
        mount: 165,
        keyctl: 250,
      },
    ],
    [
      'arm64',
      0xc000_00b7,
      {
        socket: 198,
        socketpair: 199,
        clone: 220,
        ioctl: 29,
        fchmodat: 53,
        openat: 56,
        mknodat: 33,
        read: 63,
        mount: 40,
        keyctl: 219,
      },
    ],
  ] as const)('decides by system call and arguments on %s', (name, arch, nr) => {
    const filter = seccompFilter(name);
    const say = (number: number, ...args: number[]): string => run(filter, { arch, nr: number, args });
    expect(run(filter, { arch: 0x4000_0003, nr: 20 })).toBe('kill'); // i386
    expect(run(filter, { arch, nr: 0x4000_0000 })).toBe('ENOSYS'); // x32
    expect([say(nr.read), say(nr.mount), say(nr.keyctl), say(435), say(425), say(500)]).toEqual([
      'allow',
      'EPERM',
      'EPERM',
      'ENOSYS',
      'ENOSYS',
      'ENOSYS',
    ]);
    expect([1, 2, 10, 16, 17, 38, 40].map((family) => say(nr.socket, family, 1, 0))).toEqual([
      'EPERM',
      'allow',
      'allow',
      'allow',
      'EPERM',
      'EPERM',
      'EPERM',
    ]);
    expect(say(nr.socket, 16, 3, 9)).toBe('EPERM'); // the audit netlink
    expect([say(nr.socketpair, 1), say(nr.socketpair, 2)]).toEqual(['allow', 'EPERM']);
    expect([say(nr.clone, 0x11), say(nr.clone, 0x1000_0011)]).toEqual(['allow', 'EPERM']);
    expect([say(nr.ioctl, 0, 0x5401), say(nr.ioctl, 0, 0x5412), say(nr.ioctl, 0, 0x541c)]).toEqual([
      'allow',
      'EPERM',
      'EPERM',
    ]);
    expect([0o755, 0o4755, 0o2755, 0o1777].map((mode) => say(nr.fchmodat, 0, 0, mode))).toEqual([
      'allow',
      'EPERM',
      'EPERM',
      'allow',
    ]);
    expect([
      say(nr.openat, 0, 0, 0, 0o4755),
      say(nr.openat, 0, 0, 0o100, 0o4755),
      say(nr.openat, 0, 0, 0o101, 0o644),
    ]).toEqual(['allow', 'EPERM', 'allow']);
    expect([0o010644, 0o020644, 0o060644, 0o104755].map((mode) => say(nr.mknodat, 0, 0, mode))).toEqual([
      'allow',
      'EPERM',
      'EPERM',
      'EPERM',
    ]);
  });

  test('has these bytes: a change needs a reviewer', () => {
    const summary = (['x64', 'arm64'] as const).map((name) => {
      const filter = seccompFilter(name);
      return [name, filter.length, createHash('sha256').update(filter).digest('hex').slice(0, 32)];
    });
    expect(summary).toMatchInlineSnapshot(`
      [
        [
          "x64",
          1840,
          "4024a7a582f4468523a9678114905cc2",
        ],
        [
          "arm64",
          1488,
          "b50ab03ecc42b544bc27a8096b526137",
        ],
      ]
    `);
  });
});

describe('the line of bwrap', () => {
  const view: SandboxView = {
    cwd: '/w/project',
    readPaths: ['/opt/tool'],
    writable: [],
    allowNetwork: false,
    env: { PATH: '/usr/bin', HOME: '/tmp' },
    tmpBytes: 67_108_864,
    disablesUserNamespaces: true,
  };
  /** The line without the parts that differ between systems. */
  const line = (changes: Partial<SandboxView> = {}): string =>
    sandboxLine({ ...view, ...changes })
      .join(' ')
      .replace(/--(?:symlink \S+|ro-bind) \/(?:usr|bin|sbin|lib\w*)(?: \/usr)? ?/g, '')
      .replace(/--ro-bind-try \/etc\S+ \/etc\S+ /g, '');

  test('has these options: a change needs a reviewer', () => {
    expect(line()).toMatchInlineSnapshot(
      `"--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net --uid 65534 --gid 65534 --hostname confined --disable-userns --new-session --die-with-parent --cap-drop ALL --clearenv --size 1048576 --tmpfs / --dir /run --dir /home --dir /var/tmp --proc /proc --dev /dev --size 16777216 --perms 1777 --tmpfs /dev/shm --size 67108864 --perms 1777 --tmpfs /tmp --ro-bind /w/project /w/project --ro-bind /opt/tool /opt/tool --remount-ro /proc --remount-ro /dev --remount-ro / --setenv PATH /usr/bin --setenv HOME /tmp --chdir /w/project --json-status-fd 5 --seccomp 4"`,
    );
  });

  test('keeps what runs later, with all folders around it, in writable folders', () => {
    const kept = ['/w/project/.git', '/w/project/a/b/.envrc'];
    expect(line({ writable: [{ path: '/w/project', kept }] })).toContain(
      '--bind /w/project /w/project --ro-bind /opt/tool /opt/tool --bind /w/project/a /w/project/a ' +
        '--ro-bind /w/project/.git /w/project/.git --bind /w/project/a/b /w/project/a/b ' +
        '--ro-bind /w/project/a/b/.envrc /w/project/a/b/.envrc',
    );
    expect(line({ allowNetwork: true })).not.toContain('--unshare-net');
    expect(line({ tmpBytes: 0 })).toContain('--remount-ro /tmp');
  });

  test('is never made for folders of the system', () => {
    expect(['/', '/etc', '/proc', '/proc/self', '/dev/shm/x', '/usr', '/run'].filter(isOwnFolder)).toEqual(
      [],
    );
    expect(['/home/me', '/usr/src/app', '/tmp/x', '/srv'].filter((path) => !isOwnFolder(path))).toEqual([]);
  });
});

describe('the search for bwrap', () => {
  test('says what is missing', async () => {
    expect(await findSandbox(join(folder, 'none'))).toEqual({
      reason: 'bubblewrap (bwrap) is not installed',
      remedy: 'install bubblewrap',
    });
    const copy = join(folder, 'bwrap');
    copyFileSync('/bin/true', copy);
    chmodSync(copy, 0o700);
    expect(reasonOf(await findSandbox(copy))).toMatch(/^bwrap can't make a sandbox here/);
    const setuid = join(folder, 'setuid');
    copyFileSync('/bin/true', setuid);
    chmodSync(setuid, 0o4700);
    expect(await findSandbox(setuid)).toEqual({
      reason: `${setuid} is set-uid`,
      remedy: `remove the set-uid bit of ${setuid}`,
    });
  });

  test('does not believe a program that only looks like bwrap', async () => {
    const liar = join(folder, 'liar');
    const script =
      '#!/bin/sh\ncat <&3 >/dev/null; cat <&4 >/dev/null\nshift 3\n"$@"\ncode=$?\necho "{ \\"exit-code\\": $code }" >&5';
    writeFileSync(liar, script, { mode: 0o700 });
    const probesLeft = (): readonly string[] =>
      ['/', '/usr', '/etc', '/dev'].flatMap((one) =>
        readdirSync(one).filter((name) => name.includes('probe')),
      );
    const before = probesLeft();
    expect(
      reasonOf(await findSandbox(liar, { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 })),
    ).toMatch(/does not hold here \(.*no Seccomp:2.*namespace:net/);
    expect(probesLeft()).toEqual(before); // nothing is left where the probe could write
  });

  test('is confined for root and for another user, and refused where namespaces are', async () => {
    expect(isSandbox(await findSandbox('bwrap'))).toBe(true);
    const program = `import { findSandbox } from ${JSON.stringify(join(import.meta.dirname, '../find-sandbox.ts'))};
      console.log(JSON.stringify(await findSandbox('bwrap')));`;
    const flags = [
      '--experimental-transform-types',
      '--no-warnings',
      '--conditions=troupe:source',
      '--input-type=module',
    ];
    const outer =
      '--ro-bind / / --dev /dev --proc /proc --unshare-user --uid 1000 --disable-userns --cap-drop ALL'.split(
        ' ',
      );
    const { stdout } = await promisify(execFile)('bwrap', [
      ...outer,
      process.execPath,
      ...flags,
      '-e',
      program,
    ]);
    expect(stdout).toMatch(/"reason":"user namespaces are switched off, or nested too deep/);
  });

  test.each([
    [
      'bwrap: Creating new namespace failed: Operation not permitted',
      'the container or a policy of the system refuses namespaces',
    ],
    [
      'bwrap: Creating new namespace failed, likely because max_user_namespaces exceeded',
      'user namespaces are switched off',
    ],
    ['bwrap: setting up uid map: Permission denied', 'a policy of the system (AppArmor)'],
    ['bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted', 'a policy of the system (AppArmor)'],
    [
      'bwrap: Creating new namespace failed: Resource temporarily unavailable',
      'the limit of processes outside',
    ],
    ['bwrap: Failed to make / slave: Permission denied', 'the container refuses mounts'],
    ['bwrap: something new', "bwrap can't make a sandbox here (bwrap: something new)"],
  ])('explains "%s"', (message, reason) => {
    expect(launcherProblem(`warning\n${message}\n`).reason).toContain(reason);
  });
});

describe('writable folders', () => {
  const open = async (): Promise<WritableFolders> => {
    const opened = await WritableFolders.open([folder]);
    if (typeof opened === 'string') throw new Error(opened);
    return opened;
  };

  test('keep what runs later, also deep inside, in any case, and files with several names', async () => {
    for (const name of [
      '.git',
      'sub/.VSCode',
      'node_modules/.bin',
      'bare/objects',
      'bare/refs',
      'venv/bin',
      'src',
    ])
      mkdirSync(join(folder, name), { recursive: true });
    for (const name of ['.envrc', 'bare/HEAD', 'venv/pyvenv.cfg', 'src/a.ts', 'src/one', 'sub/x.pth'])
      writeFileSync(join(folder, name), '');
    linkSync(join(folder, 'src/one'), join(folder, 'src/two'));
    const opened = await open();
    expect(opened.folders[0]?.kept.map((path) => path.slice(folder.length + 1)).sort()).toEqual(
      [
        '.envrc',
        '.git',
        'bare',
        'node_modules',
        'src/one',
        'src/two',
        'sub/.VSCode',
        'sub/x.pth',
        'venv',
      ].sort(),
    );
    expect(await opened.close()).toEqual({ paths: [], folder: undefined, unchecked: [] });
  });

  test('set aside what is new and runs later, and links that lead out', async () => {
    symlinkSync('/etc/passwd', join(folder, 'old'));
    const opened = await open();
    mkdirSync(join(folder, 'a/.git'), { recursive: true });
    mkdirSync(join(folder, 'hidden/.husky'), { recursive: true });
    chmodSync(join(folder, 'hidden'), 0);
    symlinkSync('/etc/passwd', join(folder, 'out'));
    symlinkSync('../../nowhere', join(folder, 'up'));
    symlinkSync('a', join(folder, 'in'));
    symlinkSync('in/../..', join(folder, 'winding'));
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), '');
    const { paths, folder: aside, unchecked } = await opened.close();
    const short = paths.map((path) => path.slice(folder.length + 1)).sort();
    expect(short).toEqual(['a/.git', 'hidden/.husky', 'out', 'up', 'winding', '\ufffd'].sort());
    expect(unchecked).toEqual([]);
    expect(readdirSync(folder).sort()).toEqual(['a', 'hidden', 'in', 'old']);
    expect(readdirSync(aside ?? '')).toHaveLength(6);
    rmSync(aside ?? '', { recursive: true });
  });

  /** Makes nested folders, also where the whole path is longer than the system accepts. */
  const makeChain = (name: string, depth: number): void =>
    void execFileSync('/bin/bash', [
      '-c',
      `cd "$0"; for ((i = 0; i < ${depth}; i++)); do mkdir "$1"; cd "$1" || exit 1; done`,
      folder,
      name,
    ]);

  test.each([
    ['nested too deep', (): void => makeChain('d', 140), 'd'],
    ['with a path that is too long', (): void => makeChain('l'.repeat(250), 30), 'l'],
    ['with too many files', (): void => makeMany('many', 201), 'many'],
  ])('set aside a new folder %s, and look at all others', async (_, make, name) => {
    const opened = await WritableFolders.open([folder], 200);
    if (typeof opened === 'string') throw new Error(opened);
    for (const sub of ['a', 'z']) mkdirSync(join(folder, sub));
    make();
    for (const sub of ['a', 'z']) writeFileSync(join(folder, sub, '.envrc'), '');
    const { paths, folder: aside, unchecked } = await opened.close();
    const short = paths.map((path) => path.slice(folder.length + 1)).sort();
    expect(short.filter((path) => !path.startsWith(name))).toEqual(['a/.envrc', 'z/.envrc']);
    expect([short.length, unchecked]).toEqual([3, []]);
    execFileSync('rm', ['-rf', aside ?? '', join(folder, 'l'.repeat(250))]);
  });

  function makeMany(name: string, count: number): void {
    mkdirSync(join(folder, name));
    for (let i = 0; i < count; i++) writeFileSync(join(folder, name, String(i)), '');
  }

  test('stay where they are when they become a repository or an environment themselves', async () => {
    const opened = await open();
    for (const name of ['objects', 'refs', 'src']) mkdirSync(join(folder, name));
    for (const name of ['HEAD', 'pyvenv.cfg', 'src/.envrc']) writeFileSync(join(folder, name), '');
    const { paths, folder: aside, unchecked } = await opened.close();
    const short = paths.map((path) => path.slice(folder.length + 1)).sort();
    expect([short, unchecked]).toEqual([['HEAD', 'pyvenv.cfg', 'src/.envrc'], []]);
    expect(readdirSync(folder).sort()).toEqual(['objects', 'refs', 'src']);
    rmSync(aside ?? '', { recursive: true });
  });

  test('set aside a repository with its objects elsewhere, links behind links, and long names', async () => {
    const opened = await open();
    for (const name of ['g', 'store/objects', 'store/refs'])
      mkdirSync(join(folder, name), { recursive: true });
    for (const name of ['g/HEAD', 'g/commondir', `${'n'.repeat(251)}.pth`])
      writeFileSync(join(folder, name), '');
    symlinkSync('.', join(folder, 'here'));
    symlinkSync('here/../not-made-yet', join(folder, 'later'));
    const { paths, folder: aside } = await opened.close();
    expect(paths.map((path) => path.slice(folder.length + 1)).sort()).toEqual([
      'g',
      'later',
      `${'n'.repeat(251)}.pth`,
    ]);
    expect(readdirSync(aside ?? '')).toHaveLength(3);
    rmSync(aside ?? '', { recursive: true });
  });

  test('lose nothing to a link that another program put in place of a folder', async () => {
    for (const name of ['outside', 'cwd/sub']) mkdirSync(join(folder, name), { recursive: true });
    for (const name of ['outside/.envrc', 'cwd/sub/.envrc']) writeFileSync(join(folder, name), '');
    symlinkSync('../outside', join(folder, 'cwd/link'));
    const paths = ['cwd/link/.envrc', 'cwd/sub/.envrc', 'cwd/gone/.envrc'].map((path) =>
      fromText(join(folder, path)),
    );
    const { folder: aside, left } = await moveAway(paths);
    expect(left).toEqual([paths[0], paths[2]]);
    expect(readdirSync(aside ?? '')).toEqual(['1-.envrc']);
    expect(readdirSync(join(folder, 'outside'))).toEqual(['.envrc']);
    rmSync(aside ?? '', { recursive: true });
  });

  test('keep files with a set-uid bit, which mapped memory could change', async () => {
    writeFileSync(join(folder, 'tool'), '');
    chmodSync(join(folder, 'tool'), 0o4755);
    const opened = await open();
    expect(opened.folders[0]?.kept).toEqual([join(folder, 'tool')]);
    await opened.close();
  });

  test.each([
    [
      'a link in place of what runs later',
      () => symlinkSync('/tmp', join(folder, '.git')),
      /\.git is a link/,
    ],
    [
      'a name that is not text',
      () => writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), ''),
      /not readable/,
    ],
    [
      'a folder that is a repository itself',
      () => ['HEAD', 'objects', 'refs'].forEach((name) => mkdirSync(join(folder, name))),
      /is itself a git/,
    ],
    [
      'too many kept files',
      () => Array.from({ length: 501 }, (_, i) => writeFileSync(join(folder, `${i}.pth`), '')),
      /more than 500/,
    ],
  ])('are refused with %s', async (_, prepare, problem) => {
    prepare();
    expect(await WritableFolders.open([folder])).toMatch(problem);
    expect(await WritableFolders.open([folder])).toMatch(problem); // the folder is free again
  });

  test('are never home folders, nor folders around them', async () => {
    const home = join(folder, 'home');
    mkdirSync(join(home, 'project'), { recursive: true });
    symlinkSync(home, join(folder, 'link'));
    vi.stubEnv('HOME', join(folder, 'link'));
    try {
      for (const path of [home, folder, '/root', '/home', '/home/ann'])
        expect(await WritableFolders.open([path])).toBe(
          `${path} is a home folder, with settings of many programs`,
        );
      const opened = (await WritableFolders.open([join(home, 'project')])) as WritableFolders;
      expect(opened.folders).toEqual([{ path: join(home, 'project'), kept: [] }]);
      await opened.close();
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('are changed by one tool call at a time, also when one is inside the other', async () => {
    const inner = join(folder, 'inner');
    mkdirSync(inner);
    const first = await open();
    let isOpen = false;
    const second = WritableFolders.open([inner]).then((opened) => {
      isOpen = true;
      return opened as WritableFolders;
    });
    const other = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-test-')));
    await ((await WritableFolders.open([other])) as WritableFolders).close();
    expect(isOpen).toBe(false);
    await first.close();
    await (await second).close();
    rmSync(other, { recursive: true });
  });
});

test('without confinement, only a short list of literal commands on files inside runs', async () => {
  mkdirSync(join(folder, 'sub'));
  for (const name of ['a.txt', 'sub/b', '.env']) writeFileSync(join(folder, name), 'x');
  symlinkSync('/etc/passwd', join(folder, 'link'));
  symlinkSync('/etc/ssl', join(folder, 'elsewhere'));
  writeFileSync(join(folder, 'hostname'), 'x');
  const say = (line: string): Promise<readonly string[] | undefined> => fixedCommand(line, folder, [folder]);
  expect(await say(' ls -la sub ')).toEqual(['ls', '-la', '--', 'sub']);
  expect(await say('head -n5 a.txt sub/b')).toEqual(['head', '-n5', '--', 'a.txt', 'sub/b']);
  for (const line of ['pwd', 'ls', `cat ${folder}/a.txt`, 'wc -l a.txt', 'cat sub/../a.txt'])
    expect(await say(line)).toBeDefined();
  const refused = [
    'cat',
    'cat link',
    'cat elsewhere/../hostname',
    `cat ${folder}/elsewhere/../hostname`,
    'cat .env',
    'cat ../x',
    'cat /etc/passwd',
    'cat none',
    'cat a.txt; ls',
    'cat a.txt\nls',
    'cat $HOME',
    'ls *',
    'ls ~',
    'cat "a.txt"',
    'cat a.txt > b',
    'ls --color',
    'tail -f a.txt',
    'cat -A a.txt',
    'sed p a.txt',
    'echo',
    '',
    'cat\ta.txt',
    'LS',
    'toString',
    'ls `id`',
    'cat a.txt & id',
    '\\cat a.txt',
    './cat a.txt',
    'ls -la -R/etc',
    'cat a.txt#',
  ];
  for (const line of refused) expect([line, await say(line)]).toEqual([line, undefined]);
});
