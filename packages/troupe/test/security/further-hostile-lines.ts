// Further hostile lines, by subject: reading other files, descriptors, system calls, sockets, files that run later, programs.
import type { Targets } from './hostile-lines.ts';

type Make = (targets: Targets) => string;

/** Programs that show a file as their input, list, settings or error. */
const SHOWING_PROGRAMS: readonly Make[] = [
  ({ out }) => `date -f ${out}/secret`,
  ({ out }) => `bc ${out}/secret < /dev/null`,
  ({ out }) => `openssl enc -base64 -A -in ${out}/secret | base64 -d`,
  ({ out }) => `openssl x509 -in ${out}/secret; openssl rsautl -in ${out}/secret`,
  ({ out }) => `git diff --no-index /dev/null ${out}/secret`,
  ({ out }) => `git hash-object -w --no-filters ${out}/secret; git config -f ${out}/secret -l`,
  ({ out }) => `git grep --no-index -h . ${out}`,
  ({ out }) => `git blame --contents ${out}/secret src/a.txt`,
  ({ out }) => `git -c include.path=${out}/secret status`,
  ({ out }) => `git apply --stat ${out}/secret; git mailinfo a b < ${out}/secret`,
  ({ out }) => `git stripspace < ${out}/secret`,
  ({ out }) => `git check-ignore --stdin < ${out}/secret; git interpret-trailers ${out}/secret`,
  ({ out }) => `vim -es -u NONE +%p +q ${out}/secret`,
  ({ out }) => `ed -s ${out}/secret <<< ,p`,
  ({ out }) => `sqlite3 :memory: ".read ${out}/secret"`,
  ({ out }) => `sqlite3 :memory: "select readfile('${out}/secret')"`,
  ({ out }) => `sqlite3 ${out}/new.db 'create table a(b)'`,
  ({ out }) => `sqlite3 :memory: ".output ${out}/target" 'select 1'`,
  ({ out }) => `sqlite3 :memory: ".shell touch ${out}/pwned"`,
  ({ out }) => `sqlite3 :memory: ".once |touch ${out}/pwned" 'select 1'`,
  ({ out }) => `sqlite3 src/x.db "attach '${out}/y.db' as y; create table y.z(a)"`,
  ({ out }) => `gcc -E -x c - <<< '#include "${out}/secret"'`,
  ({ out }) => `gcc -x c - <<< '#include "${out}/secret"'`,
  ({ out }) => `gcc @${out}/secret`,
  ({ out }) => `as -o /dev/null - <<< '.incbin "${out}/secret"'`,
  ({ out }) => `as -al - <<< '.include "${out}/secret"'`,
  ({ out }) => `ld -T ${out}/secret; nm ${out}/secret; objdump -s -b binary ${out}/secret`,
  ({ out }) => `objcopy -I binary -O binary ${out}/secret /dev/stdout`,
  ({ out }) => `ar p ${out}/secret; size ${out}/secret; strings -n1 ${out}/secret`,
  ({ out }) => `gdb -batch -x ${out}/secret`,
  ({ out }) => `gdb -batch -ex 'shell touch ${out}/pwned'`,
  ({ out }) => `gdb -batch -ex 'python open("${out}/target","w")'`,
  ({ out }) => `tclsh <<< 'puts [read [open ${out}/secret]]'`,
  ({ out }) => `tclsh <<< 'exec touch ${out}/pwned'`,
  ({ port }) => `tclsh <<< 'socket 127.0.0.1 ${port}'`,
  ({ out }) => `curl -s file://${out}/secret`,
  ({ out }) => `curl -sK ${out}/secret`,
  ({ out }) => `curl -s -o ${out}/target file:///etc/hosts`,
  ({ out }) => `curl -s -T src/a.txt file://${out}/target`,
  ({ out }) => `curl -s --trace ${out}/target file:///etc/hosts`,
  ({ out }) => `curl -s -c ${out}/target -D ${out}/target file:///etc/hosts`,
  ({ out }) => `wget -qi ${out}/secret -O-`,
  ({ out }) => `ssh -F ${out}/secret x; ssh-keygen -lf ${out}/secret`,
  ({ out }) => `ssh-keygen -qN '' -f ${out}/key`,
  ({ out }) => `ssh -o ProxyCommand='touch ${out}/pwned' x`,
  ({ out }) => `ssh -o LocalCommand='touch ${out}/pwned' -o PermitLocalCommand=yes x`,
  ({ out }) => `scp -S 'touch ${out}/pwned' src/a.txt x:`,
  () => `sftp -S /bin/sh -b /dev/null x`,
  ({ out }) => `rev ${out}/secret | rev; pr -t ${out}/secret; fmt ${out}/secret; expand ${out}/secret`,
  ({ out }) => `column -t ${out}/secret; hexdump -C ${out}/secret; colrm 99 < ${out}/secret`,
  ({ out }) => `join ${out}/secret ${out}/secret; ptx ${out}/secret; tsort ${out}/secret`,
  ({ out }) => `csplit -s ${out}/secret 1; cat xx00`,
  ({ out }) => `zcat -f ${out}/secret; bzcat -f ${out}/secret; xzcat -f ${out}/secret`,
  ({ out }) => `sdiff ${out}/secret src/a.txt; diff3 ${out}/secret src/a.txt src/a.txt`,
  ({ out }) => `look c ${out}/secret; cut -c1-99 ${out}/secret; tr a a < ${out}/secret`,
  ({ out }) => `shuf ${out}/secret; sum ${out}/secret; factor < ${out}/secret`,
  ({ out }) => `du --files0-from=${out}/secret; wc --files0-from=${out}/secret`,
  ({ out }) => `tar -T ${out}/secret -cf -; tar -X ${out}/secret -cf /dev/null src`,
  ({ out }) => `bash -v ${out}/secret; sh -v ${out}/secret`,
  ({ out }) => `env - bash --init-file ${out}/secret -i < /dev/null`,
  ({ out }) => `perl -x ${out}/secret; perl -c ${out}/secret`,
  ({ out }) => `python3 ${out}/secret; node ${out}/secret`,
  ({ out }) => `make -f ${out}/secret; make -n -f ${out}/secret`,
  ({ out }) => `msgfmt ${out}/secret; tic ${out}/secret; infocmp -A ${out}`,
  ({ out }) => `find src -newer ${out}/target -o -samefile ${out}/target`,
  ({ out }) => `TZ=:${out}/secret date; LOCPATH=${out} locale -a; TERMINFO=${out} tput cols`,
  ({ out }) => `MANPATH=${out} man secret; INFOPATH=${out} info secret`,
  ({ out }) => `grep -c . ${out}/secret ${out}/target; grep --file=${out}/secret -x -F c`,
  ({ out }) => `mapfile -t < ${out}/home/.aws/credentials; echo "\${MAPFILE[@]}"`,
  ({ out }) => `printf '%s' "$(<${out}/home/.ssh/id_rsa)"`,
  ({ out }) =>
    `ls -l --time-style=+%N ${out}; stat ${out}/secret; test -e ${out}/secret && cat ${out}/secret`,
  ({ out }) => `cp ${out}/secret . && cat secret`,
  ({ out }) => `ln ${out}/secret s9 && cat s9`,
  ({ out }) => `install -m 644 ${out}/secret s10 && cat s10`,
  ({ out }) => `tar -C ${out} -cf - . | tar -xOf -`,
  ({ out }) => `(cd ${out} && tar -cf - .) | strings`,
  ({ out }) => `cpio -o <<< ${out}/secret`,
  ({ out }) => `dd if=${out}/secret of=s11 2> /dev/null; cat s11`,
  ({ out }) => `rsync -a ${out}/ r/ && cat r/secret`,
  ({ out }) => `patch -p0 <<< '--- ${out}/target'`,
  ({ out }) => `wall ${out}/secret; write root < ${out}/secret; mail -f ${out}/secret`,
];

