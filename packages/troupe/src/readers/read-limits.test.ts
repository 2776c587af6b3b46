import { deflateRawSync, deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { TroupeError } from '../errors.ts';
import { readDocument } from './read-document.ts';
import type { ReadLimits } from './read-options.ts';
import { zipStored } from './zip-file.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const latin1 = (data: Uint8Array): string => Buffer.from(data).toString('latin1');
const MIB = 1024 ** 2;

/** Error of a reading, or the number of sections. */
async function outcome(id: string, data: Uint8Array | string, limits: ReadLimits = {}): Promise<unknown> {
  try {
    return (await readDocument({ id, data }, { limits })).sections.length;
  } catch (error) {
    expect(error).toBeInstanceOf(TroupeError);
    return `${(error as TroupeError).code}: ${(error as TroupeError).message}`;
  }
}

/** A ZIP file with one compressed entry, which says that it has `size` bytes. */
function packed(name: string, data: Uint8Array, size = data.length): Uint8Array {
  const content = deflateRawSync(data);
  const file = Buffer.from(zipStored(new Map([[name, content]])));
  const directory = file.length - 22 - 46 - name.length;
  for (const [at, method] of [
    [0, 8],
    [directory, 10],
  ] as const) {
    file.writeUInt16LE(8, at + method);
    file.writeUInt32LE(size, at + method + 14);
  }
  return file;
}

/** A PDF with one page, whose content is a stream as it is given. */
function pdf(content: Uint8Array, filter = '/FlateDecode'): Uint8Array {
  const head =
    '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n' +
    '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n';
  const stream = `4 0 obj<</Length ${content.length}/Filter[${filter}]>>stream\n`;
  return Buffer.concat([
    bytes(head + stream),
    content,
    bytes('\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF'),
  ]);
}

describe('bombs are refused', () => {
  const zeros = new Uint8Array(8 * MIB);

  test('ZIP: ratio, size, entries, false sizes, entries that share bytes, encryption', async () => {
    const bomb = packed('word/document.xml', zeros);
    expect(bomb.length).toBeLessThan(10_000);
    expect(await outcome('a.docx', bomb)).toBe(
      "limit_reached: An entry unpacks to more than 250 times its size (the limit 'maxRatio').",
    );
    expect(await outcome('a.xlsx', bomb, { maxRatio: 1e6, maxUnpackedBytes: MIB })).toBe(
      `limit_reached: The file unpacks to more than ${MIB} bytes (the limit 'maxUnpackedBytes').`,
    );
    expect(await outcome('a.pptx', packed('ppt/presentation.xml', zeros, 100))).toBe(
      "file_failed: The file is not a whole Office file: an entry can't be unpacked to the size that it names.",
    );
    const many = new Map(Array.from({ length: 20 }, (_, index) => [`${index}.xml`, bytes('')]));
    expect(await outcome('a.docx', zipStored(many), { maxEntries: 10 })).toBe(
      "limit_reached: The file has 20 entries (the limit 'maxEntries').",
    );
    const twice = Buffer.from(
      zipStored(
        new Map([
          ['a.xml', bytes('x')],
          ['b.xml', bytes('x')],
        ]),
      ),
    );
    twice.writeUInt8(0x61, twice.lastIndexOf('b.xml'));
    expect(await outcome('a.docx', twice)).toBe(
      'file_failed: The file is not a whole Office file: an entry is there twice.',
    );
    const secret = Buffer.from(zipStored(new Map([['a.xml', bytes('x')]])));
    secret.writeUInt8(1, secret.length - 22 - 46 - 5 + 8);
    expect(await outcome('a.docx', secret)).toBe(
      'file_failed: The file is encrypted, and can only be read without a password.',
    );
  });

  test('PDF: one layer of compression, two, and many streams', async () => {
    const one = deflateSync(zeros);
    expect(await outcome('a.pdf', pdf(one))).toBe(
      "limit_reached: A stream of the PDF unpacks to more than 250 times its size (the limit 'maxRatio').",
    );
    const two = deflateSync(deflateSync(new Uint8Array(64 * MIB)));
    expect(two.length).toBeLessThan(2000);
    expect(await outcome('a.pdf', pdf(two, '/FlateDecode/FlateDecode'))).toBe(
      "limit_reached: A stream of the PDF unpacks to more than 250 times its size (the limit 'maxRatio').",
    );
    expect(await outcome('a.pdf', pdf(one), { maxRatio: 1e9, maxUnpackedBytes: MIB })).toBe(
      `limit_reached: The PDF unpacks to more than ${MIB} bytes (the limit 'maxUnpackedBytes').`,
    );
  });

  test('PDF: a stream that hides its size, or is broken behind it', async () => {
    const one = deflateSync(zeros);
    const hidden = Buffer.concat([
      one.subarray(0, 2),
      Uint8Array.of(0, 9, 0, 0xf6, 0xff), // a stored block with the word that seems to end the stream
      bytes('endstream'),
      deflateRawSync(zeros),
    ]);
    const broken = Buffer.concat([one.subarray(0, one.length - 20), new Uint8Array(300).fill(0xff)]);
    const outcomes = [
      await outcome('a.pdf', pdf(hidden)),
      await outcome('a.pdf', pdf(broken)),
      await outcome('a.pdf', Buffer.from(latin1(pdf(one)).replace('stream\n', 'stream     \n'), 'latin1')),
    ];
    const dense =
      "limit_reached: A stream of the PDF unpacks to more than 250 times its size (the limit 'maxRatio').";
    expect(outcomes).toEqual([dense, dense, dense]);
    const hex = bytes(`${Buffer.from(deflateSync(new Uint8Array(160 * MIB))).toString('hex')}>`);
    expect(
      await outcome('a.pdf', pdf(hex, '/ASCIIHexDecode/FlateDecode'), { maxMemoryBytes: 64 * MIB }),
    ).toBe(
      `limit_reached: Reading the file takes more than ${64 * MIB} bytes of memory (the limit 'maxMemoryBytes').`,
    );
  });

  test('PDF: a blank image is no bomb', async () => {
    const blank = deflateSync(new Uint8Array(4 * MIB));
    const file = latin1(pdf(deflateSync(bytes('BT ET'))));
    const image = `5 0 obj<</Subtype/Image/Length ${blank.length}/Filter/FlateDecode>>stream\n`;
    const withImage = file.replace(
      'trailer',
      `${image}${blank.toString('latin1')}\nendstream endobj\ntrailer`,
    );
    expect(await outcome('a.pdf', Buffer.from(withImage, 'latin1'))).toBe(0);
  });

  test('tables: wide in one row and long in others', async () => {
    const wide = `${'a,'.repeat(200_000)}b\n`;
    expect(await outcome('a.csv', `${wide}${'x\n'.repeat(200_000)}`)).toBe(
      "limit_reached: A table has more than 20000000 characters (the limit 'maxChars').",
    );
    expect(await outcome('a.csv', `a,b\n${'x\n'.repeat(300_000)}`)).toBe(6000);
  });

  test('JSON: any depth', async () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(await outcome('a.json', deep)).toBe('file_failed: The file is not JSON.');
    expect(await outcome('a.jsonl', `${deep}\n{"a":1}`)).toBe(2);
  });

  test('slides: fields that never end', async () => {
    const files = new Map(
      Object.entries({
        'ppt/presentation.xml': '<p:presentation><p:sldId r:id="r1"/></p:presentation>',
        'ppt/_rels/presentation.xml.rels': '<Relationship Id="r1" Type="x/slide" Target="slides/s1.xml"/>',
        'ppt/slides/s1.xml': '<p:sld><a:p><a:t>Hi</a:t></a:p></p:sld>',
        'ppt/slides/_rels/s1.xml.rels': '<Relationship Id="n" Type="x/notesSlide" Target="../n.xml"/>',
        'ppt/n.xml': `<a:p><a:fld><a:t>7</a:t></a:fld><a:t>Note.</a:t></a:p>${'<a:fld'.repeat(500_000)}`,
      }).map(([name, text]) => [name, bytes(text)]),
    );
    expect(await outcome('a.pptx', zipStored(files))).toBe(1);
  });

  test('time: a parser that does not end is ended', async () => {
    const endless = deflateSync(bytes('q Q '.repeat(200_000)));
    expect(await outcome('a.pdf', pdf(endless), { timeoutMs: 1, maxRatio: 1e6 })).toBe(
      "limit_reached: Reading the PDF file took longer than 1 ms (the limit 'timeoutMs').",
    );
  });

  test('memory: a parser that takes too much is ended', async () => {
    expect(await outcome('a.pdf', pdf(deflateSync(bytes('q Q '))), { maxMemoryBytes: 8 * MIB })).toBe(
      `limit_reached: Reading the file takes more than ${8 * MIB} bytes of memory (the limit 'maxMemoryBytes').`,
    );
  });

  test('XML: entities of a document type are not expanded, and depth does no harm', async () => {
    const entities = Array.from({ length: 12 }, (_, index) =>
      index === 0 ? '<!ENTITY e0 "lol">' : `<!ENTITY e${index} "${`&e${index - 1};`.repeat(10)}">`,
    );
    const xml = `<?xml version="1.0"?><!DOCTYPE w [${entities.join('')}]><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&e11;</w:t></w:r></w:p></w:body></w:document>`;
    const laughs = await outcome('a.docx', word(xml));
    expect(laughs === 1 || laughs === 0 || String(laughs).startsWith('file_failed: The Word file')).toBe(
      true,
    );
    const deep = `${'<w:sdt>'.repeat(50_000)}${'</w:sdt>'.repeat(50_000)}`;
    const nested = await outcome('a.docx', word(xml.replace('&e11;', '').replace('<w:p>', `${deep}<w:p>`)));
    expect(nested === 0 || String(nested).startsWith('file_failed: ')).toBe(true);
  });

  test('size and text', async () => {
    expect(await outcome('a.txt', 'x'.repeat(11), { maxBytes: 10 })).toBe(
      "limit_reached: 'a.txt' has 11 bytes (the limit 'maxBytes').",
    );
    expect(await outcome('a.txt', 'x'.repeat(11), { maxChars: 10 })).toBe(
      "limit_reached: 'a.txt' has 11 characters of text (the limit 'maxChars').",
    );
    expect(await outcome('a.exe', 'MZ')).toMatch(/^invalid_input: No reader knows the type of 'a.exe'/);
  });
});

