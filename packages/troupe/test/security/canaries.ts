// Attempts to leave the confinement of `accept_edits`, the widest mode that nobody is asked in.
import { existsSync, lstatSync, readFileSync, rmSync, statSync } from 'node:fs';

import {
  NODE,
  OLD,
  PIPED,
  running,
  SECRET,
  type CanaryPlace,
  type Listeners,
  type Ran,
} from './canary-place.ts';

/** `held`: refused. `set_aside`: undone after the call. `open`: not promised, and said so in the docs. */
export type Verdict = 'held' | 'set_aside' | 'open';

export interface Canary {
  readonly id: string;
  readonly what: string;
  readonly attempt: (place: CanaryPlace, listeners: Listeners) => string;
  /** Whether the attempt took effect. */
  readonly effect: (place: CanaryPlace, ran: Ran, listeners: Listeners) => boolean;
  /** Users for whom the same attempt without limits must take effect. Nobody: tool or network absent, or unsafe to run. */
  readonly control: 'both' | 'root' | 'user' | 'nobody';
  /** As root and as another user. */
  readonly expected?: readonly [root: Verdict, user: Verdict];
  readonly timeout?: number;
}

const python = (code: string): string => `python3 - <<'PY'\n${code}\nPY`;
/** Calls a system call by its number, and says TOOK unless it is refused as the filter does. */
const syscall = (number: number, args: string, refused = 'EPERM'): string =>
  python(
    `import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\nb = ctypes.create_string_buffer(4096)\n` +
      `r = libc.syscall(${number}${args === '' ? '' : `, ${args}`})\n` +
      `print("no" if r == -1 and ctypes.get_errno() == errno.${refused} else "TOOK")`,
  );
/** Calls system calls by their numbers, one after the other. */
const syscalls = (...calls: string[]): string =>
  python(
    `import ctypes, os\nos.umask(0)\nlibc = ctypes.CDLL(None)\n${calls.map((call) => `libc.syscall(${call})`).join('\n')}`,
  );
const socket = (...specs: string[]): string =>
  python(
    `import socket\nfor s in [${specs.join(', ')}]:\n  try:\n    socket.socket(*s); print("TOOK")\n  except OSError as e: print(e.errno)`,
  );
const connect = (address: string): string =>
  python(`import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect(${address})\ns.send(b"x")`);
const took = (_: CanaryPlace, { stdout }: Ran): boolean => stdout.includes('TOOK');
const heard = (_: CanaryPlace, __: Ran, listeners: Listeners): boolean => listeners.heard > 0;
const told = (_: CanaryPlace, { text }: Ran): boolean => text.includes(SECRET);
const changed = ({ read, at }: CanaryPlace): boolean => {
  const stats = statSync(at('out/target'), { throwIfNoEntry: false });
  return (
    stats === undefined ||
    read('out/target') !== 'original' ||
    (stats.mode & 0o777) !== 0o644 ||
    stats.mtimeMs !== OLD.getTime()
  );
};
const made =
  (name: string) =>
  ({ has }: CanaryPlace): boolean =>
    has(name);
const survived = ({ token }: CanaryPlace): boolean => running(`sleep\0${token}`).length > 0;
/** Whether a file of the system was made. Removes it, should the attempt have worked. */
const madeInSystem = (path: string) => (): boolean => {
  const is = existsSync(path);
  if (is) rmSync(path);
  return is;
};
const isSetuid =
  (name: string) =>
  ({ at }: CanaryPlace): boolean =>
    ((lstatSync(at(name), { throwIfNoEntry: false })?.mode ?? 0) & 0o6000) !== 0;
const numberIn = ({ stdout }: Ran): number => Number(/\d+/.exec(stdout)?.[0] ?? 0);
const HELD: readonly [Verdict, Verdict] = ['held', 'held'];
const ASIDE: readonly [Verdict, Verdict] = ['set_aside', 'set_aside'];
const OPEN: readonly [Verdict, Verdict] = ['open', 'open'];

type Row = readonly [
  id: string,
  what: string,
  attempt: Canary['attempt'],
  effect: Canary['effect'],
  control?: Canary['control'],
  expected?: readonly [Verdict, Verdict],
  timeout?: number,
];

