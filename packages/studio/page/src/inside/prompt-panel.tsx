import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';

import { encoded } from '../encoded.ts';
import type {
  PromptDetail,
  PromptDiff,
  PromptInfo,
  PromptOutcome,
  PromptPart,
} from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { formatBytes, formatCost, formatCount, formatMs } from '../parts/format.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { changeQuery, useRoute } from '../route.ts';
import { get } from '../server/request.ts';
import type { InspectorProps } from './inspector.tsx';

const DiffView = lazy(async () => ({ default: (await import('./diff-view.tsx')).PromptDiffView }));

/** The exact prompt of each model call, and its difference to the one before. */
export function PromptPanel({ run, fold, row }: InspectorProps) {
  const t = useText();
  const { query } = useRoute();
  const [view, setView] = useState<'prompt' | 'diff'>('diff');
  const last = fold.prompts.at(-1)?.n;
  const ofRow = row?.kind === 'message' ? fold.promptOfMsg.get(row.msg.id) : undefined;
  const n = Number(query.get('n')) || ofRow || last;
  if (n === undefined) return <Empty title={t.noPrompts} />;
  const infos = fold.prompts;
  const at = infos.findIndex((one) => one.n === n);
  const info = infos[at];
  return (
    <div className="prompts">
      <div className="prompt-head">
        <label>
          <span className="hidden">{t.modelCall}</span>
          <select value={n} onChange={(event) => changeQuery({ n: event.target.value })}>
            {infos.map((one) => (
              <option key={one.n} value={one.n}>
                {`${one.n} · ${one.agentPath.join(' › ')} · ${one.purpose}`}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          className="icon-button small"
          disabled={at <= 0}
          aria-label={t.previous}
          onClick={() => changeQuery({ n: infos[at - 1]?.n })}
        >
          ‹
        </button>
        <button
          type="button"
          className="icon-button small"
          disabled={at >= infos.length - 1}
          aria-label={t.next}
          onClick={() => changeQuery({ n: infos[at + 1]?.n })}
        >
          ›
        </button>
        <div className="segments" role="radiogroup" aria-label={t.view}>
          {(['diff', 'prompt'] as const).map((one) => (
            <label key={one} data-chosen={view === one}>
              <input type="radio" name="prompt-view" checked={view === one} onChange={() => setView(one)} />
              {t.promptViews[one]}
            </label>
          ))}
        </div>
      </div>
      {info !== undefined && <PromptLine info={info} />}
      {view === 'prompt' ? <WholePrompt runId={run.id} n={n} /> : <Difference runId={run.id} n={n} />}
    </div>
  );
}

function PromptLine({ info }: { info: PromptInfo }) {
  const t = useText();
  return (
    <p className="sums">
      <span>{info.modelName}</span>
      <span>{t.messages(info.messages)}</span>
      <span>{t.toolCount(info.tools)}</span>
      <span>{formatBytes(info.bytes)}</span>
    </p>
  );
}

function WholePrompt({ runId, n }: { runId: string; n: number }) {
  const t = useText();
  const prompt = useQuery({
    queryKey: ['prompt', runId, n],
    queryFn: async () => get<PromptDetail>(`runs/${encoded(runId)}/prompts/${n}`),
  });
  if (prompt.error !== null) return <Failed error={prompt.error} onRetry={() => void prompt.refetch()} />;
  if (prompt.data === undefined) return <Loading />;
  const { parts, settings } = prompt.data;
  return (
    <>
      <Outcome outcome={prompt.data} />
      <ol className="parts">
        {parts.map((part, index) => (
          <li key={index}>
            <Part part={part} />
          </li>
        ))}
      </ol>
      <h3>{t.requestSettings}</h3>
      <JsonTree value={settings} />
    </>
  );
}

function Outcome({ outcome }: { outcome: PromptOutcome }) {
  const t = useText();
  const { usage, durationMs, status } = outcome;
  return (
    <p className="sums">
      {status !== undefined && <span>{t.callStatus[status]}</span>}
      {durationMs !== undefined && <span>{formatMs(durationMs)}</span>}
      {usage !== undefined && (
        <>
          <span title={t.tokensInOut}>
            {formatCount(usage.inputTokens)} → {formatCount(usage.outputTokens)}
          </span>
          {usage.cachedTokens !== undefined && usage.inputTokens > 0 && (
            <span className="ok">
              {t.cachedShare(Math.round((usage.cachedTokens / usage.inputTokens) * 100))}
            </span>
          )}
          {usage.cost !== undefined && <span>{formatCost(usage.cost)}</span>}
        </>
      )}
    </p>
  );
}

/** One part of a prompt, which opens. Parts from the cache have a mark. */
export function Part({ part, sign = '' }: { part: PromptPart; sign?: '' | '+' | '−' }) {
  const t = useText();
  const first = part.text.trim().split('\n', 1)[0] ?? '';
  return (
    <details className="part" data-sign={sign} data-cached={part.isCached}>
      <summary>
        {sign !== '' && <span className="part-sign">{sign}</span>}
        <span className="part-kind">{t.partKind[part.kind]}</span>
        <span className="part-line">{first}</span>
        <span className="meta">
          {part.isCached && <span className="tag ok">{t.cached}</span>}
          <span>~{formatCount(part.tokens)}</span>
        </span>
      </summary>
      <pre tabIndex={0}>{part.text}</pre>
    </details>
  );
}

function Difference({ runId, n }: { runId: string; n: number }) {
  const t = useText();
  const { query } = useRoute();
  const other = query.get('vs') ?? undefined;
  const diff = useQuery({
    queryKey: ['prompt-diff', runId, n, other],
    queryFn: async () => get<PromptDiff>(`runs/${encoded(runId)}/prompts/${n}/diff`, { run: other }),
  });
  if (diff.error !== null) return <Failed error={diff.error} onRetry={() => void diff.refetch()} />;
  if (diff.data === undefined) return <Loading />;
  const { before, changes, settings } = diff.data;
  return (
    <>
      <p className="sub">{before === null ? t.firstPrompt : t.comparedTo(before.n)}</p>
      <Suspense fallback={<Loading />}>
        <DiffView changes={changes} settings={settings} />
      </Suspense>
    </>
  );
}
