import { messageOf, TroupeError } from '../errors.ts';
import { fromBase64, toBase64 } from '../util/base64.ts';
import { parseDataUrl } from '../util/data-url.ts';
import { mediaTypeOfBytes, mediaTypeOfName } from '../util/media-type.ts';
import { MAX_BYTES, type SafeFetchOptions } from '../util/net/safe-fetch.ts';
import { SharedWork } from '../util/async/shared-work.ts';
import type { MediaBlock } from './prompt.ts';

export interface MediaLoaderOptions extends Pick<
  SafeFetchOptions,
  'timeoutMs' | 'maxRedirects' | 'allowedHosts' | 'lookup'
> {
  /**
   * Allows downloads of http and https URLs.
   * @default false, which leaves URLs to providers that download them
   */
  readonly download?: boolean | undefined;
  /** Folders below which local files may be read. @default none */
  readonly allowedDirs?: readonly string[] | undefined;
  /** Maximum bytes of one medium. @default 20 MiB */
  readonly maxBytes?: number | undefined;
}

/** Loaded medium, ready for a provider. */
export interface LoadedMedia {
  readonly mediaType: string;
  /** Bytes in base64. */
  readonly data: string;
}

/**
 * Failed load. The message has advice for the developer, `problem` is for the model. `cause` is the error of
 * the download or file, if any.
 */
export class MediaError extends TroupeError {
  override readonly name = 'MediaError';

  constructor(
    block: MediaBlock,
    readonly problem: string,
    { advice, ...options }: ErrorOptions & { readonly advice?: string } = {},
  ) {
    const what = `The ${block.type} could not be loaded: ${problem}`;
    super('media_failed', advice === undefined ? what : `${what} ${advice}`, options);
  }
}

/** Bytes with hints about their type. */
interface RawMedia {
  readonly bytes: Uint8Array;
  /** Media type given by the server or URL. */
  readonly announcedType?: string;
  readonly name?: string;
}

/** Media types of servers without a real type. */
const UNTYPED = ['application/octet-stream', 'binary/octet-stream'];

/** Accepted media types for each block type. Some servers label sound in a video container as video. */
const ACCEPTED: Record<MediaBlock['type'], readonly string[] | undefined> = {
  image: ['image/*', ...UNTYPED],
  audio: ['audio/*', 'video/*', 'application/ogg', ...UNTYPED],
  video: ['video/*', 'audio/*', 'application/ogg', ...UNTYPED],
  file: undefined,
};

/**
 * Loads the bytes of media blocks: from the block, a `data:` URL, and, only if allowed, a web URL or a local
 * file.
 *
 * Each block is loaded once for all callers and cached as long as the block exists. Failures are not cached.
 *
 * @example
 * ```ts
 * import { MediaLoader } from 'troupe';
 *
 * const loader = new MediaLoader({ maxBytes: 1_000_000 });
 * const loaded = await loader.load({ type: 'image', source: { type: 'url', url: 'data:image/png;base64,iVBORw0KGgo=' } });
 * console.log(loaded.mediaType); // image/png
 * ```
 */
export class MediaLoader {
  readonly #options: MediaLoaderOptions;
  readonly #maxBytes: number;
  readonly #loads = new WeakMap<MediaBlock, SharedWork<LoadedMedia>>();