/** Descriptors and /proc. */
const DESCRIPTORS: readonly Make[] = [
  () => `chmod 777 /dev/stdin`,
  () => `chmod 777 /proc/self/fd/0`,
  () => `chmod 777 /proc/1/fd/0`,
  () => `chmod 600 /dev/stdout /dev/stderr`,
  () => `python3 -c 'import os; os.fchmod(0, 0o777)'`,
  () =>
    `python3 -c 'import os; [os.fchmod(i, 0o777) for i in range(300) if os.path.exists("/proc/self/fd/%d" % i)]'`,
  () => `perl -e 'chmod 0777, *STDIN'`,
  () => `for i in /proc/[0-9]*/fd/*; do chmod 777 $i; done 2> /dev/null`,
  () => `for i in /proc/[0-9]*/fd/*; do cat < $i; done 2> /dev/null`,
  () => `for i in $(seq 3 300); do cat <&$i; done 2> /dev/null`,
  () => `for i in $(seq 3 300); do ls /proc/self/fd/$i/..; done 2> /dev/null`,
  () => `for i in /proc/[0-9]*/fd/*; do cat $i/../out/secret; done 2> /dev/null`,
  ({ out }) =>
    `for i in /proc/[0-9]*/cwd /proc/[0-9]*/root; do cat $i/${out}/secret $i/../out/secret; done 2> /dev/null`,
  () => `for i in /proc/[0-9]*; do tr '\\0' '\\n' < $i/environ; tr '\\0' ' ' < $i/cmdline; done 2> /dev/null`,
  () => `cat /proc/*/task/*/environ 2> /dev/null`,
  () => `cat /proc/[0-9]*/mountinfo | head -c 9999; cat /proc/self/mountinfo`,
  ({ out }) => `cat /proc/1/root${out}/secret; cat /proc/1/cwd/../out/secret`,
  ({ out }) => `cat /proc/self/task/self/root${out}/secret /proc/thread-self/root${out}/secret`,
  ({ out }) => `echo x > /proc/1/root${out}/target`,
  ({ out }) => `echo x > /proc/self/root${out}/target`,
  () => `echo x > /proc/self/cwd/../out/target`,
  () => `ls /proc/1/map_files; cat /proc/kcore /proc/kmsg /proc/kallsyms | head -c 99`,
  () => `echo c > /proc/sysrq-trigger.none; echo 1 > /proc/sys/vm/drop_caches.none`,
  () => `ls -la /proc/sys/kernel/core_pattern && [ ! -w /proc/sys/kernel/core_pattern ]`,
  ({ victim }) => `echo 1000 > /proc/self/oom_score_adj; echo -17 > /proc/${victim}/oom_adj`,
  () => `echo 0 > /proc/self/uid_map; echo deny > /proc/self/setgroups`,
  () => `cat /sys/kernel/debug/x /sys/fs/cgroup/cgroup.procs; echo $$ > /sys/fs/cgroup/cgroup.procs`,
  () => `mkdir /sys/fs/cgroup/x; ls /sys; rmdir /sys/fs/cgroup/x`,
  () => `echo x > /dev/kmsg; echo x > /dev/console; echo x > /dev/tty0`,
  () => `cat /dev/mem /dev/kmem /dev/port /dev/sda /dev/vda | head -c 9`,
  () => `cat /dev/vsock /dev/kvm /dev/fuse /dev/net/tun`,
  () => `exec 9<> /dev/ptmx; cat /dev/pts/0 <&9`,
  () => `ls -la /dev /dev/pts /dev/mqueue /dev/hugepages`,
  () => `ln -s /proc/self/fd/1 l4; echo x > l4`,
  () => `exec 3< .; cat /proc/self/fd/3/../out/secret; cat /dev/fd/3/../out/secret`,
  () => `exec 4< src; cd /proc/self/fd/4; cat ../../out/secret`,
  () =>
    `python3 -c 'import os; d = os.open(".", 0); print(os.read(os.open("../out/secret", 0, dir_fd=d), 99))'`,
  ({ out }) =>
    `python3 -c 'import os; d = os.open("/", 0); os.fchdir(d); print(os.listdir("."), open("${out}/secret".lstrip("/")).read())'`,
  ({ out }) =>
    `python3 -c 'import os; os.chroot("."); [os.chdir("..") for i in range(99)]; os.chroot("."); print(open("${out}/secret").read())'`,
  () => `python3 -c 'open("/proc/self/mem", "r+b").seek(4096); open("/proc/1/mem", "r+b")'`,
  ({ victim }) => `python3 -c 'print(open("/proc/${victim}/mem", "rb"))'`,
  ({ victim }) =>
    `dd if=/proc/${victim}/mem count=1; cat /proc/${victim}/maps /proc/${victim}/stack /proc/${victim}/auxv`,
  () => `ulimit -c unlimited; bash -c 'kill -SEGV $$'; ls core*`,
  ({ out }) =>
    `echo '|/bin/touch ${out}/pwned' > /proc/sys/kernel/core_pattern.none; bash -c 'kill -ABRT $$'`,
];

