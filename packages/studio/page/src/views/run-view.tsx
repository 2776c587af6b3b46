import {
  GitBranch,
  History,
  MessageSquareText,
  Info,
  ListTree,
  ClipboardList,
  PanelRight,
  Pencil,
  ChevronLeft,
} from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';

import { encoded } from '../encoded.ts';
import type { RunDetail, StudioRun, Suggestion, Waiting } from '../../../src/protocol.ts';
import { Cast } from '../conversation/cast.tsx';
import { Composer } from '../conversation/composer.tsx';
import { Conversation } from '../conversation/conversation.tsx';
import { rowsOf, type Row, type RowCache } from '../conversation/rows.ts';
import { useText } from '../i18n/use-text.ts';
import { useKeys } from '../keys.ts';
import { live } from '../live/live-client.ts';
import { RunTape } from '../live/run-tape.ts';
import { Store, useStore } from '../live/store.ts';
import type { TapeFold } from '../live/tape-fold.ts';
import { ErrorBoundary } from '../parts/error-boundary.tsx';
import { formatCost, formatCount, formatMs, useNow } from '../parts/format.ts';
import { speak } from '../parts/speak.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { RunStatus } from '../parts/status.tsx';
import { changeQuery, goTo, hrefOf, useRoute } from '../route.ts';
import { act } from '../server/actions.ts';
import { post } from '../server/request.ts';
import { settings } from '../settings.ts';
import { Strip } from '../travel/strip.tsx';
import { shownWaiting } from '../waiting/shown-waiting.ts';
import { WaitingCard } from '../waiting/waiting-card.tsx';
import { useInfo, useRunDetail } from './queries.ts';

const Inspector = lazy(async () => ({ default: (await import('../inside/inspector.tsx')).Inspector }));
const Travel = lazy(async () => ({ default: (await import('../travel/travel-dialog.tsx')).TravelDialog }));

type Panel = 'talk' | 'trace' | 'plan' | 'info';

/** One run: cast, conversation, inspector, and the tape below. */
export function RunView({ runId }: { runId: string }) {
  const detail = useRunDetail(runId);
  const told = useToldRun(runId);
  const tape = useTape(runId);
  if (detail.error !== null && detail.data === undefined)
    return <Failed error={detail.error} onRetry={() => void detail.refetch()} />;
  if (detail.data === undefined || tape === undefined) return <Loading lines={10} />;
  const run = told !== undefined && told.lastSeq >= detail.data.run.lastSeq ? told : detail.data.run;
  return <OpenRun detail={detail.data} run={run} tape={tape} />;
}

/** The run as the live connection told it last. */
function useToldRun(runId: string): StudioRun | undefined {
  const [run, setRun] = useState<StudioRun>();
  useEffect(
    () =>
      live.watchRuns((change) => {
        if (change.run?.id === runId) setRun(change.run);
      }),
    [runId],
  );
  return run;
}

function useTape(runId: string): RunTape | undefined {
  const [tape, setTape] = useState<RunTape>();
  useEffect(() => {
    const opened = new RunTape(runId);
    setTape(opened);
    void opened.open();
    return () => opened.close();
  }, [runId]);
  return tape;
}

