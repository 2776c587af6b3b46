import type { Span } from '../../../src/protocol.ts';

/** A span in the order of the tree. */
export interface SpanRow {
  readonly span: Span;
  readonly depth: number;
  readonly hasChildren: boolean;
}

/** Spans as a tree, siblings by start. Spans whose parent is missing are roots, so nothing is lost. Closed spans hide their children. */
export function spanTree(spans: readonly Span[], closed: ReadonlySet<string>): readonly SpanRow[] {
  const ids = new Set(spans.map(({ id }) => id));
  const children = new Map<string, Span[]>();
  for (const span of spans.toSorted((a, b) => a.startMs - b.startMs)) {
    const parent =
      span.parentId !== undefined && span.parentId !== span.id && ids.has(span.parentId) ? span.parentId : '';
    const list = children.get(parent);
    if (list === undefined) children.set(parent, [span]);
    else list.push(span);
  }
  const rows: SpanRow[] = [];
  const seen = new Set<string>();
  const stack = (children.get('') ?? []).toReversed().map((span) => ({ span, depth: 0 }));
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    const { span, depth } = item;
    if (seen.has(span.id)) continue;
    seen.add(span.id);
    const below = children.get(span.id) ?? [];
    rows.push({ span, depth, hasChildren: below.length > 0 });
    if (!closed.has(span.id))
      for (const child of below.toReversed()) stack.push({ span: child, depth: depth + 1 });
  }
  return rows;
}

/** A part of the time axis: time in which something runs, or a gap that is drawn short. */
export interface AxisPart {
  readonly fromMs: number;
  readonly toMs: number;
  readonly isGap: boolean;
  /** Place on the axis, from 0 to 1. */
  readonly from: number;
  readonly to: number;
}

/** Gaps longer than this share of the range are folded. */
const GAP_SHARE = 0.05;
const GAP_WIDTH = 0.03;

/** The time axis with gaps folded, in which nothing runs. Waiting for a person counts as a gap. */
export function timeAxis(spans: readonly Span[], nowMs: number, isFolding: boolean): readonly AxisPart[] {
  if (spans.length === 0) return [];
  const waits = spans
    .filter(({ kind }) => kind === 'wait')
    .map((wait) => ({ start: wait.startMs, end: wait.endMs ?? nowMs, agentPath: wait.agentPath }));
  const busy = spans
    .filter(({ kind }) => kind === 'model' || kind === 'other' || kind === 'tool')
    .flatMap((span) => {
      const whole = { start: span.startMs, end: span.endMs ?? nowMs };
      return span.kind === 'tool' ? without(whole, waits.filter(isBelow(span))) : [whole];
    });
  const start = Math.min(...spans.map(({ startMs }) => startMs));
  const end = Math.max(start + 1, ...spans.map(({ endMs }) => endMs ?? nowMs));
  const gaps: { start: number; end: number }[] = [];
  let until = start;
  for (const one of busy.toSorted((a, b) => a.start - b.start)) {
    if (one.start - until > (end - start) * GAP_SHARE) gaps.push({ start: until, end: one.start });
    until = Math.max(until, one.end);
  }
  if (end - until > (end - start) * GAP_SHARE && busy.length > 0) gaps.push({ start: until, end });
  const folded = isFolding ? gaps : [];
  const shown = end - start - folded.reduce((sum, gap) => sum + gap.end - gap.start, 0);
  const width = Math.max(0.1, 1 - folded.length * GAP_WIDTH);
  const parts: AxisPart[] = [];
  let at = 0;
  let time = start;
  const add = (toMs: number, isGap: boolean): void => {
    if (toMs <= time) return;
    const to = Math.min(1, at + (isGap ? GAP_WIDTH : ((toMs - time) / Math.max(shown, 1e-9)) * width));
    parts.push({ fromMs: time, toMs, isGap, from: at, to });
    at = to;
    time = toMs;
  };
  for (const gap of folded) {
    add(gap.start, false);
    add(gap.end, true);
  }
  add(end, false);
  return parts;
}

interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Whether a person was asked in a tool call: nothing runs there in this time. */
function isBelow({ agentPath }: Span): (wait: { readonly agentPath: readonly string[] }) => boolean {
  return (wait) => agentPath.every((name, at) => wait.agentPath[at] === name);
}

/** The parts of a stretch of time outside of others. */
function without(whole: Stretch, others: readonly Stretch[]): readonly Stretch[] {
  let parts: readonly Stretch[] = [whole];
  for (const { start, end } of others)
    parts = parts
      .flatMap((part) => [
        { start: part.start, end: Math.min(part.end, start) },
        { start: Math.max(part.start, end), end: part.end },
      ])
      .filter((part) => part.start < part.end);
  return parts;
}

/** Place of a time on the axis, from 0 to 1. */
export function placeOn(axis: readonly AxisPart[], ms: number): number {
  const part = axis.find(({ toMs }) => ms <= toMs) ?? axis.at(-1);
  if (part === undefined) return 0;
  const share = Math.min(1, Math.max(0, (ms - part.fromMs) / Math.max(part.toMs - part.fromMs, 1e-9)));
  return part.from + share * (part.to - part.from);
}
