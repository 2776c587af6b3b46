import type { SpanAttributes } from '../tracing/tracer.ts';

/** Attributes of the spans of a sub-agent. */
export function spanAttributes(
  subagent: string,
  supervisor: string,
  tags: readonly string[] = [],
): SpanAttributes {
  return {
    'subagent.name': subagent,
    'subagent.supervisor': supervisor,
    ...(tags.length > 0 && { 'subagent.tags': [...tags] }),
  };
}
