import { checkNumber } from '../../util/check-number.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import { tool, type Tool } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import type { SafeFetchOptions } from '../../util/net/safe-fetch.ts';
import { safeFetch } from '#safe-fetch';
import { htmlToText } from '../../util/html/html-to-text.ts';
import { escapeTags } from '../../util/escape-tags.ts';

export interface FetchPageToolOptions extends Pick<
  SafeFetchOptions,
  'allowedHosts' | 'headers' | 'lookup' | 'maxRedirects'
> {
  /** Maximum bytes to download. @default 5 MB */
  readonly maxBytes?: number;
  /** Maximum characters of text per tool call. @default 40 000 */
  readonly maxOutputChars?: number;
  /** @default 30 000 */
  readonly timeoutMs?: number;
  /** Accepted media types, such as `text/*`. @default text, HTML, JSON and XML */
  readonly accept?: readonly string[];
}

const READABLE = [
  'text/*',
  'application/xhtml+xml',
  'application/json',
  'application/xml',
  'application/ld+json',
  'application/rss+xml',
  'application/atom+xml',
  'application/javascript',
  'application/yaml',
];
const HTML = ['text/html', 'application/xhtml+xml'];
/** Number of leading bytes in which a page may declare its encoding. */
const HEAD_BYTES = 1024;
const CHARSET = /<meta[^>]{0,200}charset\s{0,10}=\s{0,10}["']?([\w-]{2,40})/i;
/** Byte order marks, one character per byte, with their encodings. */
const MARKS: readonly (readonly [mark: string, encoding: string])[] = [
  ['\xff\xfe', 'utf-16le'],
  ['\xfe\xff', 'utf-16be'],
  ['\xef\xbb\xbf', 'utf-8'],
];
const DESCRIPTION =
  'Downloads a web page and returns its text. Links are shown as [text](address). A long page comes in parts: ask for the next one by `start`.';

/**
 * Creates the tool `fetch_page`. Sends no requests to private addresses, not even after redirects. The text
 * of a page is untrusted data that may contain instructions for the model.
 * @throws TroupeError if an option is invalid.
 */
export function fetchPageTool(options: FetchPageToolOptions = {}): Tool<JsonObject> {
  const { maxBytes = 5_000_000, maxOutputChars = 40_000, timeoutMs = 30_000, accept = READABLE } = options;
  checkNumber('maxBytes', maxBytes, { least: 1 });
  checkNumber('maxOutputChars', maxOutputChars, { least: 1, whole: true });
  checkNumber('timeoutMs', timeoutMs, { least: 1, most: 3_600_000 });
  const { allowedHosts, headers, lookup, maxRedirects } = options;
  const limits = {
    allowedHosts,
    headers,
    lookup,
    maxRedirects,
    maxBytes,
    accept,
    timeoutMs,
  };
  return tool({
    name: 'fetch_page',
    description: DESCRIPTION,
    readOnly: true,
    timeoutMs: timeoutMs + 10_000,
    schema: {
      type: 'object',
      properties: {
        url: { type: 'string', description: 'The address, with https:// or http://.' },
        start: {
          type: 'integer',
          minimum: 0,
          default: 0,
          description: 'The character from which to show the text.',
        },
      },
      required: ['url'],
      additionalProperties: false,
    },
    async execute(input, { signal }) {
      const { url: address, start = 0 } = input as { url: string; start?: number };
      const { bytes, mediaType, charset, url } = await safeFetch(address, { ...limits, signal });
      const isHtml = HTML.includes(mediaType);
      const raw = decode(bytes, charset, isHtml);
      const page = isHtml ? htmlToText(raw, url) : { title: '', text: raw };
      const title = escapeTags(page.title);
      const text = escapeTags(page.text);
      const head = title === '' ? `URL: ${url}` : `URL: ${url}\nTitle: ${title}`;
      const metadata = { url, mediaType, chars: text.length };
      return new ToolResponse(`${head}\n\n${partOf(text, start, maxOutputChars)}`, { metadata });
    },
  });
}

function partOf(text: string, start: number, maxOutputChars: number): string {
  if (start === 0 && text.length <= maxOutputChars) return text;
  const isPairCut =
    text.codePointAt(start + maxOutputChars - 1) !== text.charCodeAt(start + maxOutputChars - 1);
  const end = start + maxOutputChars + (isPairCut ? 1 : 0);
  const rest = end < text.length ? ` Call again with start = ${end} for the next part.` : '';
  const shown =
    start < text.length
      ? `the characters from ${start} to ${Math.min(end, text.length)} of ${text.length}`
      : `no characters: there are only ${text.length}`;
  return `${text.slice(start, end).toWellFormed()}\n<system-info>These are ${shown}.${rest}</system-info>`;
}

/** Decodes a page by its byte order mark, the server's charset or its own declaration; otherwise as UTF-8. */
function decode(bytes: Uint8Array, charset: string | undefined, isHtml: boolean): string {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, HEAD_BYTES));
  const [, marked] = MARKS.find(([mark]) => head.startsWith(mark)) ?? [];
  const named = isHtml ? CHARSET.exec(head)?.[1] : undefined;
  // A page whose declaration is readable byte by byte can't be in UTF-16.
  const fromPage = /^utf-?16/i.test(named ?? '') ? 'utf-8' : named;
  try {
    return new TextDecoder(marked ?? charset ?? fromPage ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes); // unknown encoding
  }
}
