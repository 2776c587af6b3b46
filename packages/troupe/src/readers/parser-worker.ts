/** Job of a worker that parses one file. */
export interface ParserJob {
  readonly kind: 'pdf' | 'word' | 'excel';
  /** Path of the package. */
  readonly module: string;
  readonly data: Uint8Array<ArrayBuffer>;
  readonly maxEntries: number;
  readonly includeImages: boolean;
}

/** A line of a page of a PDF, with the size of its letters. */
export type PdfLine = readonly [text: string, size: number];
export type ParserResult =
  | { readonly kind: 'pdf'; readonly pages: readonly (readonly PdfLine[])[]; readonly title: string }
  | { readonly kind: 'word'; readonly html: string; readonly images: readonly string[] }
  | { readonly kind: 'excel'; readonly sheets: readonly { sheet: string; data: readonly unknown[][] }[] };
export type ParserMessage =
  | { readonly result: ParserResult }
  | { readonly problem: string }
  | { readonly tooMany: number };

/**
 * Source of the worker. A string, because workers start from a file or a string, and bundlers change files. A
 * parser that hangs or takes too much memory ends with its worker.
 */
export const PARSER_WORKER = String.raw`
'use strict';
const { parentPort, workerData } = require('node:worker_threads');
const { kind, module, data, maxEntries, includeImages } = workerData;

async function readPdf({ getDocumentProxy, getMeta }) {
  const pdf = await getDocumentProxy(data, { isEvalSupported: false, useSystemFonts: false, verbosity: 0 });
  if (pdf.numPages > maxEntries) return { tooMany: pdf.numPages };
  const pages = [];
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const lines = [];
    let [text, size, y] = ['', 0, undefined];
    const flush = () => {
      if (text.trim() !== '') lines.push([text.trim(), size]);
      [text, size] = ['', 0];
    };
    for (const item of items) {
      if (typeof item.str !== 'string') continue;
      const [,, c, d,, place] = item.transform;
      if (item.str !== '') {
        if (y !== undefined && Math.abs(place - y) > 1 && text !== '' && !/\s$/.test(text)) flush();
        y = place;
        text += item.str;
        if (item.str.trim() !== '') size = Math.max(size, Math.round(Math.hypot(c, d) * 10) / 10);
      }
      if (item.hasEOL) flush();
    }
    flush();
    pages.push(lines);
    page.cleanup();
  }
  const { info } = await getMeta(pdf).catch(() => ({ info: {} }));
  return { result: { kind, pages, title: typeof info.Title === 'string' ? info.Title : '' } };
}

async function readWord(mammoth) {
  const images = [];
  const convertImage = mammoth.images.imgElement(async (image) => {
    if (includeImages && images.length < maxEntries)
      images.push(image.contentType + ',' + (await image.readAsBase64String()));
    return { src: '' };
  });
  const { value } = await mammoth.convertToHtml(
    { buffer: Buffer.from(data) },
    { convertImage, externalFileAccess: false },
  );
  return { result: { kind, html: value, images } };
}

async function readExcel({ default: readSheets }) {
  const sheets = await readSheets(Buffer.from(data));
  // A time of the day is a date of the first day of Excel's calendar.
  const time = (iso) => iso.replace(/^1899-12-3[01]T/, '').replace(/T00:00:00.000Z$/, '').replace(/(?:[.]000)?Z$/, '');
  const text = (cell) =>
    cell === null || cell === undefined ? '' : cell instanceof Date ? time(cell.toISOString()) : String(cell);
  return { result: { kind, sheets: sheets.map(({ sheet, data }) => ({ sheet, data: data.map((row) => row.map(text)) })) } };
}

(async () => {
  const read = { pdf: readPdf, word: readWord, excel: readExcel }[kind];
  try {
    parentPort.postMessage(await read(require(module)));
  } catch (error) {
    parentPort.postMessage({ problem: String(error?.message ?? error).slice(0, 300) });
  }
})();
`;