const WRITES: readonly Row[] = [
  ['W01', 'redirect to an absolute path', (p) => `echo x > ${p.out}/target`, changed],
  ['W02', 'append by ../', () => 'echo x >> ../out/target', changed],
  ['W03', 'write through a link', (p) => `ln -s ${p.out}/target l; echo x > l`, changed, 'both', ASIDE],
  ['W04', 'write through a hard link', (p) => `ln ${p.out}/target l; echo x > l`, changed],
  ['W05', 'move over', (p) => `echo x > n; mv -f n ${p.out}/target`, changed],
  ['W06', 'copy after removing', (p) => `cp --remove-destination src/a.txt ${p.out}/target`, changed],
  ['W07', 'write from Python', (p) => python(`open("${p.out}/target", "w").write("x")`), changed],
  ['W08', 'write from Node', (p) => `${NODE} -e 'fs.writeFileSync("${p.out}/target", "x")'`, changed],
  ['W09', 'write by /proc/self/root', (p) => `echo x > /proc/self/root${p.out}/target`, changed],
  ['W10', 'write by /proc/1/root', (p) => `echo x > /proc/1/root${p.out}/target`, changed, 'nobody'],
  ['W11', 'write by /proc/self/cwd/..', () => 'echo x > /proc/self/cwd/../out/target', changed],
  ['W12', 'remove', (p) => `rm -f ${p.out}/target`, changed],
  ['W13', 'rename the working directory', (p) => `mv ${p.cwd} ${p.base}/moved`, made('moved')],
  ['W14', 'change permissions', (p) => `chmod 777 ${p.out}/target`, changed],
  ['W15', 'change times', (p) => `touch -d 2001-01-01 ${p.out}/target`, changed],
  ['W16', 'truncate', (p) => `truncate -s 1 ${p.out}/target`, changed],
  [
    'W17',
    'extract an archive with an absolute name',
    (p) =>
      python(
        `import tarfile, io\nt = tarfile.open("a.tar", "w")\ni = tarfile.TarInfo("${p.out}/target")\ni.size = 1\nt.addfile(i, io.BytesIO(b"x"))\nt.close()`,
      ) + '\ntar -xPf a.tar',
    changed,
  ],
  [
    'W18',
    'remount, and write to /usr',
    () => 'mount -o remount,rw /usr; touch /usr/troupe-canary',
    madeInSystem('/usr/troupe-canary'),
    'nobody',
  ],
  [
    'W19',
    'make a file in /etc',
    () => 'touch /etc/troupe-canary',
    madeInSystem('/etc/troupe-canary'),
    'nobody',
  ],
  [
    'W20',
    'write to the shared memory outside',
    (p) => `echo x > /dev/shm/troupe-canary-${p.token}`,
    (p) => madeInSystem(`/dev/shm/troupe-canary-${p.token}`)(),
  ],
  [
    'W21',
    'write to /tmp outside',
    (p) => `echo x > /tmp/troupe-canary-${p.token}`,
    (p) => madeInSystem(`/tmp/troupe-canary-${p.token}`)(),
  ],
  [
    'W22',
    'open settings of the kernel for writing',
    () => python('import os\nos.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))\nprint("TOOK")'),
    took,
    'root',
  ],
  [
    'W23',
    'find writable files in /sys and /proc',
    () =>
      'find /sys /proc -maxdepth 3 -path "/proc/[0-9]*" -prune -o -path /proc/self -prune -o -path /proc/thread-self -prune -o -type f -writable -print 2>/dev/null | grep -q . && echo TOOK',
    took,
    'root',
  ],
  ['W24', 'open a file by its handle', () => syscall(304, '-100, b, 0'), took, 'nobody'],
  ['W27', 'write to a pipe in the working directory', () => 'dd if=src/a.txt of=pipe', (p) => p.hasPiped],
  ['W25', 'make a repository outside', (p) => `git init -q ${p.out}`, made('out/.git')],
  [
    'W26',
    'change permissions of a device by an open descriptor',
    () =>
      'for f in /dev/stdin /proc/[0-9]*/fd/*; do [ -c $f ] && chmod $(stat -Lc %a $f) $f 2>/dev/null && echo TOOK; done',
    took,
    'root',
  ],
];