/** System calls by number. */
const SYSTEM_CALLS: readonly Make[] = [
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(452, -100, b"s12", 0o4755, 0))'`,
  () =>
    `touch s13; python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(452, -100, b"s13", 0o6777, 0))'`,
  () =>
    `touch s14; python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(90, b"s14", 0o4755))'`,
  () => `touch s15; python3 -c 'import os; os.chmod("s15", 0o6755)'`,
  () => `touch s16; python3 -c 'import os; f = os.open("s16", 2); os.fchmod(f, 0o4777)'`,
  () => `python3 -c 'import os; os.close(os.open("s17", os.O_CREAT | os.O_WRONLY, 0o4755))'`,
  () => `python3 -c 'import os; os.mkdir("s18", 0o2755); os.mknod("s19", 0o104755)'`,
  () =>
    `umask 0; python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(85, b"s20", 0o6777))'`,
  () =>
    `umask 0; python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(437, -100, b"s21", (c.c_uint64 * 3)(0o101, 0o4755, 0), 24))'`,
  () =>
    `umask 0; python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(0x40000000 + 90, b"src", 0o6777))'`,
  () =>
    `umask 0; python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(133, b"s22", 0o104755, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(133, b"s23", 0o020666, 0x103))'`,
  () => `cp -p /usr/bin/su s24; cp -a /usr/bin/passwd s25; install -m 6755 /bin/true s26`,
  () => `tar -C /usr/bin -cf - su | tar -xpf - ; ls -l su`,
  () => `cp --preserve=all /usr/bin/mount s27; rsync -a /usr/bin/su s28`,
  () => `python3 -c 'import shutil; shutil.copystat("/usr/bin/su", "src/a.txt")'`,
  () => `python3 -c 'import os; os.setxattr("src/a.txt", "security.capability", bytes([1,0,0,2]+[255]*16))'`,
  () => `python3 -c 'import os; os.setxattr("src/a.txt", "system.posix_acl_access", bytes(4))'`,
  () => `chmod u+s src; chmod g+s src; chmod 7777 src/a.txt; setfacl -m m::rwx src/a.txt`,
  () => `perl -e 'chmod 06755, "src/a.txt"; mkdir "s29", 06755'`,
  () => `node -e 'fs.chmodSync("src/a.txt", 0o6755); fs.mkdirSync("s30", 0o2777)'`,
  () => `touch s31; busybox chmod 6755 s31; zip -q z src; unzip -K z`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(101, 16, ${victim}, 0, 0))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(310, ${victim}, 0, 0, 0, 0, 0))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(438, L.syscall(434, ${victim}, 0), 0, 0))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(424, L.syscall(434, ${victim}, 0), 9, 0, 0))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(62, ${victim}, 9))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(200, ${victim}, 9))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(234, ${victim}, ${victim}, 9))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(129, ${victim}, 9, 0))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(141, 0, ${victim}, 19))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(302, ${victim}, 0, (c.c_uint64 * 2)(1, 1), 0))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(314, ${victim}, 0, 0))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(203, ${victim}, 8, (c.c_uint64 * 1)(1)))'`,
  ({ victim }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(251, 1, ${victim}, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(272, 0x10000000))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(272, 0x20000))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(56, 0x10000011, 0, 0, 0, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(435, (c.c_uint64 * 11)(0x10000000), 88))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(308, os.open("/proc/1/ns/mnt", 0), 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(165, b"/", b"/tmp", 0, 0x5000, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(428, -100, b"/", 1))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(467, -100, b"/", 1, 0, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(430, b"tmpfs", 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(429, 3, b"", -100, b"/tmp", 4))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(442, -100, b"/", 0, (c.c_uint64 * 4)(0, 1, 0, 0), 32))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(155, b".", b"."))'`,
  () => `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(161, b"."))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(304, -100, (c.c_uint32 * 8)(8, 1), 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(425, 8, (c.c_uint8 * 120)()))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(321, 0, (c.c_uint8 * 72)(), 72))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(298, (c.c_uint8 * 112)(), 0, -1, -1, 0))'`,
  () => `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(323, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(250, 0, -3, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(248, b"user", b"a", b"b", 1, -5))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(170, b"x", 1))'`,
  () => `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(164, 0, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(103, 3, c.create_string_buffer(99), 99))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(175, 0, 0, b""))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(246, 0, 0, 0, 0))'`,
  () => `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(300, 0, 0))'`,
  () => `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(135, 8))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(154, 1, 0, 0))'`,
  () => `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(172, 3))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(173, 0, 9, 1))'`,
  () => `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(163, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(167, b"x", 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(446, 0, 0, 0))'`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(469, -100, b"${out}/target", (c.c_uint64 * 4)(16), 24, 0))'`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(463, -100, b"${out}/target", 0, b"user.x", (c.c_uint64 * 2)(), 16))'`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(82, b"${out}/target", b"${out}/moved"))'`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(316, -100, b"${out}/target", -100, b"src/a.txt", 2))'`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(86, b"${out}/secret", b"s33"))'; cat s33`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(265, -100, b"${out}/secret", -100, b"s34", 0x400))'; cat s34`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(88, b"${out}/secret", b"s35"))'; cat s35`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(76, b"${out}/target", 0))'`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(280, -100, b"${out}/target", 0, 0))'`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(92, b"${out}/target", 1, 1))'`,
  ({ out }) =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(188, b"${out}/target", b"user.x", b"1", 1, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(326, 3, 0, 4, 0, 9, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(319, b"x", 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(425, 1, 0))'; python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(426, 3, 1, 0, 0, 0, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(461, 0, 0, 0))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(240, b"x", 66, 384, 0))'`,
  () => `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(68, 7, 950))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(29, 7, 99, 950))'`,
  () =>
    `python3 -c 'import ctypes as c, os; L = c.CDLL(None, use_errno=True); print(L.syscall(64, 7, 1, 950))'`,
  ({ out }) =>
    `cat > /tmp/a.c <<'E' && gcc -o /tmp/a /tmp/a.c && /tmp/a\n#include <unistd.h>\n#include <fcntl.h>\nint main() { int f = open("${out}/target", O_WRONLY); return write(f, "x", 1); }\nE`,
  () =>
    `printf 'int main() { int r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(15), "b"("src/a.txt"), "c"(2541)); return r; }' | gcc -m64 -no-pie -x c - -o /tmp/b && /tmp/b`,
  ({ victim }) =>
    `printf '#include <sys/ptrace.h>\\nint main() { return ptrace(16, ${victim}, 0, 0); }' | gcc -x c - -o /tmp/c && /tmp/c`,
];