test('broken files of every kind are clear errors', { timeout: 60_000 }, async () => {
  const kinds = ['docx', 'xlsx', 'pptx', 'json'];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...kinds), fc.uint8Array({ maxLength: 200 }), async (kind, data) => {
      expect(await outcome(`a.${kind}`, data)).toMatch(/^file_failed: /);
    }),
    { numRuns: 50 },
  );
  const cut = pdf(deflateSync(bytes('BT ET')));
  expect(await outcome('a.pdf', bytes('%PDF-1.7 nothing'))).toMatch(
    /^file_failed: The PDF file can't be read/,
  );
  expect(await outcome('a.pdf', cut.subarray(0, 100))).toMatch(/^file_failed: The PDF file can't be read/);
  expect(await outcome('a.docx', zipStored(new Map([['x', bytes('y')]])))).toMatch(/^file_failed: /);
  expect(await outcome('a.xlsx', zipStored(new Map([['x', bytes('y')]])))).toMatch(/^file_failed: /);
});

test('a title of PowerPoint is the heading of its slide, and images come if wanted', async () => {
  const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  const shape = (type: string, text: string): string =>
    `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${type}"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;
  const data = zipStored(
    new Map([
      ['ppt/presentation.xml', bytes('<p:presentation><p:sldId id="1" r:id="r2"/></p:presentation>')],
      [
        'ppt/_rels/presentation.xml.rels',
        bytes('<Relationship Id="r2" Type="x/slide" Target="/ppt/slides/s9.xml"/>'),
      ],
      [
        'ppt/slides/s9.xml',
        bytes(`<p:sld>${shape('ctrTitle', 'Plan')}${shape('body', 'Step &lt;1&gt;')}</p:sld>`),
      ],
      [
        'ppt/slides/_rels/s9.xml.rels',
        bytes('<Relationship Id="r1" Type="x/image" Target="../media/i.png"/>'),
      ],
      ['ppt/media/i.png', png],
    ]),
  );
  expect(await readDocument({ id: 'a.pptx', data }, { includeImages: true })).toEqual({
    id: 'a.pptx',
    metadata: { source: 'a.pptx', title: 'Plan' },
    sections: [
      { content: { type: 'text', text: '# Plan\nStep <1>' }, metadata: { slide: 1, heading: 'Plan' } },
      {
        content: { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' } },
        metadata: { slide: 1, heading: 'Plan' },
      },
    ],
  });
});

/** A Word file with this document. */
function word(xml: string): Uint8Array {
  const types =
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>';
  const relations =
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>';
  return zipStored(
    new Map([
      ['[Content_Types].xml', bytes(types)],
      ['_rels/.rels', bytes(relations)],
      ['word/document.xml', bytes(xml)],
    ]),
  );
}
