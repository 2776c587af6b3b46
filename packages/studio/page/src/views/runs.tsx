import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { GitCompare, Search, Trash2 } from 'lucide-react';
import { useState } from 'react';

import type { Project, StudioRunStatus } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { useKeys } from '../keys.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { changeQuery, goTo, hrefOf, useRoute } from '../route.ts';
import { get, messageOf, post } from '../server/request.ts';
import { useInfo, useRunPages } from './queries.ts';
import { FirstStart } from './now.tsx';
import { RunList } from './run-list.tsx';

const STATUSES: readonly StudioRunStatus[] = ['running', 'waiting', 'idle', 'done', 'failed', 'lost'];
const PAGE = 100;

/** All runs, with a filter that is part of the address. */
export function Runs() {
  const t = useText();
  const { query } = useRoute();
  const info = useInfo();
  const client = useQueryClient();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isAsking, setAsking] = useState(false);
  const filter = {
    q: query.get('q') ?? undefined,
    project: query.get('project') ?? undefined,
    status: query.get('status')?.split(',').filter(Boolean),
  };
  const runs = useRunPages({ ...filter, limit: PAGE });
  // A run that has changed between two requests is on both pages.
  const found = runs.data?.pages.flatMap((page) => page.runs) ?? [];
  const shown = [...new Map(found.map((run) => [run.id, run])).values()];
  const total = runs.data?.pages.at(-1)?.total;
  const projects = useQuery({
    queryKey: ['runs', 'projects'],
    queryFn: async () => get<{ projects: readonly Project[] }>('projects'),
  });
  const remove = useMutation({
    mutationFn: async () => post<{ deleted: number }>('runs/delete', { ids: [...chosen] }),
    onSuccess: async () => {
      setChosen(new Set());
      setAsking(false);
      await client.invalidateQueries({ queryKey: ['runs'] });
    },
  });
  useKeys({ '/': () => document.querySelector<HTMLInputElement>('#run-search')?.focus() });
  const choose = (id: string, isChosen: boolean): void => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const statuses = new Set(filter.status);
  const isFiltered = filter.q !== undefined || filter.project !== undefined || statuses.size > 0;
  const [a, b] = chosen;
  return (
    <div className="view">
      <div className="view-head">
        <h1>{t.runs}</h1>
        {total !== undefined && <span className="count">{total}</span>}
      </div>
      <div className="filters">
        <label className="search">
          <Search size={15} aria-hidden />
          <span className="hidden">{t.searchRuns}</span>
          <input
            id="run-search"
            type="search"
            placeholder={t.searchRuns}
            defaultValue={filter.q ?? ''}
            onChange={(event) => changeQuery({ q: event.target.value || undefined })}
          />
        </label>
        <label>
          <span className="hidden">{t.project}</span>
          <select
            value={filter.project ?? ''}
            onChange={(event) => changeQuery({ project: event.target.value || undefined })}
          >
            <option value="">{t.allProjects}</option>
            {projects.data?.projects.map(({ name, runs: count }) => (
              <option key={name} value={name}>
                {name} ({count})
              </option>
            ))}
          </select>
        </label>
        <div className="chips" role="group" aria-label={t.state}>
          {STATUSES.map((status) => (
            <button
              key={status}
              type="button"
              className="chip"
              aria-pressed={statuses.has(status)}
              onClick={() => {
                if (statuses.has(status)) statuses.delete(status);
                else statuses.add(status);
                changeQuery({ status: [...statuses].join(',') || undefined });
              }}
            >
              {t.runStatus[status]}
            </button>
          ))}
        </div>
        <span className="spring" />
        {chosen.size === 2 && a !== undefined && b !== undefined && (
          <a className="button" href={hrefOf(['compare'], { a, b })}>
            <GitCompare size={14} aria-hidden /> {t.compare}
          </a>
        )}
        {chosen.size > 0 && (
          <button type="button" className="button danger" onClick={() => setAsking(true)}>
            <Trash2 size={14} aria-hidden /> {t.deleteRuns(chosen.size)}
          </button>
        )}
      </div>
      {runs.error !== null && <Failed error={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.data === undefined && runs.error === null && <Loading lines={8} />}
      {shown.length > 0 && <RunList runs={shown} chosen={chosen} onChoose={choose} />}
      {runs.hasNextPage && total !== undefined && (
        <p className="more">
          {t.shownOf(shown.length, total)}{' '}
          <button
            type="button"
            className="button"
            disabled={runs.isFetchingNextPage}
            onClick={() => void runs.fetchNextPage()}
          >
            {t.more}
          </button>
        </p>
      )}
      {runs.data !== undefined &&
        shown.length === 0 &&
        (isFiltered ? (
          <Empty title={t.noMatch}>
            <button type="button" className="button" onClick={() => goTo(['runs'])}>
              {t.clearFilter}
            </button>
          </Empty>
        ) : (
          info.data !== undefined && <FirstStart info={info.data} />
        ))}
      {isAsking && (
        <Dialog title={t.deleteRuns(chosen.size)} onClose={() => setAsking(false)}>
          <p>{t.deleteMeans}</p>
          {remove.error !== null && <p className="card-problem">✕ {messageOf(remove.error)}</p>}
          <div className="card-actions">
            <button
              type="button"
              className="button danger"
              disabled={remove.isPending}
              onClick={() => remove.mutate()}
            >
              {t.delete}
            </button>
            <button type="button" className="button" onClick={() => setAsking(false)}>
              {t.cancel}
            </button>
          </div>
        </Dialog>
      )}
    </div>
  );
}
