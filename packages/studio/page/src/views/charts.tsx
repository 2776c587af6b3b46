import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import type { Charts, ChartSeries, ChartTotals } from '../../../src/protocol.ts';
import { useText, type Dictionary } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { formatClock, formatCost, formatCount, formatDay, formatMs } from '../parts/format.ts';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { changeQuery, useRoute } from '../route.ts';
import { get } from '../server/request.ts';
import { settings, type Language } from '../settings.ts';

const HOURS = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 } as const;
type Span = keyof typeof HOURS;
const GROUPS = ['model', 'agent', 'tool'] as const;
type Group = (typeof GROUPS)[number];

interface Measure {
  readonly key: 'tokens' | 'cost' | 'latency' | 'cache' | 'errors' | 'calls';
  readonly values: (series: ChartSeries) => readonly (number | null)[];
  readonly format: (value: number) => string;
  /** Smallest top of the axis. */
  readonly top: number;
}

const MEASURES: readonly Measure[] = [
  {
    key: 'tokens',
    top: 10,
    values: ({ inputTokens, outputTokens }) =>
      inputTokens.map((count, at) => count + (outputTokens[at] ?? 0)),
    format: formatCount,
  },
  { key: 'cost', top: 0.01, values: ({ cost }) => cost, format: formatCost },
  { key: 'latency', top: 100, values: ({ p95Ms }) => p95Ms, format: formatMs },
  {
    key: 'cache',
    top: 100,
    values: ({ cachedTokens, inputTokens }) =>
      cachedTokens.map((count, at) =>
        (inputTokens[at] ?? 0) > 0 ? (100 * count) / (inputTokens[at] ?? 1) : null,
      ),
    format: (value) => `${Math.round(value)} %`,
  },
  { key: 'calls', top: 4, values: ({ calls }) => calls, format: formatCount },
  { key: 'errors', top: 4, values: ({ errors }) => errors, format: formatCount },
];

/** Lines with more values have no points. */
const MAX_POINTS = 40;

/** Measures that tools have. */
const OF_TOOLS: readonly Measure['key'][] = ['latency', 'calls', 'errors'];

/** Tokens, cost, latency, cache and errors over time, by model, agent or tool; each also as a table. */
export function ChartsView() {
  const t = useText();
  const { query } = useRoute();
  const span: Span = (Object.keys(HOURS) as Span[]).find((one) => one === query.get('span')) ?? '24h';
  const by: Group = GROUPS.find((one) => one === query.get('by')) ?? 'model';
  const charts = useQuery({
    queryKey: ['runs', 'charts', span, by],
    queryFn: async () => {
      const to = Date.now();
      const from = new Date(to - HOURS[span] * 3_600_000).toISOString();
      return get<Charts>('charts', { from, to: new Date(to).toISOString(), by });
    },
    placeholderData: (before) => before,
  });
  const measures = by === 'tool' ? MEASURES.filter(({ key }) => OF_TOOLS.includes(key)) : MEASURES;
  return (
    <div className="view">
      <div className="view-head">
        <h1>{t.charts}</h1>
        <span className="spring" />
        <Segments
          label={t.groupBy}
          name="by"
          options={GROUPS}
          chosen={by}
          textOf={(one) => t.groups[one]}
          onChoose={(one) => changeQuery({ by: one })}
        />
        <Segments
          label={t.span}
          name="span"
          options={Object.keys(HOURS) as Span[]}
          chosen={span}
          textOf={(one) => one}
          onChoose={(one) => changeQuery({ span: one })}
        />
      </div>
      {charts.error !== null && <Failed error={charts.error} onRetry={() => void charts.refetch()} />}
      {charts.data === undefined && charts.error === null && <Loading />}
      {charts.data !== undefined &&
        (charts.data.series.length === 0 ? (
          <Empty title={t.noCharts} />
        ) : (
          <All charts={charts.data} measures={measures} by={by} />
        ))}
    </div>
  );
}

function Segments<Key extends string>(props: {
  label: string;
  name: string;
  options: readonly Key[];
  chosen: Key;
  textOf: (key: Key) => string;
  onChoose: (key: Key) => void;
}) {
  const { label, name, options, chosen, textOf, onChoose } = props;
  return (
    <div className="segments" role="radiogroup" aria-label={label}>
      {options.map((one) => (
        <label key={one} data-chosen={one === chosen}>
          <input type="radio" name={name} checked={one === chosen} onChange={() => onChoose(one)} />
          {textOf(one)}
        </label>
      ))}
    </div>
  );
}

