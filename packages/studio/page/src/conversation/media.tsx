import { FileText, ImageOff } from 'lucide-react';
import { useState } from 'react';
import type { AudioBlock, FileBlock, ImageBlock, MediaSource, VideoBlock } from 'troupe';

import { encoded } from '../encoded.ts';
import { FILE_SCHEME } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { safeLink } from '../markdown/safe-link.ts';
import { formatBytes } from '../parts/format.ts';
import { apiUrl } from '../server/request.ts';

type MediaBlock = ImageBlock | AudioBlock | VideoBlock | FileBlock;

/** Types that a data address may have: bytes that nothing runs. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif)|audio\/[\w.+-]+|video\/(?:mp4|webm))$/;

/** Address that the page may load: stored files of the Studio, and bytes. Never an address of another server. */
export function localUrl(source: MediaSource): string | undefined {
  if (source.type === 'base64')
    return SHOWN.test(source.mediaType) ? `data:${source.mediaType};base64,${source.data}` : undefined;
  if (!source.url.startsWith(FILE_SCHEME)) return undefined;
  return apiUrl(`files/${encoded(source.url.slice(FILE_SCHEME.length))}`);
}

/** An image, a sound, a video or a file. Media of other servers are links, which only a click follows. */
export function Media({ block }: { block: MediaBlock }) {
  const t = useText();
  const [isFailed, setFailed] = useState(false);
  const [isLarge, setLarge] = useState(false);
  const url = localUrl(block.source);
  const name = block.type === 'file' ? (block.filename ?? t.media.file) : t.media[block.type];
  const fail = (): void => setFailed(true);
  if (url === undefined || isFailed) return <Elsewhere block={block} name={name} />;
  switch (block.type) {
    case 'image':
      return (
        <button
          type="button"
          className="media-image"
          data-large={isLarge}
          onClick={() => setLarge(!isLarge)}
          aria-label={t.enlarge}
        >
          <img src={url} alt={t.media.image} loading="lazy" onError={fail} />
        </button>
      );
    case 'audio':
      return (
        <audio className="media-audio" controls preload="none" src={url} onError={fail} aria-label={name} />
      );
    case 'video':
      return (
        <video className="media-video" controls preload="none" src={url} onError={fail} aria-label={name} />
      );
    case 'file':
      return (
        <a className="media-file" href={url} download={name}>
          <FileText size={16} aria-hidden /> {name}
        </a>
      );
  }
}

function Elsewhere({ block, name }: { block: MediaBlock; name: string }) {
  const t = useText();
  const { source } = block;
  const url = source.type === 'url' ? safeLink(source.url) : undefined;
  const size = source.type === 'base64' ? `, ${formatBytes(Math.floor((source.data.length * 3) / 4))}` : '';
  return (
    <span className="media-file">
      <ImageOff size={16} aria-hidden /> {name}
      {size}
      {url !== undefined && (
        <a href={url.href} target="_blank" rel="noopener noreferrer">
          {t.openAt(url.host)}
        </a>
      )}
    </span>
  );
}
