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
  /** Whether http and https URLs are downloaded. No by default: then a provider that can may do so. */
  readonly download?: boolean | undefined;
  /** The folders below which local files are read. None by default. */
  readonly allowedDirs?: readonly string[] | undefined;
  /** The most bytes of one medium; 20 MB by default. */
  readonly maxBytes?: number | undefined;
}

/** A medium whose bytes are here, as providers want it. */
export interface LoadedMedia {
  readonly mediaType: string;
  /** In base64. */
  readonly data: string;
}

/** A medium that could not be loaded, and what to do about it. The cause, if any, is what the download or the file threw. */
export class MediaError extends TroupeError {
  override readonly name = 'MediaError';

  constructor(block: MediaBlock, problem: string, options?: ErrorOptions) {
    super('media_failed', `The ${block.type} could not be loaded: ${problem}`, options);
  }
}

/** Bytes from outside, with what else is known of their type. */
interface RawMedia {
  readonly bytes: Uint8Array;
  /** What the server or the URL says that they are. */
  readonly announcedType?: string;
  readonly name?: string;
}

/** What servers say when they do not know. */
const UNTYPED = ['application/octet-stream', 'binary/octet-stream'];

/** What a server may answer for each type of block. Some call all sound in a container for films a film. */
const ACCEPTED: Record<MediaBlock['type'], readonly string[] | undefined> = {
  image: ['image/*', ...UNTYPED],
  audio: ['audio/*', 'video/*', 'application/ogg', ...UNTYPED],
  video: ['video/*', 'audio/*', 'application/ogg', ...UNTYPED],
  file: undefined,
};

/**
 * Gets the bytes of media blocks, wherever they are: in the block, in a `data:` URL, and, only if
 * that is allowed, behind a URL or in a local file.
 *
 * A block is loaded once, however often and by however many it is wanted, and kept as long as
 * the block itself. A failure is not kept.
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

  /** @throws MediaError if it can't be loaded; the signal's reason once that is aborted */
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

  /** The data if it is base64 of the usual kind; rewritten if it is of another, with line breaks or without padding. */
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
    const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase(); // one letter is a drive of Windows
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
    if (url.length > 4 * this.#maxBytes + 1000) throw this.#tooLarge(block); // before anything is decoded
    const { bytes, mediaType } = parseDataUrl(url);
    if (bytes.length > this.#maxBytes) throw this.#tooLarge(block);
    return { bytes, announcedType: mediaType };
  }

  async #download(block: MediaBlock, url: string, signal: AbortSignal): Promise<RawMedia> {
    const { download = false, allowedDirs: _dirs, ...options } = this.#options;
    if (!download) {
      throw new MediaError(
        block,
        'downloads are off. Make the MediaLoader with { download: true }, or give the bytes as base64.',
      );
    }
    const { safeFetch } = await import('#safe-fetch'); // not before something is downloaded
    const accept = ACCEPTED[block.type];
    const answer = await safeFetch(url, { ...options, accept, signal });
    return { bytes: answer.bytes, announcedType: answer.mediaType, name: new URL(answer.url).pathname };
  }

  async #readFile(block: MediaBlock, place: string, signal: AbortSignal): Promise<RawMedia> {
    const { allowedDirs = [] } = this.#options;
    if (allowedDirs.length === 0) {
      throw new MediaError(
        block,
        "local files are off. Name the file's folder in allowedDirs of the MediaLoader, or give the bytes as base64.",
      );
    }
    const { readLocalFile } = await import('#local-file');
    return {
      bytes: await readLocalFile(place, { allowedDirs, maxBytes: this.#maxBytes, signal }),
      name: place,
    };
  }

  #tooLarge(block: MediaBlock): MediaError {
    return new MediaError(block, `it is larger than ${this.#maxBytes} bytes, the limit of maxBytes.`);
  }
}

/** What the author of the block says goes first, then what the bytes show: servers are often wrong. */
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

/** The media type as one of the block's own kind. Some containers hold sound as well as films. */
function typeFor(block: MediaBlock, mediaType: string): string {
  const { type: kind } = block;
  if (!/^[\w.+-]+\/[\w.+-]+\s*(?:;|$)/.test(mediaType)) {
    throw new MediaError(block, 'source.mediaType is no media type. One looks like image/png.');
  }
  const container = /^(?:audio|video)\/(mp4|webm|ogg)$/.exec(mediaType)?.[1];
  if (container !== undefined && (kind === 'audio' || kind === 'video')) return `${kind}/${container}`;
  if (kind === 'file' || mediaType.startsWith(`${kind}/`)) return mediaType;
  throw new MediaError(block, `it is ${mediaType.slice(0, 100)}. Use a file block for that.`);
}
