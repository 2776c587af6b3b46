import type { JsonValue } from 'troupe';

export interface JsonRow {
  readonly path: string;
  readonly name: string | undefined;
  readonly depth: number;
  readonly type: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** Value as text, for leaves. */
  readonly text: string;
  /** Number of children; undefined for leaves. */
  readonly count: number | undefined;
  readonly isOpen: boolean;
}

const MAX_TEXT = 2000;

/** The visible rows of a JSON value. The value itself has no row if it has children. Containers up to `depth` are open unless `folds` says otherwise. */
export function jsonRows(
  value: JsonValue,
  folds: ReadonlyMap<string, boolean>,
  depth: number,
): readonly JsonRow[] {
  const rows: JsonRow[] = [];
  const stack: { value: JsonValue; name: string | undefined; path: string; depth: number }[] = [
    { value, name: undefined, path: '', depth: 0 },
  ];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    const { value: present, name, path, depth: level } = item;
    if (typeof present !== 'object' || present === null) {
      rows.push({ path, name, depth: level, ...leafOf(present), count: undefined, isOpen: false });
      continue;
    }
    const children: (readonly [string, JsonValue | undefined])[] = Array.isArray(present)
      ? present.map((child: JsonValue, index) => [String(index), child])
      : Object.entries(present);
    const isOpen = level === 0 || (folds.get(path) ?? level < depth);
    const type = Array.isArray(present) ? 'array' : 'object';
    rows.push({ path, name, depth: level, type, text: '', count: children.length, isOpen });
    if (!isOpen) continue;
    for (const [key, child] of children.reverse())
      stack.push({ value: child ?? null, name: key, path: `${path}/${key}`, depth: level + 1 });
  }
  const [root] = rows;
  if (root?.isOpen !== true || rows.length === 1) return rows;
  return rows.slice(1).map((row) => ({ ...row, depth: row.depth - 1 }));
}

function leafOf(value: string | number | boolean | null): Pick<JsonRow, 'type' | 'text'> {
  if (value === null) return { type: 'null', text: 'null' };
  if (typeof value === 'string') {
    const text =
      value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}… (+${value.length - MAX_TEXT})` : value;
    return { type: 'string', text };
  }
  return { type: typeof value === 'number' ? 'number' : 'boolean', text: String(value) };
}
