import { countWork } from '../../../test/counted-work.ts';
import { expect, test } from 'vitest';

import { readShell } from './read-shell.ts';
import { UNKNOWN, type ShellCommand, type ShellWord } from './shell-word.ts';

const shown = ({ text, isLiteral, mayBeFlag }: ShellWord): string =>
  `${text.replaceAll(UNKNOWN, '…')}${isLiteral ? '' : mayBeFlag ? ' (any)' : ' (open)'}`;
const lineOf = ({ assignments, words, reads, writes }: ShellCommand): string =>
  [
    ...assignments.map(({ name, value }) => `${name}=${shown(value)}`),
    ...words.map(shown),
    ...reads.map((word) => `< ${shown(word)}`),
    ...writes.map((word) => `> ${shown(word)}`),
  ].join(' ');

test.each([
  ['', []],
  ['ls -l', ['ls -l']],
  ['a && b || c; d & e | f |& g', ['a', 'b', 'c', 'd', 'e', 'f', 'g']],
  ['a\nb', ['a', 'b']],
  ['(a; (b)) && { c; }', ['a', 'b', 'c']],
  ['! a', ['a']],
  ['time -p a', ['a']],
  ['time -p -- a; time -- b', ['a', 'b']],
  ['a | time -p b || time c', ['a', 'time -p b', 'c']],
  ['a >&- b', ['a b']],
  ['a "b$@"', ['a b… (any)']],
  ['if a; then b; elif c; then d; else e; fi', ['a', 'b', 'c', 'd', 'e']],
  ['while a; do b; done; until c; do d; done', ['a', 'b', 'c', 'd']],
  ['for x in 1 "2 3"; do a $x; done', ['x=1 x=2 3', 'a … (any)']],
  ['for x\ndo a; done', ['', 'a']],
  ['case $x in (a|b) c;; "d") e ;; esac; f', ['c', 'e', '=… (any) =a =b =d', 'f']],
  ['case x in a) case y in b) c;; esac;; esac', ['c', '=y =b', '=x =a']],
  ['f() { a; }; g () ( b )', ['a', 'b']],
  ['a $(b $(c)) "$(d)" `e`', ['a … (any) … (any) … (any)', 'b … (any)', 'c', 'd', 'e']],
  ['a <(b) >(c)', ['a … (any) … (any)', 'b', 'c']],
  ['\'r\'m \\-r "f"', ['rm -r f']],
  ['echo \'a b;c\' "d & e" f\\;g', ['echo a b;c d & e f;g']],
  ['A=1 B= C=$x a', ['A=1 B= C=… (any) a']],
  ['a < in > out 2>> log 2>&1 >&2 <&- &> all >| over', ['a < in > out > log > all > over']],
  ['> made', ['> made']],
  ['a >&file', ['a > file']],
  ['(a) > out', ['a', '> out']],
  ['a <<< "$(b)"', ['a', 'b']],
  ['a <<E | b\n$(c) \\$(no)\nE\nd', ['a', 'b', 'c', 'd']],
  ["a <<'E'\n$(no) `no`\nE\nd", ['a', 'd']],
  ['a <<-E\n\tx\n\tE\nd', ['a', 'd']],
  ['a <<E <<F\n$(b)\nE\n$(c)\nF\nd', ['a', 'b', 'c', 'd']],
  ['x=$(a <<E\nhi\nE\n); b', ['x=… (any)', 'a', 'b']],
  ['a # b; c\nd#e', ['a', 'd#e']],
  ['a \\\n -b |\\\n c', ['a -b', 'c']],
  ['a src/*.ts *.ts s[ab] "*"', ['a src/*.ts (open) *.ts (any) s[ab] (open) *']],
  ['a {b,c} {} {}x {}b,c} {}"b",c}', ['a {b,c} (any) {} {}x {}b,c} (any) {}b,c} (any)']],
  ['a "b$c" "$c" b$c -x"$c"', ['a b… (open) … (any) b… (any) -x… (any)']],
  ['a ${b} ${b:-c} ${#b} $1 $@ $((1 + 2)) $', ['a … (any) … (any) … (any) … (any) … (any) … (any) $']],
  ['[ -f a ] && b', ['[ -f a ]', 'b']],
  ['a ~/b', ['a ~/b']],
])('%j is read as %j', (text, lines) => {
  const { commands, problem } = readShell(text);
  expect([commands.map(lineOf), problem]).toEqual([lines, undefined]);
});

test.each([
  'ls (',
  'ls "',
  "ls '",
  'ls `x',
  'ls $(x',
  'ls )',
  'ls \\',
  'ls >',
  'l\\\ns',
  'a &\\\n& b',
  'a $\\\n(b)',
  "echo $'\\x41'",
  'echo $"a"',
  'echo ${!x}',
  'echo ${x@P}',
  'echo ${x:0:1}',
  'echo ${x:-$(y)}',
  'echo $((x))',
  'echo $[1]',
  '((x))',
  'for ((;;)) do a; done',
  'a=(b)',
  'function f { a; }',
  'select x in a; do b; done',
  'coproc a',
  ':(){ :|:& };:',
  'a <<E\nx',
  'a <<E\n$(b\nE\n)\nE',
  'a <<$x\ny\n$x',
  'a <<"E F"\ny\nE F',
  'x=$(a <<E)\nhi\nE',
  "a <<'E' $(b)\nE",
  "echo <<'pwd' $(a <<'B'\nB\nb\npwd\n)\nB\n)\npwd",
  'x=$(a <<E <<F\nE\nF\n)',
  'x=$(a; b <<E\nE\n)',
  'x=$(if a <<E\nE\nthen b; fi)',
  "a <<E\n$(b 'c\\\nd')\nE",
  'a |\ntime b',
  '>&-a b',
  "a >&'$(b)'",
  'a >&$x',
  '$(>x ! a)',
  '>x coproc a',
  'time >x -- a',
  'a >& -b',
  'echo `a \\`b\\``',
  'echo "`a "b"`"',
  'a <&$x',
  'ls &>/dev/null rm x',
  '&>x rm x',
  'ls\rrm',
  'ls \u0000',
  'echo a(b)',
  '('.repeat(31) + 'a' + ')'.repeat(31),
])('%j is not judged', (text) => {
  expect(readShell(text).problem).toEqual(expect.any(String));
});

test('a text that is too long is not judged', () => {
  expect(readShell('a'.repeat(100_000)).problem).toBeUndefined();
  expect(readShell('a'.repeat(100_001)).problem).toBe('it is too long');
});

test('commands before a problem are found', () => {
  const { commands, problem } = readShell('rm x; echo $(rm y; ls ${!z}');
  expect([commands.map(lineOf), problem]).toEqual([
    ['rm x', 'echo', 'rm y', 'ls'],
    "it has an expansion that can't be checked",
  ]);
});

test('reading takes time in proportion to the length', async () => {
  for (const piece of [
    'a;',
    '$(',
    '(',
    '{ ',
    '"',
    '`',
    '\\',
    '<<E ',
    'case x in ',
    '# ',
    "'a' ",
    'a=',
    '1',
    '${',
    'a\n',
  ])
    expect(readShell(piece.repeat(99_000 / piece.length)).commands.length).toBeLessThan(60_000);
  for (const text of ['a b;'.repeat(25_000), 'x'.repeat(1_000_000)]) {
    const { steps } = await countWork(() => readShell(text));
    expect(steps).toBeLessThan(50 * text.length);
  }
});
