import { useQuery } from '@tanstack/react-query';
import { ChevronLeft, ListTree } from 'lucide-react';
import { useMemo } from 'react';

import { encoded } from '../encoded.ts';
import type { SpanPage, TracePage } from '../../../src/protocol.ts';
import { TraceTree } from '../inside/trace-tree.tsx';
import { useText } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { formatAgo, formatCount, formatMs, useNow } from '../parts/format.ts';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { changeQuery, hrefOf, useRoute } from '../route.ts';
import { get } from '../server/request.ts';
import { settings } from '../settings.ts';
import { useInfo } from './queries.ts';

/** Traces of all programs, in any language, that send OTLP. */
export function Traces({ traceId }: { traceId: string | undefined }) {
  return traceId === undefined ? <TraceList /> : <OneTrace traceId={traceId} />;
}

function TraceList() {
  const t = useText();
  const { language } = useStore(settings);
  const { query } = useRoute();
  const info = useInfo();
  const now = useNow(10_000);
  const q = query.get('q') ?? undefined;
  const traces = useQuery({
    queryKey: ['runs', 'traces', q],
    queryFn: async () => get<TracePage>('traces', { q, limit: 100 }),
    placeholderData: (before) => before,
  });
  return (
    <div className="view">
      <h1>{t.traces}</h1>
      <div className="filters">
        <label className="search">
          <span className="hidden">{t.searchTraces}</span>
          <input
            type="search"
            placeholder={t.searchTraces}
            defaultValue={q ?? ''}
            onChange={(event) => changeQuery({ q: event.target.value || undefined })}
          />
        </label>
      </div>
      {traces.error !== null && <Failed error={traces.error} onRetry={() => void traces.refetch()} />}
      {traces.data === undefined && traces.error === null && <Loading />}
      {traces.data?.traces.length === 0 && (
        <Empty title={t.noTraces} icon={<ListTree size={28} />}>
          {info.data !== undefined && (
            <p className="mono">
              {info.data.connect.otlpUrl} <CopyButton text={info.data.connect.otlpUrl} />
            </p>
          )}
        </Empty>
      )}
      {traces.data !== undefined && traces.data.traces.length > 0 && (
        <div className="table-wrap" role="region" aria-label={t.traces} tabIndex={0}>
          <table className="runs">
            <thead>
              <tr>
                <th scope="col">{t.name}</th>
                <th scope="col">{t.service}</th>
                <th scope="col" className="number">
                  {t.duration}
                </th>
                <th scope="col" className="number">
                  {t.spans}
                </th>
                <th scope="col" className="number">
                  {t.errors}
                </th>
                <th scope="col" className="number">
                  {t.tokens}
                </th>
                <th scope="col" className="number">
                  {t.started}
                </th>
              </tr>
            </thead>
            <tbody>
              {traces.data.traces.map((trace) => (
                <tr key={trace.traceId}>
                  <td>
                    <a href={hrefOf(['traces', trace.traceId])}>{trace.name}</a>
                  </td>
                  <td>{trace.service}</td>
                  <td className="number">{formatMs(trace.durationMs)}</td>
                  <td className="number">{trace.spans}</td>
                  <td className="number">{trace.errors}</td>
                  <td className="number">
                    {formatCount(trace.usage.inputTokens + trace.usage.outputTokens)}
                  </td>
                  <td className="number">{formatAgo(trace.startMs, now, language)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function OneTrace({ traceId }: { traceId: string }) {
  const t = useText();
  const page = useQuery({
    queryKey: ['trace', traceId],
    queryFn: async () => get<SpanPage>(`traces/${encoded(traceId)}`),
  });
  const colours = useMemo(() => {
    const names = new Map<string, number>();
    for (const { agentPath } of page.data?.spans ?? []) {
      const name = agentPath.at(-1);
      if (name !== undefined && !names.has(name)) names.set(name, names.size);
    }
    return names;
  }, [page.data]);
  return (
    <div className="view">
      <a className="crumb" href={hrefOf(['traces'])}>
        <ChevronLeft size={16} aria-hidden /> {t.traces}
      </a>
      <h1 className="mono">{traceId.slice(0, 16)}</h1>
      {page.error !== null && <Failed error={page.error} onRetry={() => void page.refetch()} />}
      {page.data === undefined && page.error === null && <Loading />}
      {page.data !== undefined && (
        <TraceTree
          spans={page.data.spans}
          colourOf={(path) => colours.get(path.at(-1) ?? '') ?? 0}
          onSelect={() => undefined}
        />
      )}
    </div>
  );
}