function All({ charts, measures, by }: { charts: Charts; measures: readonly Measure[]; by: Group }) {
  const t = useText();
  return (
    <>
      <div className="charts">
        {measures.map((measure) => (
          <figure key={measure.key} className="chart">
            <figcaption>{t.measures[measure.key]}</figcaption>
            {charts.series.some((one) => measure.values(one).some((value) => (value ?? 0) > 0)) ? (
              <Plot charts={charts} measure={measure} t={t} />
            ) : (
              <p className="plot-empty">{t.noneMeasured}</p>
            )}
          </figure>
        ))}
      </div>
      <Totals charts={charts} by={by} />
    </>
  );
}

function Plot({ charts, measure, t }: { charts: Charts; measure: Measure; t: Dictionary }) {
  const box = useRef<HTMLDivElement>(null);
  const { theme, language } = useStore(settings);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const axis: uPlot.Axis = {
      stroke: colour('--soft'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { stroke: colour('--line'), width: 1 },
      font: '12px ui-sans-serif, system-ui',
    };
    const series = charts.series.map((one, index): uPlot.Series => ({
      label: one.key,
      stroke: colour(`--agent-${index % 8}`),
      width: 2,
      points: {
        show: (_, at) => isSparse(data[at] ?? []),
        filter: (_, at) => indicesAboveZero(data[at] ?? []),
        size: 6,
        fill: colour(`--agent-${index % 8}`),
      },
      spanGaps: false,
      value: (_, value: number | null) => (value === null ? '–' : measure.format(value)),
    }));
    const data: uPlot.AlignedData = [
      charts.times.map((time) => time / 1000),
      ...charts.series.map((one) => [...measure.values(one)]),
    ];
    const options: uPlot.Options = {
      width: element.clientWidth,
      height: 190,
      series: [{ label: t.time }, ...series],
      axes: [
        { ...axis, values: (_, times) => axisTimes(times, language) },
        { ...axis, size: 62, values: (_, values) => values.map((value) => measure.format(value)) },
      ],
      scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, measure.top)] } },
      legend: { show: charts.series.length > 1 },
    };
    const plot = new uPlot(options, data, element);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 190 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [charts, measure, theme, language, t]);
  return (
    <div ref={box} className="plot" role="img" aria-label={`${t.measures[measure.key]}. ${t.tableBelow}`} />
  );
}

/** Whether few values are there: lines alone would not show them. */
function isSparse(values: ArrayLike<number | null | undefined>): boolean {
  return indicesAboveZero(values).length <= MAX_POINTS;
}

function indicesAboveZero(values: ArrayLike<number | null | undefined>): number[] {
  return Array.from(values).flatMap((value, at) => ((value ?? 0) > 0 ? [at] : []));
}

/** Texts of the time axis: times of day, and the date where a day begins. */
function axisTimes(times: readonly number[], language: Language): string[] {
  const step = (times[1] ?? 0) - (times[0] ?? 0);
  return times.map((time) => {
    const date = new Date(time * 1000);
    const isDay = step >= 86_400 || (date.getHours() === 0 && date.getMinutes() === 0);
    return isDay ? formatDay(date, language) : formatClock(date.getTime(), language).slice(0, 5);
  });
}

function Totals({ charts, by }: { charts: Charts; by: Group }) {
  const t = useText();
  const cells = (totals: ChartTotals) => (
    <>
      <td className="number">{formatCount(totals.calls)}</td>
      <td className="number">{totals.errors}</td>
      <td className="number">{formatCount(totals.inputTokens)}</td>
      <td className="number">{formatCount(totals.outputTokens)}</td>
      <td className="number">
        {totals.inputTokens > 0 ? `${Math.round((100 * totals.cachedTokens) / totals.inputTokens)} %` : '–'}
      </td>
      <td className="number">{totals.meanMs === null ? '–' : formatMs(totals.meanMs)}</td>
      <td className="number">{totals.p95Ms === null ? '–' : formatMs(totals.p95Ms)}</td>
      <td className="number">{formatCost(totals.cost)}</td>
    </>
  );
  return (
    <div className="table-wrap" role="region" aria-label={t.totals} tabIndex={0}>
      <table className="runs">
        <thead>
          <tr>
            <th scope="col">{t.groups[by]}</th>
            {[t.callsWord, t.errors, t.inputTokens, t.outputTokens, t.cacheShare, t.mean, 'p95', t.cost].map(
              (name) => (
                <th key={name} scope="col" className="number">
                  {name}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {charts.series.map((one) => (
            <tr key={one.key}>
              <th scope="row">{one.key}</th>
              {cells(one.totals)}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t.all}</th>
            {cells(charts.totals)}
          </tr>
        </tfoot>
      </table>
    </div>
  );
}
