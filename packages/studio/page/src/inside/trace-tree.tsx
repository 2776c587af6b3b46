import { ChevronDown, ChevronRight, Search } from 'lucide-react';
import { useMemo, useState } from 'react';
import { VList } from 'virtua';

import type { Span } from '../../../src/protocol.ts';
import { agentColour } from '../conversation/agent-colour.ts';
import { useText } from '../i18n/use-text.ts';
import { useKeys } from '../keys.ts';
import { formatCost, formatExact, formatMs, formatTokens, useNow } from '../parts/format.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { Empty } from '../parts/states.tsx';
import { Facts } from './details.tsx';
import { placeOn, spanTree, timeAxis, type AxisPart, type SpanRow } from './span-tree.ts';

interface TraceTreeProps {
  readonly spans: readonly Span[];
  readonly colourOf: (path: readonly string[]) => number;
  readonly onSelect: (span: Span) => void;
}

const MAX_PLAIN = 120;
/** Share of the axis that the length of a gap needs. */
const LABEL_WIDTH = 0.3;

/** Spans as a tree with bars on the time axis. */
export function TraceTree({ spans, colourOf, onSelect }: TraceTreeProps) {
  const t = useText();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [isFolding, setFolding] = useState(true);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<string>();
  const isLive = spans.some(({ status }) => status === 'running');
  const now = useNow(500, isLive);
  const rows = useMemo(() => spanTree(spans, closed), [spans, closed]);
  const axis = useMemo(() => timeAxis(spans, now, isFolding), [spans, now, isFolding]);
  useKeys({ z: () => setFolding(!isFolding) });
  if (spans.length === 0) return <Empty title={t.noSpans} />;
  const hits =
    text === '' ? undefined : new Set(spans.filter((span) => matches(span, text)).map(({ id }) => id));
  const toggle = (id: string): void => {
    const next = new Set(closed);
    if (!next.delete(id)) next.add(id);
    setClosed(next);
  };
  const span = spans.find(({ id }) => id === chosen);
  const labelled = labelledGaps(axis);
  const line = (row: SpanRow) => (
    <SpanLine
      key={row.span.id}
      row={row}
      axis={axis}
      now={now}
      colour={colourOf(row.span.agentPath)}
      isChosen={row.span.id === chosen}
      isHit={hits?.has(row.span.id)}
      isClosed={closed.has(row.span.id)}
      onToggle={toggle}
      onChoose={() => {
        setChosen(row.span.id === chosen ? undefined : row.span.id);
        onSelect(row.span);
      }}
    />
  );
  return (
    <div className="trace">
      <Sums spans={spans} now={now} />
      <div className="trace-tools">
        <label className="search">
          <Search size={14} aria-hidden />
          <span className="hidden">{t.searchSpans}</span>
          <input
            type="search"
            placeholder={t.searchSpans}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        {hits !== undefined && <span className="sub">{t.hits(hits.size)}</span>}
        <label className="check">
          <input type="checkbox" checked={isFolding} onChange={(event) => setFolding(event.target.checked)} />
          {t.foldGaps}
        </label>
      </div>
      <div className="trace-axis" aria-hidden="true">
        {axis.map((part) =>
          part.isGap ? (
            <span
              key={part.fromMs}
              className="gap"
              style={{ left: `${part.from * 100}%`, width: `${(part.to - part.from) * 100}%` }}
            >
              {labelled.has(part) ? `⋮${formatMs(part.toMs - part.fromMs)}⋮` : '⋮'}
            </span>
          ) : null,
        )}
      </div>
      {rows.length <= MAX_PLAIN ? (
        <div className="trace-rows">{rows.map(line)}</div>
      ) : (
        <VList className="trace-rows trace-long" data={rows}>
          {line}
        </VList>
      )}
      {span !== undefined && <SpanFacts span={span} />}
    </div>
  );
}

/** Gaps whose length has room beside the ones before it. */
function labelledGaps(axis: readonly AxisPart[]): ReadonlySet<AxisPart> {
  const found = new Set<AxisPart>();
  let free = 0;
  for (const part of axis) {
    if (!part.isGap || part.from < free) continue;
    found.add(part);
    free = part.to + LABEL_WIDTH;
  }
  return found;
}

