import { useQuery } from '@tanstack/react-query';
import { GitBranch } from 'lucide-react';
import type { ContentBlock } from 'troupe';

import type { ComparedTurn, Comparison, StudioRun, TurnInfo } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { formatCost, formatMs, formatTokens } from '../parts/format.ts';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { RunStatus } from '../parts/status.tsx';
import { hrefOf } from '../route.ts';
import { get } from '../server/request.ts';

/** Two runs side by side, turn by turn, aligned at their fork. */
export function Compare({ a, b }: { a: string; b: string }) {
  const t = useText();
  const comparison = useQuery({
    queryKey: ['runs', 'compare', a, b],
    queryFn: async () => get<Comparison>('compare', { a, b }),
    enabled: a !== '' && b !== '',
  });
  if (a === '' || b === '') return <Empty title={t.chooseTwo} />;
  if (comparison.error !== null)
    return <Failed error={comparison.error} onRetry={() => void comparison.refetch()} />;
  if (comparison.data === undefined) return <Loading lines={8} />;
  const { rows, firstDifferent } = comparison.data;
  const fork = rows.findIndex(({ isShared }) => !isShared);
  const shared = fork === -1 ? rows.length : fork;
  return (
    <div className="view compare">
      <h1>{t.compareRuns}</h1>
      <div className="compare-grid compare-heads">
        <RunHead run={comparison.data.a} />
        <RunHead run={comparison.data.b} />
      </div>
      <p className="sub">{firstDifferent === undefined ? t.allSame : t.firstDifferent(firstDifferent + 1)}</p>
      {shared > 0 && (
        <details className="compare-shared">
          <summary>{t.sharedTurns(shared)}</summary>
          <ol className="compare-rows">
            {rows.slice(0, shared).map((row, index) => (
              <CompareRow key={index} row={row} isFirst={false} />
            ))}
          </ol>
        </details>
      )}
      <ol className="compare-rows">
        {rows.slice(shared).map((row, index) => (
          <CompareRow key={index} row={row} isFirst={index + shared === firstDifferent} />
        ))}
      </ol>
    </div>
  );
}

function RunHead({ run }: { run: StudioRun }) {
  const t = useText();
  const tokens = formatTokens(run.usage.inputTokens, run.usage.outputTokens);
  return (
    <section className="compare-head" aria-label={run.name}>
      <h2>
        {run.forkOf !== undefined && <GitBranch size={14} className="fork" aria-label={t.branchOf} />}{' '}
        <a href={hrefOf(['runs', run.id])}>{run.name}</a>
      </h2>
      <p className="sums">
        <RunStatus status={run.status} />
        <span>{t.messages(run.messages)}</span>
        <span>{formatMs(run.workMs)}</span>
        {tokens !== undefined && <span title={t.tokensInOut}>{tokens}</span>}
        {run.usage.cost > 0 && <span>{formatCost(run.usage.cost)}</span>}
      </p>
    </section>
  );
}

function CompareRow({ row, isFirst }: { row: ComparedTurn; isFirst: boolean }) {
  const t = useText();
  const mark = row.isShared ? t.sharedTurn : row.isSame ? t.sameTurn : t.differentTurn;
  return (
    <li data-same={row.isSame} data-shared={row.isShared} data-first={isFirst}>
      <p className="compare-mark">{mark}</p>
      <div className="compare-grid">
        {row.isShared ? (
          <TurnSide turn={row.a ?? row.b} />
        ) : (
          <>
            <TurnSide turn={row.a} />
            <TurnSide turn={row.b} />
          </>
        )}
      </div>
    </li>
  );
}

function TurnSide({ turn }: { turn: TurnInfo | undefined }) {
  const t = useText();
  if (turn === undefined) return <div className="turn-side sub">{t.noTurn}</div>;
  const tools = Object.entries(turn.tools);
  return (
    <div className="turn-side">
      <p className="turn-input">
        {turn.input.map(({ content }) => plain(content)).join('\n') || t.decisionTurn}
      </p>
      <p>{turn.answer === undefined ? '…' : withoutMarks(turn.answer)}</p>
      <p className="sub">
        {[turn.status && t.callStatus[turn.status], ...tools.map(([name, count]) => `${name} × ${count}`)]
          .filter(Boolean)
          .join(' · ')}
      </p>
    </div>
  );
}

/** The first line of an answer without marks of Markdown. */
function withoutMarks(line: string): string {
  return line.replace(/^#+\s+/, '').replaceAll(/\*\*|`/g, '');
}

function plain(content: string | readonly ContentBlock[]): string {
  if (typeof content === 'string') return content;
  return content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join(' ');
}
