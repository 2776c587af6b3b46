import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { SourceDocument } from '../document/chunk.ts';
import { readDocument } from './read-document.ts';

/**
 * Made by LibreOffice 7.4 of Debian from pages, a sheet and slides with the same content. `report.docx` and `season.xlsx`:
 * `soffice --headless --convert-to docx:"MS Word 2007 XML" report.html` and `--convert-to xlsx season.fods`.
 */
const FILES = join(import.meta.dirname, '../../test/knowledge/files');
const realFile = (id: string): { id: string; data: Uint8Array } => ({
  id,
  data: readFileSync(join(FILES, id)),
});

/** Text and metadata of the sections. */
function shown({ sections }: SourceDocument): unknown {
  return sections.map(({ content, metadata }) => [
    content.type === 'text' ? content.text : content.source,
    metadata ?? {},
  ]);
}

describe('files of LibreOffice', () => {
  test('Word: headings with their path, tables as Markdown, lists', async () => {
    const document = await readDocument(realFile('handbook.docx'));
    expect(document.metadata).toEqual({ source: 'handbook.docx', title: 'Observatory handbook' });
    expect(shown(document)).toEqual([
      [
        '# Observatory handbook\n\nThe observatory of Kestrel Ridge opened in 1968. It has two telescopes.',
        { heading: 'Observatory handbook' },
      ],
      [
        [
          '## Telescopes\n',
          'The large reflector has a mirror of 2.4 metres. It is cooled before each night.\n',
          '| Instrument | Mirror | Year |',
          '| --- | --- | --- |',
          '| Large reflector | 2.4 m | 1971 |',
          '| Survey camera | 0.9 m | 1968 |',
        ].join('\n'),
        { heading: 'Observatory handbook > Telescopes' },
      ],
      [
        '## Visitors\n\nGuided tours begin at four in the afternoon. Children under six pay nothing.\n\n- Bring warm clothes.\n- No lamps after sunset.',
        { heading: 'Observatory handbook > Visitors' },
      ],
      [
        '### Groups\n\nGroups of more than twelve write to the porter first — café tables can be reserved.',
        { heading: 'Observatory handbook > Visitors > Groups' },
      ],
    ]);
  });

  test('Word: cells over several rows and columns keep the table straight; lists, links and any script', async () => {
    const { sections } = await readDocument(realFile('report.docx'));
    expect(sections.map(({ metadata }) => metadata)).toEqual([
      { heading: 'Report of the dam' },
      { heading: 'Report of the dam > Findings' },
      { heading: 'Report of the dam > Costs' },
    ]);
    const texts = sections.map(({ content }) => (content.type === 'text' ? content.text : ''));
    expect(texts[1]).toContain(
      '- It has not grown since 2027.\n\n- The gates close in 90 seconds.\n\n' +
        '| Gate |  | Seconds |\n| --- | --- | --- |\n| North | upper | 88 |\n| North | lower | 92 |',
    );
    expect(texts[2]).toContain('€ 140,000 — see [the list](https://example.com/costs)');
    expect(texts[2]).toContain('Straße über den Damm bleibt geöffnet. 水坝检查完毕。 Плотина исправна.');
  });

  test('Excel: a title above the table, dates, times, a broken formula, lines in a cell', async () => {
    expect(shown(await readDocument(realFile('season.xlsx')))).toEqual([
      [
        [
          'Season of 2031\n',
          '| Day | Start | Share | Clear | Sum |',
          '| --- | --- | --- | --- | --- |',
          '| 2031-03-09 | 21:30:00 | 0.125 | 1 |  |',
          '| 2031-03-10T18:45:00 | line one line two |  |  | 0.3 |',
        ].join('\n'),
        { heading: 'Season of 2031', sheet: 'Season', rows: '3-4' },
      ],
    ]);
  });

  test('Word: images if wanted', async () => {
    const mammoth = dirname(createRequire(import.meta.url).resolve('mammoth/package.json'));
    const data = readFileSync(join(mammoth, 'test/test-data/tiny-picture.docx')); // made by Word
    expect((await readDocument({ id: 'a.docx', data })).sections).toEqual([]);
    const { sections } = await readDocument({ id: 'a.docx', data }, { includeImages: true });
    expect(sections).toEqual([
      {
        content: {
          type: 'image',
          source: { type: 'base64', mediaType: 'image/png', data: expect.stringMatching(/^iVBORw0KGgo/) },
        },
      },
    ]);
  });

  test('PDF: larger letters are headings, and each section has its page', async () => {
    const handbook = await readDocument(realFile('handbook.pdf'));
    expect(handbook.sections.map(({ metadata }) => metadata)).toEqual([
      { heading: 'Observatory handbook', page: 1 },
      { heading: 'Observatory handbook > Telescopes', page: 1 },
      { heading: 'Observatory handbook > Visitors', page: 1 },
      { heading: 'Observatory handbook > Visitors > Groups', page: 1 },
    ]);
    expect(handbook.sections[1]?.content).toEqual({
      type: 'text',
      text: '## Telescopes\nThe large reflector has a mirror of 2.4 metres. It is cooled before each night.\nInstrument Mirror Year\nLarge reflector 2.4 m 1971\nSurvey camera 0.9 m 1968',
    });
    const slides = await readDocument(realFile('slides.pdf'));
    expect(slides.sections.map(({ metadata }) => metadata?.['page'])).toEqual([1, 2]);
  });

  test('Excel: each section has its sheet and rows, and repeats the names of the columns', async () => {
    expect(shown(await readDocument(realFile('book.xlsx')))).toEqual([
      [
        '| Night | Observer | Hours |\n| --- | --- | --- |\n| first | Ana | 6.5 |\n| second | Bo \\| Cy | 0 |',
        { sheet: 'Nights', rows: '2-3' },
      ],
      ['| Part | Count |\n| --- | --- |\n| Filter | 14 |', { sheet: 'Stock list', rows: '2' }],
    ]);
    expect(shown(await readDocument(realFile('book.xlsx'), { tables: 'json' }))).toEqual([
      [
        '{"Night":"first","Observer":"Ana","Hours":"6.5"}\n{"Night":"second","Observer":"Bo | Cy","Hours":"0"}',
        { sheet: 'Nights', rows: '2-3' },
      ],
      ['{"Part":"Filter","Count":"14"}', { sheet: 'Stock list', rows: '2' }],
    ]);
  });

  test('PowerPoint: each section has its slide; tables and notes', async () => {
    expect(shown(await readDocument(realFile('slides.pptx')))).toEqual([
      [
        'Season plan\nSurvey of the northern sky\nMirror is washed in May\nNotes: Thank the donors here.',
        { slide: 1 },
      ],
      ['Budget & people', { slide: 2 }],
      ['| Item | Cost |\n| --- | --- |\n| Coolant | 1200 |', { slide: 2, rows: '2' }],
    ]);
  });
});

