/** Media types by content and by file name. */

type Sniffer = (bytes: Uint8Array) => boolean;

const latin1 = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end));
const startsWith =
  (mark: string, at = 0): Sniffer =>
  (bytes) =>
    latin1(bytes, at, at + mark.length) === mark;
const isRiff =
  (form: string): Sniffer =>
  (bytes) =>
    startsWith('RIFF')(bytes) && startsWith(form, 8)(bytes);

/** Brands of films; other brands of the same container are still images and sound. */
const MP4_BRANDS = /^ftyp(?:iso[m2-9]|mp4[12]|avc1|dash|mmp4|M4V|M4A|M4B|MSNV|f4v)/;

/** Detects each type by its first bytes. */
const SNIFFERS: Readonly<Record<string, Sniffer>> = {
  'image/png': startsWith('\x89PNG\r\n\x1a\n'),
  'image/jpeg': startsWith('\xff\xd8\xff'),
  'image/gif': (bytes) => /^GIF8[79]a/.test(latin1(bytes, 0, 6)),
  'image/webp': isRiff('WEBP'),
  'audio/wav': isRiff('WAVE'),
  'audio/flac': startsWith('fLaC'),
  'audio/ogg': startsWith('OggS'),
  'video/mp4': (bytes) => MP4_BRANDS.test(latin1(bytes, 4, 12)),
  'video/webm': (bytes) => startsWith('\x1aE\xdf\xa3')(bytes) && latin1(bytes, 0, 64).includes('webm'),
  'application/pdf': startsWith('%PDF-'),
  // Starts with an ID3 tag, or with the first frame: eleven set bits and layer III.
  'audio/mpeg': (bytes) =>
    startsWith('ID3')(bytes) || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe6) === 0xe2),
};

const EXTENSIONS: Readonly<Record<string, string | undefined>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  mp4: 'video/mp4',
  webm: 'video/webm',
  pdf: 'application/pdf',
};

/** Media type detected from the first bytes, undefined if unknown. */
export function mediaTypeOfBytes(bytes: Uint8Array): string | undefined {
  return Object.keys(SNIFFERS).find((type) => SNIFFERS[type]?.(bytes));
}

/** Media type by file extension, undefined if unknown. */
export function mediaTypeOfName(name: string): string | undefined {
  const extension = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined;
}
