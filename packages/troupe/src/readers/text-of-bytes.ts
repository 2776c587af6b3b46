/** Text of bytes: by their byte order mark, else UTF-8, else the single-byte encoding of Windows, which fits every byte. */
export function textOfBytes(data: Uint8Array | string): string {
  if (typeof data === 'string') return data.replace(/^\ufeff/, '');
  const [first, second] = data;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(data);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(data);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(data);
  } catch {
    return new TextDecoder('windows-1252').decode(data);
  }
}