describe('files of text', () => {
  const read = async (id: string, data: string | Uint8Array): Promise<unknown> =>
    shown(await readDocument({ id, data }));

  test('HTML: headings, tables and lists as Markdown; no scripts', async () => {
    const data =
      '<title>Tea &amp; more</title><h1>Tea</h1><script>steal()</script><p>Hot.</p><h2>Prices</h2>' +
      '<table><caption>per cup</caption><tr><th></th><th>Price</th></tr><tr><td><p>Sencha</p><p>bio</p></td><td>3|4</td></tr></table>';
    const document = await readDocument({ id: 'tea.html', data });
    expect(document.metadata).toEqual({ source: 'tea.html', title: 'Tea & more' });
    expect(shown(document)).toEqual([
      ['# Tea\n\nHot.', { heading: 'Tea' }],
      [
        '## Prices\n\nper cup\n|  | Price |\n| --- | --- |\n| Sencha bio | 3\\|4 |',
        { heading: 'Tea > Prices' },
      ],
    ]);
  });

  test('CSV: quotes, line ends in cells, any delimiter; rows are counted', async () => {
    const rows = Array.from({ length: 60 }, (_, index) => `${index};"a ""b"";\nc";${'x'.repeat(20)}`);
    const sections = (await read('a.csv', `n;text;more\r\n${rows.join('\r\n')}`)) as [string, object][];
    expect(sections.map(([, metadata]) => metadata)).toEqual([
      { rows: '2-18' },
      { rows: '19-35' },
      { rows: '36-52' },
      { rows: '53-61' },
    ]);
    expect(sections[1]?.[0].split('\n').slice(0, 3)).toEqual([
      '| n | text | more |',
      '| --- | --- | --- |',
      `| 17 | a "b"; c | ${'x'.repeat(20)} |`,
    ]);
    expect(await read('one.tsv', 'only\thead')).toEqual([
      ['| only | head |\n| --- | --- |\n| only | head |', { rows: '1' }],
    ]);
  });

  test('JSON and JSON lines: values stay together, and larger ones have their path', async () => {
    const users = [{ name: 'Ann', notes: 'n'.repeat(900) }, { name: 'Bo' }];
    expect(await read('a.json', JSON.stringify({ users, open: true }))).toEqual([
      ['{"name":"Ann"}', { heading: 'users > 1' }],
      [`"${'n'.repeat(900)}"`, { heading: 'users > 1 > notes' }],
      ['[{"name":"Bo"}]', { heading: 'users > 2' }],
      ['{"open":true}', {}],
    ]);
    expect(await read('a.jsonl', '{"a":1}\n\nno json\n')).toEqual([['[{"a":1},"no json"]', {}]]);
  });

  test('a file without data is refused with the form that it needs', async () => {
    await expect(readDocument({ path: 'a.md' } as never)).rejects.toThrow('A file to read has { id, data }');
  });

  test('text in any encoding, and images', async () => {
    expect(await read('a.txt', Buffer.from('\ufeffcafé', 'utf16le'))).toEqual([['café', {}]]);
    expect(await read('a.txt', Uint8Array.of(0x63, 0x61, 0x66, 0xe9))).toEqual([['café', {}]]);
    expect(await read('a.md', '\ufeff# A\n\n## B\nc')).toEqual([
      ['# A', { heading: 'A' }],
      ['## B\nc', { heading: 'A > B' }],
    ]);
    const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
    expect(await read('unnamed', png)).toEqual([
      [{ type: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' }, {}],
    ]);
  });
});
