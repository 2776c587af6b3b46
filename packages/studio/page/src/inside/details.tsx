import type { ReactNode } from 'react';
import type { JsonValue } from 'troupe';

import type { Row } from '../conversation/rows.ts';
import { useText } from '../i18n/use-text.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { formatBytes, formatCost, formatCount, formatExact, formatMs } from '../parts/format.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { changeQuery } from '../route.ts';
import type { InspectorProps } from './inspector.tsx';

/** Facts of the selected message or tool call; without a selection, of the run. */
export function Details(props: InspectorProps) {
  return props.row === undefined ? <RunFacts {...props} /> : <RowFacts {...props} row={props.row} />;
}

export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts-list">
      {facts.map(([name, value]) =>
        value === undefined || value === null || value === '' ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function RunFacts({ run, detail, fold }: InspectorProps) {
  const t = useText();
  const { usage } = run;
  return (
    <>
      <h2>{t.thisRun}</h2>
      <Facts
        facts={[
          [t.state, t.runStatus[run.status]],
          [t.project, run.project],
          [t.sourceWord, t.source[run.source]],
          [t.started, formatExact(run.createdAt)],
          [t.lastEntry, `#${run.lastSeq} · ${formatExact(run.updatedAt)}`],
          [t.work, formatMs(run.workMs)],
          [t.waitingWord, run.waitMs > 0 ? formatMs(run.waitMs) : undefined],
          [t.modelCalls, usage.modelCalls],
          [t.inputTokens, usage.inputTokens > 0 ? usage.inputTokens.toLocaleString() : undefined],
          [t.outputTokens, usage.outputTokens > 0 ? usage.outputTokens.toLocaleString() : undefined],
          [t.cachedTokens, usage.cachedTokens > 0 ? usage.cachedTokens.toLocaleString() : undefined],
          [t.cost, usage.cost > 0 ? formatCost(usage.cost) : undefined],
          [t.dropped, run.dropped > 0 ? run.dropped : undefined],
          [t.session, run.sessionId],
          [
            t.program,
            run.program &&
              `${run.program.library}${run.program.pid === undefined ? '' : ` · pid ${run.program.pid}`}`,
          ],
          [
            'ID',
            <span className="mono">
              {run.id} <CopyButton text={run.id} />
            </span>,
          ],
        ]}
      />
      <h3>{t.agents}</h3>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t.agent}</th>
            <th scope="col">{t.className}</th>
            <th scope="col">{t.model}</th>
          </tr>
        </thead>
        <tbody>
          {detail.agents.map((agent) => (
            <tr key={agent.id}>
              <td>{agent.path.join(' › ')}</td>
              <td>{agent.className}</td>
              <td>{agent.modelName ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="sub">{t.frames(fold.frames.length)}</p>
      <p className="sub">{t.selectHint}</p>
    </>
  );
}

function RowFacts({ row, fold }: InspectorProps & { row: Row }) {
  const t = useText();
  if (row.kind === 'notice') return <JsonTree value={asJson(row.notice)} />;
  if (row.kind === 'tools') return <p>{row.names.join(', ')}</p>;
  if (row.kind === 'tool') {
    const { call, result, times, waiting, path } = row;
    return (
      <>
        <h2 className="mono">{call?.name ?? result?.name}</h2>
        <Facts
          facts={[
            [t.state, t.toolState[row.state]],
            [t.agent, path.join(' › ')],
            [t.started, times && formatExact(times.at)],
            [t.duration, times?.durationMs === undefined ? undefined : formatMs(times.durationMs)],
            [t.entry, `#${row.seq}`],
            ['ID', <span className="mono">{call?.id ?? result?.id}</span>],
            [t.outcomeWord, waiting?.outcome],
          ]}
        />
        {call !== undefined && (
          <>
            <h3>{t.argumentsWord}</h3>
            <JsonTree value={call.input} depth={4} />
          </>
        )}
        {result !== undefined && (
          <>
            <h3>
              {t.result} <span className="sub">{formatBytes(JSON.stringify(result.output).length)}</span>
            </h3>
            <JsonTree value={asJson(result)} depth={2} />
          </>
        )}
      </>
    );
  }
  const { msg } = row;
  const place = fold.places.get(msg.id);
  const prompt = fold.promptOfMsg.get(msg.id);
  const { usage } = msg;
  return (
    <>
      <h2>{msg.name}</h2>
      <Facts
        facts={[
          [t.role, msg.role],
          [t.agent, msg.agentPath.join(' › ')],
          [t.first, place && `#${place.seq} · ${formatExact(place.at)}`],
          [t.lastWord, place && `#${place.lastSeq} · ${formatExact(place.lastAt)}`],
          [t.inputTokens, usage && usage.inputTokens.toLocaleString()],
          [t.outputTokens, usage && usage.outputTokens.toLocaleString()],
          [t.cachedTokens, usage?.cachedTokens && formatCount(usage.cachedTokens)],
          [t.cost, usage?.cost === undefined ? undefined : formatCost(usage.cost)],
          [t.finishReason, msg.finishReason],
          ['ID', <span className="mono">{msg.id}</span>],
        ]}
      />
      {prompt !== undefined && (
        <button type="button" className="button" onClick={() => changeQuery({ tab: 'prompts', n: prompt })}>
          {t.showPrompt(prompt)}
        </button>
      )}
      <h3>{t.blocks}</h3>
      <JsonTree value={asJson(msg.content)} depth={2} />
      {msg.metadata !== undefined && (
        <>
          <h3>{t.metadata}</h3>
          <JsonTree value={msg.metadata} />
        </>
      )}
    </>
  );
}

/** A record that came as JSON, as a JSON value. */
function asJson(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