function OpenRun({ detail, run, tape }: { detail: RunDetail; run: StudioRun; tape: RunTape }) {
  const t = useText();
  const { query } = useRoute();
  const state = useStore(tape.state);
  const { showsThinking, showsTools } = useStore(settings);
  const info = useInfo();
  const folds = useMemo(() => new Store<ReadonlyMap<string, boolean>>(new Map()), []);
  const selected = useMemo(() => new Store<string | undefined>(undefined), []);
  const cache = useMemo<RowCache>(() => new Map(), []);
  const openFolds = useStore(folds);
  const chosen = useStore(selected);
  const [isInspecting, setInspecting] = useState(() => window.innerWidth >= 1280);
  const [panel, setPanel] = useState<Panel>('talk');
  const [travel, setTravel] = useState<'branch' | 'replay'>();
  const at = numberOf(query.get('at'));
  const agent = query.get('agent') ?? undefined;

  const fold: TapeFold = useMemo(
    () => (at === undefined ? state.fold : tape.foldUpTo(at)),
    // The fold of the present changes in place: the version tells.
    [at, at === undefined ? state.version : state.generation, state.fold, tape],
  );
  const rows = useMemo(
    () => rowsOf(fold, { folds: openFolds, showsThinking, showsTools, agent }, cache),
    [fold, at === undefined ? state.version : 0, openFolds, showsThinking, showsTools, agent],
  );
  const waiting = useOpenWaiting(run.id, fold, at !== undefined);
  const cast = [...fold.cast.values()];
  useSpoken(cast.some((member) => member.isRunning));
  useFirstMessage(run, query.get('say') ?? undefined);

  const select = (row: Row): void => selected.set(row.key);
  const look = (seq: number | undefined): void => changeQuery({ at: seq });
  useKeys({
    Enter: () => setInspecting(true),
    Escape: () => (at !== undefined ? look(undefined) : setInspecting(false)),
    b: () => (run.can.branch ? setTravel('branch') : false),
    t: () => {
      setInspecting(true);
      setPanel('trace');
      changeQuery({ tab: 'trace' });
    },
    y: () => void navigator.clipboard.writeText(location.href),
  });
  const choosePanel = (next: Panel): void => {
    setPanel(next);
    if (next !== 'talk') changeQuery({ tab: { trace: 'trace', plan: 'plan', info: 'details' }[next] });
  };

  const row = rows.find(({ key }) => key === chosen);
  const offered = info.data?.agents.find(({ key }) => key === run.agentKey);
  const isFresh = state.phase === 'ready' && rows.length === 0;
  return (
    <div className="run" data-looking={at !== undefined} data-inspecting={isInspecting} data-panel={panel}>
      <RunHeader
        run={run}
        detail={detail}
        isInspecting={isInspecting}
        onInspect={() => setInspecting(!isInspecting)}
        onTravel={setTravel}
      />
      <Cast
        cast={cast}
        agents={detail.agents}
        waiting={waiting}
        chosen={agent}
        onChoose={(key) => changeQuery({ agent: key })}
      />
      <section className="talk" aria-labelledby="talk">
        <h2 className="hidden" id="talk">
          {t.conversation}
        </h2>
        {at !== undefined && (
          <p className="looking">
            <History size={14} aria-hidden /> {t.lookingAt(at, state.fold.lastSeq)}
            <button type="button" className="link" onClick={() => look(undefined)}>
              {t.backToNow}
            </button>
          </p>
        )}
        {state.phase === 'failed' && <Failed error={state.problem} onRetry={() => void tape.open()} />}
        {state.phase === 'loading' && <Loading lines={7} />}
        {isFresh && <Empty title={t.nothingSaid}>{run.can.send && <p>{t.sayFirst}</p>}</Empty>}
        {state.phase === 'ready' && !isFresh && (
          <ErrorBoundary resetKey={run.id}>
            <Conversation
              key={at === undefined ? 'now' : 'then'}
              rows={rows}
              folds={folds}
              selected={selected}
              onSelect={select}
              generation={state.generation}
              hasEarlier={state.hasEarlier && at === undefined}
              isLoadingEarlier={state.isLoadingEarlier}
              onEarlier={() => void tape.loadEarlier()}
              canDecide={at === undefined}
            />
          </ErrorBoundary>
        )}
        {at === undefined && <WaitingRegion waiting={waiting} />}
        {at === undefined ? (
          <Composer
            run={run}
            cast={cast}
            maxFileBytes={info.data?.limits.maxFileBytes ?? 1024 * 1024}
            suggestions={unusedSuggestions(offered?.suggestions ?? [], fold)}
          />
        ) : (
          <p className="composer-closed">{t.nothingRuns}</p>
        )}
      </section>
      {(isInspecting || panel !== 'talk') && (
        <aside className="inspector" aria-label={t.inspector}>
          <ErrorBoundary resetKey={chosen ?? ''}>
            <Suspense fallback={<Loading />}>
              <Inspector
                run={run}
                detail={detail}
                fold={fold}
                version={state.version}
                row={row}
                at={at}
                onSelectSeq={(seq) => selectSeq(rows, seq, selected)}
              />
            </Suspense>
          </ErrorBoundary>
        </aside>
      )}
      <Strip frames={state.fold.frames} version={state.version} at={at} onLook={look} />
      <PhoneTabs panel={panel} onChoose={choosePanel} />
      {travel !== undefined && (
        <Suspense fallback={null}>
          <Travel run={run} agent={offered} verb={travel} onClose={() => setTravel(undefined)} />
        </Suspense>
      )}
    </div>
  );
}

