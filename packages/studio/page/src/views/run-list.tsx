import { GitBranch } from 'lucide-react';

import type { StudioRun } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { formatAgo, formatCost, formatCount, formatMs, useNow } from '../parts/format.ts';
import { RunStatus } from '../parts/status.tsx';
import { hrefOf } from '../route.ts';
import { settings } from '../settings.ts';

interface RunListProps {
  /** Name for screen readers. @default `Runs` */
  readonly label?: string;
  readonly runs: readonly StudioRun[];
  readonly chosen?: ReadonlySet<string>;
  readonly onChoose?: (id: string, isChosen: boolean) => void;
}

/** A sum, or a dash where nothing was counted. */
function known(value: number, format: (value: number) => string): string {
  return value > 0 ? format(value) : '–';
}

/** Whether a run belongs to a program or a conversation of this library. */
function isOwn({ source }: StudioRun): boolean {
  return source === 'program' || source === 'conversation';
}

/** Runs as a table; on a phone, as blocks. */
export function RunList({ label, runs, chosen, onChoose }: RunListProps) {
  const t = useText();
  const { language } = useStore(settings);
  const now = useNow(10_000);
  return (
    <div className="table-wrap" role="region" aria-label={label ?? t.runs} tabIndex={0}>
      <table className="runs">
        <thead>
          <tr>
            {onChoose !== undefined && (
              <th scope="col">
                <span className="hidden">{t.choose}</span>
              </th>
            )}
            <th scope="col">{t.run}</th>
            <th scope="col">{t.state}</th>
            <th scope="col" className="number">
              {t.messagesWord}
            </th>
            <th scope="col" className="number">
              {t.work}
            </th>
            <th scope="col" className="number">
              {t.tokens}
            </th>
            <th scope="col" className="number">
              {t.cost}
            </th>
            <th scope="col" className="number">
              {t.last}
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id} data-status={run.status}>
              {onChoose !== undefined && (
                <td className="choose">
                  <input
                    type="checkbox"
                    aria-label={t.chooseRun(run.name)}
                    checked={chosen?.has(run.id) ?? false}
                    onChange={(event) => onChoose(run.id, event.target.checked)}
                  />
                </td>
              )}
              <td className="run-name">
                <a href={hrefOf(['runs', run.id])}>
                  {run.forkOf !== undefined && (
                    <span className="fork" title={t.branchOf}>
                      <GitBranch size={13} aria-hidden />{' '}
                    </span>
                  )}
                  {run.name}
                </a>
                <span className="sub">
                  {[run.project, run.rootAgent, isOwn(run) ? undefined : t.source[run.source]]
                    .filter(Boolean)
                    .join(' · ')}
                </span>
                {run.preview !== undefined && <span className="preview">{run.preview}</span>}
              </td>
              <td>
                <RunStatus status={run.status} />
                {run.errors > 0 && <span className="errors"> ✕ {run.errors}</span>}
              </td>
              <td className="number">{run.messages}</td>
              <td className="number">
                {formatMs(run.workMs)}
                {run.waitMs > 0 && <span className="sub wait">◆ {formatMs(run.waitMs)}</span>}
              </td>
              <td className="number">{known(run.usage.inputTokens + run.usage.outputTokens, formatCount)}</td>
              <td className="number">{known(run.usage.cost, formatCost)}</td>
              <td className="number">
                <time dateTime={run.updatedAt}>{formatAgo(run.updatedAt, now, language)}</time>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