function matches(
  { name, modelName = '', toolName = '', agentPath, error = '' }: Span,
  text: string,
): boolean {
  return [name, modelName, toolName, ...agentPath, error].some((part) =>
    part.toLowerCase().includes(text.toLowerCase()),
  );
}

function Sums({ spans, now }: { spans: readonly Span[]; now: number }) {
  const t = useText();
  const start = Math.min(...spans.map(({ startMs }) => startMs));
  const end = Math.max(...spans.map(({ endMs }) => endMs ?? now));
  const waits = spans
    .filter(({ kind }) => kind === 'wait')
    .reduce((sum, span) => sum + (span.endMs ?? now) - span.startMs, 0);
  const sum = (pick: (span: Span) => number | undefined): number =>
    spans.reduce((total, span) => total + (span.kind === 'agent' ? 0 : (pick(span) ?? 0)), 0);
  const tokens = formatTokens(
    sum(({ usage }) => usage?.inputTokens),
    sum(({ usage }) => usage?.outputTokens),
  );
  const cost = sum(({ usage }) => usage?.cost);
  return (
    <p className="sums">
      <span>{formatMs(end - start)}</span>
      {waits > 0 && <span className="wait">◆ {formatMs(waits)}</span>}
      {tokens !== undefined && <span title={t.tokensInOut}>{tokens}</span>}
      {cost > 0 && <span>{formatCost(cost)}</span>}
      <span>{t.spanCount(spans.length)}</span>
    </p>
  );
}

interface SpanLineProps {
  readonly row: SpanRow;
  readonly axis: readonly AxisPart[];
  readonly now: number;
  readonly colour: number;
  readonly isChosen: boolean;
  readonly isHit: boolean | undefined;
  readonly isClosed: boolean;
  readonly onToggle: (id: string) => void;
  readonly onChoose: () => void;
}

function SpanLine({ row, axis, now, colour, isChosen, isHit, isClosed, onToggle, onChoose }: SpanLineProps) {
  const t = useText();
  const { span, depth, hasChildren } = row;
  const end = span.endMs ?? now;
  const left = placeOn(axis, span.startMs);
  const width = Math.max(0.004, placeOn(axis, end) - left);
  const isBad = span.status === 'error';
  return (
    <div
      className="span"
      data-chosen={isChosen}
      data-hit={isHit}
      data-kind={span.kind}
      {...agentColour(colour)}
    >
      <div className="span-name" style={{ paddingLeft: `${Math.min(depth, 8) * 14}px` }}>
        {hasChildren ? (
          <button
            type="button"
            className="icon-button small"
            aria-expanded={!isClosed}
            aria-label={t.openSpan(span.name)}
            onClick={() => onToggle(span.id)}
          >
            {isClosed ? <ChevronRight size={12} aria-hidden /> : <ChevronDown size={12} aria-hidden />}
          </button>
        ) : (
          <span className="span-gap" />
        )}
        <button type="button" className="span-label" aria-pressed={isChosen} onClick={onChoose}>
          {isBad && <span className="bad">✕ </span>}
          {span.kind === 'wait' && <span className="wait">◆ </span>}
          {span.toolName ?? span.modelName ?? span.name}
        </button>
      </div>
      <div className="span-track" aria-hidden="true">
        <span
          className="span-bar"
          data-status={span.status}
          style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
        />
      </div>
      <span className="span-ms">{formatMs(end - span.startMs)}</span>
    </div>
  );
}

function SpanFacts({ span }: { span: Span }) {
  const t = useText();
  const { usage } = span;
  return (
    <section className="span-facts" aria-label={span.name}>
      <h3>{span.name}</h3>
      <Facts
        facts={[
          [t.state, t.spanStatus[span.status]],
          [t.agent, span.agentPath.join(' › ')],
          [t.model, span.modelName],
          [t.started, formatExact(span.startMs)],
          [t.duration, span.endMs === undefined ? undefined : formatMs(span.endMs - span.startMs)],
          [t.inputTokens, usage?.inputTokens.toLocaleString()],
          [t.outputTokens, usage?.outputTokens.toLocaleString()],
          [t.cachedTokens, usage?.cachedTokens?.toLocaleString()],
          [t.cost, usage?.cost === undefined ? undefined : formatCost(usage.cost)],
          [t.error, span.error],
        ]}
      />
      {Object.keys(span.attributes).length > 0 && <JsonTree value={span.attributes} />}
    </section>
  );
}