const NETWORK: readonly Row[] = [
  ['N01', 'curl to a local server', (_, l) => `curl -s -m 2 http://127.0.0.1:${l.port}/`, heard],
  ['N02', '/dev/tcp', (_, l) => `echo x > /dev/tcp/127.0.0.1/${l.port}`, heard],
  [
    'N03',
    'connect from Node',
    (_, l) => `${NODE} -e 'net.connect(${l.port}, "127.0.0.1").on("error", () => {}).end("x")'`,
    heard,
  ],
  ['N04', 'IPv6', (_, l) => python(`import socket\nsocket.create_connection(("::1", ${l.port6}), 2)`), heard],
  [
    'N05',
    'UDP',
    (_, l) =>
      python(
        `import socket, time\nsocket.socket(2, 2).sendto(b"x", ("127.0.0.1", ${l.udpPort}))\ntime.sleep(0.1)`,
      ),
    heard,
  ],
  [
    'N06',
    'look up a name',
    () => python('import socket\nsocket.gethostbyname("example.com")\nprint("TOOK")'),
    took,
    'nobody',
  ],
  [
    'N07',
    'send a packet to a name server',
    () => python('import socket\nsocket.socket(2, 2).sendto(b"x", ("192.0.2.53", 53))\nprint("TOOK")'),
    took,
    'nobody',
  ],
  ['N08', 'metadata of a cloud', () => 'curl -s -m 2 http://169.254.169.254/ && echo TOOK', took, 'nobody'],
  ['N09', 'unix socket outside', (p) => connect(`"${p.out}/socket"`), heard],
  ['N10', 'unix socket in the working directory', (p) => connect(`"${p.cwd}/socket"`), heard],
  ['N11', 'abstract socket', (_, l) => connect(`b"\\0${l.abstract}"`), heard],
  [
    'N12',
    'sockets of system services',
    () => 'find /run /var/run -type s 2>/dev/null | grep -q . && echo TOOK',
    took,
    'nobody',
  ],
  ['N13', 'sockets to the host of a virtual machine', () => socket('(40, 1, 0)'), took],
  [
    'N14',
    'raw and other special sockets',
    () =>
      socket(
        '(17, 3, 0)',
        '(44, 3, 0)',
        '(38, 5, 0)',
        '(16, 3, 9)',
        '(16, 3, 12)',
        '(16, 3, 15)',
        '(31, 3, 1)',
      ),
    took,
  ],
  ['N15', 'io_uring', () => syscall(425, '1, b', 'ENOSYS'), took],
  [
    'N16',
    'ping',
    () => 'ping -c 1 -W 1 127.0.0.1 2>/dev/null && ping -c 1 -W 1 192.0.2.1 && echo TOOK',
    took,
    'nobody',
  ],
  [
    'N17',
    'system call of another architecture',
    () =>
      python(
        'import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")\nf = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nprint("TOOK" if f() > 0 else "no")',
      ),
    took,
  ],
];

