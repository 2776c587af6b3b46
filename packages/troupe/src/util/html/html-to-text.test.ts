import { countWork } from '../../../test/counted-work.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { decodeEntities } from './html-entities.ts';
import { htmlToText } from './html-to-text.ts';

const BASE = 'https://example.com/a/b';
const textOf = (html: string): string => htmlToText(html, BASE).text;

test('a page becomes text that can be read', () => {
  const html = `<!DOCTYPE html><html><head><title> The &amp; title </title><style>p > a { color: red }</style>
    <script>if (a < b) document.write("<p>no</p>")</script></head>
    <body><!-- <p>no</p> --><H1 class="x">Head<b>line</b></H1>
    <p>One   two
      <em>three</em>, <a href="../c?d=1&amp;e=2">a <i>link</i></a>, <a href="#here">here</a> and <a href="javascript:x()">there</a>.<br>Next
    <ul><li>first<li> second </li></ul>
    <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
    <pre>x  = 1
  y</pre><p><img alt="A cat" src="cat.png"></p></body></html>`;
  expect(htmlToText(html, BASE)).toEqual({
    title: 'The & title',
    text: [
      '# Headline',
      'One two three, [a link](https://example.com/c?d=1&e=2), here and there.\nNext',
      '- first\n- second',
      'a | b\n1 | 2',
      'x  = 1\n  y',
      'A cat',
    ].join('\n\n'),
  });
});

test('broken HTML is read as far as possible', () => {
  expect(textOf('a < b and 3<4 <p')).toBe('a < b and 3<4');
  expect(textOf('<a title="x > y" href=/z>in</a> out')).toBe('[in](https://example.com/z) out');
  expect(textOf('before <!-- never closed <p>x')).toBe('before');
  expect(textOf('before <script>never closed')).toBe('before');
  expect(textOf('</p></li><a href="/x"></a>t<a href="/y">u<p>v')).toBe('t[u](https://example.com/y)\n\nv');
  expect(textOf('')).toBe('');
});

test('references are decoded, and unknown ones stay', () => {
  expect(
    decodeEntities(
      '&lt;b&gt; &amp;amp; &eacute;&#233;&#xE9; &hellip; &AMP; &nope; & &; &#0;&#xD800;&#x110000;',
    ),
  ).toBe('<b> &amp; ééé … &AMP; &nope; & &; \ufffd\ufffd\ufffd');
  expect(decodeEntities('&nbsp;&yuml;&times;&szlig;')).toBe('\u00a0ÿ×ß');
});

test('no page makes it fail, and no markup is left of one', () => {
  const piece = fc.constantFrom(
    '<',
    '>',
    '</',
    '<p',
    '<a href="',
    '"',
    "'",
    '<!--',
    '-->',
    '<pre>',
    '</pre>',
    '<script>',
    '&#',
    ' ',
    '\n',
    'x',
    '=',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string({ maxLength: 5 })), { maxLength: 60 }), (pieces) => {
      expect(typeof textOf(pieces.join(''))).toBe('string');
    }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('<p>', '<b x="1">', '</b>', '<li>', 'word ', '<br/>'), { maxLength: 40 }),
      (pieces) => {
        expect(textOf(pieces.join(''))).not.toMatch(/[<>]/);
      },
    ),
  );
});

test('the time for a page is linear in its length, for any content', async () => {
  const bad = [
    '<',
    '<a',
    '<a ',
    '<a href="',
    '<!--',
    '<script>',
    '<title>',
    '</',
    '<td>',
    'word ',
    '&',
    '<a href=x>',
    '<pre>\n',
    '=" ',
    '<p>',
    "='",
    '<svg><a ',
  ];
  const sizes = bad.flatMap((piece) => [piece, `${piece}x`, `<b ${piece}`]);
  for (const piece of sizes) {
    const html = piece.repeat(Math.ceil(200_000 / piece.length));
    const { steps } = await countWork(() => textOf(html));
    expect(steps, piece).toBeLessThan(20 * html.length);
  }
});

test('a cell of several rows is in as many rows, also where a cell of several columns is in its place', () => {
  const read = (...rows: string[]): string[] =>
    htmlToText(`<table>${rows.map((row) => `<tr>${row}</tr>`).join('')}</table>`, 'https://a.example/', {
      hasMarkdownTables: true,
    })
      .text.split('\n')
      .filter((line) => !line.includes('---'));
  expect(read('<td>A<td rowspan=2>B<td>C', '<td colspan=2>D<td>E', '<td>F<td>G<td>H')).toEqual([
    '| A | B | C |',
    '| D |  | E |',
    '| F | G | H |',
  ]);
  expect(read('<td>A<td>B<td rowspan=2>C', '<td>D', '<td>E<td>F<td>G')).toEqual([
    '| A | B | C |',
    '| D |',
    '| E | F | G |',
  ]);
  expect(read('<td>A<td rowspan=3>B', '<td>C', '<td>D', '<td>E<td>F')).toEqual([
    '| A | B |',
    '| C | B |',
    '| D | B |',
    '| E | F |',
  ]);
});