function selectSeq(rows: readonly Row[], seq: number, selected: Store<string | undefined>): void {
  const row = rows.findLast((one) => one.seq <= seq) ?? rows[0];
  if (row === undefined) return;
  selected.set(row.key);
  document.querySelector(`[data-seq="${row.seq}"]`)?.scrollIntoView({ block: 'nearest' });
}

/** Suggestions whose text was not sent yet. */
function unusedSuggestions(suggestions: readonly Suggestion[], fold: TapeFold): readonly Suggestion[] {
  if (suggestions.length === 0) return suggestions;
  const said = new Set<string>();
  for (const { role, content } of fold.conversation.messages)
    if (role === 'user') for (const block of content) if (block.type === 'text') said.add(block.text);
  return suggestions.filter(({ text }) => !said.has(text));
}

function numberOf(text: string | null): number | undefined {
  const value = Number(text);
  return text === null || !Number.isInteger(value) || value < 1 ? undefined : value;
}

/** Records that wait in this run: of the live message, which all windows get at once; of the tape while looking back. */
function useOpenWaiting(runId: string, fold: TapeFold, isLooking: boolean): readonly Waiting[] {
  const all = useStore(live.waiting);
  if (isLooking) return [...fold.waiting.values()].filter(({ state }) => state === 'waiting');
  return all.filter((one) => one.runId === runId);
}

/** Speaks the start and the end of a reply. */
function useSpoken(isRunning: boolean): void {
  const t = useText();
  const before = useRef(isRunning);
  useEffect(() => {
    if (before.current === isRunning) return;
    before.current = isRunning;
    speak(isRunning ? t.spokenStart : t.spokenEnd);
  }, [isRunning, t]);
}

/** Sends the suggestion with which a conversation was started, once. */
function useFirstMessage(run: StudioRun, text: string | undefined): void {
  const isSent = useRef(false);
  useEffect(() => {
    if (text === undefined || isSent.current || !run.can.send) return;
    isSent.current = true;
    changeQuery({ say: undefined });
    act(run.id, { type: 'send', content: text }).catch(() => undefined); // the composer shows later failures
  }, [run, text]);
}

interface RunHeaderProps {
  readonly run: StudioRun;
  readonly detail: RunDetail;
  readonly isInspecting: boolean;
  readonly onInspect: () => void;
  readonly onTravel: (verb: 'branch' | 'replay') => void;
}

