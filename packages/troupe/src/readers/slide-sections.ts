import { posix } from 'node:path';

import type { Section } from '../document/chunk.ts';
import { mediaTypeOfBytes } from '../util/media-type.ts';
import { toBase64 } from '../util/base64.ts';
import { textOfBytes } from './text-of-bytes.ts';
import { unreadableFile } from './read-options.ts';
import { tableSections } from './table-sections.ts';
import { attributeOf, xmlParts } from './xml-tags.ts';

type Files = ReadonlyMap<string, Uint8Array>;

interface Relation {
  readonly id: string;
  readonly type: string;
  readonly path: string;
}

interface SlideText {
  readonly title: string;
  readonly lines: readonly string[];
  readonly tables: readonly (readonly (readonly string[])[])[];
}

const PRESENTATION = 'ppt/presentation.xml';

/** Sections of a PowerPoint file in the order of its slides: text, tables, notes, and images if wanted. */
export function slideSections(
  files: Files,
  {
    tables,
    includeImages,
    maxChars,
  }: { readonly tables: 'markdown' | 'json'; readonly includeImages: boolean; readonly maxChars: number },
): readonly Section[] {
  const xml = textOf(files, PRESENTATION);
  if (xml === undefined) throw unreadableFile('The file is no PowerPoint file: it has no presentation.');
  const slides = new Map(relationsOf(files, PRESENTATION).map(({ id, path }) => [id, path]));
  const order = [...xmlParts(xml)].flatMap((part) =>
    part.kind === 'open' && part.name.endsWith(':sldId') ? (attributeOf(part.tag, 'r:id') ?? []) : [],
  );
  return order.flatMap((id, index) => {
    const path = slides.get(id) ?? '';
    const slide = readSlide(textOf(files, path) ?? '');
    const metadata = { slide: index + 1, ...(slide.title !== '' && { heading: slide.title }) };
    const relations = relationsOf(files, path);
    const notesPath = relations.find(({ type }) => type.endsWith('/notesSlide'))?.path ?? '';
    const notes = notesLines(textOf(files, notesPath) ?? '');
    const text = [
      ...(slide.title === '' ? [] : [`# ${slide.title}`]),
      ...slide.lines,
      ...(notes.length === 0 ? [] : [`Notes: ${notes.join(' ')}`]),
    ].join('\n');
    const images = includeImages ? relations.filter(({ type }) => type.endsWith('/image')) : [];
    return [
      ...(text === '' ? [] : [{ content: { type: 'text', text } as const, metadata }]),
      ...slide.tables.flatMap((rows) => tableSections(rows, tables, metadata, { maxChars })),
      ...images.flatMap((image) => imageSection(files.get(image.path), metadata)),
    ];
  });
}

/** @param withoutFields leaves out fields, such as the number of the slide */
function readSlide(xml: string, withoutFields = false): SlideText {
  let title = '';
  const lines: string[] = [];
  const tables: string[][][] = [];
  let [line, isText, isTitle] = ['', false, false];
  let cell: string[] | undefined;
  let isField = false;
  for (const part of xmlParts(xml)) {
    if (part.kind === 'text') {
      if (isText && !(isField && withoutFields)) line += part.text;
      continue;
    }
    const { kind, name } = part;
    if (kind === 'open' && name === 'p:sp') isTitle = false;
    if (kind === 'open' && name === 'p:ph')
      isTitle = /^(?:title|ctrTitle)$/.test(attributeOf(part.tag, 'type') ?? '');
    if (name === 'a:fld') isField = kind === 'open';
    if (name === 'a:t') isText = kind === 'open';
    if (kind === 'open' && name === 'a:br') line += ' ';
    if (kind === 'open' && name === 'a:tbl') tables.push([]);
    if (kind === 'open' && name === 'a:tr') tables.at(-1)?.push([]);
    if (kind === 'open' && name === 'a:tc') cell = [];
    if (kind === 'close' && name === 'a:tc') {
      tables
        .at(-1)
        ?.at(-1)
        ?.push(cell?.join(' ') ?? '');
      cell = undefined;
    }
    if (kind === 'close' && name === 'a:p') {
      const text = line.trim();
      line = '';
      if (text === '') continue;
      if (cell !== undefined) cell.push(text);
      else if (isTitle) title = title === '' ? text : `${title} ${text}`;
      else lines.push(text);
    }
  }
  return { title, lines, tables };
}

/** Lines of the notes of a slide, without its number. */
function notesLines(xml: string): readonly string[] {
  return readSlide(xml, true).lines;
}

function relationsOf(files: Files, path: string): readonly Relation[] {
  const folder = posix.dirname(path);
  const xml = textOf(files, posix.join(folder, '_rels', `${posix.basename(path)}.rels`)) ?? '';
  return [...xmlParts(xml)].flatMap((part) => {
    if (part.kind !== 'open' || part.name !== 'Relationship') return [];
    const [id = '', type = '', target = ''] = ['Id', 'Type', 'Target'].map((key) =>
      attributeOf(part.tag, key),
    );
    return [{ id, type, path: target.startsWith('/') ? target.slice(1) : posix.join(folder, target) }];
  });
}

function imageSection(data: Uint8Array | undefined, metadata: Section['metadata']): readonly Section[] {
  const mediaType = data === undefined ? undefined : mediaTypeOfBytes(data.subarray(0, 64));
  if (data === undefined || mediaType?.startsWith('image/') !== true) return [];
  return [
    { content: { type: 'image', source: { type: 'base64', mediaType, data: toBase64(data) } }, metadata },
  ];
}

function textOf(files: Files, path: string): string | undefined {
  const data = files.get(path);
  return data === undefined ? undefined : textOfBytes(data);
}