  constructor(options: MediaLoaderOptions = {}) {
    this.#options = { ...options };
    this.#maxBytes = options.maxBytes ?? MAX_BYTES;
    if (!(this.#maxBytes > 0 && this.#maxBytes < Infinity)) {
      throw new RangeError('maxBytes must be a positive number.');
    }
  }

  /** @throws MediaError if loading fails; the signal's reason after an abort */
  async load(
    block: MediaBlock,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<LoadedMedia> {
    let work = this.#loads.get(block);
    if (work === undefined || work.hasFailed) {
      work = new SharedWork((signal) => this.#loadNow(block, signal));
      this.#loads.set(block, work);
    }
    return work.wait(options.signal);
  }

  async #loadNow(block: MediaBlock, signal: AbortSignal): Promise<LoadedMedia> {
    const { source } = block;
    if (source.type === 'base64') {
      return { mediaType: typeFor(block, source.mediaType), data: this.#checkedBase64(block, source.data) };
    }
    const raw = await this.#read(block, source.url, signal);
    if (raw.bytes.length === 0) throw new MediaError(block, 'it is empty.');
    return { mediaType: typeFor(block, typeOf(block, raw)), data: toBase64(raw.bytes) };
  }

  /** Returns standard base64; normalizes data with line breaks or without padding. */
  #checkedBase64(block: MediaBlock, data: string): string {
    if (data === '') throw new MediaError(block, 'it is empty.');
    if (data.length > 4 * Math.ceil(this.#maxBytes / 3)) throw this.#tooLarge(block);
    if (data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)) return data;
    try {
      return toBase64(fromBase64(data));
    } catch {
      throw new MediaError(block, 'source.data is not base64.');
    }
  }

  async #read(block: MediaBlock, url: string, signal: AbortSignal): Promise<RawMedia> {
    // A single letter is a Windows drive.
    const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase();
    try {
      switch (scheme) {
        case 'data':
          return this.#readDataUrl(block, url);
        case 'http':
        case 'https':
          return await this.#download(block, url, signal);
        case 'file':
        case undefined:
          return await this.#readFile(block, url, signal);
        default:
          throw new MediaError(
            block,
            `a ${scheme.slice(0, 20)}: URL can't be read. Give the bytes as base64.`,
          );
      }
    } catch (error) {
      throw error instanceof MediaError ? error : new MediaError(block, messageOf(error), { cause: error });
    }
  }

  #readDataUrl(block: MediaBlock, url: string): RawMedia {
    if (url.length > 4 * this.#maxBytes + 1000) throw this.#tooLarge(block); // before decoding
    const { bytes, mediaType } = parseDataUrl(url);
    if (bytes.length > this.#maxBytes) throw this.#tooLarge(block);
    return { bytes, announcedType: mediaType };
  }

  async #download(block: MediaBlock, url: string, signal: AbortSignal): Promise<RawMedia> {
    const { download = false, allowedDirs: _dirs, ...options } = this.#options;
    if (!download) {
      throw new MediaError(block, 'downloads are off.', { advice: optIn('download: true') });
    }
    const { safeFetch } = await import('#safe-fetch'); // loaded on first use
    const accept = ACCEPTED[block.type];
    const answer = await safeFetch(url, { ...options, accept, signal });
    return { bytes: answer.bytes, announcedType: answer.mediaType, name: new URL(answer.url).pathname };
  }

  async #readFile(block: MediaBlock, path: string, signal: AbortSignal): Promise<RawMedia> {
    const { allowedDirs = [] } = this.#options;
    if (allowedDirs.length === 0) {
      throw new MediaError(block, 'local files are off.', {
        advice: optIn("allowedDirs: ['/path/to/folder']"),
      });
    }
    const { readLocalFile } = await import('#local-file');
    return {
      bytes: await readLocalFile(path, { allowedDirs, maxBytes: this.#maxBytes, signal }),
      name: path,
    };
  }

  #tooLarge(block: MediaBlock): MediaError {
    return new MediaError(block, `it is larger than ${this.#maxBytes} bytes, the limit of maxBytes.`);
  }
}

/** Advice to name an option of the loader. */
function optIn(option: string): string {
  return `Give the model the option media: new MediaLoader({ ${option} }), or give the bytes as base64.`;
}

/** Order of trust: the block's own type, then the bytes, then the server, which is often wrong. */
function typeOf(block: MediaBlock, { bytes, announcedType = '', name = '' }: RawMedia): string {
  const isVague = announcedType === '' || UNTYPED.includes(announcedType);
  const filename = block.type === 'file' ? (block.filename ?? '') : '';
  const type =
    (block.source.type === 'url' ? block.source.mediaType : undefined) ??
    mediaTypeOfBytes(bytes) ??
    (isVague ? undefined : announcedType) ??
    mediaTypeOfName(filename) ??
    mediaTypeOfName(name);
  if (type === undefined) throw new MediaError(block, 'its type is unknown. Give source.mediaType.');
  return type;
}

/** Media type with the block's own kind. Some containers hold both sound and video. */
function typeFor(block: MediaBlock, mediaType: string): string {
  const { type: kind } = block;
  if (!/^[\w.+-]+\/[\w.+-]+\s*(?:;|$)/.test(mediaType)) {
    throw new MediaError(block, 'source.mediaType is not a media type such as image/png.');
  }
  const container = /^(?:audio|video)\/(mp4|webm|ogg)$/.exec(mediaType)?.[1];
  if (container !== undefined && (kind === 'audio' || kind === 'video')) return `${kind}/${container}`;
  if (kind === 'file' || mediaType.startsWith(`${kind}/`)) return mediaType;
  throw new MediaError(block, `it is ${mediaType.slice(0, 100)}. Use a file block for that.`);
}
