import type { ContentBlock, MediaSource } from 'troupe';

/** A file that is sent with a message. */
export interface Attachment {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  readonly block: ContentBlock;
}

/** Reads a chosen file as a block: images, sounds and videos as such, everything else as a file. */
export async function readAttachment(file: File, id: string): Promise<Attachment> {
  const mediaType = file.type || 'application/octet-stream';
  const source: MediaSource = { type: 'base64', mediaType, data: await base64Of(file) };
  const kind = mediaType.split('/')[0];
  const block: ContentBlock =
    kind === 'image' || kind === 'audio' || kind === 'video'
      ? { type: kind, source }
      : { type: 'file', source, filename: file.name };
  return { id, name: file.name || mediaType, size: file.size, block };
}

async function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      const url = typeof reader.result === 'string' ? reader.result : '';
      resolve(url.slice(url.indexOf(',') + 1));
    });
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file can not be read.')));
    reader.readAsDataURL(file);
  });
}

/** Content of a message: text alone, or blocks if files are attached. */
export function contentOf(text: string, attachments: readonly Attachment[]): string | ContentBlock[] {
  if (attachments.length === 0) return text;
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...attachments.map(({ block }) => block),
  ];
}
