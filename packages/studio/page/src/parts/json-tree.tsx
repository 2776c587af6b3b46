import { ChevronDown, ChevronRight } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { JsonValue } from 'troupe';
import { VList } from 'virtua';

import { useText } from '../i18n/use-text.ts';
import { jsonRows, type JsonRow } from './json-rows.ts';

/** More rows are a virtual list. */
const MAX_PLAIN = 200;

/** JSON as a tree of flat rows. Large trees are virtual, so that opening 5 000 keys costs a screenful. */
export function JsonTree({ value, depth = 2 }: { value: JsonValue; depth?: number }) {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const rows = useMemo(() => jsonRows(value, folds, depth), [value, folds, depth]);
  const toggle = (row: JsonRow): void => setFolds(new Map(folds).set(row.path, !row.isOpen));
  if (rows.length <= MAX_PLAIN)
    return (
      <div className="json">
        {rows.map((row) => (
          <JsonLine key={row.path} row={row} onToggle={toggle} />
        ))}
      </div>
    );
  return (
    <VList className="json json-long" data={rows} itemSize={20}>
      {(row) => <JsonLine key={row.path} row={row} onToggle={toggle} />}
    </VList>
  );
}

function JsonLine({ row, onToggle }: { row: JsonRow; onToggle: (row: JsonRow) => void }) {
  const t = useText();
  const name = row.name !== undefined && <span className="json-key">{row.name}</span>;
  return (
    <div className="json-row" data-depth={Math.min(row.depth, 12)}>
      {row.count === undefined ? (
        <>
          <span className="json-gap" />
          {name}
          <span className={`json-value json-${row.type}`}>{row.text}</span>
        </>
      ) : (
        <button type="button" className="json-fold" aria-expanded={row.isOpen} onClick={() => onToggle(row)}>
          {row.isOpen ? <ChevronDown size={12} aria-hidden /> : <ChevronRight size={12} aria-hidden />}
          {name}
          <span className="json-count">{row.type === 'array' ? `[${row.count}]` : t.fields(row.count)}</span>
        </button>
      )}
    </div>
  );
}