function RunHeader({ run, detail, isInspecting, onInspect, onTravel }: RunHeaderProps) {
  const t = useText();
  const [isRenaming, setRenaming] = useState(false);
  const isOpen = run.status === 'running' || run.status === 'waiting';
  const now = useNow(1000, isOpen);
  const total = isOpen ? now - new Date(run.createdAt).getTime() : undefined;
  const rename = (name: string): void => {
    setRenaming(false);
    if (name.trim() !== '' && name !== run.name)
      void post(`runs/${encoded(run.id)}/rename`, { name }).catch(() => undefined);
  };
  return (
    <header className="run-head">
      <a
        className="crumb"
        href={hrefOf(['runs'], { project: run.project })}
        aria-label={`${t.runs}: ${run.project}`}
      >
        <ChevronLeft size={16} aria-hidden />
        <span>{run.project}</span>
      </a>
      {isRenaming ? (
        <input
          className="rename"
          aria-label={t.rename}
          defaultValue={run.name}
          autoFocus
          onBlur={(event) => rename(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') rename(event.currentTarget.value);
            if (event.key === 'Escape') setRenaming(false);
          }}
        />
      ) : (
        <h1>
          {run.name}
          <button
            type="button"
            className="icon-button small rename-button"
            aria-label={t.rename}
            onClick={() => setRenaming(true)}
          >
            <Pencil size={12} aria-hidden />
          </button>
        </h1>
      )}
      <RunStatus status={run.status} />
      <span className="facts">
        {total !== undefined && run.source !== 'conversation' && <span>{formatMs(total)}</span>}
        {run.workMs > 0 && <span>{t.workTime(formatMs(run.workMs))}</span>}
        {run.waitMs > 0 && <span className="wait">{t.waitTime(formatMs(run.waitMs))}</span>}
        {run.usage.inputTokens > 0 && (
          <span title={t.tokensInOut}>
            {formatCount(run.usage.inputTokens)} → {formatCount(run.usage.outputTokens)}
          </span>
        )}
        {run.usage.cost > 0 && <span>{formatCost(run.usage.cost)}</span>}
      </span>
      <span className="spring" />
      {run.forkOf !== undefined && (
        <a className="button small fork" href={hrefOf(['compare'], { a: run.forkOf.runId, b: run.id })}>
          <GitBranch size={14} aria-hidden /> <span>{t.compareWithParent}</span>
        </a>
      )}
      {detail.branches.length > 0 && (
        <select
          className="branches"
          aria-label={t.branches}
          value=""
          onChange={(event) => goTo(['runs', event.target.value])}
        >
          <option value="">{t.branchCount(detail.branches.length)}</option>
          {detail.branches.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      {run.can.replay && (
        <button
          type="button"
          className="button small"
          aria-label={t.replay}
          onClick={() => onTravel('replay')}
        >
          <History size={14} aria-hidden /> <span>{t.replay}</span>
        </button>
      )}
      {run.can.branch && (
        <button
          type="button"
          className="button small"
          aria-label={t.branch}
          onClick={() => onTravel('branch')}
        >
          <GitBranch size={14} aria-hidden /> <span>{t.branch}</span>
        </button>
      )}
      <button
        type="button"
        className="icon-button inspect-button"
        aria-pressed={isInspecting}
        aria-label={t.inspector}
        title={t.inspector}
        onClick={onInspect}
      >
        <PanelRight size={16} aria-hidden />
      </button>
    </header>
  );
}

/** What waits, over the composer: deciding needs no scrolling. */
function WaitingRegion({ waiting }: { waiting: readonly Waiting[] }) {
  const t = useText();
  const shown = useStore(shownWaiting);
  const index = Math.max(
    0,
    waiting.findIndex(({ id }) => id === shown),
  );
  const one = waiting[index];
  const setAt = (next: number): void => shownWaiting.set(waiting[next]?.id);
  if (one === undefined) return null;
  const position =
    waiting.length > 1 ? (
      <span className="pager">
        <button
          type="button"
          className="icon-button small"
          disabled={index === 0}
          onClick={() => setAt(index - 1)}
          aria-label={t.previous}
        >
          ‹
        </button>
        {t.oneOf(index + 1, waiting.length)}
        <button
          type="button"
          className="icon-button small"
          disabled={index === waiting.length - 1}
          onClick={() => setAt(index + 1)}
          aria-label={t.next}
        >
          ›
        </button>
      </span>
    ) : undefined;
  return (
    <div className="waiting-region">
      <WaitingCard key={one.id} waiting={one} position={position} />
    </div>
  );
}

function PhoneTabs({ panel, onChoose }: { panel: Panel; onChoose: (panel: Panel) => void }) {
  const t = useText();
  const tabs = [
    { key: 'talk', label: t.talk, icon: MessageSquareText },
    { key: 'trace', label: t.trace, icon: ListTree },
    { key: 'plan', label: t.plan, icon: ClipboardList },
    { key: 'info', label: t.info, icon: Info },
  ] as const;
  return (
    <nav className="phone-tabs" aria-label={t.panels}>
      {tabs.map(({ key, label, icon: Icon }) => (
        <button key={key} type="button" aria-current={panel === key} onClick={() => onChoose(key)}>
          <Icon size={18} aria-hidden />
          <span>{label}</span>
        </button>
      ))}
    </nav>
  );
}