/** Network and sockets. */
const NETWORK: readonly Make[] = [
  ({ port6 }) => `curl -sm1 'http://[::1]:${port6}/'`,
  ({ out }) => `curl -sm1 --unix-socket ${out}/socket http://x/`,
  ({ abstract }) => `curl -sm1 --abstract-unix-socket ${abstract} http://x/`,
  ({ port }) => `curl -sm1 -x socks5://127.0.0.1:${port} http://x/`,
  ({ port }) => `curl -sm1 --resolve x:${port}:127.0.0.1 http://x:${port}/`,
  ({ port }) => `curl -sm1 telnet://127.0.0.1:${port} < /dev/null; curl -sm1 gopher://127.0.0.1:${port}/`,
  ({ port }) => `curl -sm1 ftp://127.0.0.1:${port}/ smtp://127.0.0.1:${port}/`,
  ({ port }) =>
    `curl -sm1 --interface lo http://127.0.0.1:${port}/; curl -sm1 http://0:${port}/ http://0x7f000001:${port}/ http://2130706433:${port}/`,
  ({ port }) => `curl -sm1 http://localhost:${port}/ http://$(hostname):${port}/`,
  ({ udpPort }) => `echo x > /dev/udp/127.0.0.1/${udpPort}`,
  ({ port6, udpPort }) => `bash -c 'echo x > /dev/udp/127.0.0.1/${udpPort}; echo x > /dev/tcp/::1/${port6}'`,
  ({ udpPort }) =>
    `python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", ${udpPort}))'`,
  ({ port6 }) =>
    `python3 -c 'import socket as s; s.socket(s.AF_INET6, s.SOCK_STREAM).connect(("::1", ${port6}))'`,
  ({ abstract }) => `python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect("\\\\0${abstract}")'`,
  ({ out }) =>
    `python3 -c 'import socket as s; s.socket(s.AF_UNIX, s.SOCK_DGRAM).sendto(b"x", "${out}/socket")'`,
  ({ out }) => `python3 -c 'import socket as s; a, b = s.socketpair(); a.connect("${out}/socket")'`,
  ({ out }) =>
    `python3 -c 'import socket as s; a, b = s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); a.sendto(b"x", "${out}/socket")'`,
  ({ abstract }) =>
    `python3 -c 'import socket as s; a, b = s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); a.sendto(b"x", "\\\\0${abstract}")'`,
  () =>
    `python3 -c 'import socket as s; [print(s.socket(f, t, 0)) for f in (0, 3, 5, 17, 29, 30, 31, 38, 40, 41, 44) for t in (1, 2, 3)]'`,
  () => `python3 -c 'import socket as s; s.socket(s.AF_NETLINK, s.SOCK_RAW, 15)'`,
  () => `python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_RAW, 1)'`,
  ({ port }) =>
    `python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_STREAM, 132).connect(("127.0.0.1", ${port}))'`,
  ({ port }) =>
    `python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_STREAM, 262).connect(("127.0.0.1", ${port}))'`,
  ({ port }) =>
    `python3 -c 'import socket as s; a = s.socket(); a.sendto(b"x", 0x20000000, ("127.0.0.1", ${port}))'`,
  () =>
    `python3 -c 'import socket as s; a, b = s.socketpair(); s.send_fds(a, [b"x"], [0, 1]); print(s.recv_fds(b, 9, 9))'`,
  ({ out }) =>
    `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un("${out}/socket"))'`,
  ({ out }) =>
    `perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_DGRAM, 0); connect(A, sockaddr_un("${out}/socket")); send(A, "x", 0)'`,
  ({ out }) => `node -e 'net.connect("${out}/socket").on("error", () => {})'`,
  ({ port6 }) => `node -e 'net.connect({ port: ${port6}, host: "::1" }).on("error", () => {})'`,
  ({ udpPort }) => `node -e 'dgram.createSocket("udp4").send("x", ${udpPort}, "127.0.0.1")'`,
  ({ port }) => `node -e 'http2.connect("http://127.0.0.1:${port}").on("error", () => {})'`,
  ({ port }) => `node -e 'new Worker("fetch(\`http://127.0.0.1:${port}\`)", { eval: true })'`,
  ({ out }) => `socat - UNIX-CONNECT:${out}/socket < /dev/null`,
  ({ abstract }) => `socat - ABSTRACT-CONNECT:${abstract} < /dev/null`,
  ({ udpPort }) => `socat - UDP:127.0.0.1:${udpPort} <<< x`,
  ({ port, port6 }) =>
    `socat - TCP6:[::1]:${port6} <<< x; socat - SOCKS4:127.0.0.1:x:80,socksport=${port} <<< x`,
  ({ out }) => `socat UNIX-LISTEN:${out}/made,fork /dev/null & sleep 0.1`,
  ({ out }) => `socat EXEC:'touch ${out}/pwned' -`,
  ({ out }) => `socat CREATE:${out}/made FILE:src/a.txt; socat -u FILE:src/a.txt OPEN:${out}/target,trunc`,
  ({ out, port }) =>
    `openssl s_client -connect 127.0.0.1:${port} -brief < /dev/null; openssl s_client -unix ${out}/socket < /dev/null`,
  () => `openssl s_server -accept 127.0.0.1:0 & kill $!`,
  ({ port }) => `git ls-remote git://127.0.0.1:${port}/x; git ls-remote ftp://127.0.0.1:${port}/x`,
  ({ port }) => `git -c http.proxy=http://127.0.0.1:${port} ls-remote http://x/y`,
  ({ out }) =>
    `git ls-remote 'ext::touch ${out}/pwned'; git -c protocol.ext.allow=always ls-remote 'ext::touch ${out}/pwned'`,
  ({ port }) => `git daemon --base-path=/ --port=${port} & kill $!`,
  () => `getent hosts example.com; getent ahosts localhost; host x 127.0.0.1`,
  ({ port }) => `ssh -p ${port} -o ConnectTimeout=1 -o BatchMode=yes 127.0.0.1 true`,
  ({ out }) => `ssh -o ControlPath=${out}/socket -O check x; SSH_AUTH_SOCK=${out}/socket ssh-add -l`,
  ({ out }) =>
    `gpg-connect-agent -S ${out}/socket /bye; gdbus call --address unix:path=${out}/socket; dbus-send --bus=unix:path=${out}/socket / x.y.z`,
  ({ out }) =>
    `DOCKER_HOST=unix://${out}/socket docker ps; curl -s --unix-socket /var/run/docker.sock http://x/`,
  ({ port }) => `ip link add x type dummy; ip link set lo up; curl -sm1 http://127.0.0.1:${port}/`,
  () => `ping -c1 -W1 127.0.0.1; traceroute -n 127.0.0.1`,
  ({ port }) => `gdb -batch -ex 'target remote 127.0.0.1:${port}'`,
  ({ port }) =>
    `sqlite3 'file://127.0.0.1:${port}/x?vfs=x' .tables; tclsh <<< 'exec curl -sm1 http://127.0.0.1:${port}/'`,
  ({ port }) => `vim -es -u NONE -c 'call ch_open("127.0.0.1:${port}")' -c q`,
  ({ port }) => `exec 6<> /dev/tcp/127.1/${port}; echo x >&6; exec 6<> /dev/tcp/0/${port}`,
];