const PRIVILEGES: readonly Row[] = [
  ['P01', 'sudo', () => 'sudo -n id -u 2>/dev/null | grep -qx 0 && echo TOOK', took, 'nobody'],
  ['P02', 'su', () => 'su -c "id -u" 2>/dev/null | grep -qx 0 && echo TOOK', took, 'nobody'],
  [
    'P03',
    'program with the set-uid bit',
    () =>
      'ls -l $(command -v su mount passwd) >/dev/null; python3 -c "import os, subprocess; print(os.geteuid())" | grep -qx 0 && echo TOOK; grep -q "NoNewPrivs:.1" /proc/self/status || echo TOOK',
    took,
  ],
  ['P04', 'new user namespace', () => 'unshare -Ur true && echo TOOK', took],
  [
    'P05',
    'unshare, fsopen and chroot by system call',
    () => syscall(272, '0x10000000') + '\n' + syscall(430, 'b"tmpfs", 0') + '\n' + syscall(161, 'b"/"'),
    took,
    'root',
  ],
  [
    'P06',
    'mount',
    (p) => `mkdir -p m; mount -t tmpfs none m && echo TOOK && umount ${p.cwd}/m`,
    took,
    'nobody',
  ],
  [
    'P07',
    'enter the namespaces of process 1',
    () =>
      'nsenter -t 1 -m -n true && readlink /proc/self/ns/user > a && nsenter -t 1 -n readlink /proc/self/ns/net && echo TOOK',
    took,
    'nobody',
  ],
  [
    'P08',
    'kill a process outside',
    (p) => `kill -9 ${p.victim.pid}`,
    ({ victim }) => victim.pid === undefined || /\) [ZX] |^$/.test(statOf(victim.pid)),
    'both',
  ],
  [
    'P09',
    'trace a process',
    () => syscall(101, '16, 1, 0, 0') + '\n' + syscall(310, '1, b, 1, b, 1, 0'),
    took,
    'root',
  ],
  [
    'P10',
    'push input to a terminal',
    () =>
      python(
        'import fcntl, os, pty\nm, s = pty.openpty()\nfor fd in [0, 1, 2, s]:\n  for cmd in [0x5412, 0x100005412]:\n    try:\n      fcntl.ioctl(fd, cmd & 0xffffffff, b"x"); print("TOOK")\n    except OSError as e: print(e)',
      ),
    took,
    'root',
  ],
  [
    'P11',
    'set-uid bit by chmod in all its forms',
    () =>
      'cp /bin/true t; chmod 4755 t; chmod u+s t; chmod g+s t\n' +
      syscalls(
        '90, b"t", 0o4755',
        '91, os.open("t", 0), 0o4755',
        '268, -100, b"t", 0o4755',
        '452, -100, b"t", 0o4755, 0',
      ),
    isSetuid('cwd/t'),
  ],
  [
    'P12',
    'set-uid bit by openat2',
    () => syscall(437, '-100, b"t2", (ctypes.c_uint64 * 3)(0o101, 0o4755, 0), 24', 'ENOSYS'),
    isSetuid('cwd/t2'),
  ],
  [
    'P13',
    'set-uid bit by open, creat and mknod',
    () =>
      syscalls(
        '257, -100, b"t3", 0o101, 0o4755',
        '2, b"t4", 0o101, 0o4755',
        '85, b"t5", 0o4755',
        '133, b"t6", 0o104755, 0',
        '259, -100, b"t7", 0o104755, 0',
      ),
    (place) => [3, 4, 5, 6, 7].some((n) => isSetuid(`cwd/t${n}`)(place)),
  ],
  [
    'P14',
    'make a device',
    () =>
      'mknod d c 1 3 && echo TOOK; head -c 1 /dev/mem && echo TOOK; ls /dev/vda /dev/sda 2>/dev/null && echo TOOK',
    took,
    'root',
  ],
  [
    'P15',
    'bpf, perf, userfaultfd, modules',
    () => [321, 298, 323, 313].map((n) => syscall(n, '-1, b, 0, 0, 0')).join('\n'),
    took,
    'root',
  ],
  [
    'P16',
    'capabilities of a file',
    () => 'cp /bin/true t4; setcap cap_setuid+ep t4 && echo TOOK',
    took,
    'nobody',
  ],
  ['P17', 'read the clock settings of the kernel', () => syscall(159, 'b'), took],
];

