import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

import { encoded } from '../encoded.ts';
import type { SpanPage } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { Failed, Loading } from '../parts/states.tsx';
import { get } from '../server/request.ts';
import type { InspectorProps } from './inspector.tsx';
import { TraceTree } from './trace-tree.tsx';

/** The trace of a run, renewed while the run works. */
export function TracePanel({ run, fold, version, at, onSelectSeq }: InspectorProps) {
  const t = useText();
  const [source, setSource] = useState<string>();
  const page = useQuery({
    queryKey: ['spans', run.id, source],
    queryFn: async ({ signal }) =>
      get<SpanPage>(`runs/${encoded(run.id)}/spans`, { source, limit: 5000 }, signal),
    placeholderData: (before) => before,
  });
  const { refetch } = page;
  useEffect(() => {
    const timer = window.setTimeout(() => void refetch(), 700);
    return () => window.clearTimeout(timer);
  }, [version, refetch]);
  if (page.error !== null && page.data === undefined)
    return <Failed error={page.error} onRetry={() => void refetch()} />;
  if (page.data === undefined) return <Loading />;
  const { spans, sources, total } = page.data;
  const shown = at === undefined ? spans : spans.filter(({ seq }) => seq === undefined || seq <= at);
  return (
    <>
      {sources.length > 1 && (
        <label className="inline-field">
          {t.sourceWord}{' '}
          <select value={source ?? page.data.source} onChange={(event) => setSource(event.target.value)}>
            {sources.map((one) => (
              <option key={one} value={one}>
                {t.spanSource[one]}
              </option>
            ))}
          </select>
        </label>
      )}
      <TraceTree
        spans={shown}
        colourOf={(path) => fold.colourOf(path)}
        onSelect={({ seq }) => seq !== undefined && onSelectSeq(seq)}
      />
      {total > spans.length && <p className="sub">{t.spansShown(spans.length, total)}</p>}
    </>
  );
}