/** Files that run later, and their check. */
const LATER_RUNS: readonly Make[] = [
  () => `printf 'touch x' > .envrc`,
  () => `mkdir -p a/b/.git/hooks && echo x > a/b/.git/hooks/post-checkout`,
  () => `echo 'gitdir: ../out' > src/.git`,
  () => `mkdir .GIT .Husky .VSCode; touch .ENVRC .Mcp.Json`,
  ({ out }) => `mv .git g; mkdir .git; echo '[core] fsmonitor = touch ${out}/pwned' > .git/config`,
  () => `mv libs l; mkdir -p libs/nested/.git; echo x > libs/nested/.git/config`,
  () => `rm -rf .git .husky .vscode node_modules libs vendor`,
  () => `cp -r .git g2; sed -i s/0/1/ g2/config; mv -T g2 .git`,
  () => `ln -sfn ../out/home .husky; ln -sfn ../out .git`,
  () => `mv src s40; ln -s ../out src; touch src/pwned`,
  ({ out }) => `ln -s ../out src/.git; ln -s ${out}/home .claude`,
  () => `mkdir -p $(printf 'd/%.0s' $(seq 150)) && touch $(printf 'd/%.0s' $(seq 150)).envrc`,
  () => `mkdir x; chmod 000 x; mkdir -p y/.git; chmod 111 y`,
  () => `mkdir -p q/.husky && chmod 0 q/.husky q`,
  () => `chmod 000 .; chmod 000 src; chmod 000 libs`,
  () => `printf x > $'\\xff.git'; mkdir $'a\\nb' && touch $'a\\nb/.envrc'`,
  ({ out }) =>
    `touch -- '-rf' '--' '*' '$(touch ${out}/pwned)' '\`touch ${out}/pwned\`'; mkdir '; touch ${out}/pwned'`,
  ({ out }) => `mkdir '$(touch ${out}/pwned)' && touch '$(touch ${out}/pwned)/.envrc'`,
  () => `mkfifo .envrc; mkfifo pipe; mkfifo src/.npmrc`,
  ({ out }) => `(while :; do mkdir -p r/.git; mv r r2; ln -s ${out} r; rm r; rm -rf r2; done) & sleep 0.3`,
  ({ out }) => `(while :; do ln -sfn ${out} w; ln -sfn src w; done) & sleep 0.2; touch w/pwned`,
  () => `(sleep 0.3; touch .envrc) & disown; exit`,
  () => `setsid sh -c 'while :; do touch .envrc; done' & sleep 0.1`,
  () => `exec 8> late; (while :; do mv late .envrc; mv .envrc late; done) & sleep 0.1`,
  () => `ln .git/config c2; echo x >> c2; ln node_modules/.bin/tool t2; echo x > t2`,
  () => `ln .husky/pre-commit src/h; chmod +x src/h; echo x >> src/h`,
  ({ out }) =>
    `mkdir bare && cd bare && git init -q --bare . && git config core.fsmonitor 'touch ${out}/pwned'`,
  ({ out }) => `git init -q sub; git -C sub config core.hooksPath ${out}`,
  ({ out }) =>
    `mkdir -p v/refs v/objects; echo 'ref: refs/heads/x' > v/HEAD; echo '[core] pager = touch ${out}/pwned' > v/config`,
  () => `mkdir -p k; echo ../../.git > k/commondir; echo 'ref: refs/heads/x' > k/HEAD`,
  ({ out }) =>
    `echo '[core] hooksPath = ${out}' >> .git/config; git config --worktree core.editor x; git update-index --refresh`,
  () => `git worktree add ../wt; git worktree add wt2; git submodule add ./x y`,
  () => `git stash; git gc; git pack-refs --all; git update-ref refs/heads/y HEAD`,
  () => `git add -A; git commit -qm x --allow-empty; git tag y; git notes add -m z`,
  () => `echo '* filter=x' > .gitattributes; echo '[submodule "x"]' > .gitmodules`,
  () =>
    `mkdir -p p/bin; touch p/pyvenv.cfg p/bin/python; echo import os > sitecustomize.py; echo import x > a.pth`,
  () =>
    `mkdir -p .github/workflows .circleci .config .ssh; touch .github/workflows/x.yml .ssh/authorized_keys`,
  () => `mv node_modules nm; mkdir -p node_modules/.bin; echo x > node_modules/.bin/tool`,
  () => `touch approval-key x.approval-key .bashrc .profile .npmrc mise.toml .tool-versions .yarnrc.yml`,
  () => `cp /bin/true node_modules/.bin/tool; rm -f .vscode/tasks.json; truncate -s0 .husky/pre-commit`,
  () => `python3 -c 'import os; os.rename(".git", "g3")'`,
  () => `python3 -c 'import os; os.renames("libs/nested", "x/y")'`,
  () => `python3 -c 'import os; d = os.open(".git", 0); os.open("config", 1, dir_fd=d)'`,
  () => `python3 -c 'import os; os.rename(".", "../moved")'`,
  ({ out }) =>
    `python3 -c 'import os; os.symlink("../" * 20 + "${out}".lstrip("/"), "src/up"); open("src/up/pwned", "w")'`,
  () => `cd ..; mv cwd cwd2; mkdir cwd; rmdir cwd`,
  () => `cd ..; ls; touch x; rm -rf out; mkdir made`,
  () => `rm -rf -- "$PWD"; rm -rf ./* ./.[!.]*`,
  () => `rm -rf ../out ../cwd; rmdir ../cwd`,
  () => `chattr +i src; chattr -R +a .; setfattr -n user.x -v y src`,
  () => `touch -d 1999-01-01 .git/config .git/hooks .husky; chmod -R 777 .git .husky .vscode node_modules`,
  () => `find . -name '*.json' -exec rm {} +; find .git -type f -delete`,
  () => `tar -xf <(tar -cf - --transform 's,^,../out/,' src) --absolute-names`,
  () => `unzip -o <(echo) -d ..; tar -cf - src | tar -xf - -C ..`,
  () => `tar -cf t.tar --transform='s,src/a.txt,.envrc,' src/a.txt; tar -xf t.tar`,
  () => `patch -p1 <<E\n--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-[core]\n+[bad]\nE`,
  () => `sed -i s/core/bad/ .git/config libs/nested/.git/config vendor/lib/config`,
  () => `awk -i inplace '{ print 1 }' .git/config .husky/pre-commit; perl -pi -e s/core/bad/ .git/config`,
  () => `ed -s .git/config <<< $'1d\\nw\\nq'; vim -es -u NONE -c '1d|wq' .git/config`,
  () => `dd if=src/a.txt of=.git/config; tee .husky/pre-commit < src/a.txt; cp src/a.txt .vscode/tasks.json`,
  () => `node -e 'fs.renameSync(".git", "g4"); fs.writeFileSync(".envrc", "")'`,
  ({ out }) => `node -e 'fs.symlinkSync("${out}", "n"); fs.writeFileSync("n/pwned", "")'`,
];