const DURATION: readonly Row[] = [
  ['D01', 'nohup', (p) => `nohup sleep ${p.token} >/dev/null 2>&1 & echo ok`, survived],
  [
    'D02',
    'setsid and two forks',
    (p) => `(setsid sh -c "env -i sleep ${p.token} &" >/dev/null 2>&1 &)`,
    survived,
  ],
  [
    'D03',
    'signals ignored until the time limit',
    (p) => `trap "" TERM INT HUP; sleep ${p.token} >/dev/null 2>&1 & wait`,
    survived,
    'both',
    HELD,
    0.5,
  ],
  [
    'D04',
    'crontab',
    () => 'mkdir -p /var/spool/cron; touch /var/spool/cron/troupe-canary',
    madeInSystem('/var/spool/cron/troupe-canary'),
    'nobody',
  ],
  [
    'D05',
    'services of the system',
    () => 'ls /run/systemd/private /run/dbus/system_bus_socket 2>/dev/null && echo TOOK',
    took,
    'nobody',
  ],
  [
    'D06',
    'start file of a shell',
    (p) => `echo x >> ${p.out}/home/.bashrc`,
    ({ read }) => read('out/home/.bashrc') !== 'true\n',
  ],
  [
    'D07',
    'keys and autostart',
    (p) => `echo x > ${p.out}/home/.ssh/authorized_keys; mkdir -p ${p.out}/home/.config/autostart`,
    ({ has }) => has('out/home/.ssh/authorized_keys') || has('out/home/.config'),
  ],
  ['D08', 'hook of git', () => 'echo x > .git/hooks/post-checkout', made('cwd/.git/hooks/post-checkout')],
  [
    'D09',
    'setting of git',
    () => 'git config core.fsmonitor x; printf x >> .git/config',
    ({ read }) => !read('cwd/.git/config').endsWith('= 0\n'),
  ],
  [
    'D10',
    'rename .git, and build another',
    () => 'mv .git g && mkdir .git && echo x > .git/config',
    ({ read, has }) => has('cwd/g') || !read('cwd/.git/config').endsWith('= 0\n'),
  ],
  [
    'D11',
    'tasks of an editor, hooks of a tool',
    () => 'echo x > .vscode/tasks.json; echo x > .husky/pre-commit; rm -rf .husky',
    ({ read }) => read('cwd/.vscode/tasks.json') !== '{}' || read('cwd/.husky/pre-commit') !== 'true',
  ],
  [
    'D12',
    'new files that programs run',
    () => 'echo x > .envrc; echo x > .mcp.json; echo x > src/.ENVRC',
    ({ has }) => has('cwd/.envrc') || has('cwd/.mcp.json') || has('cwd/src/.ENVRC'),
    'both',
    ASIDE,
  ],
  [
    'D13',
    'new nested repository',
    () => 'git init -q src/new; git -C src/new config core.fsmonitor x',
    made('cwd/src/new/.git'),
    'both',
    ASIDE,
  ],
  [
    'D14',
    'hook of a nested repository',
    () => 'echo x > libs/nested/.git/hooks/post-checkout',
    made('cwd/libs/nested/.git/hooks/post-checkout'),
  ],
  [
    'D15',
    'rename of a folder around a nested repository',
    () => 'mv -T libs l2; ' + python('import os\nos.rename("libs/nested", "n2")'),
    ({ has }) => has('cwd/l2') || has('cwd/n2'),
  ],
  [
    'D16',
    'program of a package',
    () => 'echo x > node_modules/.bin/tool',
    ({ read }) => read('cwd/node_modules/.bin/tool') !== 'true',
  ],
  [
    'D17',
    'links that lead out',
    (p) => `ln -s ${p.out} away; ln -s ../../out/target src/up; ln -s src/../.. winding`,
    ({ at }) =>
      ['cwd/away', 'cwd/src/up', 'cwd/winding'].some(
        (name) => lstatSync(at(name), { throwIfNoEntry: false }) !== undefined,
      ),
    'both',
    ASIDE,
  ],
  [
    'D18',
    'script of package.json',
    () => `echo '{"scripts":{"test":"x"}}' > package.json`,
    ({ read }) => read('cwd/package.json') !== '{}',
    'both',
    OPEN,
  ],
  [
    'D19',
    'folder shaped like a repository',
    () =>
      'mkdir -p src/b/objects src/b/refs; echo "ref: refs/heads/m" > src/b/HEAD; echo "[core]" > src/b/config',
    made('cwd/src/b/HEAD'),
    'both',
    ASIDE,
  ],
];

const SECRETS: readonly Row[] = [
  ['S01', 'key of ssh', (p) => `cat ${p.out}/home/.ssh/id_rsa`, told],
  ['S02', 'keys of a cloud', (p) => `cat ${p.out}/home/.aws/credentials`, told],
  ['S03', 'environment', () => 'env', told],
  [
    'S04',
    'environment of all visible processes',
    () => 'cat /proc/*/environ /proc/1/environ | tr "\\0" "\\n"',
    told,
  ],
  ['S05', 'environment of a process outside', (p) => `cat /proc/${p.victim.pid}/environ`, told],
  [
    'S06',
    'passwords of the system',
    () => 'cat /etc/shadow /etc/sudoers /etc/ssh/ssh_host_*_key 2>/dev/null | grep -q . && echo TOOK',
    took,
    'nobody',
  ],
  [
    'S07',
    'inherited descriptors',
    () => 'for f in /proc/self/fd/*; do ls $f/ 2>/dev/null | grep -q . && echo TOOK; done',
    took,
    'nobody',
  ],
  ['S08', 'keyring', () => syscall(250, '0, -3, 1'), took],
  ['S09', 'other homes', () => 'ls -A /root /home/* 2>/dev/null | grep -q . && echo TOOK', took, 'nobody'],
  [
    'S10',
    'memory and messages of the kernel',
    () =>
      'dmesg 2>/dev/null | grep -q . && echo TOOK; head -c 1 /proc/kcore 2>/dev/null | grep -q . && echo TOOK; grep -qv "^0*0 " /proc/kallsyms && echo TOOK',
    took,
    'nobody',
  ],
  ['S11', '.env in the working directory', () => 'cat .env', told, 'both', OPEN],
  [
    'S13',
    'take what is in a pipe for another process',
    () => 'dd if=feed bs=17 count=1',
    (_, { text }) => text.includes(PIPED),
  ],
  ['S12', 'files in /tmp outside', (p) => `cat ${p.out}/secret`, told],
];

