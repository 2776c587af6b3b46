/** Lines for a shell: such as people write, with commands hidden wherever there can be one, and such as nobody would write. */
import fc from 'fast-check';

function pieces(...texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split('¦'));
}

const TOKENS = pieces(
  `c1¦c1¦c2¦c2¦c3¦ ¦ ¦ ¦ ¦\t¦\n¦\n¦;¦&¦|¦&&¦||¦|&¦(¦)¦( ¦ )¦{ ¦ }¦; }¦{¦}¦!¦! ¦"¦'¦\`¦$¦$(¦\${x}`,
  `\${¦$((¦))¦1¦2¦\\¦\\\n¦#¦<¦>¦<<E\n¦\nE\n¦<<'E'\n¦<<-E\n¦<<E ¦<<F ¦\nF\n¦E¦<<<¦>&¦&>¦2>¦>out`,
  `>>out¦<(¦>(¦=¦x=¦x¦y¦$x¦"$@"¦$*¦*¦?¦[¦]¦[[ ¦ ]]¦((¦if ¦then ¦else ¦fi¦do ¦done¦for y in `,
  `case x in ¦esac¦;;¦;&¦in ¦time ¦-p¦--¦function ¦coproc ¦select ¦eval ¦exec ¦command ¦builtin `,
  `echo ¦export ¦f()¦c2()¦~¦%¦^¦,¦{c1,c2}¦-¦é¦$'¦\\x63¦\\'¦$"¦@¦+¦+=¦a[0]=¦\u00a0¦-eq ¦let ¦|| c3`,
  `&& c3¦; c3¦# c3\n¦'c3'¦"$(c3)"¦\`c3\``,
);

/** Pieces of a shell's language, in any order. */
export const soup: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...TOKENS), { minLength: 2, maxLength: 18 })
  .map((tokens) => tokens.join(''));

const WORDS = pieces(
  `x¦'a;c3'¦"b & c3"¦\\;¦d#e¦-f¦"\\"c3"¦''¦$y¦"\${y}"¦*¦"a\nb"¦~¦{a,b}¦a{1,2}¦{}¦{}x,y}¦$((1+2))`,
  `"$(c3 q)"¦\`c3 r\`¦<(c3)¦$@¦"$@"¦"x$@"¦x$y¦[ab]¦=¦a=b¦#c¦\${y:-z}¦"\`c3\`"¦\\$(c3)`,
  `"\\$(c3)"¦$¦"$"¦E¦>&-¦-`,
);
const STARTS = pieces(
  `c1¦'c2'¦c\\3¦"c1"¦A=1 c2¦>out c3¦! c1¦time c1¦time -p -- c2¦c""1¦command c1¦exec c2`,
  `builtin eval c3¦eval 'c1'¦>&- c2¦command - c1`,
);
const ENDS = pieces(
  ` >out¦ 2>&1¦ <<<"$(c3)"¦ >>out1¦ &>out3¦ >|out4¦ >&2¦ <<E\nE\n`,
  ` <<E >out2\n$(c3 h) \`c3 i\`\nE\n¦ <<'E'\n$(c3)\nE\n¦ <<-E\n\t$(c3)\n\tE\n`,
  ` <<E <<F\nE\n$(c2 k)\nF\n`,
).concat(Array.from({ length: 17 }, () => ''));
const RUNNERS = pieces(
  `¦¦¦env ¦env A=1 ¦nice -n1 ¦nohup ¦timeout 5 ¦setsid -w ¦stdbuf -oL `,
  `env nice ¦command env ¦xargs ¦xargs -n1 ¦echo q | xargs ¦echo q | xargs -I{} `,
);
const NOISE = pieces(
  `¦¦¦¦'¦"¦\`¦$¦(¦)¦{¦}¦;¦&¦|¦\\¦#¦<¦>¦=¦!¦~¦*¦]¦[¦ ¦\t¦\n¦\\\n¦<<E\n¦\nE\n¦$(¦))¦&>¦>(¦c3¦>& -`,
  `| time `,
);

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function joined(...parts: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> {
  const all = parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part));
  return fc.tuple(...all).map((texts) => texts.join(''));
}

/** Scripts without mistakes. @param runners whether programs are included that run other programs */
export function scripts(runners: boolean): fc.Arbitrary<string> {
  const { script } = fc.letrec<{ script: string; simple: string }>((tie) => {
    const inner = tie('script').filter((text) => text.length < 300);
    const gap = fc.constantFrom(' ', '  ', '\t', ' \\\n ');
    const word = fc.constantFrom(...WORDS);
    const between = [' && ', ' || ', '; ', ' & ', ' | ', '\n', ';', '&&', '\n\n', ' # c3\n', ' |& ', '|'];
    const runner = runners ? fc.constantFrom(...RUNNERS) : '';
    const byPrograms = [
      joined('sh -c ', inner.map(quoted)),
      joined('env sh -c ', inner.map(quoted)),
      joined('find . -maxdepth 0 -exec c1 {} \\; ', tie('simple')),
      joined('find . -maxdepth 0 -exec c2 a {} + \n', inner),
    ];
    return {
      simple: joined(runner, fc.constantFrom(...STARTS), gap, word, gap, word, fc.constantFrom(...ENDS)),
      script: fc.oneof(
        { maxDepth: 4, depthSize: 'medium' },
        tie('simple'),
        joined(inner, fc.constantFrom(...between), inner),
        joined('(', inner, ')'),
        joined('{ ', inner, '\n}'),
        joined('if ', inner, '\nthen ', inner, '\nelse ', inner, '\nfi'),
        joined('for y in 1 $(c2 w); do ', inner, '\ndone'),
        joined('for y in 1 2\ndo ', inner, '\ndone >out5'),
        joined('while c2; do ', inner, '\nbreak\ndone'),
        joined('case x in a|"b") ', inner, '\n;; (*) ', inner, '\n;; esac'),
        inner.map((text) => `f${text.length}() { ${text}\n}; f${text.length}`), // none calls itself
        joined('echo $(', inner, '\n)'),
        joined('echo "$(', inner, '\n)"'),
        joined('cat <<E\n$(', inner, '\n)\nE\n'),
        joined("cat <<'E'\n$(c3)\nE\n", inner),
        joined('x=$(', inner, '\n) c2 $x'),
        joined('eval ', inner.map(quoted)),
        joined('echo `c1`; ', inner),
        ...(runners ? byPrograms : []),
      ),
    };
  });
  return script;
}

/** The same with something put in, or left out, anywhere. */
export function withMistakes(lines: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const noise = fc.constantFrom(...NOISE);
  const cut = fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2, 3);
  return fc.tuple(lines, fc.nat(), noise, fc.nat(), cut).map(([text, place, added, from, count]) => {
    const start = place % (text.length + 1);
    const noisy = text.slice(0, start) + added + text.slice(start);
    const end = from % noisy.length;
    return noisy.slice(0, end) + noisy.slice(end + count);
  });
}
