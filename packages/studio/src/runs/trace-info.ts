import type { Span, TraceInfo } from '../protocol.ts';

/** One line about a trace. */
export function traceInfo(
  { traceId, startMs, service, runId }: { traceId: string; startMs: number; service: string; runId?: string },
  spans: readonly Span[],
): TraceInfo {
  const ids = new Set(spans.map(({ id }) => id));
  const root = spans.find(({ parentId }) => parentId === undefined || !ids.has(parentId)) ?? spans[0];
  const end = spans.reduce((latest, span) => Math.max(latest, span.endMs ?? span.startMs), startMs);
  const used = spans.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
  return {
    traceId,
    name: root?.name ?? '',
    service,
    ...(runId !== undefined && { runId }),
    startMs,
    durationMs: end - startMs,
    spans: spans.length,
    errors: spans.filter(({ status }) => status === 'error').length,
    usage: {
      modelCalls: used.length,
      inputTokens: used.reduce((sum, one) => sum + one.inputTokens, 0),
      outputTokens: used.reduce((sum, one) => sum + one.outputTokens, 0),
      cachedTokens: used.reduce((sum, one) => sum + (one.cachedTokens ?? 0), 0),
      cost: used.reduce((sum, one) => sum + (one.cost ?? 0), 0),
    },
  };
}