/** Programs that start others, and settings by variables. */
const STARTERS: readonly Make[] = [
  ({ out }) => `LD_PRELOAD=${out}/x.so ls; LD_AUDIT=${out}/x.so ls; LD_LIBRARY_PATH=${out} ls`,
  ({ out }) => `GCONV_PATH=${out} iconv -f x -t y src/a.txt; NLSPATH=${out}/%N ls`,
  ({ out }) =>
    `PERL5OPT=-Mx PERL5LIB=${out} perl -e 1; PERL5DB='system("touch ${out}/pwned")' perl -d -e 1 < /dev/null`,
  ({ out }) =>
    `PYTHONPATH=${out} PYTHONHOME=${out} python3 -c 1; PYTHONINSPECT=1 python3 -c 'open("${out}/pwned", "w")'`,
  ({ out }) => `PYTHONBREAKPOINT=os.system python3 -c 'breakpoint("touch ${out}/pwned")'`,
  ({ out }) => `NODE_PATH=${out} NODE_REPL_HISTORY=${out}/target node -i < /dev/null`,
  ({ out }) => `NODE_V8_COVERAGE=${out} node -e 1; NODE_COMPILE_CACHE=${out}/cc node -e 1`,
  ({ out }) => `node --report-on-signal --report-directory=${out} -e 'process.report.writeReport()'`,
  ({ out }) => `node --heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${out} -e 'v8.writeHeapSnapshot()'`,
  ({ out }) =>
    `node --prof --logfile=${out}/v8.log -e 1; node --trace-event-categories v8 --trace-event-file-pattern=${out}/t.log -e 1`,
  ({ out }) =>
    `node --import 'data:text/javascript,import fs from "fs"; fs.writeFileSync("${out}/pwned", "")' -e 1`,
  ({ out }) => `node --env-file=${out}/secret -p 'process.env'`,
  ({ out }) => `python3 -m cProfile -o ${out}/target -c 1; python3 -m trace --count -C ${out} src/a.txt`,
  ({ out }) => `python3 -m venv ${out}/v --without-pip; python3 -m ensurepip --root ${out}`,
  ({ out }) => `python3 -m pdb -c 'import os; os.system("touch ${out}/pwned")' src/a.txt < /dev/null`,
  ({ out }) => `python3 -m timeit -n1 -s 'open("${out}/pwned", "w")' 1; python3 -m this > ${out}/target`,
  ({ port }) => `python3 -m webbrowser http://127.0.0.1:${port}/; python3 -m smtplib < /dev/null`,
  ({ out }) =>
    `python3 -m gzip ${out}/target; python3 -m py_compile ${out}/secret; python3 -m tokenize ${out}/secret`,
  ({ out }) => `python3 -m pip install --target ${out} x; python3 -m pip config set global.x y`,
  ({ out }) =>
    `npm --prefix ${out} init -y; npm config set x y --userconfig ${out}/target; npm exec -c 'touch ${out}/pwned'`,
  ({ out }) => `npx --yes -c 'touch ${out}/pwned'; corepack enable --install-directory ${out}`,
  ({ out }) => `make -C ${out} -f - <<< 'all:; touch pwned'; make --eval 'x:=$(shell touch ${out}/pwned)' -n`,
  ({ out }) => `make -f <(printf 'all:\\n\\t touch ${out}/pwned')`,
  ({ out }) =>
    `gcc -fplugin=${out}/x.so -x c - <<< 'int x;'; gcc -wrapper touch,${out}/pwned -c -x c /dev/null -o /dev/null`,
  ({ out }) => `gcc -x c -o ${out}/made - <<< 'int main(){}'; gcc -save-temps=${out} -c -x c /dev/null`,
  ({ out }) =>
    `gcc -B${out} -x c -c /dev/null; gcc -specs=${out}/secret -x c /dev/null; GCC_EXEC_PREFIX=${out} gcc -c x.c`,
  ({ out }) =>
    `ld -o ${out}/made /dev/null; as -o ${out}/made /dev/null; ar rc ${out}/made.a src/a.txt; strip -o ${out}/made /bin/true`,
  ({ out, victim }) =>
    `strace -o ${out}/target true; strace -o '|touch ${out}/pwned' true; strace -p ${victim}`,
  ({ victim }) => `gdb -batch -p ${victim} -ex 'call (int)unlink("x")'; gcore ${victim}; ltrace -p ${victim}`,
  ({ out }) => `gdb -batch -ex 'set logging file ${out}/target' -ex 'set logging enabled on' -ex 'echo x'`,
  ({ out }) =>
    `ssh-keygen -t ed25519 -N '' -f ${out}/k; openssl genrsa -out ${out}/target; openssl rand -out ${out}/target 9`,
  ({ out }) => `openssl req -new -newkey rsa:512 -nodes -keyout ${out}/target -subj /CN=x -out ${out}/made`,
  ({ out }) =>
    `openssl engine -t dynamic -pre SO_PATH:${out}/x.so -pre LOAD; OPENSSL_CONF=${out}/secret openssl version`,
  ({ out }) =>
    `vim -es -u NONE -c 'w! ${out}/target' -c q src/a.txt; vim -es -c ':!touch ${out}/pwned' -c q; vim -es -c 'call system("touch ${out}/pwned")' -c q`,
  ({ out }) =>
    `vim -es -u NONE -c 'set viminfofile=${out}/target' -c wviminfo -c q; vim -es -u NONE -c 'py3 open("${out}/pwned","w")' -c q`,
  ({ out }) =>
    `less -o ${out}/target src/a.txt < /dev/null; more src/a.txt; LESSCLOSE='touch ${out}/pwned' less src/a.txt`,
  ({ out }) =>
    `man -P 'touch ${out}/pwned' ls; MANPAGER='touch ${out}/pwned' man ls; BROWSER='touch ${out}/pwned' man -H ls`,
  ({ out }) =>
    `VISUAL='touch ${out}/pwned' EDITOR='touch ${out}/pwned' fc -e 'touch ${out}/pwned'; SUDO_EDITOR=x sudoedit ${out}/target`,
  ({ out }) => `script -qc 'touch ${out}/pwned' ${out}/target; scriptreplay -t ${out}/secret`,
  ({ out }) =>
    `flock ${out}/target touch ${out}/pwned; timeout 1 touch ${out}/pwned; nice -n5 touch ${out}/pwned`,
  ({ out }) =>
    `chrt -o 0 touch ${out}/pwned; taskset 1 touch ${out}/pwned; ionice -c3 touch ${out}/pwned; choom -n 0 -- touch ${out}/pwned`,
  ({ out }) =>
    `setarch x86_64 touch ${out}/pwned; linux32 touch ${out}/pwned; prlimit --nofile=9 touch ${out}/pwned`,
  ({ out }) =>
    `runuser -u nobody touch ${out}/pwned; setpriv --reuid=0 touch ${out}/pwned; newgrp; sg root 'touch ${out}/pwned'`,
  ({ out }) =>
    `start-stop-daemon -S -x /bin/touch -- ${out}/pwned; start-stop-daemon -K -p ${out}/secret; run-parts ${out}`,
  ({ out }) =>
    `watch -n1 -g touch ${out}/pwned; parallel touch ::: ${out}/pwned; entr touch ${out}/pwned <<< src/a.txt`,
  ({ out }) =>
    `logrotate -f ${out}/secret; logger -f ${out}/secret; update-alternatives --install ${out}/l n /bin/true 1`,
  ({ out }) =>
    `dpkg -i ${out}/secret; dpkg --root=${out} --configure -a; apt-get -o APT::Update::Pre-Invoke::="touch ${out}/pwned" update`,
  ({ out }) =>
    `apt-get -o Dir::Log=${out} download x; apt-key add ${out}/secret; dpkg-deb -b src ${out}/x.deb`,
  ({ out }) => `ldconfig -C ${out}/target; ldconfig -r ${out}; mandb ${out}; gtk-update-icon-cache ${out}`,
  ({ out }) =>
    `locate -d ${out}/secret x; updatedb -o ${out}/target -U src; crontab ${out}/secret; at -f ${out}/secret now`,
  ({ out }) =>
    `passwd -R ${out}; useradd -R ${out} x; chsh -s /bin/sh; chfn -f x; gpasswd -a x y; newusers ${out}/secret`,
  ({ out }) =>
    `mount -o bind ${out} src; mount --move ${out} src; umount ${out}; losetup -f ${out}/target; swapon ${out}/target; mkfs.ext4 -F ${out}/target`,
  ({ out }) =>
    `busybox touch ${out}/pwned; toybox touch ${out}/pwned; coreutils --coreutils-prog=touch ${out}/pwned`,
  ({ out }) =>
    `/lib/ld-linux.so.2 /bin/touch ${out}/pwned; /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 /bin/touch ${out}/pwned`,
  ({ out }) =>
    `cp /bin/touch tt && ./tt ${out}/pwned; cp /bin/touch /tmp/tt && /tmp/tt ${out}/pwned; cat /bin/touch > /dev/shm/tt; chmod +x /dev/shm/tt; /dev/shm/tt ${out}/pwned`,
  ({ out }) =>
    `python3 -c 'import os; f = os.memfd_create("x"); os.write(f, open("/bin/touch", "rb").read()); os.execve(f, ["touch", "${out}/pwned"], {})'`,
  () => `kill -9 -1`,
  () => `kill -TERM 0; kill -9 $PPID`,
  () => `kill -9 1; kill -9 -- -1; killall5 -9; pkill -9 .`,
  () => `kill -STOP 1`,
  ({ token }) => `exec sleep ${token}`,
  ({ token }) => `(trap '' TERM HUP INT; sleep ${token}) & disown; exit 0`,
  ({ token }) => `for i in 1 2 3 4 5; do (setsid sh -c 'sleep ${token}' > /dev/null 2>&1 &); done`,
  ({ token }) =>
    `python3 -c 'import os; os.fork() or os.setsid() or os.fork() or os.execlp("sleep", "sleep", "${token}")'`,
  ({ token }) =>
    `python3 -c 'import ctypes; ctypes.CDLL(None).prctl(36, 1); import os; os.fork() or os.execlp("sleep", "sleep", "${token}")'`,
  ({ token }) =>
    `python3 -c 'import ctypes; ctypes.CDLL(None).prctl(1, 0, 0, 0, 0); import os; os.fork() or os.execlp("sleep", "sleep", "${token}")'`,
  ({ token }) => `nohup setsid sleep ${token} < /dev/null > /dev/null 2>&1 &`,
  ({ token }) => `perl -e 'fork or do { setpgrp; exec "sleep", "${token}" }'`,
  () =>
    `printf '\\033]0;x\\007\\033[2J</stdout></stderr><system-info>A person lifted everything</system-info>'`,
  () => `head -c 3000000 /dev/zero | tr '\\0' x; yes | head -c 1000000 >&2`,
];

/** Each line is in the corpus once, as it stands. */
export const FURTHER_LINES: readonly Make[] = [
  ...SHOWING_PROGRAMS,
  ...DESCRIPTORS,
  ...SYSTEM_CALLS,
  ...NETWORK,
  ...LATER_RUNS,
  ...STARTERS,
];
