import {
  useInfiniteQuery,
  useQuery,
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
} from '@tanstack/react-query';

import { encoded } from '../encoded.ts';
import type { RunDetail, RunPage, StudioInfo } from '../../../src/protocol.ts';
import { get } from '../server/request.ts';

export interface RunFilter {
  readonly project?: string | undefined;
  readonly status?: readonly string[] | undefined;
  readonly q?: string | undefined;
  readonly source?: string | undefined;
  readonly limit?: number;
}

export function useInfo(): UseQueryResult<StudioInfo> {
  return useQuery({ queryKey: ['info'], queryFn: async ({ signal }) => get<StudioInfo>('info', {}, signal) });
}

export function useRuns(filter: RunFilter): UseQueryResult<RunPage> {
  return useQuery({
    queryKey: ['runs', filter],
    queryFn: async ({ signal }) => get<RunPage>('runs', { ...filter }, signal),
    placeholderData: (before) => before,
  });
}

/** Runs, one page after the other. */
export function useRunPages(filter: RunFilter): UseInfiniteQueryResult<InfiniteData<RunPage>> {
  return useInfiniteQuery({
    queryKey: ['runs', 'pages', filter],
    queryFn: async ({ signal, pageParam }) =>
      get<RunPage>('runs', { ...filter, cursor: pageParam ?? undefined }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    placeholderData: (before) => before,
  });
}

export function useRunDetail(runId: string): UseQueryResult<RunDetail> {
  return useQuery({
    queryKey: ['run', runId],
    queryFn: async ({ signal }) => get<RunDetail>(`runs/${encoded(runId)}`, {}, signal),
    placeholderData: (before) => before,
  });
}
