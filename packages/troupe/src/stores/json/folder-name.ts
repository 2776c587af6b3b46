import { isStoredId, type StoredId } from '../../session/format/session-key.ts';

/** Separator before the encoded capital letters. No stored id contains the separator. */
const CAPITALS = '~';

/** Folder name for a stored id. Different ids give different names, even on file systems that ignore case. */
export function folderOfId(id: string): string {
  const lower = id.toLowerCase();
  if (lower === id) return id;
  const bits = Array.from(id, (letter, i) => (letter === lower[i] ? '0' : '1')).join('');
  return `${lower}${CAPITALS}${BigInt(`0b1${bits}`).toString(16)}`;
}

/** Stored id of a folder name; undefined for other folders. */
export function idOfFolder(name: string): StoredId | undefined {
  const [lower = '', hex] = name.split(CAPITALS);
  if (hex !== undefined && !/^[0-9a-f]{1,51}$/.test(hex)) return undefined;
  const bits = hex === undefined ? '' : BigInt(`0x${hex}`).toString(2).slice(1);
  const id = Array.from(lower, (letter, i) => (bits[i] === '1' ? letter.toUpperCase() : letter)).join('');
  return isStoredId(id) && folderOfId(id) === name ? id : undefined;
}