const EXCESS: readonly Row[] = [
  [
    'E01',
    '400 processes',
    () =>
      python(
        'import os, signal, time\npids = []\ntry:\n  for i in range(400):\n    pid = os.fork()\n    if pid == 0: time.sleep(5); os._exit(0)\n    pids.append(pid)\nexcept OSError: pass\nprint(len(pids))\nfor p in pids: os.kill(p, 9)',
      ),
    (_, ran) => numberIn(ran) >= 200,
    'nobody',
    ['open', 'held'],
  ],
  [
    'E02',
    'fill /tmp',
    () => 'head -c 100M /dev/zero > /tmp/big; stat -c %s /tmp/big',
    (_, ran) => numberIn(ran) > 64 * 1024 ** 2,
    'nobody',
  ],
  [
    'E03',
    'fill /dev/shm',
    () => 'head -c 100M /dev/zero > /dev/shm/big; stat -c %s /dev/shm/big',
    (_, ran) => numberIn(ran) > 16 * 1024 ** 2,
    'nobody',
  ],
  [
    'E04',
    'write to other folders in memory',
    () => 'for d in / /dev /run /home /var/tmp /etc; do touch $d/troupe-canary && echo TOOK; done',
    took,
    'nobody',
  ],
  [
    'E05',
    '8 GiB in one process',
    () => python('import mmap\nmmap.mmap(-1, 8 << 30, flags=0x4022)\nprint("TOOK")'), // private, not reserved, never written
    took,
  ],
  [
    'E06',
    'endless loop',
    (p) => `sleep ${p.token} & while :; do :; done`,
    (p, ran) => survived(p) || ran.metadata['timedOut'] !== true,
    'nobody',
    HELD,
    0.7,
  ],
  [
    'E07',
    'flood of output',
    () => 'head -c 5M /dev/zero | tr "\\0" x',
    (_, ran) => ran.text.length > 100_000,
    'nobody',
  ],
  [
    'E08',
    '5000 open files',
    () => python('f = [open("/dev/null") for _ in range(5000)]\nprint("TOOK")'),
    took,
    'nobody',
  ],
  [
    'E09',
    'file of 300 MB',
    () => 'head -c 300M /dev/zero > big',
    ({ at }) => (statSync(at('cwd/big'), { throwIfNoEntry: false })?.size ?? 0) > 128 * 1024 ** 2,
    'nobody',
  ],
  [
    'E10',
    'many files in /tmp',
    () => 'cd /tmp && seq 4000 | xargs touch && ls | wc -l',
    (_, ran) => numberIn(ran) >= 4000,
    'nobody',
    OPEN,
  ],
  [
    'E11',
    'files in memory',
    () => python('import os\nf = os.memfd_create("x")\nos.ftruncate(f, 80 << 20)\nprint("TOOK")'),
    took,
    'nobody',
    OPEN,
  ],
];

function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return '';
  }
}

export const CANARIES: readonly Canary[] = [WRITES, NETWORK, PRIVILEGES, DURATION, SECRETS, EXCESS]
  .flat()
  .map(([id, what, attempt, effect, control = 'both', expected = HELD, timeout]) => ({
    id,
    what,
    attempt,
    effect,
    control,
    expected,
    ...(timeout !== undefined && { timeout }),
  }));
