/** Processor architectures with a filter. */
export type FilterArchitecture = 'x64' | 'arm64';

type Numbers = readonly [x64: number | undefined, arm64: number | undefined];

/** System calls that are refused whatever their arguments: tracing, mounts, namespaces, keys, modules, clocks. */
const REFUSED: Readonly<Record<string, Numbers>> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  fanotify_init: [300, 262],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  unshare: [272, 97],
  setns: [308, 268],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  create_module: [174, undefined],
  get_kernel_syms: [177, undefined],
  query_module: [178, undefined],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  adjtimex: [159, 171],
  clock_adjtime: [305, 266],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  syslog: [103, 116],
  vhangup: [153, 58],
  iopl: [172, undefined],
  ioperm: [173, undefined],
  modify_ldt: [154, undefined],
  uselib: [134, undefined],
  sysctl: [156, undefined],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
};

/** System calls that programs do without when missing. Their arguments can't be checked. */
const MISSING: Readonly<Record<string, Numbers>> = {
  clone3: [435, 435],
  openat2: [437, 437],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
};

/** Largest known number. Newer system calls count as missing, and so do those of x32. */
const LAST_KNOWN = 466;

const AUDIT_ARCHITECTURE: Readonly<Record<FilterArchitecture, number>> = {
  x64: 0xc000_003e,
  arm64: 0xc000_00b7,
};

// Actions of the kernel.
const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const EPERM = 0x0005_0001;
const ENOSYS = 0x0005_0026;

// Instructions of classic BPF.
const LOAD = 0x20;
const RETURN = 0x06;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER = 0x25;
const JUMP_ANY_BIT = 0x45;
const AND = 0x54;

// Offsets in the data about a system call.
const NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (index: number): number => 16 + 8 * index; // low 32 bits

const SETUID_BITS = 0o6000;
const FILE_TYPE = 0o170000;
const DEVICES = [0o020000, 0o060000];
/** O_CREAT and O_TMPFILE. */
const CREATING = 0o100 | 0o20000000;
/** All CLONE_NEW* flags of clone. */
const NEW_NAMESPACES = 0x7e02_0000;
const [TIOCSTI, TIOCLINUX] = [0x5412, 0x541c];
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] = [1, 2, 10, 16];
/** Linux, no randomized addresses, and the query. */
const PERSONALITIES = [0, 0x0004_0000, 0xffff_ffff];

interface Instruction {
  readonly code: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly value: number;
}

const step = (code: number, value: number, ifTrue = 0, ifFalse = 0): Instruction => ({
  code,
  ifTrue,
  ifFalse,
  value,
});
const load = (offset: number): Instruction => step(LOAD, offset);
const give = (action: number): Instruction => step(RETURN, action);
/** Gives an action if the loaded value equals one of these, and goes on otherwise. */
const giveIf = (action: number, values: readonly number[]): Instruction[] =>
  values.flatMap((value) => [step(JUMP_EQUAL, value, 0, 1), give(action)]);
const giveIfAnyBit = (action: number, bits: number): Instruction[] => [
  step(JUMP_ANY_BIT, bits, 0, 1),
  give(action),
];

/** Refuses bits in the mode of a new or changed file that would run it as its owner. */
const checkMode = (index: number): Instruction[] => [
  load(argument(index)),
  ...giveIfAnyBit(EPERM, SETUID_BITS),
  give(ALLOW),
];
const checkCreation = (flags: number): Instruction[] => [
  load(argument(flags)),
  step(JUMP_ANY_BIT, CREATING, 1, 0),
  give(ALLOW),
  ...checkMode(flags + 1),
];
const checkNode = (mode: number): Instruction[] => [
  load(argument(mode)),
  ...giveIfAnyBit(EPERM, SETUID_BITS),
  step(AND, FILE_TYPE),
  ...giveIf(EPERM, DEVICES),
  give(ALLOW),
];

/** System calls judged by their arguments. Each check ends with an action. */
const CHECKED: readonly (readonly [name: string, Numbers, check: readonly Instruction[]])[] = [
  [
    'socket',
    [41, 198],
    [
      load(argument(0)),
      ...giveIf(ALLOW, [AF_INET, AF_INET6]),
      step(JUMP_EQUAL, AF_NETLINK, 1, 0),
      give(EPERM),
      load(argument(2)),
      ...giveIf(ALLOW, [0]), // NETLINK_ROUTE
      give(EPERM),
    ],
  ],
  ['socketpair', [53, 199], [load(argument(0)), ...giveIf(ALLOW, [AF_UNIX]), give(EPERM)]],
  ['clone', [56, 220], [load(argument(0)), ...giveIfAnyBit(EPERM, NEW_NAMESPACES), give(ALLOW)]],
  ['ioctl', [16, 29], [load(argument(1)), ...giveIf(EPERM, [TIOCSTI, TIOCLINUX]), give(ALLOW)]],
  ['personality', [135, 92], [load(argument(0)), ...giveIf(ALLOW, PERSONALITIES), give(EPERM)]],
  ['chmod', [90, undefined], checkMode(1)],
  ['fchmod', [91, 52], checkMode(1)],
  ['fchmodat', [268, 53], checkMode(2)],
  ['fchmodat2', [452, 452], checkMode(2)],
  ['creat', [85, undefined], checkMode(1)],
  ['open', [2, undefined], checkCreation(1)],
  ['openat', [257, 56], checkCreation(2)],
  ['mknod', [133, undefined], checkNode(1)],
  ['mknodat', [259, 33], checkNode(2)],
];

/**
 * Assembles the seccomp filter of confined programs, as bytes for `bwrap --seccomp`. Refuses sockets that leave
 * the sandbox, tracing, mounts, new namespaces, set-uid files and devices; kills programs of another
 * architecture.
 */
export function seccompFilter(architecture: FilterArchitecture): Uint8Array {
  const column = architecture === 'x64' ? 0 : 1;
  const numbersOf = (table: Readonly<Record<string, Numbers>>): readonly number[] =>
    Object.values(table).flatMap((numbers) => numbers[column] ?? []);
  const checks = CHECKED.flatMap(([, numbers, check]) => {
    const number = numbers[column];
    return number === undefined ? [] : [step(JUMP_EQUAL, number, 0, check.length), ...check];
  });
  return toBytes([
    load(ARCHITECTURE),
    step(JUMP_EQUAL, AUDIT_ARCHITECTURE[architecture], 1, 0),
    give(KILL_PROCESS),
    load(NUMBER),
    step(JUMP_GREATER, LAST_KNOWN, 0, 1),
    give(ENOSYS),
    ...checks,
    ...giveIf(ENOSYS, numbersOf(MISSING)),
    ...giveIf(EPERM, numbersOf(REFUSED)),
    give(ALLOW),
  ]);
}

/** Architecture of this process; undefined without a filter. */
export function filterArchitecture(): FilterArchitecture | undefined {
  return process.arch === 'x64' || process.arch === 'arm64' ? process.arch : undefined;
}

function toBytes(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(instructions.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [i, { code, ifTrue, ifFalse, value }] of instructions.entries()) {
    view.setUint16(i * 8, code, true);
    view.setUint8(i * 8 + 2, ifTrue);
    view.setUint8(i * 8 + 3, ifFalse);
    view.setUint32(i * 8 + 4, value, true);
  }
  return bytes;
}
