import type { TextBlock } from '../message/blocks.ts';
import { oneLine } from '../util/text.ts';
import type { MediaBlock } from './prompt.ts';

/** Maximum characters of an address. Longer ones are no addresses that a model could pass on. */
const MAX_CHARS = 4000;
const URL_SCHEME = /^([a-z][a-z0-9+.-]+):/i;

const LABELS: Record<MediaBlock['type'], string> = {
  image: 'Image',
  audio: 'Audio',
  video: 'Video',
  file: 'File',
};

const captions = new WeakSet<object>();

/**
 * Line of text with the URL or path of a medium, so that the model can pass the address on to a tool or a
 * user. Undefined for a medium that has only its bytes. The address stays on one line, and its angle brackets
 * are escaped: it can't end the tags that it stands in.
 */
export function mediaCaption({ type, source }: MediaBlock): TextBlock | undefined {
  if (source.type !== 'url' || source.url.length > MAX_CHARS) return undefined;
  const scheme = URL_SCHEME.exec(source.url)?.[1]?.toLowerCase();
  if (scheme === 'data') return undefined;
  const [open, close] = scheme === undefined ? ['&lt;', '&gt;'] : ['%3C', '%3E'];
  const address = oneLine(source.url.toWellFormed()).replaceAll('<', open).replaceAll('>', close);
  const caption: TextBlock = { type: 'text', text: `${LABELS[type]}: ${address}` };
  captions.add(caption);
  return caption;
}

/** Whether a block was made by `mediaCaption`, and not by a tool. */
export function isMediaCaption(block: { readonly type: string } | undefined): block is TextBlock {
  return block !== undefined && captions.has(block);
}
